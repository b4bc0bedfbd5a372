"""The contract of a strategy, and the table of those that come with Keepwhole.

A strategy is a function: a source and a budget in, a cut out. It never writes text itself, so it cannot
invent, reorder or lose any. A user's own strategy is one more entry in the table.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from keepwhole.errors import UnknownStrategy
from keepwhole.truncation.cut import Cut, Source
from keepwhole.truncation.options import StrategyOptions


class ITruncationStrategy(Protocol):
    """Choose what to keep of `source` so that the view has at most `budget` characters, our words included.

    Raises nothing on any text. Where even the notice does not fit, the cut keeps nothing.
    """

    def __call__(self, source: Source, budget: int, options: StrategyOptions) -> Cut:
        """The cut that fits."""
        ...


def _imported(name: str) -> ITruncationStrategy:
    """The strategy in the file of its name, imported when it is first used: most commands use none."""

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return getattr(import_module(f"keepwhole.truncation.{name}"), name)(source, budget, options)

    return strategy


STRATEGIES: Mapping[str, ITruncationStrategy] = {
    name: _imported(name) for name in ("head", "tail", "head_tail", "lines", "element", "rows", "log", "code", "diff")
}


def strategy_named(name: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> ITruncationStrategy:
    """The strategy called `name`; `UnknownStrategy` lists the others."""
    try:
        return strategies[name]
    except KeyError:
        known = ", ".join(f"`{known}`" for known in sorted(strategies))
        raise UnknownStrategy(f"There is no strategy `{name}`. Use one of {known}.") from None
