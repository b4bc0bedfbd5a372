"""Recognizes text that was cut before it reached Keepwhole.

A tool may also print such text honestly, so the guard flags and counts; it never refuses and never changes a byte.
"""

from keepwhole.canonical.utf8 import contains_any

CANONICAL_TOOL_RESULT_IS_LOSSLESS = "canonical_tool_result_is_lossless"
"""Invariant: what `keep` was given is what `recall` returns, byte for byte, until the session is purged."""

TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY = "transport_truncation_must_not_mutate_canonical_history"
"""Invariant: nothing that was cut for a model, a screen or a stream ever flows back into the record."""

_WINDOW = 16_384
_MARKS: tuple[bytes, ...] = (
    b"chars omitted] ...",
    b"[Remainder omitted: ",
    b"[Beginning omitted: ",
    b"[Artifact: art_",
    "[TRUNCATED — full output in ".encode(),
    b"[content truncated - ",
    b"[Old tool result content cleared]",
    b"<persisted-output>",
    b" tokens truncated",
    b"[output truncated",
    b"<response clipped>",
    b"... [truncated",
    b"truncatedContentId",
)
_HINTS = (b"runcated", b"omitted", b"TRUNCATED", b"Artifact: art_", b"cleared]", b"<persisted-", b"clipped>")
"""At least one of these is in every mark; usually none is in a text."""


def truncation_mark(head: bytes, tail: bytes) -> str | None:
    """The first known sign of truncation near the beginning or the end of a body, if there is one.

    >>> truncation_mark(b"[Old tool result content cleared]", b"")
    '[Old tool result content cleared]'
    """
    near = head[:_WINDOW] + b"\0" + (tail or head[_WINDOW:])[-_WINDOW:]
    if not contains_any(near, _HINTS):
        return None
    for mark in _MARKS:
        if mark in near:
            return mark.decode()
    return None
