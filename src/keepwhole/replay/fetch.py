"""What one call that knows what it looks for would bring back of a result."""

from collections.abc import Iterable

from keepwhole.replay.atoms import places

LINES = 3
"""Lines on either side."""


def around(text: str, needles: Iterable[str]) -> str:
    """Three lines before and after the first occurrence of each needle, each line once.

    >>> around("a\\nb\\nc\\nd\\nname=7\\ne\\nf\\ng\\nh", ["name=7"])
    'b\\nc\\nd\\nname=7\\ne\\nf\\ng\\n'
    """
    found = ((at, at + len(needle)) for needle in needles if (at := next(places(needle, text), -1)) >= 0)
    pieces: list[str] = []
    reached = 0
    for start, stop in sorted(lines_around(text, *span) for span in found):
        if stop > reached:
            pieces.append(text[max(start, reached) : stop])
            reached = stop
    return "".join(pieces)


def lines_around(text: str, start: int, stop: int) -> tuple[int, int]:
    """The stretch's own lines and those on either side."""
    for _ in range(LINES + 1):
        start = max(text.rfind("\n", 0, start), 0)
        stop = text.find("\n", stop) + 1 or len(text)
    return start + (text[start] == "\n"), stop
