"""The contract of a strategy, and the table of those that come with Holdfast.

A strategy is a function: a source and a budget in, a cut out. It never writes text itself, so it cannot
invent, reorder or lose any. A user's own strategy is one more entry in the table.
"""

from collections.abc import Mapping
from typing import Protocol

from holdfast.errors import UnknownStrategy
from holdfast.truncation.code import code
from holdfast.truncation.cut import Cut, Source
from holdfast.truncation.diff import diff
from holdfast.truncation.element import element
from holdfast.truncation.head import head
from holdfast.truncation.head_tail import head_tail
from holdfast.truncation.lines import lines
from holdfast.truncation.log import log
from holdfast.truncation.options import StrategyOptions
from holdfast.truncation.rows import rows
from holdfast.truncation.tail import tail


class ITruncationStrategy(Protocol):
    """Choose what to keep of `source` so that the view has at most `budget` characters, our words included.

    Raises nothing on any text. Where even the notice does not fit, the cut keeps nothing.
    """

    def __call__(self, source: Source, budget: int, options: StrategyOptions) -> Cut:
        """The cut that fits."""
        ...


STRATEGIES: Mapping[str, ITruncationStrategy] = {
    "head": head,
    "tail": tail,
    "head_tail": head_tail,
    "lines": lines,
    "element": element,
    "rows": rows,
    "log": log,
    "code": code,
    "diff": diff,
}


def strategy_named(name: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> ITruncationStrategy:
    """The strategy called `name`; `UnknownStrategy` lists the others."""
    try:
        return strategies[name]
    except KeyError:
        known = ", ".join(f"`{known}`" for known in sorted(strategies))
        raise UnknownStrategy(f"There is no strategy `{name}`. Use one of {known}.") from None
