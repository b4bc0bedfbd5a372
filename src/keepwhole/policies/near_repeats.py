"""Near-repeats: a result like an earlier one of the same call shows only the lines that differ from that one.

Owns: which lines differ, and when showing only those is worth it. Off by default (decision 30 has the measurement).
Must not know: when anything ages; `repeats.dependants` keeps the earlier result as long as this one is shown so.

Theory of operation
-------------------
    #1  pytest    400 lines   shown in full: the base
    #2  edit
    #3  pytest    400 lines   3 of them are new: those are shown with a line around them, and what is left out is
                              `... [212 lines / 9,018 chars omitted] ...`, which stands in #1 as it was

Lines are matched in order: first those that occur once in both, as far as they come in the same order, then the equal
ones next to them. That takes time in proportion to the lines (and a logarithm), whatever they are.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import Choice, Choices
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.notice import neutralized
from keepwhole.truncation.units import cut_of_spans

NEAR = "near"
_AT_MOST = 0.5
"""Share of the tokens of a result that its differing lines may take with their notices; above it, it is shown whole."""
_AROUND = 1
"""Lines shown before and after those that differ."""


def near_choice(transcript: Transcript, item: Item, decided: Choices, least_tokens: int) -> Choice | None:
    """Return the choice to show only what differs from an earlier result of the same call; None where there is none,
    or too little to gain."""
    if item.tokens < least_tokens or item.name is None or item.original is not None or item.media is not None:
        return None
    base = _earlier_whole(transcript, item, decided)
    if base is None or base.name is None:
        return None
    source = TextSource(item.text)
    call = f" of call {base.returned.call_id}" if base.returned.call_id else ""
    above = (
        f"[Artifact: {item.name.artifact_id}] Like the earlier result{call} ({base.name.artifact_id}) but for the "
        f"lines below; what is omitted is as it is there. All of it: {item.name.way.whole()}\n"
    )
    cut = neutralized(cut_of_spans(source, differing_spans(base.text, item.text)), source).replace(above=above)
    tokens = estimate(render(cut, source))
    return Choice(item.number, NEAR, cut, tokens) if tokens <= item.tokens * _AT_MOST else None


def _earlier_whole(transcript: Transcript, item: Item, decided: Choices) -> Item | None:
    """Return the newest earlier result of the same call that is shown in full."""
    for base in reversed(transcript.same_call(item)):
        if base.number < item.number and base.number not in decided and not base.gone:
            return base
    return None


def differing_spans(earlier: str, now: str) -> list[tuple[int, int]]:
    """Return where lines of a text are that differ from an earlier one, with a line around them.

    >>> differing_spans("a\\nb\\nc\\nd\\ne\\n", "a\\nb\\nc\\nD\\ne\\n")
    [(4, 10)]
    """
    lines = now.splitlines(keepends=True)
    same = unchanged_lines(earlier.splitlines(keepends=True), lines)
    shown = [not all(same[max(0, at - _AROUND) : at + _AROUND + 1]) for at in range(len(lines))]
    spans: list[tuple[int, int]] = []
    start = 0
    for line, is_shown in zip(lines, shown, strict=True):
        stop = start + len(line)
        if is_shown and spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], stop)
        elif is_shown:
            spans.append((start, stop))
        start = stop
    return spans


def unchanged_lines(earlier: Sequence[str], now: Sequence[str]) -> list[bool]:
    """Return for each line whether it stands in the earlier text too, in the same order as its neighbors.

    >>> unchanged_lines(["a", "b", "x", "c"], ["a", "b", "c", "b"])
    [True, True, True, False]
    """
    same = [False] * len(now)
    ends = [(-1, -1), *_anchors(earlier, now), (len(now), len(earlier))]
    for (here, there), (next_here, next_there) in pairwise(ends):
        if here >= 0:
            same[here] = True
        at, other = here + 1, there + 1
        while at < next_here and other < next_there and now[at] == earlier[other]:
            same[at] = True
            at, other = at + 1, other + 1
        last, last_other = next_here - 1, next_there - 1
        while last >= at and last_other >= other and now[last] == earlier[last_other]:
            same[last] = True
            last, last_other = last - 1, last_other - 1
    return same


def _anchors(earlier: Sequence[str], now: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places, here and there, of lines that occur once in both, the longest run in the same order."""
    there, here = Counter(earlier), Counter(now)
    places = {line: at for at, line in enumerate(earlier) if there[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(now) if line in places and here[line] == 1]
    tops: list[int] = []
    top_pairs: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(tops, place)
        before.append(top_pairs[length - 1] if length else -1)
        tops[length : length + 1] = [place]
        top_pairs[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = top_pairs[-1] if top_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]
