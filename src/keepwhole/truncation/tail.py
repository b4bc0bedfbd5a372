"""Keep the end: for commands, where the verdict comes last; with a question at hand, what it is about too."""

from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, whole
from keepwhole.truncation.edges import tail_edge
from keepwhole.truncation.head_tail import ASKED_SHARE, with_middle
from keepwhole.truncation.notice import beginning_omitted
from keepwhole.truncation.paragraphs import asked_for
from keepwhole.truncation.strategy import StrategyOptions


def tail(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The last part of `source` and a notice that the beginning is missing."""
    if source.chars <= budget:
        return whole(source.chars)
    asked = asked_for(source, int(budget * ASKED_SHARE), options.question)
    if asked:
        return with_middle(source, budget, 0.0, asked)
    room = max(0, budget - len(beginning_omitted(source.lines, source.chars)))
    start = tail_edge(source, source.chars - room)
    words = beginning_omitted(source.ends_before(start), start)
    return Cut((Inserted(words), Segment("gap", 0, start), Segment("kept", start, source.chars)))
