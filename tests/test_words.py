"""What people read is plain English: no page and no printed string has a phrase of `docs/phrases.txt`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import keepwhole

ROOT = Path(__file__).parent.parent
SOURCE = Path(str(keepwhole.__file__)).parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_QUOTED = ("docs/reference/trace/", "docs/trace/")
"""Quoted from what was asked."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def phrases() -> dict[str, str]:
    """The phrases and what to write instead."""
    lines = (ROOT / "docs/phrases.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("  ", 1) for line in lines if line and not line.startswith("#"))


def found(where: str, text: str) -> Iterator[str]:
    """Each phrase in a text, with what to write instead."""
    for phrase, better in phrases().items():
        for match in re.finditer(phrase, text, re.I):
            around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
            yield f"{where}: “{around}”; better: {better}"


def printed_strings(tree: ast.Module) -> Iterator[str]:
    """The strings of a module that somebody may see: all but docstrings, and those that say what a name is for."""
    statements = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in statements:
            yield one.value


def test_no_page_has_a_phrase_that_must_be_read_twice() -> None:
    places = ((str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")) for page in PAGES)
    read = ((name, text) for name, text in places if not name.startswith(_QUOTED))
    assert [one for name, text in read for one in found(name, text)] == []


def test_no_printed_string_has_such_a_phrase() -> None:
    trees = ((file, ast.parse(file.read_text(encoding="utf-8"))) for file in sorted(SOURCE.rglob("*.py")))
    read = ((str(file.relative_to(SOURCE)), text) for file, tree in trees for text in printed_strings(tree))
    assert [one for name, text in read for one in found(name, text)] == []


def test_no_label_of_the_inspector_has_such_a_phrase() -> None:
    files = [file for file in SOURCE.rglob("*.js") if "vendor" not in file.parts]
    assert files
    texts = ((file.name, _COMMENT.sub("", file.read_text(encoding="utf-8"))) for file in files)
    assert [one for name, text in texts for one in found(name, text)] == []


def test_a_phrase_is_found_wherever_a_line_breaks() -> None:
    assert len(list(found("page", "It stays\nto the letter. Foreseen."))) == 2
