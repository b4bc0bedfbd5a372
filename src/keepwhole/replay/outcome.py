"""What a policy did to a run, as a value."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.cost import Asked, Loss, Request
from keepwhole.replay.evidence import RECENT, Evidence
from keepwhole.replay.missed_evidence import Missed
from keepwhole.replay.result_use import Seen
from keepwhole.replay.tail_recall import Appended


class Kept(NamedTuple):
    """How much of some evidence is shown in context."""

    in_context: int
    total: int


class Change(NamedTuple):
    """A result is shown otherwise from a step on."""

    number: int
    """Of the result in the run."""
    step: int
    rule: str
    tokens: int
    """That it takes from then on."""


class Outcome(Value):
    """What a policy did to a run."""

    policy: str
    source: str
    id: str
    task: str
    tokens: int
    """Of the whole run."""
    requests: tuple[Request, ...]
    evidence: int
    visible: int
    """Evidence that the request of its step shows."""
    in_context: int
    """The same, together with what stands round it."""
    steps: int
    """Steps that have evidence."""
    steps_ok: int
    """Steps of which all evidence is visible."""
    losses: tuple[Loss, ...]
    losses_in_context: tuple[Loss, ...]
    asked: tuple[Asked, ...]
    """Searches for what was missing in context, by those who do not know what it is."""
    rewritten: tuple[int, ...]
    """Steps whose request changed what an earlier one had sent."""
    changes: tuple[Change, ...]
    results: tuple[Seen, ...]
    calls: int
    calls_again: int
    """Calls that repeat one whose result was hidden then."""
    first_compaction: int | None
    """The first step whose request reaches the threshold."""
    after_compaction: Kept
    """Uses after sending everything would have reached it, and those that are shown."""
    missed: tuple[Missed, ...] = ()
    """Evidence that was not shown in context."""
    kinds: Mapping[str, Kept] = MappingProxyType({})
    """Evidence by kind, and `old`: more than five steps after a result last showed it."""
    late: int = 0
    """Evidence of late steps."""
    late_recent: int = 0
    """The same, as far as a result had just shown it."""
    appended: tuple[Appended, ...] | None = None
    """What recall at the tail would have appended; None where it was not looked at."""

    @property
    def peak(self) -> int:
        """Tokens of the largest request."""
        return max((request.total for request in self.requests), default=0)

    @property
    def rewrites(self) -> int:
        """Requests that changed what an earlier one had sent."""
        return len(self.rewritten)


def kinds(found: Iterable[Evidence], missed: Iterable[Missed]) -> dict[str, Kept]:
    """How much of each kind of evidence is shown in context."""
    total, gone = (Counter(name for one in those for name in _names(one)) for those in (found, missed))
    return {name: Kept(total[name] - gone[name], total[name]) for name in sorted(total)}


def _names(one: Evidence | Missed) -> tuple[str, ...]:
    return (one.kind, "old") if one.age > RECENT else (one.kind,)
