"""Runs every task in every arm, in random order, and writes a line of JSON for each run.

Owns: which runs are due, their order, and the file. Must not know: dialects, statistics.
"""

import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict
from os import SEEK_END
from pathlib import Path
from typing import NamedTuple

from bench.live.agent import FAILED, Agent, Outcome, OutOfMoney
from bench.live.arms import Arm, open_arm
from bench.live.budget import Budget
from bench.live.families import make_task
from bench.live.meter import Meter, Provider, serve_meter
from bench.live.wires import WIRES
from bench.live.wires.wire import Json
from keepwhole.version import VERSION

UNFINISHED = "unfinished"
"""The outcome of a run that the budget ended."""


class Plan(NamedTuple):
    """What is to be run."""

    model: str
    length: str
    arms: Sequence[str]
    tasks: Sequence[str]
    """Ids."""
    repeats: int = 1
    order_seed: int = 1
    jobs: int = 1
    oracle: str = ""
    """The oracle that takes the place of the model."""


class Due(NamedTuple):
    """One run that is to be made."""

    task: str
    arm: str
    repeat: int


def due_runs(plan: Plan) -> list[Due]:
    """Return all runs in random order: tasks in random order, and of each task the arms in random order.

    The arms of a task follow each other, so that where money ends there are few tasks without their pair.
    """
    chance = random.Random(plan.order_seed)
    blocks = [(task, repeat) for repeat in range(plan.repeats) for task in plan.tasks]
    chance.shuffle(blocks)
    return [
        Due(task, arm, repeat) for task, repeat in blocks for arm in chance.sample(list(plan.arms), k=len(plan.arms))
    ]


def read_rows(path: Path) -> list[Json]:
    """Return the rows of a file of runs; a line that was torn by a crash is skipped."""
    rows: list[Json] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def rows_of(plan: Plan, dialect: str, rows: Sequence[Json]) -> list[Json]:
    """Return the rows of this model in this dialect; the file may have others."""
    own = {"model": plan.model, "oracle": plan.oracle, "dialect": dialect, "length": plan.length}
    return [row for row in rows if own.items() <= row.items()]


def run_all(
    plan: Plan, provider: Provider, budget: Budget, out: Path, say: Callable[[str], None], meter_port: int = 0
) -> bool:
    """Make all runs that the file does not have; return whether money was left for all of them."""
    done = {
        (row["task"], row["arm"], row["repeat"])
        for row in rows_of(plan, provider.dialect, read_rows(out))
        if row["outcome"] != UNFINISHED
    }
    due = [run for run in due_runs(plan) if run not in done]
    if not due:
        return True
    with ExitStack() as stack:
        meter = stack.enter_context(serve_meter(provider, budget, meter_port))
        arms = {
            name: stack.enter_context(open_arm(name, meter.url, provider.dialect, plan.length)) for name in plan.arms
        }
        say(f"{len(due)} runs due, {len(done)} done before; the meter is at {meter.url}")
        return _run_due(plan, due, arms, meter, out, say)


def _run_due(
    plan: Plan, due: Sequence[Due], arms: dict[str, Arm], meter: Meter, out: Path, say: Callable[[str], None]
) -> bool:
    stopped, lock = threading.Event(), threading.Lock()

    def one(run: Due) -> Json | None:
        if stopped.is_set():
            return None
        row = {**make_run(run, plan.model, arms[run.arm], meter), "oracle": plan.oracle}
        if row["outcome"] == UNFINISHED:
            stopped.set()
        with lock:
            _append(out, row)
        return row

    with ThreadPoolExecutor(plan.jobs) as pool:
        futures = [pool.submit(one, run) for run in due]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                if (row := future.result()) is not None:
                    say(f"{number}/{len(due)} {_progress(row)}; ${meter.budget.spent:.2f} in all")
        except BaseException:  # an interrupt too: what is being made asks for nothing more
            stopped.set()
            meter.budget.end()
            raise
    return not stopped.is_set()


def _progress(row: Json) -> str:
    counts = f"${row['dollars']:.4f}, {row['steps']} steps, {row['recalls']} recalls"
    return f"{row['task']} {row['arm']}: {row['outcome']}, {counts}"


def _append(out: Path, row: Json) -> None:
    """Write a row on a line of its own, also after one that a crash has torn."""
    with out.open("a+b") as file:
        if file.tell():
            file.seek(-1, SEEK_END)
            file.write(b"" if file.read(1) == b"\n" else b"\n")
        file.write(json.dumps(row).encode() + b"\n")


def make_run(run: Due, model: str, arm: Arm, meter: Meter) -> Json:
    """Make one run; return its row. What it cost is charged however it ends."""
    task, run_id = make_task(run.task), secrets.token_hex(6)
    family, seed, length = run.task.rsplit("-", 2)
    agent = Agent(task, arm, WIRES[meter.provider.dialect], model, run_id)
    told = Outcome(UNFINISHED, "", 0, 0, 0.0)
    with meter.bill_of(run_id) as bill:
        try:
            told = agent.run()
        except OutOfMoney:
            pass
    if bill.is_out_of_money:
        told = told._replace(outcome=UNFINISHED)
    elif not bill.requests and told.outcome not in (*FAILED, UNFINISHED):
        told = told._replace(outcome="error", problem="No request came through the meter: make it the upstream.")
    own = {tool.name for tool in task.tools}
    recalls = sum(count for name, count in bill.called.items() if name not in own)
    paid = {name: value for name, value in asdict(bill).items() if name not in ("called", "is_out_of_money")}
    what: Json = {**run._asdict(), "family": family, "seed": int(seed), "length": length, "model": model}
    where: Json = {"dialect": meter.provider.dialect, "run": run_id, "at": int(time.time()), "keepwhole": VERSION}
    return {**what, **told._asdict(), **paid, "recalls": recalls, **where}
