"""Rows of figures as a table for people."""

from collections.abc import Callable, Iterable

from keepwhole.replay.intervals import Interval
from keepwhole.replay.summary import Row

_COLUMNS: dict[str, Callable[[Row], str]] = {
    "policy": lambda row: row.policy,
    "bare": lambda row: _share(row.bare),
    "in ctx (95%)": lambda row: _interval(row.in_context),
    "steps ok": lambda row: _share(row.steps_ok),
    "tokens": lambda row: f"{row.tokens:.2f}",
    "$ .10": lambda row: _share(row.by_price[".10"]),
    "$ .05": lambda row: _share(row.by_price[".05"]),
    "$ .02": lambda row: _share(row.by_price[".02"]),
    "$ tail": lambda row: _share(row.tail),
    "$ explicit": lambda row: _share(row.explicit),
    "all-in": lambda row: _share(row.all_in),
    "all-in ctx (95%)": lambda row: _interval(row.all_in_context),
    "blind": lambda row: f"{row.all_in_blind:.2f}",
    "found": lambda row: _maybe(row.blind_hits),
    "rerun": lambda row: f"{row.rerun:.2f}",
    "peak p50/max": lambda row: f"{row.peak_median / 1000:.0f}k/{row.peak / 1000:.0f}k",
    "overflow": lambda row: f"{row.overflow:.1%}",
    ">200k": lambda row: f"{row.over_200k:.1%}",
    "compacts at": lambda row: _compacts(row),
    "after": lambda row: _maybe(row.after_compaction),
    "again": lambda row: str(row.re_executed.hidden),
    "rewrites": lambda row: str(row.rewrites),
}


def table(rows: Iterable[Row]) -> str:
    """The rows as Markdown."""
    lines = [list(_COLUMNS), ["---"] * len(_COLUMNS), *([cell(row) for cell in _COLUMNS.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _share(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"


def _maybe(value: float | None) -> str:
    return "-" if value is None else _share(value)


def _compacts(row: Row) -> str:
    step, runs = row.first_compaction
    return "-" if step is None else f"{step:.0f} ({runs:.0%})"


def _interval(one: Interval) -> str:
    return f"{_share(one.value)} ({one.low:.2f}-{one.high:.2f})"
