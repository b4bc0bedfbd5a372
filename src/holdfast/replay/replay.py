"""Replays one run under one policy: what each request would have sent, and what of its evidence it would have shown.

Owns: feeding a policy step by step, as a session would.
Must not know: how figures are summed up.

Nothing is generated: the recorded calls are kept even where the agent would have done something else, so the figures
compare policies and bound the harm; they are no success rates.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from holdfast.canonical.value import Value
from holdfast.projection.policy import ANYWHERE, Choice, Decided, Policy, Situation, shown
from holdfast.projection.profiles import DEFAULT, Profile
from holdfast.projection.transcript import Item, Name, Transcript
from holdfast.replay.atoms import in_context, occurs
from holdfast.replay.cache import Breakpoints, RequestEnds, Sent
from holdfast.replay.cost import Loss, Request
from holdfast.replay.evidence import LATE, RECENT, Evidence
from holdfast.replay.fetch import around
from holdfast.replay.measured import Measured


class Kept(NamedTuple):
    """How much of some evidence is shown in context."""

    in_context: int
    total: int


class Outcome(Value):
    """What a policy did to a run."""

    policy: str
    source: str
    id: str
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
    rewrites: int
    """Requests that changed what an earlier one had sent."""
    missed: tuple[Evidence, ...] = ()
    """Evidence that was not shown in context."""
    kinds: Mapping[str, Kept] = MappingProxyType({})
    """Evidence by kind, and `old`: more than five steps after a result last showed it."""
    late: int = 0
    """Evidence of late steps."""
    late_recent: int = 0
    """The same, as far as a result had just shown it."""

    @property
    def peak(self) -> int:
        """Tokens of the largest request."""
        return max((request.total for request in self.requests), default=0)


def replay(measured: Measured, policy: Policy, profile: Profile = DEFAULT) -> Outcome:
    """What `policy` would have done to a run."""
    state = _Replay(measured, policy, profile)
    for index, message in enumerate(measured.run.messages):
        if message.role == "assistant":
            state.request(index)
        state.add(index)
    return state.outcome()


class _Everything:
    """Sends all results whole."""

    name = "everything"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Decided, situation: Situation = ANYWHERE
    ) -> list[Choice]:
        return []

    def age(self, transcript: Transcript, decided: Decided, situation: Situation) -> list[Choice]:
        return []


def sent_whole(measured: Measured, profile: Profile = DEFAULT) -> Outcome:
    """The run as it came: what all policies are measured against."""
    return replay(measured, _Everything(), profile)


class _Replay:
    def __init__(self, measured: Measured, policy: Policy, profile: Profile) -> None:
        self._measured, self._policy, self._profile = measured, policy, profile
        self._transcript = Transcript()
        self._decided: dict[int, Choice] = {}
        self._texts: dict[int, str] = {}
        self._sizes: list[int] = []
        self._new: list[Item] = []
        self._last = self._frontier = self._rewrites = self._whole = 0
        self._ends, self._breakpoints = RequestEnds(), Breakpoints(profile)
        self._requests: list[Request] = []
        self._by_step = {step: list(found) for step, found in groupby(measured.evidence, lambda one: one.step)}
        self._tally = _Tally(measured)

    def add(self, index: int) -> None:
        """Take in one message, with the tokens that this replay counts by."""
        transcript, message = self._transcript, self._measured.run.messages[index]
        transcript.extend((message,))
        for item in transcript.items_in(index):
            item.tokens = self._measured.result_tokens[item.number]
            item.name = Name(f"trace_{item.number:022d}", f"art_0_{item.number:022d}")
            self._new.append(item)
        self._sizes.append(self._measured.sizes[index])
        self._whole += self._measured.sizes[index]
        transcript.tokens = self._whole

    def request(self, index: int) -> None:
        """Let the policy choose, then look at what would be sent."""
        transcript = self._transcript
        first = self._apply(self._policy.arrive(transcript, self._new, self._decided))
        now, cold = self._clock(index)
        situation = Situation(self._profile, cold=cold)
        first = min(first, self._apply(self._policy.age(transcript, self._decided, situation)), self._last)
        self._rewrites += first < self._last
        sent = Sent(self._sizes, self._measured.blocks, first, self._frontier, now)
        total, prefix = sum(self._sizes), sum(self._sizes[:first])
        request = Request(total, prefix, self._ends.hit(sent), self._breakpoints.usage(sent))
        self._tally.look(self._by_step.get(len(self._requests), ()), self._texts)
        self._requests.append(request)
        self._last = index
        self._new = []

    def _clock(self, index: int) -> tuple[float, bool]:
        """When a request is made, and whether the cache has surely expired by then."""
        times = self._measured.run.times
        if not times or not self._last:
            return 0.0, False
        return times[index] - times[0], times[index] - times[self._last] > self._profile.lifetime

    def _apply(self, choices: Sequence[Choice]) -> int:
        """Hold choices; the first message that is sent otherwise than before."""
        first = len(self._sizes)
        for choice in choices:
            item = self._transcript.items[choice.number]
            before = self._decided.get(choice.number)
            if before is not None and before.cut == choice.cut:
                continue
            if self._show(item, choice):
                first = min(first, item.index)
        return first

    def _show(self, item: Item, choice: Choice) -> bool:
        """Show a result by a choice; whether its text is another than before."""
        text, before = shown(item, choice), self._texts.get(item.number, item.text)
        tokens = self._measured.counter(text)
        old = self._decided.get(item.number)
        self._sizes[item.index] += tokens - (item.tokens if old is None else old.tokens)
        self._decided[item.number] = choice._replace(tokens=tokens)
        self._texts[item.number] = text
        if text == item.text:
            del self._texts[item.number]
        else:
            self._frontier = max(self._frontier, item.index + 1)
        return text != before

    def outcome(self) -> Outcome:
        run, tally = self._measured.run, self._tally
        late = [one for one in self._measured.evidence if one.step >= LATE]
        return Outcome(
            self._policy.name,
            run.source,
            run.id,
            tuple(self._requests),
            len(self._measured.evidence),
            tally.visible,
            tally.in_context,
            len(self._by_step),
            tally.steps_ok,
            tuple(tally.losses),
            tuple(tally.losses_in_context),
            self._rewrites,
            tuple(tally.missed),
            _kinds(self._measured.evidence, tally.missed),
            len(late),
            sum(one.age <= RECENT for one in late),
        )


def _kinds(found: Sequence[Evidence], missed: Sequence[Evidence]) -> dict[str, Kept]:
    total, gone = (Counter(name for one in those for name in _names(one)) for those in (found, missed))
    return {name: Kept(total[name] - gone[name], total[name]) for name in sorted(total)}


def _names(one: Evidence) -> tuple[str, ...]:
    return (one.kind, "old") if one.age > RECENT else (one.kind,)


class _Tally:
    """Counts what is visible of each step's evidence, and what would have to be fetched back."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._results = [returned.text for message in measured.run.messages for returned in message.returned]
        self.visible = self.in_context = self.steps_ok = 0
        self.losses: list[Loss] = []
        self.losses_in_context: list[Loss] = []
        self.missed: list[Evidence] = []

    def look(self, found: Sequence[Evidence], texts: dict[int, str]) -> None:
        """Count one step's evidence against the texts of results that are not shown as they came."""
        missing = [one for one in found if not self._is_visible(one, texts)]
        bare = {one.text for one in missing}
        without = [one for one in found if one.text in bare or not self._is_in_context(one, texts)]
        self.visible += len(found) - len(missing)
        self.in_context += len(found) - len(without)
        self.steps_ok += bool(found) and not missing
        self.losses += self._losses(missing)
        self.losses_in_context += self._losses(without)
        self.missed += without

    def _is_visible(self, one: Evidence, texts: dict[int, str]) -> bool:
        return any(source not in texts or occurs(one.text, texts[source]) for source in reversed(one.sources))

    def _is_in_context(self, one: Evidence, texts: dict[int, str]) -> bool:
        return any(
            source not in texts or any(near in texts[source] for near in in_context(one.text, self._results[source]))
            for source in reversed(one.sources)
        )

    def _losses(self, missing: Sequence[Evidence]) -> list[Loss]:
        """One for each result that would have to be asked: the latest that had the string."""
        wanted: dict[int, list[str]] = {}
        for one in missing:
            wanted.setdefault(one.sources[-1], []).append(one.text)
        return [
            Loss(
                missing[0].step,
                source,
                self._measured.counter(around(self._results[source], needles)),
                self._measured.result_tokens[source],
            )
            for source, needles in wanted.items()
        ]
