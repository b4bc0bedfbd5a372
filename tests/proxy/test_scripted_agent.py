"""An agent works through the proxy as it works without it: same result, fewer tokens, no higher bill, all on record."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast import Session, SqliteStore
from holdfast.store.protocol import result_of
from tests.proxy.agent import Agent, Outcome
from tests.proxy.agent_model import Model, turns_of
from tests.proxy.agent_proxy import Running, forbid_growth, proxy
from tests.upstream.billing import TILLS, Breakpoints, Clock, Prefixes
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect

FEW = 60
MANY = 300
SESSION = "work"
MODELS: dict[Dialect, str] = {"anthropic": "claude-sonnet-5", "openai_chat": "gpt-5", "openai_responses": "gpt-5"}
PRICES: dict[Dialect, tuple[float, float]] = {
    "anthropic": (0.1, 1.25),
    "openai_chat": (0.1, 1.0),
    "openai_responses": (0.1, 1.0),
}
ONE = {"proxy": {"tenants": "one"}}
every_dialect = pytest.mark.parametrize("dialect", TILLS)
every_length = pytest.mark.parametrize("steps", [FEW, pytest.param(MANY, marks=pytest.mark.torture)])


class Run(NamedTuple):
    """One run of the agent, as the provider and the agent saw it."""

    outcome: Outcome
    till: Breakpoints | Prefixes
    upstream: Upstream
    model: Model

    @property
    def did(self) -> tuple[str, str]:
        """What the work came to: the files, and the last words."""
        return self.outcome.files, self.outcome.answer[self.outcome.answer.index("Done") :]


@contextmanager
def provider(dialect: Dialect, steps: int, window: int) -> Iterator[tuple[Upstream, Breakpoints | Prefixes, Model]]:
    model, till = Model(steps), TILLS[dialect](Clock(), window=window)
    with upstream(model, till) as served:
        yield served, till, model
    assert served.failed == []
    assert served.refused == []


@cache
def straight(dialect: Dialect, steps: int) -> Run:
    """The work without a proxy, at a provider whose window is never full."""
    with provider(dialect, steps, window=2_000_000) as (served, till, model):
        return Run(Agent(dialect, served.url, SESSION).run(), till, served, model)


def through(
    folder: Path,
    dialect: Dialect,
    steps: int,
    before: Callable[[Running, int], None] = lambda running, step: None,
    **settings: Any,
) -> Run:
    """The work through a proxy, at a provider with the window that its models have."""
    with (
        provider(dialect, steps, window=200_000) as (served, till, model),
        proxy(folder, served.url, **{**ONE, **settings}) as running,
    ):
        outcome = Agent(dialect, running.url, SESSION).run(lambda step: before(running, step))
        return Run(outcome, till, served, model)


def on_record(folder: Path) -> dict[str, bytes]:
    """What the record has of every call."""
    store = SqliteStore(folder / "home")
    try:
        session = Session(SESSION, store=store)
        known = [result_of(row) for row in store.rows(SESSION, kind="result")]
        assert session.verify().whole
        return {one.call_id: session.recall_bytes(one.trace_id) for one in known if one.call_id}
    finally:
        store.close()


@every_dialect
@every_length
def test_the_work_is_the_same_and_costs_no_more(tmp_path: Path, dialect: Dialect, steps: int) -> None:
    plain, run = straight(dialect, steps), through(tmp_path, dialect, steps)
    assert run.did == plain.did
    assert run.till.tokens < plain.till.tokens
    assert run.till.cost <= 1.02 * plain.till.cost
    assert set(run.model.did) <= {"", "shown", "get_artifact"}, "a value was not where the notice said"
    recorded = on_record(tmp_path)
    returned = {kept.call_id: kept.text.encode() for kept in run.outcome.results}
    assert {call_id: recorded.get(call_id) for call_id in returned} == returned


@every_dialect
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_prices_that_are_wrong_by_a_factor_of_two_cost_little(tmp_path: Path, dialect: Dialect, factor: float) -> None:
    read, write = PRICES[dialect]
    models = {MODELS[dialect]: {"read": read * factor, "write": write / factor}}
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, models=models)
    assert run.did == plain.did
    assert run.till.cost <= 1.05 * plain.till.cost


@every_dialect
@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_a_proxy_that_is_to_change_nothing_changes_nothing(tmp_path: Path, dialect: Dialect, mode: str) -> None:
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, mode=mode)
    assert [asked.data for asked in run.upstream.asked] == [asked.data for asked in plain.upstream.asked]
    assert [asked.path for asked in run.upstream.asked] == [asked.path for asked in plain.upstream.asked]
    assert run.did == plain.did


@every_dialect
def test_what_is_left_out_is_read_from_the_files_that_notices_name(tmp_path: Path, dialect: Dialect) -> None:
    settings = {"recall": "path", "recall_reader": "read_file"}
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, **settings)
    assert run.did == plain.did
    assert run.till.cost <= 1.02 * plain.till.cost
    assert run.model.did["read_file"] >= 0


class Trouble:
    """Something that happens to the record of a proxy, and is over at times."""

    def __init__(self, kind: str, running: Running) -> None:
        self._kind, self._running = kind, running
        self._lock: sqlite3.Connection | None = None

    def begin(self) -> None:
        home = self._running.home
        if self._kind == "full":
            forbid_growth(self._running.pid, True)
        elif self._kind == "locked":
            (database,) = home.glob("*.db")
            self._lock = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
            self._lock.execute("BEGIN EXCLUSIVE")
        else:
            home.rename(home.with_name("elsewhere"))
            home.write_text("in the way")

    def end(self) -> None:
        home = self._running.home
        if self._kind == "full":
            forbid_growth(self._running.pid, False)
        elif self._lock is not None:
            self._lock.close()
        elif home.is_file():
            home.unlink()
            home.with_name("elsewhere").rename(home)


@every_dialect
@pytest.mark.parametrize("kind", ["full", "locked", "gone"])
def test_trouble_with_the_record_costs_tokens_and_nothing_else(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    plain = straight(dialect, FEW)
    troubles: list[Trouble] = []

    def happens(running: Running, step: int) -> None:
        if step == FEW * 2 // 3:
            troubles.append(Trouble(kind, running))
            troubles[0].begin()
        if step == FEW * 5 // 6:
            troubles[0].end()

    run = through(tmp_path, dialect, FEW, happens)
    assert run.did == plain.did
    recorded = on_record(tmp_path)
    assert_nothing_hidden_is_lost(run, recorded)


def assert_nothing_hidden_is_lost(run: Run, recorded: dict[str, bytes]) -> None:
    """Whatever was not sent as a tool returned it is on record as it was."""
    returned = {kept.call_id: kept.text for kept in run.outcome.results}
    for asked in run.upstream.asked:
        for turn in turns_of(asked.body):
            for call_id, text in turn.results.items():
                if call_id in returned and text != returned[call_id]:
                    assert recorded[call_id] == returned[call_id].encode()
