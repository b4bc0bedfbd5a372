"""opencode, by SST: npm `opencode-ai`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Mark

_SETTINGS = ClientFolder("~/.config", "XDG_CONFIG_HOME", "opencode")
_DATA = ClientFolder("~/.local/share", "XDG_DATA_HOME", "opencode")

OPENCODE = ClientFacts(
    name="opencode",
    title="opencode",
    command="opencode",
    versions=("1.18.33",),
    session_headers=("x-parent-session-id", "x-session-id", "x-opencode-session"),
    agent_header="x-session-id",
    compaction_histories=("Here is the conversation so far:",),
    cut_marks=(Mark("output capped at", r"\(output capped at "),),
    cleared_marks=(r"\[old tool result content cleared\]",),
    reader="read",
    settings=_SETTINGS,
    project_settings=".opencode",
    hooks_file="plugin/keepwhole.js",
    logs=(ClientFiles(_DATA, ("opencode*.db",)),),
    saved_outputs=(ClientFiles(_DATA, ("*/tool-output/*",)),),
    saved_to=r"Full output saved to: (.+)",
)
