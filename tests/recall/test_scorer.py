"""The scorer: names and numbers before words, whole units within a budget, rare before common."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.models.tokens import upper_bound
from keepwhole.recall.scorer import best_units, rank, terms


def shown(text: str, question: str, budget: int = 300) -> list[str]:
    return [text[unit.start : unit.stop] for unit in best_units(text, question, budget)]


def test_what_names_something_counts_more_than_a_word() -> None:
    weights = {word: term.weight for word, term in terms("did INV-20431 or settle_batch fail at 4417?").items()}
    assert weights["inv20431"] == weights["settlebatch"] == weights["4417"] > 2 * weights["fail"]


def test_the_best_unit_of_json_is_a_whole_element() -> None:
    items = [{"id": n, "state": "open", "note": f"ordinary words number {n}"} for n in range(400)]
    items[271]["note"] = "the refund was refused by the acquirer"
    best = shown(json.dumps(items), "which refunds did an acquirer refuse?")[0]
    assert items[271] in json.loads(f"[{best.strip().rstrip(',]')}]")


def test_the_best_unit_of_code_is_the_definition_with_its_body() -> None:
    parts = [f"def step_{n}(value):\n    total = value + {n}\n    return total * 2\n\n\n" for n in range(60)]
    parts[40] = "def settle_batch(rows):\n    marker = 'needle'\n    return [row for row in rows if row]\n\n\n"
    assert shown("".join(parts), "what does settleBatch do?")[0].startswith("def settle_batch(rows):\n    marker")


def test_the_best_unit_of_a_log_is_an_event_with_its_stack() -> None:
    lines = [f"2026-02-03 10:00:{n % 60:02d} INFO served page {n}\n" for n in range(500)]
    lines[300] = "2026-02-03 10:05:00 ERROR lease of pool expired\n    at Pool.lease (pool.ts:71)\n"
    assert shown("".join(lines), "where did leases expire?")[0] == lines[300]


def test_a_number_is_found_however_it_is_grouped() -> None:
    text = "".join(f"row {n}, amount {n * 7:,}\n\n" for n in range(2_000, 3_000))
    assert "amount 16,471" in shown(text, "who paid 16471?")[0]


def test_nothing_is_chosen_where_nothing_is_shared() -> None:
    assert best_units("some words\n\nand some others", "zebra crossing", 100) == []


def test_a_term_that_occurs_everywhere_does_not_count() -> None:
    text = "".join(f"worker {n} checked the queue\n\n" for n in range(900)) + "worker 5 met a zebra in the queue\n"
    assert "zebra" in shown(text, "worker queue zebra")[0]


def test_texts_are_ranked_by_what_is_rare_among_them() -> None:
    texts = ["queue worker page", "queue worker zebra", "queue worker page", "page"]
    assert rank("worker zebra", texts)[0][0] == 1
    assert [at for at, _ in rank("worker", texts)] == [2, 1, 0]


def test_of_a_question_as_long_as_a_page_names_and_numbers_are_used_first() -> None:
    plain = [f"zebra{'abcdefghij'[n // 10]}{'klmnopqrst'[n % 10]}" for n in range(60)]
    asked = terms(" ".join([*plain, "order_42", "4417"]))
    assert len(asked) == 48
    assert {"order42", "4417"} <= {*asked}


def test_a_number_of_two_digits_is_no_name() -> None:
    weights = {word: term.weight for word, term in terms("page 17 of 417").items()}
    assert weights["17"] < weights["pag"] < weights["417"]


@pytest.mark.parametrize(
    ("question", "text", "is_found"),
    [
        ("port", "the importer", False),
        ("port", "a portal", True),
        ("port", "the airPort", True),
        ("port", "an old_port", True),
        ("4417", "case 14417", False),
        ("4417", "case x4417", True),
        ("portal", "the unportaled", True),
    ],
)
def test_a_short_word_is_found_only_where_a_word_begins(question: str, text: str, is_found: bool) -> None:
    assert bool(shown(text, question)) == is_found


@given(st.text(max_size=3_000), st.text(max_size=60), st.integers(1, 400))
def test_units_never_take_more_than_the_budget_and_never_overlap(text: str, question: str, budget: int) -> None:
    found = sorted(best_units(text, question, budget))
    assert sum(upper_bound(text[unit.start : unit.stop]) for unit in found) <= budget
    for before, after in pairwise(found):
        assert before.stop <= after.start
