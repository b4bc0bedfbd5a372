"""Keep both ends: the default for text, where the question stands first and the verdict last.

With a question at hand, paragraphs of the middle that share its rare words are kept too.
"""

from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, whole
from keepwhole.truncation.edges import head_edge, tail_edge
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.paragraphs import asked_for
from keepwhole.truncation.strategy import StrategyOptions
from keepwhole.truncation.units import cut_of_spans

ASKED_SHARE = 0.5
"""Share of the room that goes to what is asked for."""


def head_tail(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The first and last part of `source`, with what is missing counted between them."""
    if source.chars <= budget:
        return whole(source.chars)
    asked = asked_for(source, int(budget * ASKED_SHARE), options.question)
    if asked:
        return with_middle(source, budget, options.head_ratio, asked)
    first, last = _ends(source, budget - len(omitted(source.lines, source.chars)), options.head_ratio)
    words = omitted(source.ends_before(last) - source.ends_before(first), last - first)
    return Cut(
        (
            Segment("kept", 0, first),
            Inserted(words),
            Segment("gap", first, last),
            Segment("kept", last, source.chars),
        )
    )


def _ends(source: Source, room: int, head_ratio: float) -> tuple[int, int]:
    """Where the kept beginning stops and the kept end starts."""
    room = max(0, room)
    first = head_edge(source, int(room * head_ratio))
    if head_ratio == 1:  # what is left of the last line is no end
        return first, source.chars
    last = tail_edge(source, source.chars - (room - first)) if room > first else source.chars
    return first, max(first, last)


def with_middle(source: Source, budget: int, head_ratio: float, asked: list[tuple[int, int]]) -> Cut:
    """Both ends, smaller, or one of them, and the stretches of the middle that are asked for."""
    mark = len(omitted(source.lines, source.chars))
    room = budget - sum(stop - start for start, stop in asked) - mark * (len(asked) + 1)
    first, last = _ends(source, room, head_ratio)
    spans: list[tuple[int, int]] = []
    for start, stop in sorted([(0, first), *asked, (last, source.chars)]):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
        elif stop > start:
            spans.append((start, stop))
    return cut_of_spans(source, spans)
