"""The table with a row per policy, for all runs and for each source."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from keepwhole.replay.page.figures import (
    NONE,
    Part,
    all_in,
    count,
    dollars,
    in_context,
    number,
    part,
    parts,
    share,
    verdict,
    words,
)
from keepwhole.replay.page.markup import Inside, Markup, join, short, tag
from keepwhole.replay.summary import Interval


class Column(NamedTuple):
    """A figure of a policy: the value it is sorted by, and how it is shown."""

    name: str
    means: str
    value: Callable[[Part], float | None]
    shown: Callable[[Part], Inside]


Read: TypeAlias = Callable[[Part], float | None]
Shown: TypeAlias = Callable[[Part], Inside]


def _number_column(key: str, format: Callable[[float | None], str]) -> tuple[Read, Shown]:
    """Return the functions of a column with a plain number."""

    def value(row: Part) -> float | None:
        return number(row, key)

    def show(row: Part) -> Inside:
        return format(number(row, key))

    return value, show


def _interval_column(found: Callable[[Part], Interval | None]) -> tuple[Read, Shown]:
    """Return the functions of a column with a share and its interval."""

    def value(row: Part) -> float | None:
        spread = found(row)
        return spread.value if spread else None

    def show(row: Part) -> Inside:
        spread = found(row)
        if spread is None or spread.high - spread.low < 0.005:
            return share(value(row))
        return join(share(spread.value), tag("small", f"{share(spread.low)} to {share(spread.high)}"))

    return value, show


def _compaction_step(row: Part) -> float | None:
    return number(part(row, "first_compaction"), "median_step")


def _compaction(row: Part) -> Inside:
    step, runs = _compaction_step(row), number(part(row, "first_compaction"), "runs")
    if step is None:
        return "never" if runs == 0 else NONE
    return join(f"step {count(step)}", tag("small", f"in {share(runs)} of runs") if runs is not None else None)


COLUMNS = (
    Column(
        "All-in cost",
        "Input cost with the provider's cache, plus fetching back what was missing; sending everything is 100%.",
        *_interval_column(all_in),
    ),
    Column(
        "Dollars",
        "The same in dollars: input with the cache, plus fetching back what was missing.",
        *_number_column("dollars", dollars),
    ),
    Column("Evidence kept", "Share of what later steps used that was still in context.", *_interval_column(in_context)),
    Column("Steps ok", "Share of steps that needed something and had all of it.", *_number_column("steps_ok", share)),
    Column(
        "First compaction",
        "The step at which the median run would have had to be compacted.",
        _compaction_step,
        _compaction,
    ),
    Column("Over window", "Share of runs with a request larger than the window.", *_number_column("overflow", share)),
    Column(
        "Rewrites",
        "Requests that changed something already sent, so that the cache had to be written again.",
        *_number_column("rewrites", count),
    ),
)


def table(report: Part) -> Markup | None:
    """Return the table; the rows of each source are in it too, and shown when the source is chosen."""
    rows = parts(report, "policies")
    if not rows:
        return None
    sources = part(report, "sources")
    bodies = [_body(rows, "", marked=True)]
    bodies += [_body(parts(sources, name), name, marked=False) for name in sources] if len(sources) > 1 else []
    heads = [tag("th", column.name, scope="col", title=column.means, data_sort="number") for column in COLUMNS]
    head = tag("thead", tag("tr", tag("th", "Policy", scope="col", data_sort="text"), heads))
    whole = tag("table", tag("caption", "Every policy over the replayed runs", class_="aside"), head, bodies)
    return join(
        _choice(list(sources)) if len(sources) > 1 else None,
        tag("div", whole, class_="scroll", role="region", aria_label="Policies", tabindex="0"),
    )


def _choice(sources: Sequence[str]) -> Markup:
    options = [tag("option", "all runs", value=""), *(tag("option", short(each, 60), value=each) for each in sources)]
    return tag("p", tag("label", "Runs of ", tag("select", options, id="source")), class_="control scripted")


def _body(rows: Sequence[Part], source: str, marked: bool) -> Markup:
    return tag(
        "tbody",
        [_row(row, f"policy-{number}" if marked else None) for number, row in enumerate(rows)],
        data_source=source,
        hidden=not marked,
    )


def _row(row: Part, mark: str | None) -> Markup:
    name, said = words(row, "name"), verdict(row)
    head = tag("th", short(name, 40), tag("small", said) if said else None, scope="row", data_value=name)
    kind = "bound" if row.get("bound") else "auto" if name == "auto" else None
    return tag("tr", head, [_cell(row, column) for column in COLUMNS], id=mark, class_=kind)


def _cell(row: Part, column: Column) -> Markup:
    value = column.value(row)
    return tag("td", column.shown(row), data_value=None if value is None else f"{value:g}")
