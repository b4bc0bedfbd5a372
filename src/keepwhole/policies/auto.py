"""The policy `auto`: cap on arrival by kind of result, age in rare batches, never below a budget.

Owns: which results age and when. Why these numbers: `docs/concepts/auto.md`.
Must not know: how decisions are recorded; cost is judged by the provider's profile alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from keepwhole.models.profiles import payback
from keepwhole.models.tokens import estimate
from keepwhole.policies.auto_settings import CAREFUL, AutoSettings
from keepwhole.policies.failures import is_error_text
from keepwhole.policies.kinds import Kind
from keepwhole.policies.payback import Numbers, paying
from keepwhole.policies.policy import ANYWHERE, Choice, Decided, Situation, open_items, replaced, sent_tokens
from keepwhole.policies.references import Said, leaves
from keepwhole.policies.repeats import RULE as REPEAT
from keepwhole.policies.repeats import dependants, repeat_choice
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.policies.truncation import capped, question_in
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import SMALLEST_INLINE_LIMIT, Limits, TruncationConfiguration
from keepwhole.truncation.cut import Source, TextSource
from keepwhole.truncation.present import choose

AGED = "aged"
_LEAST_STEP = 8_000
"""Characters that a step may take however full the window is; ageing and compaction make room for it."""
_POINTER = 30
"""Tokens of what is shown in place of a result."""
_DOWN_TO = 2 / 3
"""Share of the limit down to which results age when they must."""
_STRUCTURED = frozenset(("element", "rows", "diff"))


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
        left = (
            int(self._limit(situation) / self.settings.ceiling) - situation.overhead - sent_tokens(transcript, decided)
        )
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
        """One batch, when carrying it has cost what leaving it out costs; at any price when the window forces it."""
        sent = sent_tokens(transcript, decided) + situation.overhead
        limit = self._limit(situation)
        if sent < min(self.settings.start / situation.scale, limit // 2):
            return []
        if sent > limit:
            return self._forced(transcript, decided, sent - limit * _DOWN_TO, sent - limit)
        if situation.frozen:
            return []
        batch = self._paying(transcript, decided, situation)
        choices = self._choices(transcript, decided, batch) if batch else []
        return choices if _freed(transcript, decided, choices) >= self.settings.clear_at_least else []

    def _limit(self, situation: Situation) -> int:
        """Estimated tokens above which results age at any price."""
        return int(min(self.settings.most / situation.scale, self.settings.ceiling * situation.window))

    def _paying(self, transcript: Transcript, decided: Decided, situation: Situation) -> list[Item]:
        """The batch that pays, if one does; with a cold cache everything that has begun to be old."""
        aged = ((item, *self._age(transcript, item)) for item in self._may_age(transcript, decided))
        oldish = [(item, overdue) for item, share, overdue in aged if share >= self.settings.along]
        if situation.cold:
            return [item for item, _ in oldish]
        price = self.settings.patience * payback(situation.profile, 1, 1)
        batch = paying(_carried(transcript, decided, oldish), price)
        if batch:
            in_use = self._in_use(transcript, decided, [transcript.items[number] for number in batch])
            oldish = [(item, overdue) for item, overdue in oldish if item.number not in in_use]
            batch = paying(_carried(transcript, decided, oldish), price)
        return [transcript.items[number] for number in reversed(batch)]

    def _age(self, transcript: Transcript, item: Item) -> tuple[float, float]:
        """How far a result is on the way to being old for its kind, 1 is old; and how many requests carried it since.

        Plain numbers, here and in `_carried`: this is done for every open result at every request.
        """
        after = self.settings.old_after.get(item.kind, inf)
        turns = transcript.turns - item.turn + 1
        asked = transcript.asked_after(item)
        if asked is None:
            return turns / after, turns - after + 1
        sooner = after / self.settings.new_task
        since = min(turns - sooner, transcript.turns - asked)
        return turns / sooner, max(turns - after, since) + 1

    def _forced(self, transcript: Transcript, decided: Decided, wanted: float, needed: float) -> list[Choice]:
        """The oldest for their kind until enough is free; all but the newest step where even that is not enough."""
        ages = {item.number: self._age(transcript, item)[0] for item in self._may_age(transcript, decided)}
        free = 0
        taken: list[int] = []
        for number in sorted(ages, key=lambda number: -ages[number]):
            if free >= wanted and ages[number] < self.settings.along:
                break
            free += _shown_tokens(transcript.items[number], decided.get(number)) - _POINTER
            taken.append(number)
        choices = self._choices(transcript, decided, [transcript.items[number] for number in sorted(taken)])
        if _freed(transcript, decided, choices) >= needed:
            return choices
        return self._choices(transcript, decided, self._may_age(transcript, decided, hard=True))

    def _choices(self, transcript: Transcript, decided: Decided, items: Sequence[Item]) -> list[Choice]:
        """The choices that leave these results out, but for those that others point to."""
        free = {item.number for item in items}
        return [
            choice
            for item in items
            if all(number in free for number in dependants(transcript, item, decided))
            for choice in (aged(item),)
            if choice.tokens < _shown_tokens(item, decided.get(item.number))
        ]

    def _may_age(self, transcript: Transcript, decided: Decided, hard: bool = False) -> list[Item]:
        """The results that are large enough, named, not pinned, sent before, and not among the newest of their kind."""
        found: list[Item] = []
        seen: dict[Kind, int] = {}
        keep: Mapping[str, int] = {} if hard else self.settings.keep
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
            if item.number < items[-1].number:  # older than all that is asked about
                break
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
    words = notice.aged(item.name.way, len(item.text.encode("utf-8", "surrogatepass")))
    return Choice(item.number, AGED, replaced(item, words), estimate(words))


def _carried(transcript: Transcript, decided: Decided, old: Sequence[tuple[Item, float]]) -> Iterator[Numbers]:
    """These results, newest first, with what is sent from each on."""
    saved = 0
    changed = iter(sorted(decided, reverse=True))
    number = next(changed, -1)
    for item, overdue in reversed(old):
        while number >= item.number:
            saved += transcript.items[number].tokens - decided[number].tokens
            number = next(changed, -1)
        choice = decided.get(item.number)
        frees = (item.tokens if choice is None else choice.tokens) - _POINTER
        yield item.number, frees if frees > 0 else 0, overdue, transcript.tokens_from(item.index) - saved


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
