"""The policy `auto`: cap on arrival by kind of result, age in rare batches, never below a budget.

Owns: which results age and when. Why these numbers: `docs/concepts/auto.md`.
Must not know: how decisions are recorded; cost is judged by the provider's profile alone.
"""

from collections.abc import Mapping, Sequence

from holdfast.projection.arrival import capped, question_in
from holdfast.projection.failures import is_error_text
from holdfast.projection.kinds import Kind
from holdfast.projection.policy import ANYWHERE, Choice, Decided, Situation, open_items, replaced, sent_tokens
from holdfast.projection.presets import CAREFUL, AutoSettings
from holdfast.projection.profiles import payback
from holdfast.projection.references import Said, leaves
from holdfast.projection.repeats import RULE as REPEAT
from holdfast.projection.repeats import dependants, repeat_choice
from holdfast.projection.tokens import estimate
from holdfast.projection.transcript import Item, Transcript
from holdfast.truncation import notice
from holdfast.truncation.choice import choose
from holdfast.truncation.configuration import SMALLEST_INLINE_LIMIT, Limits, TruncationConfiguration
from holdfast.truncation.cut import Source, TextSource
from holdfast.truncation.present import summarise

AGED = "aged"
_LEAST_STEP = 8_000
"""Characters that a step may take however full the window is; ageing and compaction make room for it."""
_STRUCTURED = frozenset(("element", "rows"))


