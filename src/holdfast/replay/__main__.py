"""`python -m holdfast.replay PATH… --policy NAME…`: the frontier table of recorded runs."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from holdfast.projection.policy import Policy
from holdfast.projection.tokens import estimate
from holdfast.replay.frequency import Frequency
from holdfast.replay.measured import Counter, Measured
from holdfast.replay.oracles import ORACLES, oracle_named
from holdfast.replay.reader import files, read_runs, sample
from holdfast.replay.replay import Outcome, replay, sent_whole
from holdfast.replay.run import Run
from holdfast.replay.summary import Pair, by_source, summarise
from holdfast.replay.table import table


class _Work:
    """What the processes share."""

    runs: Sequence[Run] = ()
    frequencies: dict[str, Frequency] = {}  # noqa: RUF012 - one for all, set before the processes are forked
    counter: Counter = staticmethod(estimate)


def main(argv: Sequence[str] | None = None) -> None:
    """Replay runs and print the table."""
    args = _parser().parse_args(argv)
    started = time.monotonic()
    _load(files(args.paths), args)
    _say(f"{len(_Work.runs)} runs read, {time.monotonic() - started:.1f} s")
    outcomes: list[list[Outcome]] = []
    for found in _replayed(args):
        outcomes += [found] if found else []
        if sys.stderr.isatty():
            _say(f"\r{len(outcomes)} replayed", end="")
    _say(f"\r{len(outcomes)} runs replayed under {len(args.policy)} policies, {time.monotonic() - started:.1f} s")
    _print(outcomes, args.by_source)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m holdfast.replay", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files of runs, or folders of them")
    parser.add_argument("--policy", nargs="+", default=["auto"], metavar="NAME", help="policies to replay")
    parser.add_argument("--least", type=int, default=50_000, help="tokens that a run must have (default: 50000)")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="tokens that a run may have")
    parser.add_argument("--all", action="store_true", help="all runs, not the sample")
    parser.add_argument("--exact", action="store_true", help="count tokens by a vocabulary (needs `splintr-rs`)")
    parser.add_argument("--by-source", action="store_true", help="a table for each source too")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    return parser


def _load(paths: Iterable[Path], args: argparse.Namespace) -> None:
    """Read runs by source: how common a string is counts over all of a source's runs, also those not in the sample."""
    groups: dict[str, list[Run]] = {}
    for path in paths:
        for run in read_runs(path):
            groups.setdefault(run.source, []).append(run)
    chosen = {source: runs if args.all else sample(runs) for source, runs in groups.items()}
    wanted = [run for runs in chosen.values() for run in runs if args.least <= run.chars]
    _Work.runs = sorted(wanted, key=lambda run: -run.chars)
    _Work.frequencies = {source: Frequency(groups[source]) for source in {run.source for run in wanted}}
    _Work.counter = exact_counter() if args.exact else estimate


def exact_counter() -> Counter:
    """A counter by the vocabulary o200k."""
    from splintr import Tokenizer  # pyright: ignore

    encode = Tokenizer.from_pretrained("o200k_base").encode  # pyright: ignore

    def count(text: str) -> int:
        return len(encode(text))  # pyright: ignore

    return count


def _replayed(args: argparse.Namespace) -> Iterator[list[Outcome] | None]:
    work = partial(_replay_one, args.policy, args.least, args.most)
    if args.jobs < 2:
        yield from map(work, range(len(_Work.runs)))
        return
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        yield from pool.imap_unordered(work, range(len(_Work.runs)))


def _replay_one(names: Sequence[str], least: int, most: int, number: int) -> list[Outcome] | None:
    """One run under each policy; None where it has too few tokens, or too many."""
    run = _Work.runs[number]
    measured = Measured(run, _Work.frequencies[run.source], _Work.counter)
    if not least <= measured.tokens <= most:
        return None
    return [sent_whole(measured), *(replay(measured, _policy(name, measured)) for name in names)]


def _policy(name: str, measured: Measured) -> Policy:
    if name in ORACLES:
        return oracle_named(name, measured.evidence, measured.steps)
    from holdfast.projection.policies import policy_named

    return policy_named(name)


def _print(outcomes: Sequence[Sequence[Outcome]], by_sources: bool) -> None:
    if not outcomes:
        print("No run has that many tokens. Give a smaller `--least`.")
        return
    full = [found[0] for found in outcomes]
    steps, evidence = sum(len(one.requests) for one in full), sum(one.evidence for one in full)
    tokens = sum(request.total for one in full for request in one.requests)
    print(f"{len(full)} runs, {steps} steps, {tokens / 1e6:.0f}M tokens, {evidence} pieces of evidence\n")
    pairs = [[Pair(found[at], found[0]) for found in outcomes] for at in range(len(outcomes[0]))]
    print(table(summarise(one) for one in pairs))
    sources = [by_source(one) for one in pairs] if by_sources else []
    for source in sources[0] if sources else ():
        print(f"\n{source}: {sources[0][source].runs} runs\n\n{table(rows[source] for rows in sources)}")
    for source, row in by_source(pairs[0]).items():
        if row.recorded_under_masking:
            print(f"\n{source}: recorded by an agent that saw recent results only, it seems. Do not tune on it.")


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
