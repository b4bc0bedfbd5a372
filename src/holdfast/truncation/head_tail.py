"""Keep both ends: the default for text, where the question stands first and the verdict last."""

from holdfast.truncation.cut import Cut, Inserted, Segment, Source, whole
from holdfast.truncation.edges import head_edge, tail_edge
from holdfast.truncation.notice import omitted


def head_tail(source: Source, budget: int, head_ratio: float = 0.6) -> Cut:
    """The first and last part of `source`, with what is missing counted between them."""
    if source.chars <= budget:
        return whole(source.chars)
    room = max(0, budget - len(omitted(source.lines, source.chars)))
    first = head_edge(source, int(room * head_ratio))
    last = tail_edge(source, source.chars - (room - first)) if room > first else source.chars
    last = max(first, last)
    words = omitted(source.ends_before(last) - source.ends_before(first), last - first)
    return Cut(
        (
            Segment("kept", 0, first),
            Inserted(words),
            Segment("gap", first, last),
            Segment("kept", last, source.chars),
        )
    )
