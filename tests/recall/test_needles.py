"""Paraphrased questions about a whole record: nine of ten needles are in a first answer of 1,000 tokens."""

import pytest

from bench.selection_recall import BUDGET, HELD_OUT, KNOWN, Template, count_found, record
from keepwhole.models.tokens import upper_bound

SEEDS = range(500, 502)


@pytest.mark.parametrize("templates", [KNOWN, HELD_OUT], ids=["known", "held out"])
def test_nine_of_ten_needles_are_in_the_first_answer(templates: tuple[Template, ...]) -> None:
    held, asked = count_found(templates, SEEDS)
    assert asked == len(SEEDS) * len(templates)
    assert held / asked >= 0.9


def test_a_first_answer_takes_no_more_than_it_may_and_no_question_has_the_needle() -> None:
    session, needles = record(HELD_OUT, 7)
    for needle in needles:
        assert needle.code not in needle.question
        assert upper_bound(session.select(needle.question, budget=BUDGET).text) <= BUDGET
