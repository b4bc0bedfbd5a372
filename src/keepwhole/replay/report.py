"""The report of a replay: what programs read, and what the page and the terminal are drawn from.

Owns: its fields. A field may be added; the meaning of one changes only with another `VERSION`.
Must not know: how it is drawn.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from keepwhole.canonical.value import Value
from keepwhole.replay.contenders import Contender
from keepwhole.replay.cost import Price
from keepwhole.replay.replay_totals import ReplayTotals, ResultHistory
from keepwhole.replay.summary import PolicySummary, summarize, summarize_by_source
from keepwhole.replay.survey import LogTotals
from keepwhole.replay.verdict import reason_for, recommend, verdict
from keepwhole.version import VERSION as KEEPWHOLE

VERSION = 1


class Basis(NamedTuple):
    """The prices and the window that all figures of a report are computed with."""

    provider: str
    price: Price
    window: int


class ReplayReport(Value):
    """Everything that a replay found out about some logs. All values can be written as JSON."""

    window: int
    provider: str
    price: Mapping[str, float]
    """The prices of tokens read from the cache and written to it, relative to the input price."""
    read: Mapping[str, Any]
    totals: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    """One row per policy, sending everything first."""
    sources: Mapping[str, Sequence[Mapping[str, Any]]]
    """The same rows by source, if there are several."""
    hidden: Mapping[str, Any]
    """The examined policy, how much of the evidence it hid, and how much of that one call brings back."""
    missed: Sequence[Mapping[str, Any]]
    settings: str | None
    """The recommended content of `keepwhole.yaml`; None if no setting saves anything."""
    recommended: Mapping[str, Any] | None
    """The policy whose settings these are, and why; None if there are none."""
    runs: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]
    made_at: str = ""
    """When it was made."""
    command: str = ""
    """The command that made it."""

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {"version": VERSION, "keepwhole": KEEPWHOLE, **self.as_dict()}


def build_report(totals: LogTotals, replayed: ReplayTotals, basis: Basis) -> ReplayReport:
    """Return the report of what was read and what was replayed."""
    by_policy = list(zip(*replayed.in_order(), strict=True))
    contenders = replayed.contenders
    summarize_here = partial(summarize, price=basis.price, prices={}, window=basis.window)
    rows = [
        policy_row(contender, summarize_here(runs))
        for contender, runs in zip(contenders, by_policy, strict=bool(by_policy))
    ]
    by_source = [summarize_by_source(runs, summarize_here) for runs in by_policy]
    several = by_source[0] if by_source and len(by_source[0]) > 1 else ()
    best = recommend(rows)
    return ReplayReport(
        window=basis.window,
        provider=basis.provider,
        price={"read": basis.price.read, "write": basis.price.write},
        read=_read(totals),
        totals=_totals(totals, replayed),
        policies=rows,
        sources={
            source: [policy_row(one, summaries[source]) for one, summaries in zip(contenders, by_source, strict=True)]
            for source in several
        },
        hidden=_hidden(replayed),
        missed=replayed.missed,
        settings=best["settings"] if best else None,
        recommended={"name": best["name"], "reason": reason_for(best, rows)} if best else None,
        runs=[one._asdict() for one in replayed.runs],
        results=[_history(one) for one in replayed.results],
    )


def policy_row(contender: Contender, summary: PolicySummary) -> dict[str, Any]:
    """Return the row of one policy."""
    row: dict[str, Any] = {"name": contender.name, "verdict": "", **contender._asdict()}
    del row["make"]
    row.update(summary.as_json())
    row["verdict"] = verdict(row)
    return row


def _read(totals: LogTotals) -> dict[str, Any]:
    return {
        "files": totals.files,
        "bytes": totals.bytes,
        "runs": totals.runs,
        "sources": dict(totals.sources.most_common()),
        "unread": totals.unread,
    }


def _totals(totals: LogTotals, replayed: ReplayTotals) -> dict[str, Any]:
    return {
        "runs": totals.runs,
        "steps": totals.steps,
        "tokens": totals.tokens,
        "result_tokens": totals.result_tokens,
        "share": totals.share,
        "never_used": replayed.never_used,
        "tools": [_tool(tool, totals, replayed) for tool, _ in totals.tools.most_common()],
        "replayed": len(replayed.comparisons),
    }


def _tool(tool: str, totals: LogTotals, replayed: ReplayTotals) -> dict[str, Any]:
    tokens, known = totals.tools[tool], replayed.tokens[tool]
    return {
        "tool": tool,
        "results": totals.results[tool],
        "tokens": tokens,
        "share": tokens / (totals.result_tokens or 1),
        "never_used": replayed.unused[tool] / known if known else None,
    }


def _history(one: ResultHistory) -> dict[str, Any]:
    became = {
        name: [{"step": change.step, "rule": change.rule, "tokens": change.tokens} for change in changes]
        for name, changes in one.became.items()
    }
    return {**one._asdict(), "became": became}


def _hidden(replayed: ReplayTotals) -> dict[str, Any]:
    return {
        "policy": None if replayed.examined is None else replayed.contenders[replayed.examined].name,
        "evidence": replayed.evidence,
        "hidden": replayed.hidden,
        "brought_back": replayed.brought_back,
    }
