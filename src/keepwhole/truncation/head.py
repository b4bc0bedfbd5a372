"""Keep the beginning: for text whose point comes first; with a question at hand, what it is about too."""

from keepwhole.truncation.cut import Cut, Inserted, Segment, Source, whole
from keepwhole.truncation.edges import head_edge
from keepwhole.truncation.head_tail import ASKED_SHARE, with_middle
from keepwhole.truncation.notice import remainder_omitted
from keepwhole.truncation.paragraphs import asked_for
from keepwhole.truncation.strategy import StrategyOptions


def head(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """The first part of `source` and a notice that the rest is missing."""
    if source.chars <= budget:
        return whole(source.chars)
    asked = asked_for(source, int(budget * ASKED_SHARE), options.question)
    if asked:
        return with_middle(source, budget, 1.0, asked)
    room = budget - len(remainder_omitted(source.lines, source.chars))
    stop = head_edge(source, room)
    words = remainder_omitted(source.lines - source.ends_before(stop), source.chars - stop)
    return Cut((Segment("kept", 0, stop), Inserted(words), Segment("gap", stop, source.chars)))
