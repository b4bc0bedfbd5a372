"""Three places of the sample session that show what Keepwhole does: a cut on arrival, a batch, a recall.

Owns: how these places are found.
Must not know: stores, sockets.
"""

from collections.abc import Callable, Iterable
from typing import Any

from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.canonical.entry import HIDDEN_ROUND

SAMPLE_AGENT = "sample"
_STOPS: tuple[tuple[str, str, str], ...] = (
    ("cut", "A cut on arrival", "The model sees the important parts of a long result; the rest is one call away."),
    ("batch", "A batch", "Many old results are replaced at once, so that the cache is rewritten once."),
    ("recall", "A recall", "The model reads back what was left out; the agent does not notice."),
)


def tour_of(timeline: Timeline) -> list[dict[str, Any]]:
    """The stops that a session has, in the order of the tour."""
    found = {
        "cut": _largest(timeline.steps, _cut),
        "batch": _largest(timeline.steps, _batch),
        "recall": _recall(timeline),
    }
    return [
        {"index": step.index, "label": label, "words": words}
        for key, label, words in _STOPS
        if (step := found[key]) is not None
    ]


def _largest(steps: Iterable[TimelineStep], measure: Callable[[TimelineStep], int]) -> TimelineStep | None:
    best = max(steps, key=measure, default=None)
    return best if best is not None and measure(best) > 0 else None


def _cut(step: TimelineStep) -> int:
    """Characters that were left out of a result when it arrived, and something of it was shown."""
    own = {kept.result.trace_id for kept in step.results}
    made = ((kept, decision) for kept, decision in step.decisions if kept is not None and decision.trace_id in own)
    return max((kept.facts.chars - one.shown_chars for kept, one in made if one.rule == "arrival"), default=0)


def _batch(step: TimelineStep) -> int:
    return sum(decision.rule == "aged" for _, decision in step.decisions)


def _recall(timeline: Timeline) -> TimelineStep | None:
    """The step whose answer calls the recall tool: the one before the hidden round."""
    for step in timeline.steps:
        if step.rounds or (step.request is not None and step.request.purpose == HIDDEN_ROUND):
            return timeline.request_before(step) or step
    return None
