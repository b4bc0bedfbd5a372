"""The clients that `make clients` installs are of versions that Keepwhole's own files of them list as seen."""

import re
from pathlib import Path

from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.clients.codex import CODEX
from keepwhole.clients.opencode import OPENCODE

SEEN = {facts.command: facts.versions for facts in (CLAUDE_CODE, CODEX, OPENCODE)}
PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "opencode": "opencode-ai"}


def test_the_versions_that_are_installed_by_name_are_listed_as_seen() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    for command, package in PACKAGES.items():
        found = re.search(rf"{package}@(\S+)", makefile)
        assert found is not None
        assert found[1] in SEEN[command]
