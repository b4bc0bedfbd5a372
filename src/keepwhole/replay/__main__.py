"""`python -m keepwhole.replay PATH… --policy NAME…`: the frontier table of recorded runs."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from keepwhole.errors import UsageError
from keepwhole.logs.reader import find_logs
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import estimate
from keepwhole.replay.contenders import contender
from keepwhole.replay.processes import spread
from keepwhole.replay.run_sample import sample
from keepwhole.replay.runner import Work, exact_counter, frequencies, replay_all
from keepwhole.replay.summary import Pair, by_source, summarise
from keepwhole.replay.survey import summed, survey
from keepwhole.replay.table import table
from keepwhole.replay.tail_recall import line


def main(argv: Sequence[str] | None = None) -> None:
    """Replay runs and print the table."""
    args = parser().parse_args(argv)
    started = time.monotonic()
    try:
        contenders = [contender(name) for name in args.policy]
        work = work_from(args)
    except UsageError as error:
        sys.exit(f"error: {error}")
    _say(f"{len(work.runs)} runs read, {time.monotonic() - started:.1f} s")
    found: list[list[Pair]] = []
    for pairs in replay_all(work, contenders, args.jobs):
        found += [pairs] if pairs else []
        if sys.stderr.isatty():
            _say(f"\r{len(found)} replayed", end="")
    _say(f"\r{len(found)} runs replayed under {len(contenders)} policies, {time.monotonic() - started:.1f} s")
    in_order = sorted(found, key=lambda pairs: (pairs[0].full.source, pairs[0].full.id))
    _print(in_order, args.by_source, work.window)


def parser() -> argparse.ArgumentParser:
    """What is asked for."""
    found = argparse.ArgumentParser(prog="python -m keepwhole.replay", description=__doc__)
    found.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files of runs, or folders of them")
    found.add_argument("--policy", nargs="+", default=["auto"], metavar="NAME", help="policies to replay")
    found.add_argument("--least", type=int, default=50_000, help="tokens that a run must have (default: 50000)")
    found.add_argument("--most", type=int, default=sys.maxsize, help="tokens that a run may have")
    found.add_argument("--window", type=int, help="the model's window (default: 200000, measured at 128000)")
    found.add_argument("--all", action="store_true", help="all runs, not the sample")
    found.add_argument("--exact", action="store_true", help="count tokens by a vocabulary (needs `splintr-rs`)")
    found.add_argument("--by-source", action="store_true", help="a table for each source too")
    found.add_argument("--tail", action="store_true", help="what recall at the tail would append, and if it was used")
    found.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    return found


def work_from(args: argparse.Namespace) -> Work:
    """The runs that the arguments name, ready to replay."""
    everything = list(spread(survey, find_logs(args.paths), args.jobs))
    runs, totals = summed(everything)
    for unread in totals.unread:
        line = f" (line {unread['first_line']})" if unread["first_line"] else ""
        _say(f"{unread['path']}: {unread['count']} × {unread['why']}{line}")
    drawn = [run for run in (runs if args.all else sample(runs)) if run.chars >= args.least]
    known = frequencies(runs, args.jobs)
    counter = exact_counter() if args.exact else estimate
    work = Work(drawn, known, counter, args.least, args.most, tail=args.tail)
    return work._replace(window=args.window, profile=DEFAULT.replace(window=args.window)) if args.window else work


def _print(found: Sequence[Sequence[Pair]], by_sources: bool, window: int) -> None:
    if not found:
        print("No run has that many tokens. Give a smaller `--least`.")
        return
    full = [pairs[0].full for pairs in found]
    steps, evidence = sum(len(one.requests) for one in full), sum(one.evidence for one in full)
    tokens = sum(request.total for one in full for request in one.requests)
    print(f"{len(full)} runs, {steps} steps, {tokens / 1e6:.0f}M tokens, {evidence} pieces of evidence\n")
    by_policy = list(zip(*found, strict=True))
    row = partial(summarise, window=window)
    print(table(row(pairs) for pairs in by_policy))
    looked_at = [pairs for pairs in by_policy if pairs[0].outcome.appended is not None]
    for pairs in looked_at:
        print(f"\n{line(pairs[0].outcome.policy, [pair.outcome.appended or () for pair in pairs])}")
    sources = [by_source(pairs, row) for pairs in by_policy]
    for source, row in sources[0].items():
        if by_sources:
            print(f"\n{source}: {row.runs} runs\n\n{table(rows[source] for rows in sources)}")
        if row.recorded_under_masking:
            print(f"\n{source}: recorded by an agent that saw recent results only, it seems. Do not tune on it.")


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
