"""Open pages get what is new: at once, each entry once, and after a reconnect from where they were."""

import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from keepwhole.apps.inspector import live as live_module
from keepwhole.apps.inspector.live import Live, LiveEvent
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from tests.apps.inspector.inspector_server import Served
from tests.build import NOON, numbered_lines


async def gather(
    told: AsyncGenerator[LiveEvent], until: Callable[[list[LiveEvent]], bool], seconds: float = 5
) -> list[LiveEvent]:
    """Collect events until there are enough."""
    found: list[LiveEvent] = []
    async with asyncio.timeout(seconds):
        async for event in told:
            found.append(event)
            if until(found):
                return found
    return found


def steps_of(found: list[LiveEvent]) -> list[tuple[int, int]]:
    return [(event.data["index"], event.data["step"]["last"]) for event in found if event.name == "step"]


def has_steps(count: int) -> Callable[[list[LiveEvent]], bool]:
    return lambda found: len(steps_of(found)) >= count


def listen(
    services: InspectorServices,
    name: str | None,
    after: int | None,
    until: Callable[[list[LiveEvent]], bool],
    act: Any = None,
) -> Any:
    """Listen to a session, do something, and return the events."""

    async def main() -> list[LiveEvent]:
        live = Live(services)
        async with aclosing(live.events(name, after)) as told:
            if act is not None:
                await anext(told)
                await asyncio.to_thread(act)
            found = await gather(told, until)
        await live.close()
        return found

    return asyncio.run(main())


def test_what_is_recorded_while_a_page_is_open_reaches_it(services: InspectorServices, session: Session) -> None:
    session.keep("t", {"n": 0}, "before")
    found = listen(services, "s", None, has_steps(1), lambda: session.keep("t", {"n": 1}, "while open"))
    assert steps_of(found) == [(1, 2)]
    (preview,) = [event.data for event in found if event.name == "progress"]
    assert preview["text"] == "while open"
    assert preview["preview"] is True
    assert preview["canonical"]["chars"] == 10


def test_what_was_recorded_between_loading_and_listening_is_not_missed(
    services: InspectorServices, session: Session
) -> None:
    for number in range(3):
        session.keep("t", {"n": number}, "x")
    assert steps_of(listen(services, "s", 1, has_steps(2))) == [(1, 2), (2, 3)]


def test_a_preview_of_a_large_result_is_bounded(services: InspectorServices, session: Session) -> None:
    text = numbered_lines(50_000)
    session.keep("t", None, "first")
    found = listen(services, "s", None, has_steps(1), lambda: session.keep("t", None, text))
    (preview,) = [event.data for event in found if event.name == "progress"]
    assert len(preview["text"]) <= 2_100
    assert preview["canonical"]["chars"] == len(text)


def test_a_page_that_reconnects_gets_what_it_missed_without_gaps_or_duplicates(
    services: InspectorServices, session: Session
) -> None:
    sent = RequestLog(session)
    for number in range(6):
        session.keep("execute_command", {"n": number}, numbered_lines(2_000))
        name = sent.add(b'{"messages": []}', RequestFacts(branch="main"))
        assert name is not None
        sent.add_answer(name, LoggedAnswer(b"{}", 200))
    everything = [event for event in listen(services, "s", 0, has_steps(6)) if event.name == "step"]
    state: dict[int, int] = {}
    for lost_after in range(1, len(everything)):
        seen = everything[:lost_after]
        last = max((event.seq for event in seen if event.seq is not None), default=0)
        missing = has_steps(len(everything) - lost_after)
        rest = [event for event in listen(services, "s", last, missing) if event.name == "step"]
        assert [event.data for event in [*seen, *rest]] == [event.data for event in everything]
        state = {event.data["index"]: event.data["step"]["last"] for event in [*seen, *rest]}
    assert sorted(state) == list(range(6))


def test_two_steps_that_one_entry_changed_are_both_told_again_if_only_one_arrived(
    services: InspectorServices, session: Session
) -> None:
    trace = session.keep("execute_command", None, numbered_lines(2_000)).trace_id
    sent = RequestLog(session)
    sent.add(b'{"messages": []}')
    before = services.record.timeline("s").seq
    session.pin(trace or "")
    told = [event for event in listen(services, "s", before, has_steps(2)) if event.name == "step"]
    assert sorted(event.data["index"] for event in told) == [0, 1]
    assert [event.seq is None for event in told] == [True, False]


def test_an_answer_that_comes_later_is_told_as_the_same_step(services: InspectorServices, session: Session) -> None:
    sent = RequestLog(session)
    name = sent.add(b'{"messages": []}')
    assert name is not None
    found = listen(services, "s", None, has_steps(1), lambda: sent.add_answer(name, LoggedAnswer(b"{}", 200)))
    (event,) = [event for event in found if event.name == "step"]
    assert event.data["index"] == 0
    assert event.data["step"]["outcome"] == "complete"


