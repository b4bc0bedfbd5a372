"""Keep the end: for commands, where the verdict comes last."""

from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, whole
from keepwhole.truncation.edges import tail_edge
from keepwhole.truncation.notice import beginning_omitted
from keepwhole.truncation.strategy import StrategyOptions


def tail(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The last part of `source` and a notice that the beginning is missing."""
    if source.chars <= budget:
        return whole(source.chars)
    room = max(0, budget - len(beginning_omitted(source.lines, source.chars)))
    start = tail_edge(source, source.chars - room)
    words = beginning_omitted(source.ends_before(start), start)
    return Cut((Inserted(words), Segment("gap", 0, start), Segment("kept", start, source.chars)))
