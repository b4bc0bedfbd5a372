"""What a visitor has of their own: an agent that ends at once, and a log of it."""

from pathlib import Path

from tests.logs.log_files import ClaudeCode, text, use, written

HOME = "Zoë O'Brien"
"""The name of a folder that not every program can bear."""


def furnish(home: Path) -> None:
    """Put a `claude` into `bin` of a home, and a log where Claude Code has its logs."""
    program = home / "bin/claude"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "a stand-in, sent to %s\\n" "$ANTHROPIC_BASE_URL"\n')
    program.chmod(0o755)
    log = ClaudeCode()
    log.user("Why do the tests fail?")
    for n in range(40):
        log.assistant(f"m{n}", use(f"t{n}", command="make test"))
        log.result(f"t{n}", "".join(f"test_{n}_{line} PASSED\n" for line in range(800)))
    log.assistant("end", text("One of them is out of date."))
    written(home / ".claude/projects/-work/visit.jsonl", log.lines)
