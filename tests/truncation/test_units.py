"""Units are taken while they fit, with the marks between them."""

import pytest

from keepwhole.truncation import units as units_module
from keepwhole.truncation.units import ChosenUnits, longest_unit, split_long, unit_at

BOUNDS = (0, 10, 20, 30, 40)


def chosen(budget: int, mark: int = 0) -> "ChosenUnits":
    return ChosenUnits(BOUNDS, budget, mark)


@pytest.mark.parametrize(("unit", "is_taken"), [(-1, False), (0, True), (3, True), (4, False)])
def test_only_units_that_there_are_can_be_taken(unit: int, is_taken: bool) -> None:
    some = chosen(100)
    assert some.add(unit) is is_taken
    assert some.units == ({unit} if is_taken else set())


@pytest.mark.parametrize(
    ("budget", "units"), [(9, set()), (10, {0}), (29, {0, 1}), (30, {0, 1, 2}), (100, {0, 1, 2, 3})]
)
def test_units_are_taken_in_order_until_one_does_not_fit(budget: int, units: set[int]) -> None:
    some = chosen(budget)
    some.add_all((0, 1, 2, 3))
    assert some.units == units
    assert some.add(0) is bool(units)


def test_every_run_of_units_needs_a_mark_before_and_after_it() -> None:
    assert [chosen(budget, 5).add(1) for budget in (19, 20)] == [False, True]
    apart, together = chosen(35, 5), chosen(35, 5)
    assert [apart.add(unit) for unit in (0, 2)] == [True, True]
    assert [together.add(unit) for unit in (0, 1)] == [True, True]
    assert [apart.add(1), together.add(2)] == [False, False]


def test_part_of_the_budget_can_be_kept_for_others() -> None:
    some = chosen(100)
    some.add_all((0, 1, 2, 3), most=0.15)
    assert some.units == {0, 1}
    assert [some.has_used(share) for share in (0.19, 0.2)] == [True, False]


def test_a_round_is_taken_whole_or_not_at_all() -> None:
    some = chosen(30)
    some.add_rounds([(0, -1), (1, 3), (2, 2)])
    assert some.units == {0, 1, 3}


def test_the_longest_unit_is_found_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units_module, "_TOGETHER", 3)
    assert [longest_unit(bounds) for bounds in ([], [0], [0, 7])] == [0, 0, 7]
    for at in range(12):
        bounds = [number + 5 * (number > at) for number in range(13)]
        assert longest_unit(bounds) == 6


def test_the_unit_of_a_place_is_the_one_that_begins_there_or_before() -> None:
    assert [unit_at(BOUNDS, at) for at in (0, 9, 10, 11, 39)] == [0, 0, 1, 1, 3]


@pytest.mark.parametrize(
    ("bounds", "longest", "finer"),
    [
        ([0, 4, 10], 6, [0, 4, 10]),
        ([0, 4, 10], 5, [0, 4, 9, 10]),
        ([0, 4, 10], 4, [0, 4, 8, 10]),
        ([0, 4, 10], 3, [0, 3, 4, 7, 10]),
    ],
)
def test_units_that_are_too_long_are_split(bounds: list[int], longest: int, finer: list[int]) -> None:
    assert list(split_long("abcdefghij", bounds, longest)) == finer


def test_a_round_fits_with_the_marks_of_its_runs() -> None:
    for budget, units in ((58, {0}), (59, {0, 2}), (81, {0, 2}), (82, {0, 2, 4})):
        some = ChosenUnits((0, 10, 20, 30, 40, 50), budget, 13)
        some.add_rounds([(0,), (2,), (4,)])
        assert some.units == units
