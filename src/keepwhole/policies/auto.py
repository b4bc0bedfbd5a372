"""The policy `auto`: cap results on arrival by their kind, leave old ones out in rare batches, never below a budget.

Owns: which results age and when. Why these numbers: `docs/concepts/auto.md`.
Must not know: how decisions are recorded; cost is judged by the provider's profile alone.

Theory of operation
-------------------
On arrival (`arrive`), once per result and before it was ever sent, so that no cache is lost:

    1. A repeat of a result that is shown in full becomes a pointer (`repeats.py`).
    2. A result that is longer than what its names and numbers are worth is cut (`cap_by_worth`); reads and reports only
       above `outsized`.
       A tool whose cut results were read back at more cost than cutting them saved is cut no more (`read_back.py`).
    3. If all results of the step are over `step_cap`, or over half of what is left of the window, each that is over its
       share is cut to it, in the order of the calls; room that one does not need goes to the next. Where that would cut
       the base of a repeat of the same step, the step is decided again without repeats.

Later (`age`), before each request. How likely a result is to be needed is predicted from how it was used so far
(`need.py`). Showing what is needed is worth `worth` tokens, carrying a result costs its tokens at the price of the
cache: where the cost is larger, the result is better left out. But leaving it out changes the prompt from its message
on, and everything behind that is written to the cache anew. So nothing happens below `start` tokens, and above that
only a batch that gains (`payback.py`) and that the conversation can afford (`models/ledger.py`), so that it never
costs more than `mode: off` by `max_loss`:

    tokens sent      10k      20k (`start`)                            0.9 of the window (`ceiling`)
                     nothing  |  a batch, if it gains and is afforded  |  one deep batch, if it frees enough

        turn 60   shell #3 (9,000 tokens, need .02), read #5 (2,000 tokens, need .3), shell #9 (4,000 tokens, need .1)
                  at a cached price of .1 and a worth of 16,000, per turn: #3 costs 900 and is worth 32, #5 costs 200
                  and is worth 480, #9 costs 400 and is worth 160
                  → #3 and #9 over the 9 turns to come save more than the rewrite behind #3 costs: one batch; #5 stays

Invariants:
- A choice `aged` is final; a later batch only adds to it, so a prefix that was sent is sent again unchanged.
- Never aged while there is room: the newest `keep` of each kind, the last `keep_steps` steps, pinned results, those
  under `min_tokens`, and, where a batch is for cost, unresolved errors and the newest source of each thing that a
  recent call or the user refers to (`_in_use`).
- With `arguments: old` the long arguments of its call are cut with a result that ages (`arguments.py`); a small result
  whose call was given much is in a batch for that alone, and is shown as before.
- A base of repeats ages only with all that point to it. A batch frees at least `clear_at_least` tokens.
- Nothing is forced in vain: a batch above the limit frees so much that the next one is far away, or is not made.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from keepwhole.models.ledger import Costs
from keepwhole.models.profiles import payback
from keepwhole.policies.arguments import OldArguments, arguments_choice, hidden_arguments
from keepwhole.policies.arrival import BUILT_IN, RULE, Arriving, Strategies, auto_rule
from keepwhole.policies.carried import CarriedResults, is_repeat, is_small, shown_tokens
from keepwhole.policies.images import is_superseded, media_words
from keepwhole.policies.near_repeats import near_choice
from keepwhole.policies.need import TURNS, need_table, reasons
from keepwhole.policies.payback import Numbers, best_batch
from keepwhole.policies.policy import (
    UNKNOWN_MODEL,
    Choice,
    Choices,
    Situation,
    open_items,
    replacement_cut,
    sent_tokens,
)
from keepwhole.policies.read_back import is_cut_in_vain
from keepwhole.policies.references import ReferenceIndex, argument_texts
from keepwhole.policies.repeats import dependants, repeat_choice
from keepwhole.policies.settings import CAREFUL, AutoSettings
from keepwhole.policies.transcript import Item, LongArguments, Transcript
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.result import TruncationResult

AGED = "aged"
_STEP = "step"
_ON_ARRIVAL = frozenset((RULE, _STEP))
"""The rules by which a new result is cut."""
_LEAST_STEP = 8_000
"""Characters that a step may take however full the window is, if they fit into half of it; aging and compaction make
room for it."""
_DOWN_TO = 0.25
"""Share of the limit down to which results age when they must."""
_AT_MOST = 0.6
"""Share of the limit that may be left after that: where more would be, it would be full again soon."""


class Auto:
    """The default policy."""

    name = "auto"

    def __init__(
        self,
        settings: AutoSettings = CAREFUL,
        question: str | None = None,
        configuration: TruncationConfiguration | None = None,
        strategies: Strategies = BUILT_IN,
    ) -> None:
        self.settings = settings
        self._table = need_table(settings.weights)
        self._question = question
        self._rule = auto_rule(settings, configuration, strategies)

    def show(self, arriving: Arriving) -> TruncationResult:
        """Cut a result that is over the cap of its kind."""
        return self._rule.show(arriving)

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Point repeats to their base, cut results over their kind's cap, cut further where the step is too large."""
        left = (
            int(self._limit(situation) / self.settings.ceiling) - situation.overhead - sent_tokens(transcript, decided)
        )
        left += sum(item.tokens for item in new)
        fresh = self._one_by_one(transcript, new, decided, situation, repeats=True)
        further = self._within_step(transcript, new, fresh, left, situation.profile.window)
        cut = [transcript.items[choice.number] for choice in further]
        if any(is_repeat(fresh.get(item.number)) or any(dependants(transcript, item, fresh)) for item in cut):
            fresh = self._one_by_one(transcript, new, decided, situation, repeats=False)
            further = self._within_step(transcript, new, fresh, left, situation.profile.window)
        return list((fresh | {choice.number: choice for choice in further}).values())

    def _one_by_one(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation, repeats: bool
    ) -> dict[int, Choice]:
        chosen: dict[int, Choice] = dict(decided)
        fresh: dict[int, Choice] = {}
        for item in new:
            choice = self._arrival_choice(transcript, item, chosen, situation, repeats)
            if choice is not None:
                chosen[item.number] = fresh[item.number] = choice
        return fresh

    def _arrival_choice(
        self, transcript: Transcript, item: Item, decided: Choices, situation: Situation, repeats: bool
    ) -> Choice | None:
        if item.pinned:
            return None
        repeat = repeat_choice(transcript, item, decided, self.settings.min_tokens) if repeats else None
        if repeat is not None:
            return repeat
        if item.media is not None:
            return None
        choice = self._capped(transcript, item, decided, situation)
        if repeats and self.settings.near_repeats:
            near = near_choice(transcript, item, decided, self.settings.min_tokens)
            return near if near is not None and near.tokens < shown_tokens(item, choice) else choice
        return choice

    def _capped(self, transcript: Transcript, item: Item, decided: Choices, situation: Situation) -> Choice | None:
        """Return the cut of a result that is over its cap; none where cutting its tool's results has been in vain."""
        choice = self._rule.choose(item, self._question)
        tool = item.call.tool if item.call else ""
        if choice is None or self._rule.is_given(tool):
            return choice
        if not is_cut_in_vain(transcript, tool, decided, situation.profile, _ON_ARRIVAL):
            return choice
        return self._rule.choose(item, self._question, most=self.settings.outsized)

    def _within_step(
        self, transcript: Transcript, new: Sequence[Item], fresh: Mapping[int, Choice], left: int, window: int
    ) -> list[Choice]:
        """Return the choices that bring the newest step under its cap, shared in the order of its calls."""
        step = [item for item in new if item.step == transcript.steps and not item.pinned and item.media is None]
        sizes = [_shown_chars(item, fresh.get(item.number)) for item in step]
        room = min(self.settings.step_cap, _room_for_step(step, left, window))
        if sum(sizes) <= room:
            return []
        choices: list[Choice] = []
        for place, (item, size) in enumerate(zip(step, sizes, strict=True)):
            share = room // (len(step) - place)
            if size > share:
                choice = self._rule.choose(item, self._question, rule=_STEP, most=share)
                if choice is not None:
                    choices.append(choice)
                    size = share
            room -= size
        return choices

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return one batch, if carrying it has cost what leaving it out costs, or if the window forces it."""
        sent = sent_tokens(transcript, decided) + situation.overhead
        limit = self._limit(situation)
        if sent < min(self.settings.start / situation.scale, limit // 2):
            return []
        arguments = self._old_arguments(transcript, situation)
        if sent > limit:
            return self._batch_to_fit(transcript, decided, sent, limit, situation, arguments)
        if situation.frozen:
            return []
        batch = self._batch_that_pays(transcript, decided, situation, arguments)
        choices = [
            choice._replace(reason=_reason(transcript, transcript.items[choice.number]))
            for choice in self._choices(transcript, decided, batch, arguments)
        ]
        least = min(self.settings.clear_at_least, limit // 2)
        return choices if _tokens_freed(transcript, decided, choices) >= least else []

    def _old_arguments(self, transcript: Transcript, situation: Situation) -> OldArguments | None:
        """Return the arguments that may be cut with their results; None where none may."""
        is_wanted = situation.arguments and self.settings.arguments == "old"
        return OldArguments(transcript, self.settings.keep_steps, self.settings.min_tokens) if is_wanted else None

    def _limit(self, situation: Situation) -> int:
        """Return the estimated tokens above which results age at any price."""
        most = self.settings.most / situation.scale or inf
        return int(min(most, self.settings.ceiling * situation.window))

    def _batch_that_pays(
        self, transcript: Transcript, decided: Choices, situation: Situation, arguments: OldArguments | None
    ) -> list[Item]:
        """Return the batch that gains most, if one gains; with a cold cache everything that is not worth carrying."""
        carried = CarriedResults(transcript, decided, self.settings, self._table, arguments)
        worth = self.settings.worth / (TURNS * situation.profile.read)
        old = carried.not_worth(worth)
        if situation.cold:
            return [transcript.items[number] for number, *_ in reversed(old)]
        batch = self._best_batch(transcript, carried, old, situation)
        if batch:
            in_use = self._in_use(transcript, decided, [transcript.items[number] for number in batch], arguments)
            old = [one for one in old if one[0] not in in_use]
            batch = self._best_batch(transcript, carried, old, situation) if in_use else batch
        return [transcript.items[number] for number in reversed(batch)]

    def _best_batch(
        self, transcript: Transcript, carried: CarriedResults, old: Sequence[Numbers], situation: Situation
    ) -> list[int]:
        price, ahead = payback(situation.profile, 1, 1), self.settings.horizon * transcript.turns
        costs = situation.costs
        if costs is None:
            return best_batch(old, carried.behind(None), price, ahead)
        return best_batch(old, carried.behind(costs.ends), price, ahead, costs.affords_batch(self.settings.max_loss))

    def _batch_to_fit(
        self,
        transcript: Transcript,
        decided: Choices,
        sent: int,
        limit: int,
        situation: Situation,
        arguments: OldArguments | None,
    ) -> list[Choice]:
        """Return one deep batch of the results that are needed least for their size, if it leaves at most `_AT_MOST` of
        the limit, and if the conversation can afford it.

        Else nothing is left out, and a summary makes room: the window is full of something else, or a summary costs
        less, since it leaves less to be written to the cache. Only what the provider would refuse is made to fit with
        all but the newest step.
        """
        carried = CarriedResults(transcript, decided, self.settings, self._table, arguments)
        taken = _least_needed(carried.may_age(), sent - limit * _DOWN_TO)
        choices = self._choices(transcript, decided, [transcript.items[number] for number in sorted(taken)], arguments)
        freed = _tokens_freed(transcript, decided, choices)
        affords = self._affords(carried, choices, freed, situation.costs)
        if sent - freed <= limit * _AT_MOST and affords:
            return choices
        if sent <= situation.window:
            return []
        everything = [item for item, *_ in carried.may_age(hard=True)]
        return self._choices(transcript, decided, everything, arguments)

    def _affords(
        self,
        carried: CarriedResults,
        choices: Sequence[Choice],
        freed: int,
        costs: Costs | None,
    ) -> bool:
        """Return whether the conversation can afford a batch, which begins with its oldest result."""
        if costs is None or not choices:
            return True
        behind = carried.behind(costs.ends)(min(choice.number for choice in choices))
        return costs.affords_batch(self.settings.max_loss)(behind, freed)

    def _choices(
        self, transcript: Transcript, decided: Choices, items: Sequence[Item], arguments: OldArguments | None
    ) -> list[Choice]:
        """Return the choices that leave these results out, except those that other results point to, and that cut the
        long arguments of their calls."""
        free = {item.number for item in items}
        return [
            choice
            for item in items
            if all(number in free for number in dependants(transcript, item, decided))
            for choice in (self._aged(item, decided.get(item.number), arguments),)
            if choice.tokens < shown_tokens(item, decided.get(item.number))
        ]

    def _aged(self, item: Item, before: Choice | None, arguments: OldArguments | None) -> Choice:
        """Return how a result is shown once it has aged: a small one as before, if its call's arguments are cut."""
        given = arguments.of(item) if arguments is not None else None
        if given is None or not given.cuts:
            return age_choice(item)
        least = self.settings.min_tokens
        return arguments_choice(item, before, given) if is_small(item, before, least) else age_choice(item, given)

    def _in_use(
        self, transcript: Transcript, decided: Choices, items: Sequence[Item], arguments: OldArguments | None
    ) -> set[int]:
        """Return unresolved errors, and the newest result of each thing that a recent call or the user refers to; or
        the result of the newest call that was given it, where that would be cut."""
        task, *later = transcript.user_texts() or [""]
        calls = transcript.arguments_since(transcript.steps - self.settings.recent_steps)
        recent = ReferenceIndex((*(leaf for arguments in calls for leaf in argument_texts(arguments)), *later[-1:]))
        old = {item.number for item in items}
        found: set[int] = set()
        taken_up: set[str] = set()
        for item in reversed(open_items(transcript, decided)):
            if item.number < items[-1].number:  # older than every result of the batch
                break
            known = task + (item.call.arguments if item.call else "")
            shared = recent.shared_with(item.text, known) if item.media is None else None
            if shared is None and arguments is not None:
                hidden, left = hidden_arguments(item, arguments.of(item))
                shared = recent.shared_with(hidden, task + left) if hidden else None
            if item.number in old and (self._is_open_error(transcript, item) or shared not in (None, *taken_up)):
                found.add(item.number)
            if shared is not None:
                taken_up.add(shared)
        return found

    def _is_open_error(self, transcript: Transcript, item: Item) -> bool:
        """Return whether the call failed and the same call has not succeeded since."""
        if not item.has_failed:
            return False
        later = (other for other in transcript.same_call(item) if other.number > item.number)
        return not any(not other.has_failed for other in later)


