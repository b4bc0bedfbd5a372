"""What is chosen for one request: how new results are shown, what ages, what is restored. Pure.

Owns: which choices depend on how other results are shown, and that a batch is planned to its end.
Must not know: how choices are recorded, or which other process decides meanwhile.

A plan *depends on others* where one of its choices holds only as long as other results are shown as they are now: a
pointer to an earlier result, or a batch that was judged by everything that is sent. Such a plan is recorded only if no
other process has decided anything since; else it is made again from what is on record then.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from keepwhole.models.tokens import MARGINS, upper_bound
from keepwhole.policies.images import SCALED
from keepwhole.policies.policy import Choice, Choices, Policy, Situation, TrackedChoices, hides, sent_tokens
from keepwhole.policies.repeats import REPEATS
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.names import is_recall

_BATCHES = 3
"""Most batches that are planned one right after the other."""
_NEXT_BILL = 1.5
"""How many times more or fewer tokens the next bill may have than was estimated."""
_RESTORED_SHARE = 0.9
"""Of the window that restored results may fill, the answer included."""
_RESTORED_MARGIN = MARGINS["data"]

MayHide = Callable[[Choice], bool]
"""Whether a result may be shown as a choice says, and not whole: what its notice will name can be read."""


class Plan(NamedTuple):
    """What is chosen for one request."""

    arrivals: Mapping[int, Choice] = {}
    """How new results are shown, where that is not whole."""
    batch: Sequence[Choice] = ()
    """What ages."""

    @property
    def depends_on_others(self) -> bool:
        """Whether something in it holds only as long as other results are shown as they are now."""
        return bool(self.batch) or any(choice.rule in REPEATS for choice in self.arrivals.values())

    def tokens_freed(self, items: Sequence[Item]) -> int:
        """Return the tokens that it leaves out."""
        chosen = {**self.arrivals, **{choice.number: choice for choice in self.batch}}
        return sum(items[number].tokens - choice.tokens for number, choice in chosen.items())


def plan_arrivals(
    transcript: Transcript,
    decisions: TrackedChoices,
    fresh: Sequence[Item],
    policy: Policy,
    situation: Situation,
    may_hide: MayHide,
    *,
    is_alone: bool = False,
) -> dict[int, Choice]:
    """How results that were never sent are shown; with `is_alone` only choices that depend on no other result."""
    chosen = policy.arrive(transcript, fresh, decisions, situation) if fresh else ()
    return {
        choice.number: choice
        for choice in chosen
        if not is_recall_answer(transcript.items[choice.number])
        and not (is_alone and choice.rule in REPEATS)
        and may_hide(choice)
    }


def plan_batch(
    transcript: Transcript,
    decisions: TrackedChoices,
    arrivals: Mapping[int, Choice],
    policy: Policy,
    situated: Callable[[TrackedChoices], Situation],
    may_age: MayHide,
) -> list[Choice]:
    """What ages now, up to where nothing more would: another process that reads it plans no further batch.

    `situated` gives the situation with some choices in force: what is left may take more than its share of tokens.
    """
    items = transcript.items
    held = decisions.copy_with(items, arrivals.values()) if arrivals else decisions
    found: dict[int, Choice] = {}
    for _ in range(_BATCHES):
        more = [
            choice
            for choice in policy.age(transcript, held, situated(held))
            if found.get(choice.number) != choice
            and not _is_new_recall_answer(transcript, items[choice.number])
            and may_age(choice)
        ]
        if not more:
            break
        found |= {choice.number: choice for choice in more}
        held = held.copy_with(items, more)
    return list(found.values())


def without_hiding(plan: Plan) -> Plan:
    """The plan without what leaves something out."""
    return Plan({number: choice for number, choice in plan.arrivals.items() if not hides(choice)})


def may_wait(
    transcript: Transcript,
    decisions: TrackedChoices,
    fresh: Sequence[Item],
    policy: Policy,
    situation: Situation,
    summarized: Callable[[Situation], Situation],
) -> bool:
    """Whether results about which nothing is chosen may be sent before they are recorded.

    They may where a process that has read other bills would choose nothing either: it may take tokens for more or for
    fewer, and have more to spend. Results of older steps may have to age at once, so they are recorded first.
    """
    if any(item.step != transcript.steps for item in fresh):
        return False
    for factor in (1 / _NEXT_BILL, 1.0, _NEXT_BILL):
        near = situation._replace(scale=situation.scale * factor, doubt=1.0, frozen=False, costs=None)
        chosen = policy.arrive(transcript, fresh, decisions, near)
        if any(not is_recall_answer(transcript.items[choice.number]) for choice in chosen):
            return False
        if policy.age(transcript, decisions, summarized(near)):
            return False
    return True


def plan_restored(
    transcript: Transcript, decided: Choices, situation: Situation, answer_tokens: int, max_loss: float
) -> Collection[int]:
    """The numbers of the results that fit if they are shown in full once more, the newest first.

    A client that summarizes by itself keeps nothing of what its summary leaves out, so the summary should be written
    from the originals, as far as the conversation can afford it: all behind the first of them is sent uncached.
    Nothing of this is recorded: the next turn is sent as the turns before it.
    """
    sent = sent_tokens(transcript, decided) + situation.overhead
    room = (
        _RESTORED_SHARE * situation.profile.window - answer_tokens - max(_RESTORED_MARGIN, situation.most_billed) * sent
    )
    budget = inf if situation.costs is None else situation.costs.budget(max_loss)
    found: set[int] = set()
    restored = 0
    for item in reversed(transcript.items):
        choice = decided.get(item.number)
        if choice is None or item.gone or choice.tokens >= item.tokens or choice.rule == SCALED:
            continue
        most = _most_tokens(item)
        if most is not None and (more := most - choice.tokens) <= room:
            behind = transcript.tokens_from(item.index)
            if situation.costs is not None and situation.costs.of_batch(behind, -restored - more) > budget:
                break
            room -= more
            restored += more
            found.add(item.number)
    return frozenset(found)


def _most_tokens(item: Item) -> int | None:
    """The tokens that a result takes at most; None of a document whose pages nobody knows."""
    if item.media is None:
        return upper_bound(item.text)
    return None if item.media.kind == "document" and not item.media.pages else item.tokens + item.reserve


def without_repeats(items: Sequence[Item]) -> list[Item]:
    """The items, in order, without those that repeat the same text for the same call."""
    first: dict[tuple[str, str], Item] = {}
    for item in items:
        first.setdefault((item.returned.call_id, item.text), item)
    return list(first.values())


def is_recall_answer(item: Item) -> bool:
    """Whether a recall tool returned it: bounded already, and never an artifact of an artifact."""
    return item.call is not None and is_recall(item.call.tool)


def _is_new_recall_answer(transcript: Transcript, item: Item) -> bool:
    """Whether the model asked for it in the newest step, so it was not used yet."""
    return item.step == transcript.steps and is_recall_answer(item)
