r"""Recognizes text that was cut before it reached Keepwhole.

A tool may also print such text honestly, so the guard flags and counts; it never refuses and never changes a byte.

Theory of operation. What clients and tools write where they cut is one of `_FORMS` or a mark of a client, in any case.
Each has an anchor in it, words that few bodies have: these are looked for at the speed of C. Only around them, `_NEAR`
bytes before and behind, the forms are looked for, each place once. All repeats are bounded, so the time is linear in
the size of a body, whatever is in it.
"""

import re
from collections.abc import Iterable
from functools import cache

from keepwhole.canonical.anchors import matches_within, stretches_around
from keepwhole.canonical.utf8 import contains_any, lowered
from keepwhole.clients.table import CLIENTS

CANONICAL_TOOL_RESULT_IS_LOSSLESS = "canonical_tool_result_is_lossless"
"""Invariant: what `keep` was given is what `recall` returns, byte for byte, until the session is purged."""

TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY = "transport_truncation_must_not_mutate_canonical_history"
"""Invariant: nothing that was cut for a model, a screen or a stream ever flows back into the record."""

_NEAR = 240
_DOTS = rb"(?:\.{3}|\xe2\x80\xa6)"
_INSIDE = rb"[^\[\]\n\"'`]"
"""What may be between brackets; a list of strings in a program is no mark."""
_ANCHORS = (b"truncated", b"omitted", b"elided", b"saved to", b"artifact: art_", b"similar lines]", b"full output ")
_FORMS = (
    rb"(?<![\w\])])\[" + _INSIDE + rb"{0,80}?\b(?:truncated|omitted)\b" + _INSIDE + rb"{0,160}\](?!\()",
    rb"\[(?:truncated (?:\xe2\x80\x94|-) |content truncated - |output truncated)",
    rb"\[(?:remainder|beginning) omitted: ",
    rb"<(?:[a-z]{1,20}[ _-]){0,3}truncated\b[^<>\n]{0,80}>",
    _DOTS + rb" ?\[?(?:[\w,.]{1,20} ){0,4}truncated(?:\b ?" + _DOTS + rb"|[;:]| \d)",
    _DOTS + rb" ?\(truncated\)|\((?:[\w,]{1,20} ){1,4}truncated[.,;:)]|\(truncated\)(?=\s{0,9}\Z)",
    rb"[\"'](?:is_?|was_?|has_?|output_?|results?_?){0,2}truncated[\"']\s{0,9}:\s{0,9}true\b",
    rb"truncatedcontentid|output truncated to prevent",
    rb"(?:output|content|response|result)s? (?:was|were|has been|have been)(?: too \w{1,9} and)?"
    rb"(?: has been)? truncated",
    _DOTS + rb" ?\[?[\d,]{1,20} [a-z]{1,20}(?: / [\d,]{1,20} [a-z]{1,20})? (?:omitted|elided)\b",
    rb"chars omitted\] \.\.\.|\((?:n|\d[\d,]{0,20}) lines omitted\)|\"\d[\d,]{0,20} keys omitted\"",
    rb"\[\.{3} \d[\d,]{0,20} [a-z]{1,20} elided",
    rb"\[artifact: art_|\[\d[\d,]{0,20} similar lines\] \.\.\.",
    rb"(?:full|complete|entire) (?:[a-z]{1,10} ){0,2}(?:output|content|result)s?"
    rb" (?:is |was |has been |have been )?(?:saved to|available at|see)\b",
)
"""In lower case. What several clients, agent frameworks and Keepwhole itself write where they cut; what one client
alone writes is in its file in `clients`."""
_MARKS = tuple(mark for client in CLIENTS for mark in client.cut_marks)
_ALL_ANCHORS = tuple(dict.fromkeys((*_ANCHORS, *(mark.anchor.encode() for mark in _MARKS))))
_ROOTS = (*(anchor for anchor in _ALL_ANCHORS if b"output" not in anchor), b"output")
"""Every anchor has one of these in it: fewer to look for in the many bodies that have none."""
_CHUNK = 1 << 20
_LONGEST_CLEARED = 300
_GONE = (
    r"(?:cleared|removed|pruned|masked|deleted|omitted|hidden|elided|compacted|condensed|trimmed|snipped|stripped|dropped"
    r"|expired|evicted|redacted|collapsed|truncated|archived|discarded|offloaded|unavailable|no content"
    r"|(?:no longer|not) (?:available|shown|included|retained|kept|in context))"
)
_CLEARED = (
    r"\[(?:[^\[\]\n]{0,160}\b)?" + _GONE + r"\b[^\[\]\n]{0,160}\]"
    r"|<(?:[^<>\n]{0,160}\b)?" + _GONE + r"\b[^<>\n]{0,160}>"
    r"|\((?:[^()\n]{0,160}\b)?" + _GONE + r"\b[^()\n]{0,160}\)"
    r"|(?:(?:old|previous|earlier|stale|the|this|tool|call|function) ){0,4}"
    r"(?:results?|outputs?|responses?|observations?|content)(?: of [^\n.]{0,80})?"
    r"(?: (?:content|has|have|was|were|been|is)){0,3} " + _GONE + r"\b[^\n]{0,120}"
)
"""In lower case. What several clients and frameworks write in the place of a result of which nothing is left."""
_BLANK = frozenset(("", "null", "undefined", "none"))