def _reason(transcript: Transcript, item: Item) -> str:
    use, asked = transcript.uses_from(item.number).of[item.number], transcript.user_messages_after(item)
    return reasons(use, transcript.turns, asked, is_superseded(transcript, item))


def _room_for_step(step: Sequence[Item], left: int, window: int) -> int:
    """Return the characters that the newest step may take: half of what is left, at three characters to a token; fewer
    where its own text is so dense that it would not fit."""
    chars = sum(len(item.text) for item in step)
    tokens = max(1, sum(item.tokens for item in step))
    most = tokens + sum(item.reserve for item in step)
    least = min(_LEAST_STEP, window // 2 * chars // most)
    return max(least, int(left // 2 * min(3, 2 * chars / tokens)))


def age_choice(item: Item, arguments: LongArguments | None = None) -> Choice:
    """Return the choice to show only the reference and the size of a result, and to cut its call's arguments."""
    assert item.name is not None, "a result is named before it ages"
    tool = item.call.tool if item.call else ""
    words = media_words(item) if item.media is not None else notice.aged(item.name.way, item.size, tool)
    if arguments is None:
        return Choice(item.number, AGED, replacement_cut(item, words), item.tokens_of_words(words))
    words = f"{words}; {notice.arguments_hidden(item.name.way)}"
    cut = replacement_cut(item, words).replace(arguments=arguments.cuts)
    return Choice(item.number, AGED, cut, item.tokens_of_words(words) - arguments.freed)


def _least_needed(carried: Iterable[tuple[Item, int, float]], free: float) -> list[int]:
    """Return the numbers of the results that are needed least for their size, as many as `free` so many tokens."""
    freed = 0
    taken: list[int] = []
    for item, frees, _ in sorted(carried, key=lambda one: one[2] / max(1, one[1])):
        if freed >= free:
            break
        freed += max(1, frees)
        taken.append(item.number)
    return taken


def _shown_chars(item: Item, choice: Choice | None) -> int:
    if choice is None:
        return len(item.text)
    kept = sum(part.stop - part.start for part in choice.cut.kept)
    return kept + len(choice.cut.above) + len(choice.cut.below)


def _tokens_freed(transcript: Transcript, decided: Choices, choices: Sequence[Choice]) -> int:
    """Return the tokens that these choices leave out of what is sent now."""
    return sum(
        shown_tokens(transcript.items[choice.number], decided.get(choice.number)) - choice.tokens for choice in choices
    )
