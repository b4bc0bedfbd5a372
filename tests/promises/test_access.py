"""Access: two owners swap every id in every call; whatever one names, what the other has is not there for it.

Two sessions of one record are two owners, and so are two records of one server. Each answer about what another has must
be the answer about what never was, but for the name that was asked for.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from keepwhole import KeepwholeError, Session
from keepwhole.apps.inspector.routes import ROUTES
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.config import Settings
from keepwhole.exchange.request_log import LoggedAnswer, RequestLog
from keepwhole.store.protocol import Store
from tests.apps.inspector.inspector_server import served
from tests.build import numbered_lines
from tests.stores import EACH, everywhere, place

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Owner(NamedTuple):
    """Somebody with a session, a word that is in everything they have, and all names of what they have."""

    session: Session
    canary: str
    ids: list[str]


def owner(store: Store, name: str, folder: str) -> Owner:
    canary = f"canary{name}secret"
    session = Session(name, store=store, settings=Settings(home=folder, policy="truncation"))
    found: list[str] = []
    for number in range(6):
        text = f"{canary} harbour {number}\n" + numbered_lines((3, 400, 2_000)[number % 3]) + canary
        ids = {"call_id": f"call-{canary}-{number}", "task_id": f"task-{canary}", "query_id": f"query-{canary}"}
        shown = session.keep("bash", {"command": canary}, text, **ids)
        found += [str(shown.trace_id), f"art_1700000000_{str(shown.trace_id)[-22:]}", *ids.values()]
        found += [shown.artifact_id] * (shown.artifact_id is not None)
    request = RequestLog(session).add(
        f'{{"messages": ["{canary}"]}}'.encode(), None, LoggedAnswer(canary.encode(), 200)
    )
    return Owner(session, canary, [*dict.fromkeys(found), str(request)])


BY_ID: dict[str, Callable[[Session, str], Any]] = {
    "recall": lambda session, id: session.recall(id),
    "recall lines": lambda session, id: session.recall(id, lines=(1, 2)),
    "recall bytes": lambda session, id: session.recall_bytes(id),
    "stream": lambda session, id: b"".join(session.stream(id)),
    "shown": lambda session, id: session.shown(id).content,
    "undo": lambda session, id: session.undo(id),
    "pin": lambda session, id: session.pin(id),
    "get_artifact": lambda session, id: session.call_tool("get_artifact", {"id": id}),
    "get_artifact chars": lambda session, id: session.call_tool(
        "get_artifact", {"id": id, "start_char": 0, "length": 9}
    ),
    "get_artifact pattern": lambda session, id: session.call_tool("get_artifact", {"id": id, "pattern": "line"}),
    "get_artifact end": lambda session, id: session.call_tool("get_artifact", {"id": id, "from_end": 3}),
    "get_task_trace": lambda session, id: session.call_tool("get_task_trace", {"trace_id": id}),
    "request": lambda session, id: RequestLog(session).body(id),
    "response": lambda session, id: RequestLog(session).response(id),
    "call": lambda session, id: session.store.find_call(session.id, id),
    "decision": lambda session, id: session.store.decision(session.id, id),
    "task": lambda session, id: session.select("harbour", task_id=id).units,
    "query": lambda session, id: session.select("harbour", query_id=id).units,
}
BY_WORD: dict[str, Callable[[Session, str], Any]] = {
    "search_artifacts": lambda session, word: session.call_tool("search_artifacts", {"query": word}),
    "search": lambda session, word: session.store.search(session.id, word),
    "select": lambda session, word: session.select(word).units,
}


def outcome(act: Callable[[Session, str], Any], session: Session, name: str) -> str:
    """The answer of a call as text, or its error, with the name replaced."""
    try:
        told = repr(act(session, name))
    except KeepwholeError as error:
        told = f"{type(error).__name__}: {error}"
    return told.replace(repr(name)[1:-1], "NAME").replace(name, "NAME")


def invented(name: str, chance: random.Random) -> str:
    """A name of the same form that does not exist."""
    return name[:-12] + "".join(chance.choices(_LETTERS, k=12)) if len(name) > 22 else name + "zzz"


def swap(owners: list[Owner], chance: random.Random) -> str:
    """Let one owner ask for a result of another; return which call it was. Fails where the answer tells anything."""
    asking, other = chance.sample(owners, 2)
    by_word = chance.random() < 0.15
    calls, names = (BY_WORD, [other.canary]) if by_word else (BY_ID, other.ids)
    call, name = chance.choice(list(calls)), chance.choice(names)
    told = outcome(calls[call], asking.session, name)
    assert other.canary not in told, (call, name)
    assert told == outcome(calls[call], asking.session, invented(name, chance)), (call, name)
    return call


@pytest.fixture(params=EACH)
def owners(request: pytest.FixtureRequest, tmp_path: Path, patient_search: None) -> Iterator[list[Owner]]:
    """Two owners that share a record, and one with another record in the same place."""
    stores = [place(request.param, tmp_path / name).open() for name in ("shared", "apart")]
    folder = str(tmp_path)
    yield [owner(stores[0], "alice", folder), owner(stores[0], "bob", folder), owner(stores[1], "carol", folder)]
    for store in stores:
        store.close()


def test_everybody_gets_all_of_their_own(owners: list[Owner]) -> None:
    """Without this, the swaps below would prove nothing."""
    for each in owners:
        found = {call for call, act in BY_ID.items() if any(_has(outcome(act, each.session, id)) for id in each.ids)}
        found |= {call for call, act in BY_WORD.items() if _has(outcome(act, each.session, each.canary))}
        assert found == {*BY_ID, *BY_WORD}


def _has(told: str) -> bool:
    return not told.startswith(("NotFound", "UsageError")) and told not in ("[]", "()", "None") and "'404" not in told


@pytest.mark.parametrize("swaps", [700, pytest.param(100_000, marks=[pytest.mark.torture, pytest.mark.timeout(0)])])
def test_no_swap_of_any_id_in_any_call_succeeds_or_tells_anything(owners: list[Owner], swaps: int) -> None:
    chance = random.Random(swaps)
    tried = {swap(owners, chance) for _ in range(swaps // 2)}  # each asks twice
    assert tried == {*BY_ID, *BY_WORD}


@everywhere
def test_no_route_of_the_page_leads_from_one_session_into_another(tmp_path: Path, kind: str) -> None:
    store = place(kind, tmp_path / "record").open()
    alice, bob = owner(store, "alice", str(tmp_path)), owner(store, "bob", str(tmp_path))
    desk = InspectorServices(Settings(home=str(tmp_path)), store)
    routes = [route for route in ROUTES if "{id}" in route.path]
    with served(desk) as page:
        for asking, other in ((alice, bob), (bob, alice)):
            for route in routes:
                for id in [*other.ids[:6], *other.ids[-2:]]:
                    path = (
                        route.path.replace("{name}", asking.session.id).replace("{id}", quote(id, safe=""))
                        + "?text=line"
                    )
                    answer = page.get(path) if route.method == "GET" else page.post(path)
                    assert answer.status == 404, (route.path, id, answer.body[:200])
                    assert other.canary.encode() not in answer.body.replace(id.encode(), b"")
            found = page.get(f"/api/sessions/{asking.session.id}/search?query={other.canary}")
            assert b"trace_" not in found.body
    assert len(routes) >= 8
    store.close()
