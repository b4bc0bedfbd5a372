"""The contract of a strategy, and the table of those that come with Holdfast.

A strategy is a function: a source and a budget in, a cut out. It never writes text itself, so it cannot
invent, reorder or lose any. A user's own strategy is one more entry in the table.
"""

from collections.abc import Mapping
from typing import Protocol

from holdfast.canonical.value import Value
from holdfast.errors import UnknownStrategy
from holdfast.truncation.cut import Cut, Source
from holdfast.truncation.head import head
from holdfast.truncation.head_tail import head_tail


class StrategyOptions(Value):
    """What a strategy may be told besides its budget."""

    head_ratio: float = 0.6
    """Share of the budget that `head_tail` gives to the beginning."""


class ITruncationStrategy(Protocol):
    """Choose what to keep of `source` so that the view has at most `budget` characters, our words included.

    Raises nothing on any text. Where even the notice does not fit, the cut keeps nothing.
    """

    def __call__(self, source: Source, budget: int, options: StrategyOptions) -> Cut:
        """The cut that fits."""
        ...


STRATEGIES: Mapping[str, ITruncationStrategy] = {
    "head": lambda source, budget, options: head(source, budget),
    "head_tail": lambda source, budget, options: head_tail(source, budget, options.head_ratio),
}


def strategy_named(name: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> ITruncationStrategy:
    """The strategy called `name`; `UnknownStrategy` lists the others."""
    try:
        return strategies[name]
    except KeyError:
        known = ", ".join(f"`{known}`" for known in sorted(strategies))
        raise UnknownStrategy(f"There is no strategy `{name}`. Use one of {known}.") from None
