"""An agent works through the proxy as it works without it: same result, fewer tokens, no higher bill, all on record."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.exchange.request_log import RequestLog
from keepwhole.store.protocol import Store, result_of
from tests.apps.proxy.agent import Agent, Outcome
from tests.apps.proxy.agent_model import Model, turns_of
from tests.apps.proxy.agent_proxy import Running, forbid_growth, proxy
from tests.apps.proxy.proxy_server import proxy as serving
from tests.long_run import one_in
from tests.postgres import fresh_url
from tests.postgres import running as server
from tests.upstream.answer import Answer
from tests.upstream.prompt_cache import TILLS, Breakpoints, Clock, Prefixes
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect

FEW = 40
MANY = 300
SESSION = "work"
MODELS: dict[Dialect, str] = {"anthropic": "claude-sonnet-5", "openai_chat": "gpt-5", "openai_responses": "gpt-5"}
PRICES: dict[Dialect, tuple[float, float]] = {
    "anthropic": (0.1, 1.25),
    "openai_chat": (0.1, 1.0),
    "openai_responses": (0.1, 1.0),
}
ONE = {"proxy": {"tenants": "one"}, "auto": {"worth": 0, "horizon": 1, "start": 20000}}
every_dialect = pytest.mark.parametrize("dialect", TILLS)
some_dialect = one_in(3, ((dialect,) for dialect in TILLS))
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

    @property
    def returned(self) -> dict[str, bytes]:
        """What every call returned."""
        return {kept.call_id: kept.text.encode() for kept in self.outcome.results}


Worked: TypeAlias = Callable[[Dialect, int], tuple[Run, Path]]


@contextmanager
def provider(
    dialect: Dialect, steps: int, window: int, packed: bool = False
) -> Iterator[tuple[Upstream, Breakpoints | Prefixes, Model]]:
    model, till = Model(steps), TILLS[dialect](Clock(), window=window)
    answer = (lambda body: Answer(model(body), packed=True)) if packed else model
    with upstream(answer, till) as served:
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
    packed: bool = False,
    **settings: Any,
) -> Run:
    """The work through a proxy, at a provider with the window that its models have."""
    with (
        provider(dialect, steps, window=200_000, packed=packed) as (served, till, model),
        proxy(folder, served.url, **{**ONE, **settings}) as running,
    ):
        outcome = Agent(dialect, running.url, SESSION).run(lambda step: before(running, step))
        return Run(outcome, till, served, model)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """The work through a proxy that is left alone, done once."""

    @cache
    def once(dialect: Dialect, steps: int) -> tuple[Run, Path]:
        folder = tmp_path_factory.mktemp(f"{dialect}-{steps}")
        return through(folder, dialect, steps), folder

    return once


def on_record(folder: Path) -> dict[str, bytes]:
    """What the record in a folder has of every call."""
    return recorded_in(SqliteStore(folder / "home"))


def recorded_in(store: Store) -> dict[str, bytes]:
    """What a record has of every call; it is closed."""
    try:
        session = Session(SESSION, store=store)
        known = [result_of(row) for row in store.rows(SESSION, kind="result")]
        assert session.verify().whole
        return {one.call_id: session.recall_bytes(one.trace_id) for one in known if one.call_id}
    finally:
        store.close()


@every_dialect
@every_length
def test_the_work_is_the_same_and_costs_no_more(worked: Worked, dialect: Dialect, steps: int) -> None:
    plain, (run, _) = straight(dialect, steps), worked(dialect, steps)
    assert run.did == plain.did
    assert run.till.tokens < plain.till.tokens
    assert run.till.cost <= 1.02 * plain.till.cost


@every_dialect
@every_length
def test_what_was_left_out_is_found_where_the_notice_says(worked: Worked, dialect: Dialect, steps: int) -> None:
    run, _ = worked(dialect, steps)
    assert run.model.did["get_artifact"] > 0
    assert set(run.model.did) == {"", "shown", "get_artifact"}


@every_dialect
@every_length
def test_every_result_is_on_record_as_the_tool_returned_it(worked: Worked, dialect: Dialect, steps: int) -> None:
    run, folder = worked(dialect, steps)
    recorded = on_record(folder)
    assert {call_id: recorded.get(call_id) for call_id in run.returned} == run.returned


@every_dialect
@every_length
def test_what_the_provider_reads_from_its_cache_was_foreseen(worked: Worked, dialect: Dialect, steps: int) -> None:
    run, folder = worked(dialect, steps)
    with Session(SESSION, store=folder / "home") as session:
        told = [(step.request.predicted, step.response and step.response.cached) for step in RequestLog(session).all()]
    billed = [bill.read for bill in run.till.bills]
    assert [cached for _, cached in told] == billed
    missed = sum(abs((predicted or 0) - cached) for (predicted, _), cached in zip(told, billed, strict=True))
    assert missed <= 0.02 * sum(billed)


@pytest.mark.parametrize("dialect", ["anthropic", pytest.param("openai_chat", marks=pytest.mark.torture)])
@pytest.mark.parametrize("factor", [pytest.param(0.5, marks=pytest.mark.torture), 2.0])
def test_prices_that_are_wrong_by_a_factor_of_two_cost_little(tmp_path: Path, dialect: Dialect, factor: float) -> None:
    read, write = PRICES[dialect]
    models = {MODELS[dialect]: {"read": read * factor, "write": write / factor}}
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, models=models)
    assert run.did == plain.did
    assert run.till.cost <= 1.05 * plain.till.cost


@pytest.mark.parametrize(
    ("mode", "dialect"),
    [
        ("shadow", "anthropic"),
        *(pytest.param("shadow", one, marks=pytest.mark.torture) for one in TILLS if one != "anthropic"),
        *(pytest.param("off", one, marks=pytest.mark.torture) for one in TILLS),
    ],
)
def test_a_proxy_that_is_to_change_nothing_changes_nothing(tmp_path: Path, dialect: Dialect, mode: str) -> None:
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, mode=mode)
    assert [asked.data for asked in run.upstream.asked] == [asked.data for asked in plain.upstream.asked]
    assert [asked.path for asked in run.upstream.asked] == [asked.path for asked in plain.upstream.asked]
    assert run.did == plain.did


@pytest.mark.parametrize("dialect", some_dialect)
def test_what_is_left_out_is_read_from_the_files_that_notices_name(tmp_path: Path, dialect: Dialect) -> None:
    settings = {"recall": "path", "recall_reader": "read_file"}
    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, **settings)
    assert run.did == plain.did
    assert run.till.cost <= 1.02 * plain.till.cost
    assert run.model.did["read_file"] > 0, "nothing had to be looked up"


@pytest.mark.parametrize("dialect", some_dialect)
def test_answers_that_come_packed_are_read_alike(tmp_path: Path, dialect: Dialect) -> None:
    assert through(tmp_path, dialect, 12, packed=True).did == straight(dialect, 12).did


class Trouble:
    """Something that happens to the record of a proxy for a third of the requests that are left."""

    def __init__(self, kind: str, steps: int) -> None:
        self._kind, self._begins, self._ends = kind, steps * 2 // 3, steps * 7 // 9

    def __call__(self, running: Running, step: int) -> None:
        """Told of every request."""
        if self._kind == "slow":
            if self._begins <= step < self._ends:
                _hold(running.home / "record.db", seconds=0.2)
        elif step == self._begins:
            _break(self._kind, running)
        elif step == self._ends:
            _mend(self._kind, running)


def _hold(database: Path, seconds: float) -> None:
    """Keep everybody else from writing for a while."""
    lock = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    lock.execute("BEGIN EXCLUSIVE")
    threading.Timer(seconds, lock.close).start()


def _break(kind: str, running: Running) -> None:
    if kind == "full":
        forbid_growth(running.pid, True)
    else:
        running.home.rename(running.home.with_name("elsewhere"))
        running.home.write_text("in the way")


def _mend(kind: str, running: Running) -> None:
    if kind == "full":
        forbid_growth(running.pid, False)
    else:
        running.home.unlink()
        running.home.with_name("elsewhere").rename(running.home)


FEW_TROUBLES = list(zip(("full", "slow", "gone"), TILLS, strict=True))


@pytest.mark.parametrize(
    ("kind", "dialect", "steps"),
    [
        *((*one, FEW) for one in FEW_TROUBLES),
        *(pytest.param(*one, MANY, marks=pytest.mark.torture) for one in product(("full", "slow", "gone"), TILLS)),
    ],
)
def test_trouble_with_the_record_costs_tokens_and_nothing_else(
    tmp_path: Path, kind: str, dialect: Dialect, steps: int
) -> None:
    plain, run = straight(dialect, steps), through(tmp_path, dialect, steps, Trouble(kind, steps))
    assert run.did == plain.did
    recorded = on_record(tmp_path)
    assert_nothing_hidden_is_lost(run, recorded)
    assert {call_id: recorded.get(call_id) for call_id in run.returned} == run.returned, "not put on record afterwards"


@pytest.mark.parametrize(
    "dialect", ["anthropic", *(pytest.param(one, marks=pytest.mark.torture) for one in TILLS if one != "anthropic")]
)
def test_on_a_disk_that_stays_full_the_rest_is_sent_whole_and_the_work_is_done(
    tmp_path: Path, dialect: Dialect
) -> None:
    begins = FEW * 2 // 3

    def fill(running: Running, step: int) -> None:
        if step == begins:
            forbid_growth(running.pid, True)

    plain, run = straight(dialect, FEW), through(tmp_path, dialect, FEW, fill)
    assert run.did == plain.did
    recorded = on_record(tmp_path)
    assert_nothing_hidden_is_lost(run, recorded)
    new = [kept for kept in run.outcome.results if kept.call_id not in recorded]
    sent = {call_id: text for turn in turns_of(run.upstream.asked[-1].body) for call_id, text in turn.results.items()}
    assert [sent[kept.call_id] for kept in new] == [kept.text for kept in new]
    assert max(len(kept.text) for kept in new) > 8_000, "nothing was large enough to be cut"


def test_a_server_that_is_stopped_while_the_work_goes_on_costs_tokens_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")
    from keepwhole.store.postgres.store import PostgresStore
    from tests.store.postgres.relay import Relay

    plain, begins, ends = straight("anthropic", FEW), FEW // 3, FEW // 2
    with Relay(str(server().pgdata)) as relay, provider("anthropic", FEW, window=200_000) as (served, till, model):
        store = PostgresStore(relay.url(fresh_url().rpartition("schema=")[2]), str(tmp_path), patience=0.3)

        def act(step: int) -> None:
            if step == begins:
                relay.away()
            if step == ends:
                relay.back()
                time.sleep(1.1)  # a server that was away is asked once a second

        told: list[Any] = []
        with serving(served.url, store=store, reporter=told.append, tenants="one") as running:
            outcome = Agent("anthropic", running.url, SESSION).run(act)
        run = Run(outcome, till, served, model)
        assert run.did == plain.did
        assert max(turn.exchange.account.unstored for turn in told if turn.exchange is not None) > 3
        recorded = recorded_in(store)
        assert_nothing_hidden_is_lost(run, recorded)
        missing = [kept for kept in run.outcome.results if kept.call_id not in recorded]
        assert missing == [], "not put on record afterwards"


def assert_nothing_hidden_is_lost(run: Run, recorded: dict[str, bytes]) -> None:
    """Whatever was not sent as a tool returned it is on record as it was."""
    for asked in run.upstream.asked:
        for turn in turns_of(asked.body):
            for call_id, text in turn.results.items():
                if call_id in run.returned and text.encode() != run.returned[call_id]:
                    assert recorded.get(call_id) == run.returned[call_id]
