"""Codex, by OpenAI: npm `@openai/codex`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Frame, Mark

_SETTINGS = ClientFolder("~/.codex", "CODEX_HOME")
_LINES = (
    r"[0-9a-f]{1,40}\nWall time: [\d.]{1,20} seconds"
    r"(?:\nProcess exited with code -?\d{1,10}|\nProcess running with session ID \d{1,10})?"
    r"(?:\nOriginal token count: \d{1,12})?"
)
_LOGS = ("*/*.jsonl", "*/*.jsonl.gz", "*/*.jsonl.zst")

CODEX = ClientFacts(
    name="codex",
    title="Codex",
    command="codex",
    versions=("0.166.0", "0.169.0"),
    user_agents=("codex_exec/", "codex_cli_rs/"),
    session_headers=("session-id",),
    agent_header="thread-id",
    metadata_header="x-codex-turn-metadata",
    compaction_prompts=("You are performing a CONTEXT CHECKPOINT COMPACTION.",),
    cut_marks=(
        Mark("truncated", r"\d tokens truncated\b"),
        Mark("truncated", r"warning: truncated output \("),
        Mark("output exceeded ", r"output exceeded the available model context"),
    ),
    frames_before=(Frame("Chunk ID: ", _LINES, "\nOutput:\n"),),
    exit_code=r"\nProcess exited with code (-?\d{1,10})\n",
    reader="sed",
    settings=_SETTINGS,
    project_settings=".codex",
    hooks_file="hooks.json",
    logs=(
        ClientFiles(_SETTINGS._replace(below="sessions"), _LOGS),
        ClientFiles(_SETTINGS._replace(below="archived_sessions"), _LOGS),
    ),
    cut_forms=(
        r"\A(?:[^\n]{0,200}\n){0,8}?Warning: truncated output \(original token count: \d{1,12}\)\n"
        r"Total output lines: (?P<lines>\d{1,12})\n\n"
        r"(?P<head>.{500,}?)\u2026\d{1,12} tokens truncated\u2026(?P<tail>.{500,})\Z",
        r"\A(?:[^\n]{0,200}\n){0,8}?Warning: truncated output \(original token count: \d",
    ),
)
