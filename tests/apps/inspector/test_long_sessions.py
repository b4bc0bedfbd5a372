"""What the page asks for first takes as long as what it shows, however long the session is."""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from keepwhole import MemoryStore, config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.request_figures import RunningCosts, cost_of, profiles_with
from keepwhole.canonical.entry import Decision, Request, Response, Result
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.models.tokens import estimate_from_length
from keepwhole.store.protocol import Store, entry_of
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.inspector.long_record import write_results

LONG = 20_000
PIECES = 5 * 500
"""Entries that the first answers may have read, of more than twice as many."""


def opened(store: Store) -> InspectorServices:
    return InspectorServices(config.load(home="/nowhere", environ={}), store)


@pytest.fixture(
    scope="module", params=[pytest.param(0, id="results", marks=pytest.mark.torture), pytest.param(10, id="requests")]
)
def long(request: pytest.FixtureRequest) -> MemoryStore:
    store = MemoryStore()
    write_results(store, "long", LONG, per_request=request.param)
    return store


def first_answers(services: InspectorServices) -> dict[str, Any]:
    """What the page asks for until it has shown a step of a session; gives the summary."""
    answers.list_sessions(services, PageRequest())
    summary: Any = answers.one_session(services, PageRequest(("long",)))
    last = summary["steps"] - 1
    page: Any = answers.list_steps(services, PageRequest(("long",), {"from": str(last // 40 * 40), "count": "40"}))
    answers.window_of_step(services, PageRequest(("long", str(last))))
    if page["steps"][-1]["id"] is not None:
        answers.story(services, PageRequest(("long", page["steps"][-1]["id"])))
    return summary


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As little is read for each answer as on a machine without any time."""
    for module in ("answers", "sessions"):
        monkeypatch.setattr(f"keepwhole.apps.inspector.{module}.PATIENCE", 0.0)
    monkeypatch.setattr("keepwhole.apps.inspector.sessions._BUDGET", 0.001)


@pytest.mark.usefixtures("impatient")
def test_the_first_answers_read_a_part_of_a_long_session(long: MemoryStore) -> None:
    services = opened(long)
    summary = first_answers(services)
    assert 0 < summary["reading"] < 1
    assert services.record.timeline("long", until=lambda _: True).seq <= PIECES


class Work:
    """How much is done, whatever else the machine does: hundreds of steps of SQLite's machine, and calls of Python."""

    def __init__(self, store: SqliteStore) -> None:
        self.steps = self.calls = 0
        database: Any = store.database
        database.open()
        database._reader.set_progress_handler(self._step, 100)

    def _step(self) -> None:
        self.steps += 1

    def _call(self, frame: FrameType, event: str, _: object) -> None:
        self.calls += event == "call"

    def of(self, act: Callable[[], object]) -> tuple[int, int]:
        self.steps = self.calls = 0
        sys.setprofile(self._call)
        try:
            act()
        finally:
            sys.setprofile(None)
        return self.steps, self.calls


def work_of_looks(folder: Path, results: int, per_request: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The work of opening a session in a server that was just started, and of opening it again once it is read."""
    store = SqliteStore(str(folder))
    write_results(store, "long", results, per_request=per_request)
    services, work = opened(store), Work(store)
    first = work.of(lambda: first_answers(services))
    services.record.timeline("long")
    first_answers(services)
    again = work.of(lambda: first_answers(services))
    services.close()
    store.close()
    return first, again


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("per_request", [0, 10])
def test_opening_a_session_takes_no_more_work_with_five_times_the_results(tmp_path: Path, per_request: int) -> None:
    work_of_looks(tmp_path / "warm", 20, per_request)  # what is imported and remembered first is no part of it
    small, large = (work_of_looks(tmp_path / str(count), count, per_request) for count in (1_600, 8_000))
    for one, other in zip(small, large, strict=True):
        assert other[0] <= 2.5 * one[0] + 5, "steps of the database"  # which also depend on what is read meanwhile
        assert other[1] <= 2 * one[1], "calls"


def test_the_counts_are_those_of_all_entries(long: MemoryStore) -> None:
    summary: Any = answers.one_session(services := opened(long), PageRequest(("long",)))
    while summary["reading"]:
        summary = answers.one_session(services, PageRequest(("long",)))
    entries = [entry_of(row) for row in long.rows("long", light=True)]
    headers = [entry.header for entry in entries]
    asked = {one.trace_id: (seq, one) for seq, one in enumerate(headers, 1) if isinstance(one, Request)}
    told = {one.trace_id: one for one in headers if isinstance(one, Response)}
    shown = {e.header.trace_id: e.facts.chars for e in entries if isinstance(e.header, Result)}
    shown |= {one.trace_id: one.shown_chars for one in headers if isinstance(one, Decision)}
    assert (summary["results"], summary["requests"], summary["errors"]) == (LONG, len(asked), 0)
    assert summary["tokens_sent"] == sum(map(estimate_from_length, shown.values()))
    if not asked:
        each = sum(map(estimate_from_length, shown.values()))
        assert (summary["indicator"]["used"], summary["cost"]) == (each, None)
        assert each == sum(item["tokens"] for item in summary["indicator"]["items"])
        return
    logged = [LoggedRequest(seq, one, told[name]) for name, (seq, one) in asked.items()]
    cost = cost_of(logged, profiles_with({}))
    assert cost is not None
    assert cost.dollars is not None
    assert summary["cost"]["figures"]["paid"] == round(cost.dollars, 2) == round(summary["course"]["paid"][-1], 2)
    assert summary["cost"]["tokens"]["input"] == sum(one.input or 0 for one in told.values())


def test_costs_are_the_same_in_whatever_order_answers_come(long: MemoryStore) -> None:
    headers = [(row.seq, entry_of(row).header) for row in long.rows("long", light=True)]
    told = {one.trace_id: one for _, one in headers if isinstance(one, Response)}
    asked = [(seq, one) for seq, one in headers if isinstance(one, Request)][:80]
    logged = [LoggedRequest(seq, one, told[one.trace_id]) for seq, one in asked]
    draw = random.Random(25)
    costs = RunningCosts(profiles_with({}))
    for one in logged:
        costs.add(one._replace(response=None))
    for at, one in enumerate(draw.sample(logged, len(logged))):
        costs.add(one)
        if at % 7 == 0:
            assert costs.total is not None
    assert costs.total == cost_of(logged, profiles_with({}))
    assert [seq for seq, _ in costs.by_seq()] == [one.seq for one in logged]
