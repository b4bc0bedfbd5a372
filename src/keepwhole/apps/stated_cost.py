"""The cost of requests as people see it: paid, what the same client would have paid with `mode: off`, and saved.

Owns: the unit, the rounding and the words, so that the figures on a screen add up, and are those on any other screen.
Must not know: how a cost is computed (`request_figures`).
"""

from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.apps.request_figures import Cost
from keepwhole.models.unmanaged import COMPACT

Unit: TypeAlias = Literal["usd", "tokens"]
ASSUMPTION = (
    "With `mode: off` the same client sends everything, finds the previous request in the cache unless that has "
    f"expired, and compacts at {COMPACT * 100:g} % of the window."
)
"""What the middle figure rests on."""
_CENT, _MILL, _TOKEN = Decimal("0.01"), Decimal("0.001"), Decimal(1)
_SAME = 0.005
"""Share of a cost below which a difference is not given in percent."""


class StatedCost(NamedTuple):
    """Three figures, rounded so that `paid` and `saved` are together exactly `off`."""

    paid: Decimal
    off: Decimal
    """The cost with `mode: off`."""
    unit: Unit
    """Tokens are those at the price of uncached input."""
    by_plan: bool = False
    """Whether nobody is billed by the token, so that dollars are only what the list price comes to."""

    @property
    def saved(self) -> Decimal:
        """What was not paid; negative where `mode: off` would have cost less."""
        return self.off - self.paid

    @property
    def words(self) -> str:
        """The difference in percent of the cost with `mode: off`."""
        share = float(self.saved / self.off) if self.off else 0.0
        if abs(share) < _SAME:
            return "about the same"
        return f"{abs(share):.0%} {'less' if share > 0 else 'more'}".replace("%", " %")

    @property
    def amounts(self) -> tuple[str, str, str]:
        """The three figures with their unit: paid, with `mode: off`, saved.

        >>> StatedCost(Decimal("2.30"), Decimal("2.10"), "usd").amounts
        ('$2.30', '$2.10', '−$0.20')
        """
        return self._amount(self.paid), self._amount(self.off), self._amount(self.saved)

    @property
    def sentence(self) -> str:
        """The three figures in words."""
        paid, off, _ = self.amounts
        what = "at list price, since a plan is not billed by the token: " if self.is_list_price else "paid "
        change = f"{'lost' if self.is_loss else 'saved'} ≈ {self._amount(abs(self.saved))}"
        return f"{what}≈ {paid}, with `mode: off` ≈ {off}: {change}, {self.words}"

    @property
    def is_loss(self) -> bool:
        """Whether `mode: off` would have cost less."""
        return self.saved < 0

    @property
    def is_list_price(self) -> bool:
        """Whether these are dollars that nobody was billed."""
        return self.by_plan and self.unit == "usd"

    def _amount(self, value: Decimal) -> str:
        sign = "−" if value < 0 else ""
        return f"{sign}${abs(value):,}" if self.unit == "usd" else f"{sign}{abs(value):,} uncached tokens"

    @property
    def as_dict(self) -> dict[str, object]:
        """The figures for programs."""
        number = float if self.unit == "usd" else int
        figures = {"paid": number(self.paid), "mode_off": number(self.off), "saved": number(self.saved)}
        return {**figures, "unit": self.unit, "basis": "list price" if self.is_list_price else "billed"}


def state_cost(cost: Cost) -> StatedCost:
    """Round a cost: to cents from a dollar on, to tenths of a cent below; to tokens where a price is unknown.

    >>> state_cost(Cost(52_000, 208_000, 0.156, 0.6248)).sentence
    'paid ≈ $0.156, with `mode: off` ≈ $0.625: saved ≈ $0.469, 75 % less'
    """
    if cost.dollars is None or cost.dollars_whole is None:
        return StatedCost(_rounded(cost.paid, _TOKEN), _rounded(cost.whole, _TOKEN), "tokens", cost.by_plan)
    step = _CENT if max(cost.dollars, cost.dollars_whole) >= 1 else _MILL
    return StatedCost(_rounded(cost.dollars, step), _rounded(cost.dollars_whole, step), "usd", cost.by_plan)


def _rounded(value: float, step: Decimal) -> Decimal:
    return Decimal(value).quantize(step)
