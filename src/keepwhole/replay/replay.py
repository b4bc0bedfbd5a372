"""Replays one run under one policy: what each request would have sent, and what of its evidence it would have shown.

Owns: feeding a policy step by step, as a session would.
Must not know: how figures are summed up.

Nothing is generated: the recorded calls are kept even where the agent would have done something else, so the figures
compare policies and bound the harm; they are no success rates.
"""

from collections.abc import Sequence
from itertools import groupby

from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Policy, Situation, shown
from keepwhole.policies.transcript import Item, Name, Transcript
from keepwhole.replay.cache import Breakpoints, RequestEnds, Sent
from keepwhole.replay.client_compaction import Compacted
from keepwhole.replay.cost import Request
from keepwhole.replay.evidence import LATE, RECENT
from keepwhole.replay.outcome import Change, Kept, Outcome, kinds
from keepwhole.replay.run_facts import Measured
from keepwhole.replay.tail_recall import Appending
from keepwhole.replay.tally import Tally

WINDOW = 128_000
"""Tokens of the window at which runs overflow and clients compact, unless another is given."""


def replay(
    measured: Measured, policy: Policy, profile: Profile = DEFAULT, window: int = WINDOW, tail: bool = False
) -> Outcome:
    """What `policy` would have done to a run; with `tail` also what recall at the tail would have appended."""
    state = _Replay(measured, policy, profile, window)
    state.appending = Appending(measured) if tail else None
    for index, message in enumerate(measured.run.messages):
        if message.role == "assistant":
            state.request(index)
        state.add(index)
    return state.outcome()


class _Everything:
    """Sends all results whole."""

    name = "everything"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        return []

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        return []


def sent_whole(measured: Measured, profile: Profile = DEFAULT, window: int = WINDOW) -> Outcome:
    """The run as it came: what all policies are measured against."""
    return replay(measured, _Everything(), profile, window)


class _Replay:
    def __init__(self, measured: Measured, policy: Policy, profile: Profile, window: int) -> None:
        self._measured, self._policy, self._profile = measured, policy, profile
        self._transcript = Transcript()
        self._decided: dict[int, Choice] = {}
        self._texts: dict[int, str] = {}
        self._sizes: list[int] = []
        self._new: list[Item] = []
        self._last = self._frontier = self._whole = 0
        self._rewritten: list[int] = []
        self._changes: list[Change] = []
        self._ends, self._breakpoints = RequestEnds(), Breakpoints(profile)
        self._requests: list[Request] = []
        self._by_step = {step: list(found) for step, found in groupby(measured.evidence, lambda one: one.step)}
        self._tally, self._compacted = Tally(measured), Compacted(measured, window)
        self.appending: Appending | None = None

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
        now, cold = self._clock(index)
        situation = Situation(self._profile, cold=cold)
        first = self._apply(self._policy.arrive(transcript, self._new, self._decided, situation))
        first = min(first, self._apply(self._policy.age(transcript, self._decided, situation)), self._last)
        step = len(self._requests)
        self._rewritten += [step] if first < self._last else []
        sent = Sent(self._sizes, self._measured.blocks, first, self._frontier, now)
        total, prefix = sum(self._sizes), sum(self._sizes[:first])
        request = Request(total, prefix, self._ends.hit(sent), self._breakpoints.usage(sent))
        self._tally.look(step, self._by_step.get(step, ()), self._texts, transcript.items, self._decided)
        self._compacted.look(step, self._sizes, total, self._texts)
        if self.appending is not None:
            self.appending.look(step, transcript, self._decided)
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
        if text != before:
            self._changes.append(Change(item.number, len(self._requests), choice.rule, tokens))
        return text != before

    def outcome(self) -> Outcome:
        """All that was found, as a value."""
        measured, tally, compacted = self._measured, self._tally, self._compacted
        run, found = measured.run, measured.evidence
        late = [one for one in found if one.step >= LATE]
        return Outcome(
            policy=self._policy.name,
            source=run.source,
            id=run.id,
            task=run.task,
            tokens=measured.tokens,
            requests=tuple(self._requests),
            evidence=len(found),
            visible=tally.visible,
            in_context=tally.in_context,
            steps=len(self._by_step),
            steps_ok=tally.steps_ok,
            losses=tuple(tally.losses),
            losses_in_context=tuple(tally.losses_in_context),
            asked=tuple(tally.asked),
            rewritten=tuple(self._rewritten),
            changes=tuple(self._changes),
            results=measured.results,
            calls=measured.repeats.calls,
            calls_again=tally.calls_again,
            first_compaction=compacted.first,
            after_compaction=Kept(compacted.shown, compacted.total),
            missed=tuple(tally.missed),
            kinds=kinds(found, tally.missed),
            late=len(late),
            late_recent=sum(one.age <= RECENT for one in late),
            appended=None if self.appending is None else tuple(self.appending.found),
        )
