"""Hypothesis strategies for texts that tools might print: data, logs, noise, odd lines, odd characters."""

import csv
import io
import json
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

_ODD = ("\ud800", "\udfff", "e\u0301", "🇨🇭", "👩\u200d👧", "\u2028", "\x00", "\ufeff", "漢字", "\u0600", "क्ष")
_NOISE = ("\x1b[31m", "\x1b[0m", "\r", "\r\n", "\x1b]0;title\x07", "\x1b", "x" * 2_500, "\t", " ")
_WORDS = (
    "error: no",
    "line of text",
    "at 12:00:01",
    "... [3 lines omitted] ...",
    "[Artifact: x]",
    "def f():",
    "{",
    '"',
)
atoms = st.sampled_from((*_ODD, *_NOISE, *_WORDS, "\n", "\n", "\n"))
words = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(_WORDS)
clean = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=20) | st.sampled_from(_WORDS)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(words, inner, max_size=6),
    max_leaves=12,
)


def _repeated(parts: st.SearchStrategy[str], least: int = 400) -> st.SearchStrategy[str]:
    """A few parts, repeated until the text has at least `least` characters."""
    return st.tuples(st.lists(parts, min_size=1, max_size=12), st.integers(0, 30)).map(
        lambda given: "".join(given[0]) * (given[1] + 1 + least // max(1, len("".join(given[0]))))
    )


def _table(rows: list[list[str]]) -> str:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows([["id", "name", "size"], *rows])
    return written.getvalue()


def _tree(given: tuple[list[str], int]) -> str:
    parts, times = given
    inner = "".join(
        f"<item n={quoteattr(part)}>{escape(part)}<leaf/></item>\n"
        if number % 3
        else f"<empty n={quoteattr(part)}/>{escape(part)}"
        for number, part in enumerate(parts * times)
    )
    return f"<?xml version='1.0'?>\n<root>{inner}</root>\n"


jsons = st.tuples(
    st.lists(values, min_size=1, max_size=8), st.integers(1, 60), st.sampled_from((None, 1)), st.booleans()
).map(lambda given: json.dumps(given[0] * given[1], indent=given[2], ensure_ascii=given[3]))
objects = st.tuples(values, st.integers(1, 200), st.booleans()).map(
    lambda given: json.dumps({f"key {number}": given[0] for number in range(given[1])}, ensure_ascii=given[2])
)
ndjsons = st.tuples(
    st.lists(st.dictionaries(clean, clean, min_size=1, max_size=4), min_size=2, max_size=8), st.integers(1, 60)
).map(lambda given: "".join(json.dumps(row) + "\n" for row in given[0] * given[1]))
tables = st.tuples(st.lists(st.lists(clean, min_size=3, max_size=3), min_size=3, max_size=8), st.integers(1, 60)).map(
    lambda given: _table(given[0] * given[1])
)
trees = st.tuples(st.lists(clean, min_size=1, max_size=6), st.integers(1, 80)).map(_tree)
logs = _repeated(
    st.tuples(st.sampled_from(("INFO", "ERROR", "WARN")), st.integers(0, 59), words).map(
        lambda given: f"2026-01-01 12:00:{given[1]:02d} {given[0]} {given[2]}\n"
    )
)
noise = _repeated(atoms)
anything = _repeated(words)
texts = st.one_of(jsons, objects, ndjsons, tables, trees, logs, noise, anything)