def test_a_purged_session_is_reported_as_purged(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    found = listen(
        services, "s", None, lambda told: told[-1].name == "gone", lambda: services.record.store.purge("s", NOON * 1000)
    )
    assert found[-1].data == {"session": "s"}


def test_the_list_of_sessions_is_told_of_new_ones_and_of_those_that_went(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "_LIST", 0.05)
    session.keep("t", None, "x")
    other = Session("other", store=services.record.store, settings=services.record.settings)

    def act() -> None:
        other.keep("t", None, "y")
        services.record.store.purge("s", NOON * 1000)

    def both(told: list[LiveEvent]) -> bool:
        return {"session", "gone"} <= {event.name for event in told}

    found = listen(services, None, None, both, act)
    assert {event.data["name"] for event in found if event.name == "session"} == {"other"}


def test_a_wake_up_of_this_process_is_quicker_than_the_next_look(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "POLL", 60.0)
    session.keep("t", None, "x")

    async def main() -> list[LiveEvent]:
        live = Live(services)
        async with aclosing(live.events("s", None)) as told:
            await anext(told)
            await asyncio.sleep(0.2)
            await asyncio.to_thread(session.keep, "t", None, "y")
            live.wake()
            found = await gather(told, has_steps(1))
        await live.close()
        return found

    assert steps_of(asyncio.run(main())) == [(1, 2)]


def test_what_another_process_writes_is_told_too(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    code = (
        "import sys; from keepwhole import Session\nSession('s', store=sys.argv[1]).keep('t', None, 'from elsewhere')"
    )
    command = [sys.executable, "-c", code, services.record.settings.store or services.record.settings.home]
    found = listen(services, "s", None, has_steps(1), lambda: subprocess.run(command, check=True))
    assert steps_of(found) == [(1, 2)]


def test_the_record_is_not_polled_while_no_page_is_open(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")

    async def main() -> bool:
        live = Live(services)
        async with aclosing(live.events("s", None)) as told:
            await anext(told)
        await asyncio.sleep(2 * live_module.POLL + 0.2)
        over = live._poller is not None and live._poller.done()
        await live.close()
        return over

    assert asyncio.run(main())


@pytest.mark.parametrize("services", ["postgres"], indirect=True)
def test_an_idle_page_asks_a_server_nothing_and_is_told_at_once(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.keep("t", None, "x")
    asked: list[str] = []
    server = services.record.store.server  # type: ignore[attr-defined]
    select = server.select
    monkeypatch.setattr(server, "select", lambda query, values=(): asked.append(query) or select(query, values))

    async def main() -> tuple[int, float]:
        live = Live(services)
        async with aclosing(live.events("s", None)) as told, aclosing(live.events(None, None)) as listed:
            await anext(told)
            await anext(listed)
            await asyncio.sleep(1.5)
            asked.clear()
            await asyncio.sleep(1.0)
            idle = len(asked)
            await asyncio.to_thread(session.keep, "t", None, "y")
            began = time.monotonic()
            await gather(told, has_steps(1))
            took = time.monotonic() - began
        await live.close()
        return idle, took

    idle, took = asyncio.run(main())
    assert idle == 0
    assert took < 0.5


def test_only_sessions_that_pages_are_open_at_are_remembered(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    for number in range(3):
        Session(f"other{number}", store=services.record.store, settings=services.record.settings).keep("t", None, "x")

    async def main() -> set[str | None]:
        live = Live(services)
        async with aclosing(live.events("s", None)) as stays:
            await anext(stays)
            for number in range(3):
                async with aclosing(live.events(f"other{number}", None)) as told:
                    await anext(told)
                    await asyncio.sleep(0.1)
            live.wake()
            await asyncio.sleep(0.2)
            remembered = set(live._heads)
        await live.close()
        return remembered

    assert asyncio.run(main()) == {"s"}


def test_a_session_that_ended_is_told_in_the_list(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    found = listen(
        services,
        None,
        None,
        lambda told: told[-1].name == "session",
        lambda: services.record.store.end("s", NOON * 1000),
    )
    assert found[-1].data["ended_at"] == NOON * 1000


def stream(page: Served, query: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    connection.request("GET", f"/api/live{query}", headers={"cookie": page.cookie, **headers})
    answer = connection.getresponse()
    answer.owner = connection  # type: ignore[attr-defined]
    return answer


def read_until(answer: http.client.HTTPResponse, word: bytes) -> bytes:
    data = b""
    while word not in data:
        data += answer.readline()
    return data


def test_a_stream_of_events_is_what_browsers_read(page: Served, session: Session) -> None:
    session.keep("t", None, "x")
    answer = stream(page, "?session=s", **{"last-event-id": "0"})
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    told = read_until(answer, b"event: step") + answer.readline()
    assert b"retry: 1000" in told
    assert b"id: 1\nevent: step\n" in told
    assert json.loads(told.rpartition(b"data: ")[2])["step"]["results"][0]["tool"] == "t"
    answer.close()
    answer.owner.close()  # type: ignore[attr-defined]


def test_an_open_stream_does_not_keep_the_server_from_stopping(services: InspectorServices, session: Session) -> None:
    from tests.apps.inspector.inspector_server import served

    session.keep("t", None, "x")
    with served(services) as page:
        answers = [stream(page, "?session=s"), stream(page, "")]
        for answer in answers:
            read_until(answer, b"event: ping")
        began = time.monotonic()
    assert time.monotonic() - began < 2
    for answer in answers:
        answer.close()
        answer.owner.close()  # type: ignore[attr-defined]


def test_a_session_that_is_not_there_has_no_stream(page: Served) -> None:
    assert page.get("/api/live?session=nobody").status == 404


def test_a_session_that_is_gone_is_told_once(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    live, known = Live(services), dict[str, object]()
    assert live._changed_rows(known, first=True) == ([], [])
    session.keep("t", None, "y")
    assert [row["name"] for row in live._changed_rows(known, first=False)[0]] == ["s"]
    services.record.store.purge("s", NOON * 1_000)
    assert live._changed_rows(known, first=False)[1] == ["s"]
    assert live._changed_rows(known, first=False) == ([], [])
