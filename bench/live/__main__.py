"""`python -m bench.live --model claude-haiku-4-5 --arms direct,keepwhole --length 64k --max-dollars 10`

Runs seeded tasks with an agent in each arm and writes a line of JSON for each run (`--out`), a page beside it, and what
is spent (`.spent`, which counts the runs that were killed too). Where the file has runs already, only those that are
missing are made. The key is read from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY) and goes to
the provider alone. With `--oracle` a script takes the place of the provider, and nothing is paid.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.live.arms import check_arm
from bench.live.budget import open_budget
from bench.live.families import FAMILIES, SEEDS, make_task, task_ids
from bench.live.meter import Provider
from bench.live.oracle import ORACLES
from bench.live.oracle_provider import COUNTERS, serve_oracle
from bench.live.prices import prices_of
from bench.live.report import write_report
from bench.live.runner import Plan, read_rows, rows_of, run_all
from bench.live.task import LENGTHS
from bench.live.wires import WIRES, dialect_for


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for; return 0 where every run was made, 1 where money ended before."""
    args = parser().parse_args(argv)
    dialect = args.dialect or dialect_for(args.model)
    arms = tuple(dict.fromkeys(args.arms.split(",")))
    try:
        for arm in arms:
            check_arm(arm, dialect)
        tasks = task_ids(args.length, tuple(args.families.split(",")), tuple(range(1, args.seeds + 1)))
        _ = [make_task(task) for task in tasks]
        prices = prices_of(args.model, args.prices)
        key = "none" if args.oracle else _key(dialect, args.base_url)
    except ValueError as error:
        sys.exit(f"error: {error}")
    out = Path(args.out or f"live-{args.oracle or 'model'}-{args.model.rpartition('/')[2]}-{args.length}.jsonl")
    plan = Plan(args.model, args.length, arms, tasks, args.repeats, args.order_seed, args.jobs, args.oracle or "")
    with ExitStack() as stack:
        try:
            budget = stack.enter_context(open_budget(args.max_dollars, out.with_suffix(".spent")))
        except ValueError as error:
            sys.exit(f"error: {error}")
        budget.spent = max(budget.spent, sum(row["dollars"] for row in read_rows(out)))
        url = args.base_url or WIRES[dialect].host
        if args.oracle:
            url = stack.enter_context(serve_oracle(args.oracle, dialect, args.model, tokens=args.tokens)).url
        is_all = run_all(plan, Provider(url, dialect, prices, key), budget, out, _say, args.meter_port)
    page = write_report(rows_of(plan, dialect, read_rows(out)), arms[0])
    out.with_suffix(".md").write_text(page, encoding="utf-8")
    print(page)
    if not is_all:
        _say(f"The budget of ${args.max_dollars:.2f} has no room for another request. Raise `--max-dollars` to go on.")
    return 0 if is_all else 1


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    found = argparse.ArgumentParser(
        prog="python -m bench.live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--model", required=True, help="the model, as its provider calls it")
    found.add_argument(
        "--arms", default="direct,keepwhole", help="arms, the first is compared with (see bench/live/arms.py)"
    )
    found.add_argument("--length", choices=LENGTHS, default="64k", help="tokens of a task's results, about")
    found.add_argument("--max-dollars", type=float, required=True, help="most that may be spent, earlier runs included")
    found.add_argument("--repeats", type=int, default=1, help="runs of each task in each arm")
    found.add_argument("--families", default=",".join(FAMILIES), help="families of tasks (default: all)")
    found.add_argument("--seeds", type=int, default=len(SEEDS), help="tasks of each family (default: 4)")
    found.add_argument("--dialect", choices=WIRES, help="how the model is asked (default: by its name)")
    found.add_argument("--base-url", help="where the provider is, if not at its usual address")
    found.add_argument("--prices", metavar="IN,READ,WRITE,OUT", help="dollars per million tokens, where not known")
    found.add_argument("--out", help="the file of runs (default: by model and length)")
    found.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    found.add_argument("--order-seed", type=int, default=1, help="another random order of runs")
    found.add_argument("--meter-port", type=int, default=0, help="the port that a `proxy:URL` has as its upstream")
    found.add_argument("--oracle", choices=ORACLES, help="a script in place of the provider: nothing is paid")
    found.add_argument("--tokens", choices=COUNTERS, default="bytes", help="how that script counts tokens")
    return found


def _key(dialect: str, base_url: str | None) -> str:
    name = WIRES[dialect].key
    key = os.environ.get(name, "")
    if not key and not base_url:
        raise ValueError(f"There is no key. Set `{name}`, or try the harness without one: `--oracle plan`.")
    return key or "none"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
