"""Clients that dribble, stall and crowd: they are let go in time, and a good one notices nothing."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from keepwhole.apps.proxy import connection
from tests.apps.proxy.proxy_server import Talk, ask, proxy, request, status_of, until, written
from tests.upstream.answer import Answer
from tests.upstream.server import upstream
from tests.upstream.spelling import Text, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEADERS_WITHIN", 0.5)
    monkeypatch.setattr(connection, "BODY_WITHIN", 0.5)
    monkeypatch.setattr(connection, "_WRITE_WITHIN", 0.5)


def good(port: int) -> float:
    """How long a good client waits at most."""
    seconds: list[float] = []
    for _ in range(10):
        began = time.monotonic()
        assert ask(port, "/v1/messages", request("anthropic")).status == 200
        seconds.append(time.monotonic() - began)
    return sorted(seconds)[-2]


def dribble(talks: list[Talk]) -> None:
    for talk in talks:
        try:
            talk.say(b"x")
        except OSError:
            pass


HEADS = {
    "nothing at all": b"",
    "half a head": b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
    "half a line": b"PO",
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_does_not_come_is_not_waited_for(name: str) -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running, ExitStack() as stack:
        talks = [stack.enter_context(Talk(running.port)).say(HEADS[name]) for _ in range(100)]
        assert good(running.port) < 0.5
        dribble(talks if name == "half a head" else [])
        began = time.monotonic()
        assert all(talk.hear(3) == b"" for talk in talks)
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"])
@pytest.mark.parametrize("framing", ["content-length", "chunked"])
def test_a_body_that_does_not_come_is_not_waited_for(path: str, framing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEADERS_WITHIN", 30)  # a busy machine may not read thirty heads sooner
    own = {"content-length": "100"} if framing == "content-length" else {"transfer-encoding": "chunked"}
    start = b'{"mess' if framing == "content-length" else b'6\r\n{"mess\r\n'
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running, ExitStack() as stack:
        message = written("POST", path, running.port, own, start, length=False)
        talks = [stack.enter_context(Talk(running.port)).say(message) for _ in range(30)]
        assert good(running.port) < 0.5
        began = time.monotonic()
        assert {status_of(talk.hear_until(b"}", 5)) for talk in talks} == {408}
        assert time.monotonic() - began < 3
        running.rest()
        until(lambda: served.open <= 1)


def test_a_slow_body_that_keeps_coming_is_served() -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running, Talk(running.port) as talk:
        data = json.dumps(request("anthropic")).encode()
        talk.say(written("POST", "/v1/messages", running.port, {"content-length": str(len(data))}))
        for at in range(0, len(data), len(data) // 4):
            talk.say(data[at : at + len(data) // 4])
            time.sleep(0.25)
        assert status_of(talk.hear_until(b"}")) == 200


@pytest.mark.parametrize("way", ["stream", "whole", "passed", "rounds"])
def test_a_client_that_does_not_read_is_let_go(way: str) -> None:
    said = [Text("word " * 2_000_000)]
    large = Answer(said) if way != "stream" else Answer(said, piece=100_000)
    ours = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
    lines = iter([[ours], large]) if way == "rounds" else iter([large])
    with upstream(lambda _: next(lines)) as served, proxy(served.url) as running, Talk(running.port) as talk:
        headers = {"x-keepwhole-bypass": "1"} if way == "passed" else {}
        body = json.dumps(request("anthropic", way != "whole")).encode()
        talk.say(written("POST", "/v1/messages", running.port, headers, body))
        until(lambda: bool(served.asked))
        running.rest(8)
        assert running.outcomes == ["incomplete"]
        heard = talk.hear(3)
        assert heard.count(b"HTTP/1.1 ") == 1, "an error in the middle of an answer"
        assert b"408" not in heard[-400:]


def test_more_clients_than_are_let_in_are_turned_away_and_the_others_stay() -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url, max_connections=5) as running:
        with ExitStack() as stack:
            message = written("GET", "/healthz", running.port)
            talks = [stack.enter_context(Talk(running.port)).say(message) for _ in range(5)]
            assert [status_of(talk.hear_until(b"}")) for talk in talks] == [200] * 5
            for _ in range(20):
                with Talk(running.port) as late:
                    try:
                        assert late.say(message).hear(2) == b""
                    except ConnectionError:
                        pass
            assert [status_of(talk.say(message).hear_until(b"}")) for talk in talks] == [200] * 5
        until(lambda: ask_once(running.port) == 200)


def ask_once(port: int) -> int:
    try:
        return ask(port, "/healthz", method="GET").status
    except OSError:
        return 0


def leaving() -> Iterator[tuple[str, Answer | None, Answer]]:
    words = [Text("hello there")]
    ours = Answer([Tool("search_artifacts", {"query": "needle"})])
    yield "before the first byte", None, Answer(words, delay=20)
    yield "in the middle", None, Answer(words, after=100, then="stall")
    yield "while a later round is waited for", ours, Answer(words, delay=20)
    yield "in the middle of a later round", ours, Answer(words, after=100, then="stall")


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(("when", "first", "then"), list(leaving()), ids=[when for when, _, _ in leaving()])
def test_when_a_client_leaves_the_provider_is_told_within_a_second(
    when: str, first: Answer | None, then: Answer, streamed: bool
) -> None:
    lines = iter([first, then] if first else [then])
    with upstream(lambda _: next(lines)) as served, proxy(served.url) as running:
        with Talk(running.port) as talk:
            talk.say(
                written("POST", "/v1/messages", running.port, {}, json.dumps(request("anthropic", streamed)).encode())
            )
            until(lambda: len(served.asked) == (2 if first else 1))
            time.sleep(0.1)
        assert until(lambda: not served.open) < 1.0
        assert until(lambda: not running.proxy.counters.active) < 1.0
        running.rest()
        assert "complete" not in running.outcomes
