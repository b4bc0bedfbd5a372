"""The cost as people see it: three rounded figures that add up, and their words."""

from decimal import Decimal

import pytest

from keepwhole.apps.request_figures import Cost
from keepwhole.apps.stated_cost import StatedCost, state_cost


def usd(paid: str, off: str, by_plan: bool = False) -> StatedCost:
    return StatedCost(Decimal(paid), Decimal(off), "usd", by_plan)


@pytest.mark.parametrize(
    ("paid", "off", "words"),
    [
        ("1", "2", "50 % less"),
        ("2", "1", "100 % more"),
        ("1", "1", "about the same"),
        ("0", "0", "about the same"),
        ("1", "0", "about the same"),
        ("0", "1", "100 % less"),
        ("99.50", "100", "0 % less"),
        ("99.51", "100", "about the same"),
        ("100.50", "100", "0 % more"),
        ("100.49", "100", "about the same"),
    ],
)
def test_a_difference_below_half_a_percent_is_none(paid: str, off: str, words: str) -> None:
    assert usd(paid, off).words == words


def test_the_three_figures_add_up_and_a_loss_is_called_one() -> None:
    cost = usd("2.30", "2.10")
    assert (cost.saved, cost.is_loss) == (Decimal("-0.20"), True)
    assert cost.sentence == "paid ≈ $2.30, with `mode: off` ≈ $2.10: lost ≈ $0.20, 10 % more"
    assert usd("2", "2").is_loss is False
    assert usd("2", "2").amounts == ("$2", "$2", "$0")
    assert usd("1234.50", "2469.00").amounts == ("$1,234.50", "$2,469.00", "$1,234.50")
    assert cost.as_dict == {"paid": 2.3, "mode_off": 2.1, "saved": -0.2, "unit": "usd", "basis": "billed"}


def test_a_plan_is_told_at_list_price_and_only_in_dollars() -> None:
    plan = usd("1", "2", by_plan=True)
    assert plan.is_list_price
    assert not StatedCost(Decimal(1), Decimal(2), "usd").is_list_price
    assert plan.sentence.startswith("at list price, since a plan is not billed by the token: ≈ $1, with `mode: off`")
    assert plan.as_dict["basis"] == "list price"
    tokens = StatedCost(Decimal(1_000), Decimal(3_000), "tokens", True)
    assert not tokens.is_list_price
    assert tokens.amounts == ("1,000 uncached tokens", "3,000 uncached tokens", "2,000 uncached tokens")
    assert tokens.as_dict == {"paid": 1_000, "mode_off": 3_000, "saved": 2_000, "unit": "tokens", "basis": "billed"}
    assert StatedCost(Decimal(3), Decimal(1), "tokens").amounts[2] == "−2 uncached tokens"
    assert isinstance(tokens.as_dict["paid"], int)


@pytest.mark.parametrize(
    ("dollars", "whole", "paid", "off"),
    [
        (0.99951, 0.5, "1.000", "0.500"),
        (1.0, 0.5, "1.00", "0.50"),
        (0.1234, 1.0, "0.12", "1.00"),
        (0.1234, 0.9999, "0.123", "1.000"),
    ],
)
def test_dollars_have_cents_from_one_on_and_tenths_below(dollars: float, whole: float, paid: str, off: str) -> None:
    stated = state_cost(Cost(10.6, 20.4, dollars, whole, by_plan=True))
    assert (str(stated.paid), str(stated.off), stated.unit, stated.by_plan) == (paid, off, "usd", True)


@pytest.mark.parametrize(("dollars", "whole"), [(None, 1.0), (1.0, None), (None, None)])
def test_without_a_price_tokens_are_told(dollars: float | None, whole: float | None) -> None:
    stated = state_cost(Cost(10.6, 20.4, dollars, whole, by_plan=True))
    assert stated == StatedCost(Decimal(11), Decimal(20), "tokens", True)