class Auto:
    """The default policy."""

    name = "auto"

    def __init__(self, settings: AutoSettings = CAREFUL, question: str | None = None) -> None:
        self.settings = settings
        self._question = question
        self._limits = TruncationConfiguration().for_tool

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Decided, situation: Situation = ANYWHERE
    ) -> list[Choice]:
        """Repeats become pointers; what is over its kind's cap is cut; a step that is too large is cut further."""
        left = situation.profile.window - situation.overhead - sent_tokens(transcript, decided)
        left += sum(item.tokens for item in new)
        fresh = self._one_by_one(transcript, new, decided, repeats=True)
        further = self._within_step(transcript, new, fresh, left)
        cut = (transcript.items[choice.number] for choice in further)
        if any(_is_repeat(fresh.get(number)) for item in cut for number in transcript.same_text(item)):
            fresh = self._one_by_one(transcript, new, decided, repeats=False)
            further = self._within_step(transcript, new, fresh, left)
        return list((fresh | {choice.number: choice for choice in further}).values())

    def _one_by_one(
        self, transcript: Transcript, new: Sequence[Item], decided: Decided, repeats: bool
    ) -> dict[int, Choice]:
        chosen: dict[int, Choice] = dict(decided)
        fresh: dict[int, Choice] = {}
        for item in new:
            choice = self._arriving(transcript, item, chosen, repeats)
            if choice is not None:
                chosen[item.number] = fresh[item.number] = choice
        return fresh

    def _arriving(self, transcript: Transcript, item: Item, decided: Decided, repeats: bool) -> Choice | None:
        if item.pinned:
            return None
        repeat = repeat_choice(transcript, item, decided, self.settings.min_tokens) if repeats else None
        if repeat is not None:
            return repeat
        limits = self._limits(item.call.tool if item.call else "")
        cap = arrival_cap(self.settings, item.kind, TextSource(item.text), limits)
        return self._capped(transcript, item, limits, cap, "arrival") if len(item.text) > cap else None

    def _capped(self, transcript: Transcript, item: Item, limits: Limits, cap: int, rule: str) -> Choice | None:
        asked = question_in(transcript, item) if self._question is None else self._question
        limits = limits.replace(options=limits.options.replace(question=asked))
        return capped(item, capped_at(limits, cap, len(item.text)), rule)

    def _within_step(
        self, transcript: Transcript, new: Sequence[Item], fresh: Mapping[int, Choice], left: int
    ) -> list[Choice]:
        """Choices that bring the newest step under its cap, shared in the order of its calls."""
        step = [item for item in new if item.step == transcript.steps and not item.pinned]
        sizes = [_shown_chars(item, fresh.get(item.number)) for item in step]
        room = min(self.settings.step_cap, max(_LEAST_STEP, left // 2 * 3))
        if sum(sizes) <= room:
            return []
        choices: list[Choice] = []
        for place, (item, size) in enumerate(zip(step, sizes, strict=True)):
            share = room // (len(step) - place)
            if size > share:
                limits = self._limits(item.call.tool if item.call else "")
                choice = self._capped(transcript, item, limits, share, "step")
                if choice is not None:
                    choices.append(choice)
                    size = share
            room -= size
        return choices

    def age(self, transcript: Transcript, decided: Decided, situation: Situation) -> list[Choice]:
        """One batch, when the budget is reached and it pays; at any price when the window forces it."""
        window = situation.profile.window
        sent = sent_tokens(transcript, decided) + situation.overhead
        budget = min(self.settings.start, int(self.settings.start_share * window))
        if sent < budget:
            return []
        forced = sent > self.settings.ceiling * window
        choices = self._batch(transcript, decided, keep=self.settings.keep)
        freed = _freed(transcript, decided, choices)
        if forced and sent - freed > self.settings.ceiling * window:
            return self._batch(transcript, decided, keep={}, hard=True)
        if not forced and (
            freed < self.settings.clear_at_least or not self._pays(transcript, choices, sent, situation)
        ):
            return []
        return choices

    def _pays(self, transcript: Transcript, choices: list[Choice], sent: int, situation: Situation) -> bool:
        """Whether rewriting what follows the first change is earned back by what is left out."""
        if situation.cold:
            return True
        first = min(choice.number for choice in choices)
        after = transcript.tokens_from(transcript.items[first].index)
        freed = max(1, sum(transcript.items[choice.number].tokens - choice.tokens for choice in choices))
        horizon = max(self.settings.horizon, transcript.steps)
        return payback(situation.profile, min(after, sent), freed) <= horizon

    def _batch(
        self, transcript: Transcript, decided: Decided, keep: Mapping[str, int], hard: bool = False
    ) -> list[Choice]:
        """Every result that may age, aged; nothing if that is certain to free too little."""
        items = self._old_enough(transcript, decided, keep)
        if not hard:
            most = sum(_shown_tokens(item, decided.get(item.number)) for item in items)
            if most < self.settings.clear_at_least:
                return []
            in_use = self._in_use(transcript, decided, items)
            items = [item for item in items if item.number not in in_use]
        free = {item.number for item in items}
        return [
            choice
            for item in items
            if all(number in free for number in dependants(transcript, item, decided))
            for choice in (aged(item),)
            if choice.tokens < _shown_tokens(item, decided.get(item.number))
        ]

    def _old_enough(self, transcript: Transcript, decided: Decided, keep: Mapping[str, int]) -> list[Item]:
        """The results that are large enough, named, not pinned, sent before, and not among the newest of their kind."""
        found: list[Item] = []
        seen: dict[Kind, int] = {}
        for item in reversed(open_items(transcript, decided)):
            newer = seen.get(item.kind, 0)
            seen[item.kind] = newer + 1
            choice = decided.get(item.number)
            small = _shown_tokens(item, choice) < self.settings.min_tokens and not _is_repeat(choice)
            young = newer < keep.get(item.kind, 0) or item.step == transcript.steps
            if not (small or young or item.pinned or item.name is None):
                found.append(item)
        return found[::-1]

    def _in_use(self, transcript: Transcript, decided: Decided, items: Sequence[Item]) -> set[int]:
        """Results whose error is still open, and the newest one of each thing that recent calls or the user took up."""
        task, *later = transcript.said_by_user() or [""]
        calls = transcript.arguments_since(transcript.steps - self.settings.recent_steps)
        recent = Said((*(leaf for arguments in calls for leaf in leaves(arguments)), *later[-1:]))
        old = {item.number for item in items}
        found: set[int] = set()
        taken_up: set[str] = set()
        for item in reversed(open_items(transcript, decided)):
            known = task + (item.call.arguments if item.call else "")
            shared = recent.shared_with(item.text, known)
            if item.number in old and (self._is_open_error(transcript, item) or shared not in (None, *taken_up)):
                found.add(item.number)
            if shared is not None:
                taken_up.add(shared)
        return found

    def _is_open_error(self, transcript: Transcript, item: Item) -> bool:
        """Whether the call failed and the same call has not succeeded since."""
        if not is_error_text(item.text, item.is_error):
            return False
        later = (other for other in transcript.same_call(item) if other.number > item.number)
        return not any(not is_error_text(other.text, other.is_error) for other in later)


def arrival_cap(settings: AutoSettings, kind: Kind, source: Source, limits: Limits) -> int:
    """Most characters of a result on arrival."""
    cap = settings.arrival_cap.get(kind, settings.outsized)
    if source.chars > cap and kind != "read":
        structured = choose(source, limits.replace(strategy="head_tail", firm=False)) in _STRUCTURED
        cap = max(cap, settings.structured_cap) if structured else cap
    return min(cap, settings.outsized)


def capped_at(limits: Limits, cap: int, chars: int) -> Limits:
    """The limits of a tool with another cap, under which nothing is so long that only a preview is shown."""
    return limits.replace(inline_limit=max(SMALLEST_INLINE_LIMIT, cap), artifact_threshold=max(chars, cap))


def aged(item: Item) -> Choice:
    """The choice to show only where a result can be had."""
    assert item.name is not None, "a result is named before it ages"
    tool = item.call.tool if item.call else "result"
    size = len(item.text.encode("utf-8", "surrogatepass"))
    words = notice.aged(item.name.way, summarise(tool, None), size)
    return Choice(item.number, AGED, replaced(item, words), estimate(words))


def _is_repeat(choice: Choice | None) -> bool:
    return choice is not None and choice.rule == REPEAT


def _shown_tokens(item: Item, choice: Choice | None) -> int:
    return item.tokens if choice is None else choice.tokens


def _shown_chars(item: Item, choice: Choice | None) -> int:
    if choice is None:
        return len(item.text)
    kept = sum(part.stop - part.start for part in choice.cut.kept)
    return kept + len(choice.cut.above) + len(choice.cut.below)


def _freed(transcript: Transcript, decided: Decided, choices: list[Choice]) -> int:
    """Tokens that these choices leave out of what is sent now."""
    return sum(
        _shown_tokens(transcript.items[choice.number], decided.get(choice.number)) - choice.tokens for choice in choices
    )
