"""What a strategy is, and the table of those that come with Keepwhole.

A strategy is a function: a source, a budget and options in, a cut out. It never writes text itself, so it cannot
invent, reorder or lose any. `Strategy` adds a name and the traits that the rest of the package asks about before and
after the function runs. A plain function may be used wherever a `Strategy` may: it has the default traits, which
promise nothing.

    def middle(source, budget, options): ...                    # safe defaults
    MIDDLE = Strategy("middle", middle, is_text=True)           # noise may be removed from what it keeps

A name that is not in the table is looked for among the installed packages (`keepwhole.plugins`).

Owns: the contract, the traits, the table, and finding a strategy by its name.
Must not know: how any strategy cuts. The traits are in the table so that no strategy is imported to ask for them.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from keepwhole.canonical.value import Value
from keepwhole.errors import UnknownStrategy
from keepwhole.truncation.cut import Cut, Source


class StrategyOptions(Value):
    """What a strategy is told besides its budget: the keys that an override may set, and the question at hand."""

    head_ratio: float = 0.6
    """Share of the room that goes to the beginning where both ends are kept."""
    max_lines: int | None = None
    """Most lines that `lines` keeps; as many as fit where not given."""
    side: str = "head"
    """Which lines `lines` keeps: `head`, `tail` or `both`."""
    max_depth: int = 32
    """How deep `element` looks into nested data before it shows counts only."""
    keep_keys: tuple[str, ...] = ()
    """Keys that `element` keeps first."""
    line_cap: int = 2_000
    """Most characters of one line, where other lines need the room."""
    question: str = ""
    """What the result is needed for; units that share its rare words are kept first."""
    pattern: str = ""
    """What a search looked for; of a line that is too long, the place of a match is kept."""
    names: str = ""
    """What the call names; no strategy heeds it, but the notice prints the search for it where the cut hides it."""


class ITruncationStrategy(Protocol):
    """Choose what to keep of `source` so that the view has at most `budget` characters, notices included.

    It should raise nothing on any text. Where even the notice does not fit, the cut keeps nothing.
    """

    def __call__(self, source: Source, budget: int, options: StrategyOptions) -> Cut:
        """Return the cut that fits."""
        ...


class Strategy(Value):
    """A truncation function with its name and its traits. The defaults are safe for any function."""

    name: str
    function: ITruncationStrategy
    is_text: bool = False
    """Whether its views are plain text: noise may be removed from them, and `head_tail` may replace it where its
    cuts do not fit. The views of other strategies have a structure that must stay exactly as it is."""
    keeps_json: bool = False
    """Whether its view of a JSON text is JSON too; a view that does not parse is not shown."""
    reads_all: bool = True
    """Whether it reads the whole text, so that it is not used for a very large one."""
    kinds: tuple[str, ...] = ()
    """The kinds of text, as `sniff` names them, that it is chosen for."""

    def __call__(self, source: Source, budget: int, options: StrategyOptions) -> Cut:
        """Return the function's cut."""
        return self.function(source, budget, options)


def _built_in(name: str, **traits: Any) -> tuple[str, Strategy]:
    """A line of the table. The strategy's file is imported when the strategy first cuts: most commands cut nothing."""

    def function(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return getattr(import_module(f"keepwhole.truncation.{name}"), name)(source, budget, options)

    return name, Strategy(name, function, **traits)


STRATEGIES: Mapping[str, Strategy] = dict(
    (
        _built_in("head", is_text=True, reads_all=False),
        _built_in("tail", is_text=True, reads_all=False),
        _built_in("head_tail", is_text=True, reads_all=False),
        _built_in("lines", is_text=True, reads_all=False),
        _built_in("element", keeps_json=True, kinds=("json", "wrapped", "broken", "xml", "search", "listing")),
        _built_in("rows", kinds=("ndjson", "csv")),
        _built_in("log", is_text=True, kinds=("log",)),
        _built_in("code", is_text=True, kinds=("code",)),
        _built_in("diff", is_text=True, kinds=("diff",)),
    )
)


def strategy_named(name: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> Strategy:
    """Return the strategy `name` of the table, else of an installed package; `UnknownStrategy` lists the others."""
    found = strategies.get(name)
    if found is None:
        from keepwhole import plugins  # reading what is installed takes longer than a cut

        found = plugins.load("strategies", name)
    if found is None:
        from keepwhole.settings_section import suggestion

        raise UnknownStrategy(f"There is no strategy `{name}`. {suggestion(name, sorted(strategy_names(strategies)))}")
    return found if isinstance(found, Strategy) else Strategy(name, found)


def strategy_names(strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> tuple[str, ...]:
    """The names of the table, then those that installed packages add."""
    from keepwhole import plugins

    return tuple(dict.fromkeys((*strategies, *plugins.names("strategies"))))


def is_strategy(name: str) -> bool:
    """Whether a built-in strategy or one of an installed package has this name."""
    return name in STRATEGIES or name in strategy_names()


def strategy_for(kind: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES) -> str | None:
    """The name of the strategy that is chosen for a kind of text; of several the one that is last in the table."""
    found = None
    for name, strategy in strategies.items():
        if isinstance(strategy, Strategy) and kind in strategy.kinds:
            found = name
    return found
