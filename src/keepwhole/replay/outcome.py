"""What a policy did to one run, as a value."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.cost import BlindSearch, Loss, RequestTokens
from keepwhole.replay.evidence import RECENT, Evidence, ResultUse
from keepwhole.replay.missed_evidence import MissedEvidence
from keepwhole.replay.tail_recall import AppendedUnit
from keepwhole.replay.token_sources import TokenSources


class EvidenceShare(NamedTuple):
    """How many of some pieces of evidence are shown in context."""

    in_context: int
    total: int


class ResultChange(NamedTuple):
    """From this step on a result is shown differently."""

    number: int
    """The number of the result in the run."""
    step: int
    rule: str
    tokens: int
    """Tokens that it takes from then on."""


class Outcome(Value):
    """What a policy did to one run."""

    policy: str
    source: str
    id: str
    task: str
    tokens: int
    """Tokens of the whole run."""
    requests: tuple[RequestTokens, ...]
    evidence: int
    """Pieces of evidence in the run."""
    visible: int
    """Pieces that the request of their step shows."""
    in_context: int
    """Pieces that the request of their step shows together with the text around them."""
    steps: int
    """Steps that have evidence."""
    steps_ok: int
    """Steps of which all evidence is visible."""
    losses: tuple[Loss, ...]
    losses_in_context: tuple[Loss, ...]
    blind_searches: tuple[BlindSearch, ...]
    """Searches for what was missing in context, by an agent that does not know what it is."""
    rewritten: tuple[int, ...]
    """Steps whose request changed something that an earlier request had sent."""
    changes: tuple[ResultChange, ...]
    results: tuple[ResultUse, ...]
    calls: int
    hidden_repeats: int
    """Calls that repeat one whose result was hidden at that step."""
    first_compaction: int | None
    """The first step whose request reaches the client's threshold."""
    after_compaction: EvidenceShare
    """Of the uses after sending everything would have reached the threshold, those that are shown."""
    missed: tuple[MissedEvidence, ...] = ()
    """Evidence that was not shown in context."""
    kinds: Mapping[str, EvidenceShare] = MappingProxyType({})
    """Evidence by kind, and `old`: more than five steps after a result last showed it."""
    arguments: EvidenceShare = EvidenceShare(0, 0)
    """Evidence that only an argument of an earlier call could have told."""
    sources: TokenSources = TokenSources()
    """Tokens of all requests by where they come from."""
    late: int = 0
    """Pieces of evidence of late steps."""
    late_recent: int = 0
    """Pieces of them that a result had shown a few steps before."""
    appended: tuple[AppendedUnit, ...] | None = None
    """What recall at the tail would have appended; None if that was not tried."""

    @property
    def peak(self) -> int:
        """Return the tokens of the largest request."""
        return max((request.total for request in self.requests), default=0)

    @property
    def rewrites(self) -> int:
        """Return the number of requests that changed something that an earlier one had sent."""
        return len(self.rewritten)


def shares_by_kind(found: Iterable[Evidence], missed: Iterable[MissedEvidence]) -> dict[str, EvidenceShare]:
    """Return how much of each kind of evidence is shown in context."""
    total, gone = (Counter(name for one in those for name in _kind_names(one)) for those in (found, missed))
    return {name: EvidenceShare(total[name] - gone[name], total[name]) for name in sorted(total)}


def _kind_names(one: Evidence | MissedEvidence) -> tuple[str, ...]:
    return (one.kind, "old") if one.age > RECENT else (one.kind,)
