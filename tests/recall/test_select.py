"""Which units of a selection fit their budget."""

import pytest

from keepwhole.models.tokens import upper_bound
from keepwhole.recall.select import fit_units
from keepwhole.recall.selection import SelectedUnit, unit_text, units_text


def unit(number: int, words: int = 60) -> SelectedUnit:
    return SelectedUnit(
        trace_id=f"trace_{number}",
        artifact_id=f"art_{number}_x",
        tool="grep",
        summary="grep: x",
        start=0,
        stop=9,
        first_line=number,
        last_line=number,
        text="word " * words,
        score=1.0,
        size=2_048,
    )


@pytest.mark.parametrize("is_all", [True, False])
def test_units_are_taken_in_order_as_far_as_they_fit_together(is_all: bool) -> None:
    several = [unit(1), unit(2), unit(3)]
    two = sum(upper_bound(unit_text(one)) for one in several[:2])
    selected = fit_units("q", several, two, is_all)
    assert selected.units == (several[0], several[1])
    assert (selected.query, selected.tokens, selected.is_all) == ("q", upper_bound(units_text(several[:2])), is_all)
    one = fit_units("q", several, two - 1)
    assert one.units == (several[0],)
    assert one.tokens == upper_bound(units_text(several[:1]))
    assert one.is_all


def test_a_unit_that_does_not_fit_leaves_room_for_a_smaller_one() -> None:
    large, small = unit(1, 500), unit(2, 3)
    budget = upper_bound(unit_text(small)) + 5
    assert fit_units("q", [large, small], budget).units == (small,)
    assert fit_units("q", [large], budget).tokens == 0


def test_nothing_is_tried_with_less_than_forty_tokens() -> None:
    first = unit(1)
    tokens = upper_bound(unit_text(first))
    tiny = unit(2).replace(artifact_id="a", summary="", text="", size=1)
    assert upper_bound(unit_text(tiny)) <= 39
    assert fit_units("q", [first, tiny], tokens + 40).units == (first, tiny)
    assert fit_units("q", [first, tiny], tokens + 39).units == (first,)
