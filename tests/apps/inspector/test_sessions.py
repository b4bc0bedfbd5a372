"""The list of sessions: in the order, with the search and the figures that the page asks for."""

from typing import Any

import pytest

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.errors import NotStored, StoreError
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session

PAID = {"alpha": 20_000, "gamma": 5_000}
"""The input of the one request of each session that has one."""


@pytest.fixture
def three(services: InspectorServices) -> InspectorServices:
    """A record with three sessions, made in this order: the second one has no request, the third one two errors."""
    for number, name in enumerate(("gamma", "beta", "alpha")):
        session = Session(
            name,
            store=services.record.store,
            settings=services.record.settings,
            agent="one" if name == "beta" else "two",
            clock=lambda number=number: 1_700_000_000 + 60 * number,  # type: ignore[misc]
        )
        for error in range(number + 1):
            session.keep("t", {"n": error}, f"result {error} of {name}", is_error=error > 0)
        if name in PAID:
            about = RequestFacts("anthropic", "claude-sonnet-4-5", tokens_whole=PAID[name], tokens_sent=PAID[name])
            usage = AnswerFacts(input=PAID[name], cached=0, written=0, output=10)
            RequestLog(session).add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200, usage=usage))
    return services


def listed(services: InspectorServices, **query: str) -> list[str]:
    return [row["name"] for row in answers.list_sessions(services, PageRequest((), query))["sessions"]]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("name", ["gamma", "beta", "alpha"]),
        ("created", ["alpha", "beta", "gamma"]),
        ("last", ["alpha", "beta", "gamma"]),
        ("errors", ["alpha", "beta", "gamma"]),
        ("cost", ["alpha", "gamma", "beta"]),
        ("nonsense", ["alpha", "beta", "gamma"]),
    ],
)
def test_sessions_are_sorted_by_what_is_asked_for_the_largest_first(
    three: InspectorServices, by: str, names: list[str]
) -> None:
    assert listed(three, sort=by) == names


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("name", ["alpha", "beta", "gamma"]),
        ("created", ["gamma", "beta", "alpha"]),
        ("errors", ["gamma", "beta", "alpha"]),
        ("cost", ["gamma", "alpha", "beta"]),
    ],
)
def test_in_the_other_order_those_without_a_figure_come_last_too(
    three: InspectorServices, by: str, names: list[str]
) -> None:
    assert listed(three, sort=by, order="asc") == names


def test_sessions_with_equal_figures_stay_in_the_order_of_the_store(three: InspectorServices) -> None:
    assert listed(three, sort="requests") == ["alpha", "gamma", "beta"]
    assert listed(three, sort="requests", order="asc") == ["beta", "alpha", "gamma"]


def test_sessions_are_chosen_by_agent_and_by_errors(three: InspectorServices) -> None:
    found = answers.list_sessions(three, PageRequest((), {"agent": "two"}))
    assert [row["name"] for row in found["sessions"]] == ["alpha", "gamma"]
    assert found["agents"] == ["one", "two"]
    assert listed(three, agent="three") == []
    assert listed(three, errors="1") == ["alpha", "beta"]
    assert listed(three, errors="1", agent="one") == ["beta"]


def test_a_sorted_list_comes_in_pages_too(three: InspectorServices) -> None:
    first = answers.list_sessions(three, PageRequest((), {"sort": "name", "most": "2"}))
    assert ([row["name"] for row in first["sessions"]], first["next"]) == (["gamma", "beta"], "beta")
    last = answers.list_sessions(three, PageRequest((), {"sort": "name", "most": "2", "after": "beta"}))
    assert ([row["name"] for row in last["sessions"]], last["next"]) == (["alpha"], None)
    whole = answers.list_sessions(three, PageRequest((), {"most": "3"}))
    assert (len(whole["sessions"]), whole["next"]) == (3, None)


def test_a_session_that_cannot_be_read_is_listed_as_broken(
    three: InspectorServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = three.record
    timeline = record.timeline

    def broken(name: str, *given: Any, **more: Any) -> Any:
        if name == "beta":
            raise NotStored("The disk is gone.")
        return timeline(name, *given, **more)

    monkeypatch.setattr(record, "timeline", broken)
    rows = {row["name"]: row for row in answers.list_sessions(three, PageRequest())["sessions"]}
    assert [rows[name]["health"] for name in ("alpha", "beta", "gamma")] == ["ok", "broken", "ok"]
    assert rows["beta"]["note"] == "The disk is gone."
    assert rows["beta"]["results"] is None


def test_counters_leave_out_a_session_that_cannot_be_read(
    three: InspectorServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> float:
        return answers.health_report(three, PageRequest())["counters"]["results_total"]

    assert results() == 6
    three.health._counted.clear()  # pyright: ignore[reportPrivateUsage]
    rows = three.record.store.rows

    def broken(name: str, *given: Any, **more: Any) -> Any:
        if name == "alpha":
            raise StoreError("The disk is gone.")
        return rows(name, *given, **more)

    monkeypatch.setattr(three.record.store, "rows", broken)
    assert results() == 3
