"""What is chosen for one request: how new results are shown, what ages, what is restored."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from keepwhole.conversation.plan import (
    Plan,
    may_wait,
    plan_arrivals,
    plan_batch,
    plan_restored,
    without_hiding,
    without_repeats,
)
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import MARGINS, upper_bound
from keepwhole.policies.images import SCALED
from keepwhole.policies.policy import Choice, Choices, Situation, TrackedChoices, replacement_cut, sent_tokens
from keepwhole.policies.repeats import REPEATS
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.names import GET_ARTIFACT
from tests.policies.builders import SITUATION, add_image, add_step, transcript

TEXTS = tuple(f"{number} " + "word " * 400 for number in range(4))


def cut(item: Item, rule: str = "made", tokens: int = 1) -> Choice:
    return Choice(item.number, rule, replacement_cut(item, "-"), tokens)


class Chooses:
    """A policy of two functions."""

    name = "made"

    def __init__(
        self,
        arrives: Callable[[Transcript, Situation], list[Choice]] = lambda _made, _situation: [],
        ages: Callable[[Transcript, Choices, Situation], list[Choice]] = lambda _made, _decided, _situation: [],
    ) -> None:
        self._arrives, self._ages = arrives, ages

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = SITUATION
    ) -> list[Choice]:
        return self._arrives(transcript, situation)

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        return self._ages(transcript, decided, situation)


ALL = Chooses(
    lambda made, _: [cut(item) for item in made.items],
    lambda made, _decided, _situation: [cut(item) for item in made.items],
)


def anything(_: Choice) -> bool:
    return True


def test_a_plan_depends_on_others_where_something_ages_or_points_to_an_earlier_result() -> None:
    items = transcript(*TEXTS).items
    assert not Plan().depends_on_others
    assert not Plan({0: cut(items[0])}).depends_on_others
    assert Plan({}, [cut(items[0])]).depends_on_others
    for rule in REPEATS:
        assert Plan({0: cut(items[0], rule)}).depends_on_others


def test_a_plan_frees_the_tokens_of_each_result_once() -> None:
    items = transcript(*TEXTS).items
    plan = Plan({0: cut(items[0]), 1: cut(items[1], tokens=5)}, [cut(items[1], tokens=3), cut(items[2])])
    assert plan.tokens_freed(items) == sum(items[number].tokens for number in range(3)) - 1 - 3 - 1
    assert Plan().tokens_freed(items) == 0
    assert without_hiding(plan) == Plan({})


def test_new_results_are_shown_as_the_policy_says_but_for_answers_of_recall_tools() -> None:
    made = transcript(TEXTS[0])
    add_step(made, TEXTS[1], GET_ARTIFACT)
    decided = TrackedChoices()
    assert list(plan_arrivals(made, decided, made.items, ALL, SITUATION, anything)) == [0]
    assert plan_arrivals(made, decided, [], ALL, SITUATION, anything) == {}
    assert plan_arrivals(made, decided, made.items, ALL, SITUATION, lambda _: False) == {}
    rule = next(iter(REPEATS))
    repeats = Chooses(lambda made, _: [cut(made.items[0], rule)])
    assert list(plan_arrivals(made, decided, made.items, repeats, SITUATION, anything)) == [0]
    assert plan_arrivals(made, decided, made.items, repeats, SITUATION, anything, is_alone=True) == {}


def batch(made: Transcript, policy: Any, may_age: Callable[[Choice], bool] = anything) -> list[int]:
    found = plan_batch(made, TrackedChoices(), {}, policy, lambda _: SITUATION, may_age)
    return [choice.number for choice in found]


def test_a_batch_is_planned_to_its_end_in_three_steps_at_most() -> None:
    made = transcript(*(f"{number} " + "word " * 99 for number in range(9)))
    asked: list[int] = []

    def one_more(made: Transcript, decided: Choices, _: Situation) -> list[Choice]:
        asked.append(len(decided))
        return [cut(made.items[len(decided)])]

    assert batch(made, Chooses(ages=one_more)) == [0, 1, 2]
    assert asked == [0, 1, 2]
    asked.clear()
    assert batch(
        made, Chooses(ages=lambda made, decided, situation: one_more(made, decided, situation)[: len(decided) < 2])
    ) == [0, 1]
    assert asked == [0, 1, 2]
    assert batch(made, ALL) == list(range(9))
    assert batch(made, ALL, lambda choice: choice.number != 3) == [0, 1, 2, 4, 5, 6, 7, 8]


def test_an_answer_of_a_recall_tool_ages_once_the_model_has_made_another_step() -> None:
    made = transcript(TEXTS[0])
    add_step(made, TEXTS[1], GET_ARTIFACT)
    assert batch(made, ALL) == [0]
    add_step(made, TEXTS[2])
    assert batch(made, ALL) == [0, 1, 2]


@pytest.mark.parametrize(("scale", "waits"), [(2 / 3, False), (1.0, False), (1.5, False), (1.25, True), (2.0, True)])
def test_results_wait_where_a_bill_that_is_half_as_high_again_or_two_thirds_would_change_nothing(
    scale: float, waits: bool
) -> None:
    made = transcript(TEXTS[0])

    def chosen(situation: Situation) -> list[Choice]:
        is_there = abs(situation.scale - scale) < 0.01 and not situation.frozen
        return [cut(made.items[0])] if is_there else []

    for policy in (
        Chooses(arrives=lambda _, situation: chosen(situation)),
        Chooses(ages=lambda _made, _decided, situation: chosen(situation)),
    ):
        frozen = SITUATION._replace(frozen=True)
        assert may_wait(made, TrackedChoices(), made.items, policy, frozen, lambda one: one) is waits


def test_results_of_an_older_step_do_not_wait() -> None:
    made = transcript(*TEXTS[:2])
    assert may_wait(made, TrackedChoices(), made.items[1:], Chooses(), SITUATION, lambda one: one)
    assert not may_wait(made, TrackedChoices(), made.items, Chooses(), SITUATION, lambda one: one)
    recalled = transcript(TEXTS[0])
    add_step(recalled, TEXTS[1], GET_ARTIFACT)
    only = Chooses(lambda made, _: [cut(made.items[1])])
    assert may_wait(recalled, TrackedChoices(), recalled.items[1:], only, SITUATION, lambda one: one)


def restored(made: Transcript, decided: dict[int, Choice], answer: int = 0, window: int = 100_000) -> list[int]:
    held = TrackedChoices()
    for number, choice in decided.items():
        held.hold(made.items[number], choice)
    situation = Situation(DEFAULT.replace(window=window))
    return sorted(plan_restored(made, held, situation, answer, 0.05))


def test_results_that_are_shown_otherwise_are_restored_the_newest_first_as_far_as_they_fit() -> None:
    made = transcript(*TEXTS)
    decided = {number: cut(made.items[number]) for number in (0, 1, 2)}
    assert restored(made, decided) == [0, 1, 2]
    assert restored(made, {}) == []
    held = TrackedChoices()
    for number, choice in decided.items():
        held.hold(made.items[number], choice)
    room = 90_000 - MARGINS["data"] * sent_tokens(made, held)
    more = [upper_bound(made.items[number].text) - 1 for number in (2, 1, 0)]
    for answer, numbers in ((sum(more), [0, 1, 2]), (sum(more[:2]), [1, 2]), (more[0], [2]), (0, [])):
        assert restored(made, decided, int(room) - answer) == numbers
        assert restored(made, decided, int(room) - answer + 1) == numbers[1:]


def test_what_is_whole_already_left_out_for_good_or_an_image_made_smaller_is_not_restored() -> None:
    made = transcript(*TEXTS)
    made.items[1].gone = True
    decided = {
        0: cut(made.items[0], tokens=made.items[0].tokens),
        1: cut(made.items[1]),
        2: cut(made.items[2], SCALED),
        3: cut(made.items[3], tokens=made.items[3].tokens - 1),
    }
    assert restored(made, decided) == [3]
    images = transcript("x")
    add_image(images, 1)
    assert restored(images, {1: cut(images.items[1])}) == [1]


def test_of_the_same_text_for_the_same_call_the_first_is_recorded_in_its_place() -> None:
    made = transcript("one", "two")
    add_step(made, "three")
    items = [made.items[0], made.items[1], made.items[0], made.items[2], made.items[1]]
    assert [item.number for item in without_repeats(items)] == [0, 1, 2]
    assert without_repeats([]) == []
    assert without_repeats(made.items) == list(made.items)
