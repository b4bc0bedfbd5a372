"""`python -m bench.never_worse PATH…`: what `auto` costs against `mode: off`, for several values of `auto.max_loss`.

One row for each value and read price, told the true price, with breakpoints at request ends. Costs include the recall
tools and fetching back what was missing; `mode: off` includes the client's own compaction. A run
counts as dearer where it costs more than 1.02 times as much and more than a cent more.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple

from bench.frontier import read_job
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import CAREFUL, PRESETS
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import Contender, same_policy
from keepwhole.replay.cost import price_of, refetch_cost, sending_cost
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.runner import replay_all

_READ_PRICES = {0.10: 1.25, 0.05: 1.25, 0.02: 1.0}
_DOLLARS = 3.0
"""For a million input tokens: what one cent is depends on it."""
_CENT = 0.01 / _DOLLARS * 1e6


class RunCost(NamedTuple):
    """One run under one policy, in tokens at the input price."""

    source: str
    off: float
    sent: float
    all_in: float
    in_context: int
    evidence: int

    @property
    def over(self) -> float:
        """How many times the cost of `mode: off` it costs; 1 where the difference is less than a cent."""
        return self.all_in / self.off if self.all_in - self.off > _CENT or self.all_in < self.off else 1.0


def main(argv: Sequence[str] | None = None) -> None:
    """Replay the runs and print the table."""
    found = argparse.ArgumentParser(prog="python -m bench.never_worse", description=__doc__)
    found.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    found.add_argument("--max-loss", nargs="+", type=float, default=[0.01, 0.02, 0.05, 0.10, inf], metavar="SHARE")
    found.add_argument("--read", nargs="+", type=float, default=list(_READ_PRICES), metavar="PRICE")
    found.add_argument("--window", type=int, default=200_000)
    found.add_argument("--preset", choices=list(PRESETS), default="careful")
    found.add_argument("--least", type=int, default=0)
    found.add_argument("--by-source", action="store_true")
    found.add_argument("--jobs", type=int, default=2)
    args = found.parse_args(argv, argparse.Namespace(all=True, exact=False, most=sys.maxsize, tail=False))
    print("| max_loss | read | runs | in ctx | sent | all-in | dearest | > 1.02 | > 1 + max_loss |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    job = read_job(args)
    for read in args.read:
        profile = DEFAULT.replace(window=args.window, read=read, write=_READ_PRICES.get(read, 1.25), assumed=())
        settings = [PRESETS[args.preset].replace(max_loss=min(share, 1_000)) for share in args.max_loss]
        contenders = [
            Contender(f"{one.max_loss:g}", same_policy(partial(Auto, one)), tools=OFFERED_TOKENS) for one in settings
        ]
        costs: defaultdict[str, list[RunCost]] = defaultdict(list)
        for runs in replay_all(job._replace(profile=profile, window=args.window), contenders, args.jobs):
            for one in (runs or [])[1:]:
                costs[one.outcome.policy].append(_cost_of(one.outcome, one.baseline, profile))
        for name, those in costs.items():
            _print_row(name, f"{read:g}", those)
            if args.by_source:
                for source in sorted({one.source for one in those}):
                    _print_row(name, source, [one for one in those if one.source == source])


def _cost_of(outcome: Outcome, baseline: Outcome, profile: Profile) -> RunCost:
    price = price_of(profile)
    sent, off = (sending_cost(one.requests, price, "tail") for one in (outcome, baseline))
    fetched = refetch_cost(outcome.requests, outcome.losses_in_context, price)
    return RunCost(outcome.source, off, sent, sent + fetched, outcome.in_context, outcome.evidence)


def _print_row(name: str, read: str, costs: Sequence[RunCost]) -> None:
    off = sum(one.off for one in costs)
    evidence = sum(one.evidence for one in costs) or 1
    kept = sum(one.in_context for one in costs) / evidence
    worst = max(one.over for one in costs)
    limit = 1 + (CAREFUL.max_loss if name == "inf" else float(name))
    print(
        f"| {name} | {read} | {len(costs)} | {kept:.3f} | {sum(one.sent for one in costs) / off:.3f} "
        f"| {sum(one.all_in for one in costs) / off:.3f} | {worst:.3f} "
        f"| {sum(one.over > 1.02 for one in costs)} | {sum(one.over > limit for one in costs)} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
