"""Figures of the report page: any part may be missing, and every one is short."""

import math
from typing import Any

import pytest

from keepwhole.replay.page import figures
from keepwhole.replay.summary import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0%"),
        (0.000_9, "<0.1%"),
        (0.001, "0.1%"),
        (0.004_9, "0.5%"),
        (0.005_1, "1%"),
        (0.01, "1%"),
        (0.5, "50%"),
        (0.994, "99%"),
        (0.995_1, "99.5%"),
        (0.999_4, "99.9%"),
        (0.999_5, ">99.9%"),
        (0.999_99, ">99.9%"),
        (1, "100%"),
        (1.004, "100.4%"),
        (-0.2, "-20%"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_to_all(value: float | None, text: str) -> None:
    assert figures.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (1_049, "1k"),
        (1_051, "1.1k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (9_951, "10k"),
        (10_600, "11k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_250_000, "1.2M"),
        (12_340_000, "12.3M"),
    ],
)
def test_tokens_have_two_or_three_digits(value: float | None, text: str) -> None:
    assert figures.tokens(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.5, "$0.50"), (999.994, "$999.99"), (1_000, "$1,000"), (1_234_567.8, "$1,234,568")],
)
def test_dollars_have_cents_below_a_thousand(value: float | None, text: str) -> None:
    assert figures.dollars(value) == text


def test_counts_and_nouns() -> None:
    assert [figures.count(value) for value in (None, 0, 1_234.4)] == ["–", "0", "1,234"]
    assert [figures.plural(many, "run") for many in (None, 0, 1, 2)] == ["– runs", "0 runs", "1 run", "2 runs"]


@pytest.mark.parametrize(
    ("found", "number"),
    [(1, 1.0), (0.5, 0.5), (-2, -2.0), (True, None), ("1", None), (None, None), (math.inf, None), (math.nan, None)],
)
def test_only_a_finite_number_is_a_number(found: Any, number: float | None) -> None:
    assert figures.number({"a": found}, "a") == number
    assert figures.number({}, "a") is None
    assert figures.interval({"a": found}, "a") == (None if number is None else Interval(number, number, number))


def test_a_part_that_is_something_else_is_empty() -> None:
    report: dict[str, Any] = {"map": {"a": 1}, "list": [{"a": 1}, 2, {}], "tuple": ({},), "text": "abc", "none": None}
    assert [figures.part(report, key) for key in report] == [{"a": 1}, {}, {}, {}, {}]
    assert [figures.parts(report, key) for key in report] == [[], [{"a": 1}, {}], [{}], [], []]
    assert [figures.items_in(report, key) for key in report] == [(), [{"a": 1}, 2, {}], ({},), (), ()]
    assert [figures.words(report, key) for key in ("text", "none", "no")] == ["abc", "", ""]
    assert figures.words({"a": 0}, "a") == "0"
    assert figures.verdict({"verdict": "3 % less, 4 %"}) == "3% less, 4%"


def test_an_interval_without_a_bound_ends_at_its_value() -> None:
    assert figures.interval({"a": {"value": 2, "low": 1}}, "a") == Interval(2, 1, 2)
    assert figures.interval({"a": {"value": 2, "high": 3}}, "a") == Interval(2, 2, 3)
    assert figures.interval({"a": {"low": 1, "high": 3}}, "a") is None
    assert figures.interval({}, "a") is None
    row = {"all_in": 1, "in_context": {"value": 0.5}}
    assert figures.all_in(row) == Interval(1, 1, 1)
    assert figures.all_in({**row, "all_in_context": 2}) == Interval(2, 2, 2)
    assert figures.in_context(row) == Interval(0.5, 0.5, 0.5)
