"""What an adapter costs inside its framework: CPU for each kept result of 10 KB, over a bare durable insert.

The agent gets the same results with the adapter, and without it while a plain loop inserts them durably. The
difference per result is the price of the adapter. The floor is for keeping inside the framework, with `mode: off`.
Following the conversation, making the view before each request, and cutting have their own floors under `project`
and `truncate`, so here they are only reported.
"""

import importlib
import time
from collections.abc import Callable, Sequence
from statistics import median

import keepwhole
from bench import floors
from bench.support.bare_log import BareLog
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import Setup
from bench.support.timing import run_interleaved
from bench.texts.large_texts import text_file
from keepwhole import config

Agent = Callable[[keepwhole.Session | None, str, Sequence[str]], Callable[[], int]]
FRAMEWORKS = ("loop", "langchain", "openai_agents", "pydantic_ai", "claude_agent")
_KINDS = {"kept": ("read_file", "off"), "kept and viewed": ("read_file", "on"), "kept, cut and viewed": ("look", "on")}
"""What is measured: the tool that returns the results, and the mode; reads are shown whole."""
_WITH_THE_VIEW = ("openai_agents", "pydantic_ai")
"""Adapters that keep results only when messages are about to be sent: with `mode: off` they keep nothing."""
_RESULTS = 40
_SIZE = 10_000


def adapters(setup: Setup) -> list[Row]:
    bodies = _bodies(setup)
    return [row for name in FRAMEWORKS for row in _rows(setup, name, bodies)]


def _rows(setup: Setup, name: str, bodies: list[str]) -> list[Row]:
    try:
        agent: Agent = importlib.import_module(f"bench.frameworks.{name}").agent
    except ImportError as error:
        return [Row(f"adapter `{name}`", f"not run: {error}")]
    kinds = [kind for kind in _KINDS if kind != "kept" or name not in _WITH_THE_VIEW]
    return [_row(setup, name, kind, agent, bodies) for kind in kinds]


def _row(setup: Setup, name: str, kind: str, agent: Agent, bodies: list[str]) -> Row:
    tool, mode = _KINDS[kind]
    place = f"adapter-{name}-{tool}-{mode}"
    settings = config.load(home=setup.path(place)).replace(mode=mode)
    bare = BareLog(setup.path(f"{place}-bare"))
    numbers = iter(range(1_000))

    def keep_results() -> float:
        with keepwhole.Session(f"run-{next(numbers)}", store=settings.home, settings=settings) as session:
            session.keep("warm", None, "warm")
            spent = _cpu(agent(session, tool, bodies))
            _check(session)
        return spent

    def insert_rows() -> float:
        return alone() + _cpu(lambda: [bare.keep_row(body.encode()) for body in bodies])

    def alone() -> float:
        return _cpu(agent(None, tool, bodies))

    keep_results()  # imports at first use do not count
    times = run_interleaved(place, setup.rounds, {"kept": keep_results, "inserted": insert_rows, "alone": alone})
    bare.close()
    return _price_row(f"adapter `{name}`: CPU for a result of 10 KB, {kind}", times, kind == "kept")


def _price_row(what: str, times: dict[str, list[float]], is_judged: bool) -> Row:
    """The price beyond agent and insert, with the figures it is computed from."""
    over = [(a - b) / _RESULTS * 1e3 for a, b in zip(times["kept"], times["inserted"], strict=True)]
    kept, inserted, alone = (f"{median(times[side]) / _RESULTS * 1e3:.2f} ms" for side in ("kept", "inserted", "alone"))
    figure, reference = f"{kept} a step", f"bare {inserted}, {alone} of it the agent"
    if is_judged:
        return row_with_floor(what, figure, reference, over, floors.ADAPTER)
    return row_without_floor(what, figure, reference, over, floors.ADAPTER.unit, floors.ADAPTER.digits)


def _check(session: keepwhole.Session) -> None:
    results = sum(1 for _ in session.store.rows(session.id, kind="result", light=True))
    if results != _RESULTS + 1:
        raise RuntimeError(f"{results - 1} results are on record instead of {_RESULTS}")


def _bodies(setup: Setup) -> list[str]:
    """Different pieces of a log."""
    with open(text_file("ASCII", 20_000_000, setup.folder), encoding="utf-8") as file:
        return [file.read(_SIZE) for _ in range(_RESULTS)]


def _cpu(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started
