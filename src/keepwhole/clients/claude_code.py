"""Claude Code, by Anthropic: npm `@anthropic-ai/claude-code`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Mark

_SETTINGS = ClientFolder("~/.claude", "CLAUDE_CONFIG_DIR")
_PROJECTS = _SETTINGS._replace(below="projects")
_LOGS = ("*/*.jsonl", "*/*.jsonl.gz")

CLAUDE_CODE = ClientFacts(
    name="claude-code",
    title="Claude Code",
    command="claude",
    versions=("2.1.197", "2.1.325", "2.1.326"),
    user_agents=("claude-cli/",),
    session_headers=("x-claude-code-session-id",),
    agent_header="x-claude-code-agent-id",
    compaction_prompts=("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",),
    cut_marks=(
        Mark("persisted-output", r"<persisted-output>"),
        Mark("truncated", r"\[truncated: "),
        Mark("saved to", r"tokens\. output has been saved to"),
        Mark("result content cleared", r"\[old tool result content cleared\]"),
    ),
    cleared_marks=(r"\[old tool result content cleared\]",),
    reader="Read",
    settings=_SETTINGS,
    project_settings=".claude",
    hooks_file="settings.json",
    logs=(
        ClientFiles(_PROJECTS, _LOGS),
        ClientFiles(ClientFolder("~/.config", "XDG_CONFIG_HOME", "claude/projects"), _LOGS),
    ),
    saved_outputs=(ClientFiles(_PROJECTS, ("*/tool-results/*",)),),
    saved_to=r"(?:Full output saved to: |Output has been saved to )(.+?)\.?(?=\n|$|\. )",
)
