"""The report of a replay: what programs read, and what the page and the terminal are drawn from.

Owns: its fields. A field is added, never changed in meaning, without another `VERSION`.
Must not know: how it is drawn.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.contenders import Contender
from keepwhole.replay.cost import Price
from keepwhole.replay.intervals import Interval
from keepwhole.replay.run_course import History
from keepwhole.replay.summary import Row, by_source, summarise
from keepwhole.replay.survey import Totals
from keepwhole.replay.totals import Gathered
from keepwhole.replay.verdict import recommended, verdict
from keepwhole.version import VERSION as KEEPWHOLE

VERSION = 1
_PLAIN = (
    "runs",
    "evidence",
    "tokens",
    "bare",
    "steps_ok",
    "tail",
    "explicit",
    "dollars",
    "all_in",
    "all_in_blind",
    "blind_hits",
    "rerun",
    "peak_median",
    "peak",
    "overflow",
    "after_compaction",
    "rewrites",
    "dearest",
    "recorded_under_masking",
)
_INTERVALS = ("in_context", "cost", "all_in_context")


class Basis(NamedTuple):
    """By what figures are made."""

    provider: str
    price: Price
    window: int


class Report(Value):
    """Everything that is said of some logs. The values are what JSON can hold."""

    window: int
    provider: str
    price: Mapping[str, float]
    """Of tokens read from the cache and written to it, against the input price."""
    read: Mapping[str, Any]
    totals: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    """A row a policy, sending everything first."""
    sources: Mapping[str, Sequence[Mapping[str, Any]]]
    hidden: Mapping[str, Any]
    """Of which policy it is told what it hid, how much of the evidence that was, and how much one call brings back."""
    missed: Sequence[Mapping[str, Any]]
    settings: str | None
    """What to copy into `keepwhole.yaml`; None where nothing is saved."""
    runs: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {"version": VERSION, "keepwhole": KEEPWHOLE, **self.as_dict()}


def report(totals: Totals, gathered: Gathered, basis: Basis) -> Report:
    """The report of what was read and what was replayed."""
    in_order = gathered.in_order()
    by_policy = list(zip(*in_order, strict=True))
    row = partial(summarise, price=basis.price, prices={}, window=basis.window)
    rows = [policy(who, row(pairs)) for who, pairs in zip(gathered.contenders, by_policy, strict=bool(by_policy))]
    parts = [by_source(pairs, row) for pairs in by_policy]
    several = parts[0] if parts and len(parts[0]) > 1 else ()
    best = recommended(rows)
    return Report(
        window=basis.window,
        provider=basis.provider,
        price={"read": basis.price.read, "write": basis.price.write},
        read=_read(totals),
        totals=_totals(totals, gathered),
        policies=rows,
        sources={
            source: [policy(who, part[source]) for who, part in zip(gathered.contenders, parts, strict=True)]
            for source in several
        },
        hidden=_hidden(gathered),
        missed=gathered.missed,
        settings=best["settings"] if best else None,
        runs=[one._asdict() for one in gathered.runs],
        results=[_history(one) for one in gathered.results],
    )


def policy(who: Contender, row: Row) -> dict[str, Any]:
    """One row for programs."""
    made: dict[str, Any] = {"name": who.name, "verdict": "", **who._asdict()}
    del made["make"]
    made.update({name: getattr(row, name) for name in _PLAIN})
    made.update({name: _interval(getattr(row, name)) for name in _INTERVALS})
    made["first_compaction"] = row.first_compaction._asdict()
    made["re_executed"] = row.re_executed._asdict()
    made["kinds"] = dict(row.kinds)
    made["verdict"] = verdict(made)
    return made


def _interval(one: Interval) -> dict[str, float]:
    return one._asdict()


def _read(totals: Totals) -> dict[str, Any]:
    return {
        "files": totals.files,
        "bytes": totals.bytes,
        "runs": totals.runs,
        "sources": dict(totals.sources.most_common()),
        "unread": totals.unread,
    }


def _totals(totals: Totals, gathered: Gathered) -> dict[str, Any]:
    return {
        "runs": totals.runs,
        "steps": totals.steps,
        "tokens": totals.tokens,
        "result_tokens": totals.result_tokens,
        "share": totals.share,
        "never_used": gathered.never_used,
        "tools": [_tool(tool, totals, gathered) for tool, _ in totals.tools.most_common()],
        "replayed": len(gathered.pairs),
    }


def _tool(tool: str, totals: Totals, gathered: Gathered) -> dict[str, Any]:
    tokens, known = totals.tools[tool], gathered.tokens[tool]
    return {
        "tool": tool,
        "results": totals.results[tool],
        "tokens": tokens,
        "share": tokens / (totals.result_tokens or 1),
        "never_used": gathered.unused[tool] / known if known else None,
    }


def _history(one: History) -> dict[str, Any]:
    became = {name: [change._asdict() for change in changes] for name, changes in one.became.items()}
    return {**one._asdict(), "became": became}


def _hidden(gathered: Gathered) -> dict[str, Any]:
    return {
        "policy": None if gathered.watched is None else gathered.contenders[gathered.watched].name,
        "evidence": gathered.evidence,
        "hidden": gathered.hidden,
        "brought_back": gathered.brought_back,
    }
