"""Claude Code, by Anthropic: npm `@anthropic-ai/claude-code`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Frame, Mark

_SETTINGS = ClientFolder("~/.claude", "CLAUDE_CONFIG_DIR")
_PROJECTS = _SETTINGS._replace(below="projects")
_REMINDER, _END = "\n\n<system-reminder>\n", "\n</system-reminder>"
_TASKS = (
    r"If you're working on tasks that would benefit from tracking progress, consider using \w{1,40} to add new tasks "
    r"and \w{1,40} to update task status \(set to in_progress when starting, completed when done\)\. Also consider "
    r"cleaning up the task list if it has become stale\. Only use these if relevant to the current work\. This is just "
    r"a gentle reminder - ignore if not applicable\."
)
_PART = r"(?:[^\n\[\]<>]|\[[\w.]{1,40}\]){1,1500}"
"""A path and what is shown of it, in one line; brackets are in paths such as `[id].tsx`."""
_LOGS = ("*/*.jsonl", "*/*.jsonl.gz")

CLAUDE_CODE = ClientFacts(
    name="claude-code",
    title="Claude Code",
    command="claude",
    versions=("2.1.197", "2.1.325", "2.1.326", "2.1.327"),
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
    frames_before=(
        Frame("<system-reminder>[Truncated: PARTIAL view — ", _PART, "]</system-reminder>\n\n", has_any_words=True),
    ),
    frames_behind=(
        Frame(f"{_REMINDER}<total_tokens>", r"(?:\d{1,15}|Infinite) tokens left", f"</total_tokens>{_END}"),
        Frame(f"{_REMINDER}The task tools haven't been used recently. ", _TASKS, f"\n{_END}"),
        Frame(f"{_REMINDER}[Truncated: PARTIAL view — ", _PART, f"]{_END}", has_any_words=True),
    ),
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
    cut_forms=(
        r"\A<persisted-output>\nOutput too large \((?P<size>[\d.]{1,12} ?(?:[KMG]B|bytes))\)\. "
        r"Full output saved to: (?P<path>[^\n]{1,4096})\n\nPreview \(first [^()\n]{1,20}\):\n"
        r"(?P<head>.{500,2000}?)(?:\n\.\.\.)?\n</persisted-output>",
        r"\A<persisted-output>\nOutput too large \(",
        r"\AExit code \d{1,3}\n.{1,20000}\n\n\.\.\. \[\d{1,12} characters truncated\] \.\.\.\n\n",
        r"\A(?:<system-reminder>)?\[Truncated: PARTIAL view",
        r"<system-reminder>\s{0,9}\[Truncated: PARTIAL view[^\n]{0,400}\s{0,9}</system-reminder>\s{0,9}(?:\Z|<)",
        r"\A.{0,400}Error: result \([\d,]{1,20} characters[^()\n]{0,60}\) exceeds maximum allowed tokens\. "
        r"Output has been saved to ",
    ),
)
