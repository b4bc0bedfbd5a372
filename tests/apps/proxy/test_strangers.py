"""Strangers hold nothing and reach nobody; whoever asks for the proxy's health gets it from the proxy itself."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from keepwhole import MemoryStore
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.proxy.proxy_server import Served, Talk, ask, proxy, request, status_of, written
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Text

TOKEN = "t0ken-" + "x" * 30
HEALTHZ = ["/healthz", "/kw-anything/healthz", "/kw-/healthz", "/healthz/", "/healthz?x=1", "//healthz", "/HEALTHZ"]
HEALTHZ += ["/%68ealthz", f"/kw-{TOKEN}/healthz", f"/hf-{TOKEN}/healthz", "/kw-x/healthz/?a"]


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(lambda _: [Text("hello")]) as running:
        yield running


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS"])
def test_health_is_answered_here_for_every_method_and_spelling(served: Upstream, method: str) -> None:
    for token in (TOKEN, None):
        with proxy(served.url, token) as running:
            for path in HEALTHZ if token else HEALTHZ[:8]:
                answer = ask(running.port, path, b"x" * 10 if method == "POST" else None, method=method)
                assert answer.status == 200, path
                assert method == "HEAD" or answer.body["status"] == "ok"
    assert not served.asked


def good(running: Served) -> int:
    return ask(running.port, f"/kw-{TOKEN}/v1/messages", request("anthropic")).status


STRANGERS = {
    "no token": lambda port: written("GET", "/v1/models", port),
    "a wrong token": lambda port: written("GET", "/kw-wrong/v1/models", port),
    "another host": lambda port: written("GET", "/v1/models", port, {"host": "evil.example"}),
    "health": lambda port: written("GET", "/healthz", port),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_connection_without_a_token_is_not_held(served: Upstream, name: str) -> None:
    with proxy(served.url, TOKEN) as running, Talk(running.port) as talk:
        talk.say(STRANGERS[name](running.port))
        began = time.monotonic()
        assert status_of(talk.hear(10)) in (200, 401, 403)
        assert time.monotonic() - began < 5, "the connection stays open"


CROWDS: dict[str, Callable[[int], bytes]] = {
    **STRANGERS,
    "silent": lambda _: b"",
    "half a head": lambda _: b"POST /v1/messages HTTP/1.1\r\nhost: ",
    "half a body": lambda port: written("POST", "/v1/messages", port, {"content-length": "1000"}, b"{"),
}


@pytest.mark.parametrize("name", CROWDS)
def test_strangers_take_no_place_of_a_client(served: Upstream, name: str) -> None:
    with proxy(served.url, TOKEN, max_connections=8) as running, ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(Talk(running.port)).say(CROWDS[name](running.port))
        assert [good(running) for _ in range(5)] == [200] * 5


class Troubled(MemoryStore):
    """A store that cannot write, and takes its time to say so."""

    reason: str | None = "The disk failed (EIO)."
    seconds = 0.0

    def trouble(self) -> str | None:
        assert threading.current_thread() is not threading.main_thread()
        time.sleep(self.seconds)
        return self.reason


def test_health_says_that_the_record_cannot_be_written_and_why(served: Upstream) -> None:
    store = Troubled()
    with proxy(served.url, TOKEN, store=store) as running:
        answer = ask(running.port, "/healthz", method="GET")
        assert (answer.status, answer.body["reason"]) == (503, "The disk failed (EIO).")
        store.reason = None
        assert ask(running.port, "/healthz", method="GET").status == 200


def test_a_record_that_takes_long_to_ask_holds_nobody_up(served: Upstream) -> None:
    store = Troubled()
    store.seconds = 4.0
    with proxy(served.url, TOKEN, store=store) as running, Talk(running.port) as talk:
        talk.say(written("GET", "/healthz", running.port))
        began = time.monotonic()
        assert good(running) == 200
        assert time.monotonic() - began < 1.5
        said = talk.hear(10)
        assert time.monotonic() - began < 3.5
    assert status_of(said) == 503
    assert json.loads(said.partition(b"\r\n\r\n")[2])["reason"] == "the record does not answer"


def test_a_failed_disk_is_seen_by_health(served: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(str(tmp_path))
    with proxy(served.url, TOKEN, store=store) as running:
        assert ask(running.port, "/healthz", method="GET").status == 200
        monkeypatch.setattr(type(store.database), "failure", "EIO")
        answer = ask(running.port, "/healthz", method="GET")
        assert answer.status == 503
        assert "disk failed" in answer.body["reason"]
    store.close()
