"""`python -m bench.frontier PATH… --policy NAME…`: cost against evidence kept, for policies on recorded runs.

Every column is a ratio to sending everything, which is replayed in the same run, or a count beside it. The columns are
explained in `docs/concepts/replay.md`.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from keepwhole.errors import UsageError
from keepwhole.logs.reader import find_logs
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import estimate, exact_counter
from keepwhole.replay.contenders import contender_named
from keepwhole.replay.intervals import Interval
from keepwhole.replay.processes import map_in_processes
from keepwhole.replay.run_sample import sample_fixed
from keepwhole.replay.runner import ReplayJob, read_frequencies, replay_all
from keepwhole.replay.summary import ComparedRun, PolicySummary, summarize, summarize_by_source
from keepwhole.replay.survey import merge_survey, survey
from keepwhole.replay.tail_recall import tail_recall_line

_COLUMNS: dict[str, Callable[[PolicySummary], str]] = {
    "policy": lambda row: row.policy,
    "bare": lambda row: _share(row.evidence.visible),
    "in ctx (95%)": lambda row: _interval(row.evidence.in_context),
    "steps ok": lambda row: _share(row.evidence.steps_ok),
    "tokens": lambda row: f"{row.cost.tokens:.2f}",
    "$ .10": lambda row: _share(row.cost.by_price[".10"]),
    "$ .05": lambda row: _share(row.cost.by_price[".05"]),
    "$ .02": lambda row: _share(row.cost.by_price[".02"]),
    "$ tail": lambda row: _share(row.cost.tail),
    "$ explicit": lambda row: _share(row.cost.explicit),
    "all-in": lambda row: _share(row.cost.all_in),
    "all-in ctx (95%)": lambda row: _interval(row.cost.all_in_context),
    "blind": lambda row: f"{row.cost.all_in_blind:.2f}",
    "found": lambda row: _share_or_dash(row.cost.blind_hits),
    "rerun": lambda row: f"{row.cost.rerun:.2f}",
    "peak p50/max": lambda row: f"{row.requests.peak_median / 1000:.0f}k/{row.requests.peak / 1000:.0f}k",
    "overflow": lambda row: f"{row.requests.overflow:.1%}",
    ">200k": lambda row: f"{row.requests.over_200k:.1%}",
    "compacts at": lambda row: _compaction(row),
    "after": lambda row: _share_or_dash(row.evidence.after_compaction),
    "of arguments": lambda row: _share_or_dash(row.evidence.arguments),
    "again": lambda row: str(row.requests.repeated.hidden),
    "rewrites": lambda row: str(row.requests.rewrites),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Replay runs and print the table."""
    args = parser().parse_args(argv)
    started = time.monotonic()
    try:
        contenders = [contender_named(name) for name in args.policy]
        job = read_job(args)
    except UsageError as error:
        sys.exit(f"error: {error}")
    _say(f"{len(job.runs)} runs read, {time.monotonic() - started:.1f} s")
    found: list[list[ComparedRun]] = []
    for run in replay_all(job, contenders, args.jobs):
        found += [run] if run else []
        if sys.stderr.isatty():
            _say(f"\r{len(found)} replayed", end="")
    _say(f"\r{len(found)} runs replayed under {len(contenders)} policies, {time.monotonic() - started:.1f} s")
    in_order = sorted(found, key=lambda run: (run[0].baseline.source, run[0].baseline.id))
    _print_tables(in_order, args.by_source, job.window)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options that choose runs and policies."""
    found = argparse.ArgumentParser(prog="python -m bench.frontier", description=__doc__)
    found.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files of runs, or folders of them")
    found.add_argument("--policy", nargs="+", default=["auto"], metavar="NAME", help="policies to replay")
    found.add_argument("--least", type=int, default=50_000, help="fewest tokens of a run (default: 50000)")
    found.add_argument("--most", type=int, default=sys.maxsize, help="most tokens of a run")
    found.add_argument("--window", type=int, help="the model's window (default: 200000, measured at 128000)")
    found.add_argument("--all", action="store_true", help="all runs, not the sample")
    found.add_argument("--exact", action="store_true", help="count tokens by a vocabulary (needs `splintr-rs`)")
    found.add_argument("--by-source", action="store_true", help="a table for each source too")
    found.add_argument("--tail", action="store_true", help="what recall at the tail would append, and if it was used")
    found.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    return found


def read_job(args: argparse.Namespace) -> ReplayJob:
    """Read the logs that the arguments name; return their runs, ready to replay."""
    runs, totals = merge_survey(map_in_processes(survey, find_logs(args.paths), args.jobs))
    for unread in totals.unread:
        line = f" (line {unread['first_line']})" if unread["first_line"] else ""
        _say(f"{unread['path']}: {unread['count']} × {unread['why']}{line}")
    counter = exact_counter() if args.exact else estimate
    if counter is None:
        raise UsageError("There is no vocabulary to count tokens by. Run `pip install splintr-rs`.")
    chosen = [run for run in (runs if args.all else sample_fixed(runs)) if run.chars >= args.least]
    job = ReplayJob(chosen, read_frequencies(runs, args.jobs), counter, args.least, args.most, tail=args.tail)
    return job._replace(window=args.window, profile=DEFAULT.replace(window=args.window)) if args.window else job


def _print_tables(found: Sequence[Sequence[ComparedRun]], by_source: bool, window: int) -> None:
    if not found:
        print("No run has that many tokens. Give a smaller `--least`.")
        return
    _print_totals(found)
    by_policy = list(zip(*found, strict=True))
    summarize_here = partial(summarize, window=window)
    rows = [summarize_here(runs) for runs in by_policy]
    print(f"{markdown_table(rows)}\n\n{sources_table(rows)}")
    for runs in by_policy:
        if runs[0].outcome.appended is not None:
            print(f"\n{tail_recall_line(runs[0].outcome.policy, [one.outcome.appended or () for one in runs])}")
    by_policy_and_source = [summarize_by_source(runs, summarize_here) for runs in by_policy]
    for source, baseline in by_policy_and_source[0].items():
        if by_source:
            table = markdown_table(summaries[source] for summaries in by_policy_and_source)
            print(f"\n{source}: {baseline.runs} runs\n\n{table}")
        if baseline.evidence.recorded_under_masking:
            print(f"\n{source}: recorded by an agent that saw recent results only, it seems. Do not tune on it.")


def sources_table(rows: Sequence[PolicySummary]) -> str:
    """Return a table of the tokens that are sent, by where they come from, as shares of all with everything sent."""
    names = [name for name in rows[0].requests.sources if any(row.requests.sources[name] for row in rows)]
    whole = sum(rows[0].requests.sources.values()) or 1
    cells = [[row.policy, *(f"{row.requests.sources[name] / whole:.3f}" for name in names)] for row in rows]
    lines = [["tokens by source", *names], ["---"] * (1 + len(names)), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _print_totals(found: Sequence[Sequence[ComparedRun]]) -> None:
    baselines = [run[0].baseline for run in found]
    steps, evidence = sum(len(one.requests) for one in baselines), sum(one.evidence for one in baselines)
    tokens = sum(request.total for one in baselines for request in one.requests)
    print(f"{len(baselines)} runs, {steps} steps, {tokens / 1e6:.0f}M tokens, {evidence} pieces of evidence\n")


def markdown_table(rows: Iterable[PolicySummary]) -> str:
    """Return a table with one row per policy."""
    lines = [list(_COLUMNS), ["---"] * len(_COLUMNS), *([cell(row) for cell in _COLUMNS.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _share(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"


def _share_or_dash(value: float | None) -> str:
    return "-" if value is None else _share(value)


def _compaction(row: PolicySummary) -> str:
    step, runs = row.requests.first_compaction
    return "-" if step is None else f"{step:.0f} ({runs:.0%})"


def _interval(one: Interval) -> str:
    return f"{_share(one.value)} ({one.low:.2f}-{one.high:.2f})"


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
