"""opencode, by SST: npm `opencode-ai`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Mark

_SETTINGS = ClientFolder("~/.config", "XDG_CONFIG_HOME", "opencode")
_DATA = ClientFolder("~/.local/share", "XDG_DATA_HOME", "opencode")
_ENOUGH = r".{500}"
"""What must be shown of an output, so that the text proves which file it is from. Mostly opencode shows 2,000 lines or
50 KB, but of a command's output only the newest pieces that it read: a few lines, where they came after a pause."""

OPENCODE = ClientFacts(
    name="opencode",
    title="opencode",
    command="opencode",
    versions=("1.18.33",),
    user_agents=("opencode/",),
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
    cut_forms=(
        r"\A\.\.\.output truncated\.\.\.\n\nFull output saved to: (?P<path>[^\n]{1,4096})\n\n"
        rf"(?P<tail>{_ENOUGH}.*?)(?:\n\n<shell_metadata>\n[^<>]{{1,2000}}\n</shell_metadata>)?\Z",
        r"\A\.\.\.\d{1,12} (?:lines|bytes) truncated\.\.\.\n\nThe tool call succeeded but the output was truncated\. "
        r"Full output saved to: (?P<path>[^\n]{1,4096})\nUse [^\n]{1,400}\n\n"
        rf"(?P<tail>{_ENOUGH}.*)\Z",
        rf"\A(?P<head>{_ENOUGH}.*)\n\n\.\.\.\d{{1,12}} (?:lines|bytes) truncated\.\.\.\n\nThe tool call succeeded but "
        r"the output was truncated\. Full output saved to: (?P<path>[^\n]{1,4096})\nUse [^\n]{1,400}\Z",
        r"\A\.\.\.output truncated\.\.\.\n\nFull output saved to: ",
        r"\(Output capped at [^()\n]{1,80}\)\n</content>\s{0,9}\Z",
        r"The tool call succeeded but the output was truncated\. Full output saved to: [^\n]{1,4096}\nUse ",
    ),
)
