"""The pages of `docs/reference/trace/`, made of the tables in this folder and the names of the tests."""

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "reference" / "trace"
_NOTE = "<!-- Written by docs/trace; change the tables there, then run `make docs`. -->\n\n"
_TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


class Row(NamedTuple):
    """One thing that a document asks."""

    id: str
    asked: str
    tests: tuple[str, ...]
    reason: str
    """Why Keepwhole does it in another way; empty where it does what is asked."""


class Table(NamedTuple):
    """What one document asks."""

    name: str
    title: str
    rows: tuple[Row, ...]


def read_table(name: str, text: str) -> Table:
    """Return the table that a text describes.

    >>> read_table("x", "# Title\\n\\nT1 | something | test_a test_b").rows[0].tests
    ('test_a', 'test_b')
    """
    title, *lines = [line for line in text.splitlines() if line.strip()]
    rows: list[Row] = []
    for line in lines:
        id, asked, *rest = line.split(" | ")
        tests, reason = [*rest, "", ""][:2]
        rows.append(Row(id, asked, tuple(tests.split()), reason))
    return Table(name, title.removeprefix("# "), tuple(rows))


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables of all documents."""
    files = sorted(Path(__file__).parent.glob("*.txt"))
    return tuple(read_table(file.stem, file.read_text(encoding="utf-8")) for file in files)


@cache
def tests() -> dict[str, list[str]]:
    """Return the name of every test with the files that have one of this name."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _TEST.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return found


def showing_tests(row: Row) -> list[tuple[str, str]]:
    """Return the tests that show a row, by name and file."""
    known = tests()
    names = [name for pattern in row.tests for name in _named(pattern)]
    return [(name, file) for name in dict.fromkeys(names) for file in known[name]]


def _named(pattern: str) -> list[str]:
    if "*" not in pattern:
        return [pattern] if pattern in tests() else []
    return sorted(name for name in tests() if fnmatchcase(name, pattern))


def untested() -> list[str]:
    """Return what no test shows, and every name or pattern for which there is no test."""
    found: list[str] = []
    for table in tables():
        for row in table.rows:
            missing = [pattern for pattern in row.tests if not _named(pattern)]
            if missing or not row.tests:
                found.append(f"{table.name} {row.id}, {row.asked}: {' '.join(missing) or 'no test'}")
    return found


def pages() -> dict[str, str]:
    """Return every page by its file name; raise a `LookupError` where something has no test."""
    missing = untested()
    if missing:
        raise LookupError("No test shows this:\n" + "\n".join(missing))
    return {"README.md": _overview(), **{f"{table.name}.md": _page(table) for table in tables()}}


def _overview() -> str:
    lines = [
        "# What the documents ask, and the tests that show it\n",
        "Keepwhole was made from five documents and a specification. Every requirement, criterion, edge case, default"
        " and command of each has a row with the tests that show it. Where Keepwhole differs on purpose, the row says"
        " why.\n",
        "| document | rows | as asked | differently |",
        "|---|---|---|---|",
    ]
    for table in tables():
        different = sum(bool(row.reason) for row in table.rows)
        total = len(table.rows)
        lines.append(f"| [{table.title}]({table.name}.md) | {total} | {total - different} | {different} |")
    return _NOTE + "\n".join(lines) + "\n"


def _page(table: Table) -> str:
    lines = [f"# {table.title}\n", "| id | what is asked | differently, because | shown by |", "|---|---|---|---|"]
    for row in table.rows:
        shown = "<br>".join(f"[`{name}`](../../../{file})" for name, file in showing_tests(row))
        lines.append(f"| {row.id} | {row.asked} | {row.reason} | {shown} |")
    return _NOTE + "\n".join(lines) + "\n"