@cache
def _pattern() -> re.Pattern[bytes]:
    """Compiled at the first anchor: few results have one."""
    return re.compile(b"|".join((*_FORMS, *dict.fromkeys(mark.pattern.encode() for mark in _MARKS))))


@cache
def _cleared() -> re.Pattern[str]:
    return re.compile("|".join((_CLEARED, *dict.fromkeys(form for client in CLIENTS for form in client.cleared_marks))))


def is_blank(text: str) -> bool:
    """Whether a text says nothing: white space alone, or what programs write for a value that is not there.

    >>> [is_blank(text) for text in (" ", "null", "undefined", "0")]
    [True, True, True, False]
    """
    return len(text) < _LONGEST_CLEARED and text.strip().lower() in _BLANK


def is_cleared(text: str) -> bool:
    """Whether a text is nothing but the mark that clients write in the place of a result.

    >>> is_cleared("[Old tool result content cleared]"), is_cleared("The mark is [Old tool result content cleared].")
    (True, False)
    """
    return len(text) < _LONGEST_CLEARED and _cleared().fullmatch(text.strip().lower()) is not None


def truncation_mark(*parts: bytes) -> str | None:
    """The first known sign of truncation in a body, or in some parts of one, if there is any.

    >>> truncation_mark(b"first lines\\n[Old tool result content cleared]")
    '[Old tool result content cleared]'
    """
    for part in parts:
        for at in range(0, len(part), _CHUNK):
            found = _mark_in(part[max(0, at - 2 * _NEAR) : at + _CHUNK])
            if found is not None:
                return found
    return None


def mark_in_chunks(chunks: Iterable[bytes]) -> str | None:
    """The same for a body that is read in chunks, which follow each other."""
    before = b""
    for chunk in chunks:
        found = truncation_mark(before + chunk)
        if found is not None:
            return found
        before = (before + chunk)[-2 * _NEAR :]
    return None


def _mark_in(data: bytes) -> str | None:
    folded = lowered(data)
    if not contains_any(folded, _ROOTS) or not contains_any(folded, _ALL_ANCHORS):
        return None
    for start, stop in stretches_around(folded, _ALL_ANCHORS, _NEAR, _NEAR):
        found = next(matches_within(_pattern(), folded, start, stop, 2 * _NEAR), None)
        if found is not None:
            return data[found.start() : found.end()].decode("utf-8", "replace")
    return None
