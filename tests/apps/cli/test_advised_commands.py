"""Every command that a message, a label or a help text names is one that the command line takes as it is printed."""

import ast
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import pytest

import keepwhole
from keepwhole.apps.cli.main import COMMANDS, GROUPS
from keepwhole.apps.cli.parser import parser_for

SOURCE = Path(str(keepwhole.__file__)).parent
_IN_PYTHON = re.compile(r"`keepwhole ([^`]+)`")
_IN_PAGES = re.compile(r"<code>keepwhole ([^<]+)</code>")
_VALUE = "7"
"""What a message puts into a command: an id, a path, a number."""


def _text(node: ast.AST) -> str | None:
    """A string as it is printed, with a value in each place that has one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else _VALUE for part in node.values)
    return None


def _strings(tree: ast.Module) -> Iterator[str]:
    """All strings of a module but its docstrings."""
    docstrings = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    inside = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values}
    for one in ast.walk(tree):
        text = None if id(one) in docstrings | inside else _text(one)
        if text is not None:
            yield text


def _advised() -> Iterator[str]:
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "`keepwhole " in text:
            yield from (words for string in _strings(ast.parse(text)) for words in _IN_PYTHON.findall(string))
    for file in [*SOURCE.rglob("*.js"), *SOURCE.rglob("*.html")]:
        yield from _IN_PAGES.findall(file.read_text(encoding="utf-8"))


ADVISED = sorted({words for words in _advised() if words.split()[0] not in ("COMMAND", "{}")})


def test_there_are_commands_to_look_at() -> None:
    assert len(ADVISED) > 50


@pytest.mark.parametrize("advised", ADVISED)
def test_a_command_that_is_advised_exists_and_takes_its_options(advised: str) -> None:
    words = shlex.split(advised.replace("…", "").partition(" > ")[0])
    assert words[0] in COMMANDS
    if words[0] == "hook":
        words = ["codex" if word.strip(_VALUE) == "" else word for word in words]
    is_name = not any(word.startswith("-") for word in words) and len(words) <= 2
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            parser_for(words[0], GROUPS).parse_args(words)
    except SystemExit:
        refusal = said.getvalue()
        assert is_name
        assert "missing: " in refusal or "say what to do" in refusal, refusal
