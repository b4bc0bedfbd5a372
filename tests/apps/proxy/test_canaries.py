"""Keys that clients show are in no log, no line, no metric, no error and no file, whatever goes wrong."""

import gzip
import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from keepwhole import Session, config
from keepwhole.apps.proxy.credentials import CredentialMask
from keepwhole.exchange.request_log import RequestLog
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.proxy.proxy_server import PATHS, Process, Talk, ask, proxy, request, until, written
from tests.upstream.answer import Answer, refusal
from tests.upstream.server import upstream
from tests.upstream.spelling import Text, Tool

CANARY = "sk-CANARY-7f3a9c"
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})


def shown(number: int) -> dict[str, str]:
    """A key in every header that may hold one."""
    return {
        "authorization": f"Bearer {CANARY}-bearer-{number}",
        "x-api-key": f"{CANARY}-x-api-key",
        "api-key": f"{CANARY}-api-key",
        "x-goog-api-key": f"{CANARY}-goog",
        "cookie": f"session={CANARY}-cookie",
        "proxy-authorization": f"Basic {CANARY}-proxy",
        "openai-organization": f"{CANARY}-organization",
    }


def model(body: dict[str, object]) -> object:
    """Every way in which a provider fails, by what is asked for."""
    dialect = "openai_responses" if "input" in body else "anthropic" if "max_tokens" in body else "openai_chat"
    ways = {
        "401": lambda: refusal(dialect, 401, "no such key"),
        "500": lambda: refusal(dialect, 500, "trouble"),
        "bad json": lambda: Answer(body=b'{"half'),
        "cut": lambda: Answer([Text("hello there")], after=60),
        "reset": lambda: Answer([Text("hello there")], after=60, then="reset"),
        "stall": lambda: Answer([Text("hello there")], after=60, then="stall"),
        "late": lambda: Answer([Text("hello")], delay=3),
        "redirect": lambda: Answer(status=302, body=b"", headers=(("location", "http://127.0.0.1:9/"),)),
        "round": lambda: (
            [OURS] if "get_artifact" not in json.dumps(body.get("messages") or body["input"]) else [Text("x")]
        ),
        "fine": lambda: [Text("hello"), Tool("work", {"n": 1})],
    }
    return ways[str(body["model"])]()


WAYS = ("401", "500", "bad json", "cut", "reset", "stall", "late", "redirect", "round", "fine")


def everywhere(process: Process) -> Iterator[tuple[str, bytes]]:
    yield "what it printed", process.output
    for folder, _, names in os.walk(process.home):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not name.endswith((".token", ".secret")):
                yield str(path), path.read_bytes()


def trouble(process: Process) -> list[bytes]:
    """Force every kind of trouble; all that clients were told."""
    asked: list[tuple[str, Any, int]] = []
    for dialect, path in PATHS.items():
        there = process.prefix + path
        bodies = [request(dialect, streamed, model=way) for way in WAYS for streamed in (False, True)]
        asked += [(there, body, number) for number, body in enumerate(bodies)]
        asked += [(there, body, 0) for body in (b"no json", b'{"messages": [], "messages": []}', b"x" * 20_001)]
        asked += [(f"{process.prefix}/dead{path}", request(dialect), 0), (path, request(dialect), 0)]
        asked += [(f"{process.prefix}x{path}", request(dialect), 0)]
    with ThreadPoolExecutor(16) as crowd:
        said = list(crowd.map(lambda one: ask(process.port, one[0], one[1], shown(one[2])).data, asked))
    query = f"{process.prefix}/v1/models?key={CANARY}-query"
    return [*said, *raw_trouble(process), ask(process.port, query, None, shown(0), "GET").data]


def raw_trouble(process: Process) -> Iterator[bytes]:
    """What no library would send."""
    with Talk(process.port) as talk:  # leaves in the middle
        body = json.dumps(request("anthropic", True, model="late")).encode()
        talk.say(written("POST", f"{process.prefix}/v1/messages", process.port, shown(0), body))
    for odd in (b"\x00", b"\x01\r\n", b"\r\n folded", b"\n", b"\r"):
        with Talk(process.port) as talk:
            head = f"POST {process.prefix}/v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{process.port}\r\n"
            talk.say(head.encode() + f"authorization: Bearer {CANARY}-odd".encode() + odd + b"\r\n\r\n")
            yield talk.hear(1)
    with Talk(process.port) as talk:
        yield talk.say(f"BREW {process.prefix}/{CANARY} COFFEE\r\n\r\n".encode()).hear(1)


@pytest.mark.timeout(120)
def test_no_key_is_anywhere_after_every_kind_of_trouble(tmp_path: Path) -> None:
    settings = tmp_path / "keepwhole.yaml"
    settings.write_text("proxy:\n  patience: 1\n  max_body: 20000\n")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        dead = nobody.getsockname()[1]
    options = ["--watch", "--config", str(settings), "--upstream", f"dead=http://127.0.0.1:{dead}"]
    with upstream(model) as served:  # pyright: ignore
        options += ["--upstream", f"openai={served.url}", "--upstream", f"anthropic={served.url}"]
        with Process(*options, home=str(tmp_path)) as process:
            said = b"\n".join(trouble(process))
            metrics = ask(process.port, f"{process.prefix}/metrics", method="GET").data
            process.send(signal.SIGHUP)
            until(lambda: b"settings reloaded" in process.output)
            process.send(signal.SIGTERM)
            assert process.wait(15) == 0
        assert any(CANARY in repr(asked.headers) for asked in served.asked), "no key reached the provider"
    assert b"keepwhole_proxy_" in metrics
    for where, data in [*everywhere(process), ("an error", said), ("the metrics", metrics)]:
        at = data.find(CANARY.encode())
        assert at < 0, f"{where}: {data[max(0, at - 200) : at + 60]!r}"
    token = process.prefix.removeprefix("/kw-").encode()
    printed = process.output.replace(token, b"", 2)  # the two addresses that it is there to print
    files = [found for found in everywhere(process) if found[0] != "what it printed"]
    for where, data in [("what it printed", printed), ("an error", said), ("the metrics", metrics), *files]:
        assert token not in data, where


KEY = "sk-CANARY/0123456789+abc=="
ECHOES: dict[str, Any] = {
    "an error": lambda said: Answer(status=401, body=json.dumps({"error": {"message": said}}).encode()),
    "an error in plain text": lambda said: Answer(status=403, body=said.encode()),
    "a packed error": lambda said: Answer(
        status=401, body=gzip.compress(said.encode()), headers=(("content-encoding", "gzip"),)
    ),
    "an error packed in an unknown way": lambda said: Answer(
        status=401, body=b"unknown " + said.encode(), headers=(("content-encoding", "br"),)
    ),
    "an answer": lambda said: [Text(said)],
    "a cut answer": lambda said: Answer([Text(said)], after=300),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("way", ECHOES)
def test_a_key_that_an_upstream_repeats_is_not_recorded(way: str, streamed: bool, tmp_path: Path) -> None:
    shown: Any = {"authorization": f"Bearer {KEY}", "cookie": f"sid={KEY}-cookie", "x-keepwhole-session": "s"}
    said = f"Invalid: Bearer {KEY}, {KEY}, {KEY}-cookie, {KEY}-query, {quote(KEY)}."
    settings = config.load().replace(home=str(tmp_path), session_quota=1 << 30)
    store = SqliteStore(str(tmp_path))
    with upstream(lambda _: ECHOES[way](said)) as served, closing(store):
        with proxy(served.url, store=store, settings=settings) as running:
            path = f"/v1/messages?key={quote(KEY)}-query"
            heard = ask(running.port, path, request("anthropic", streamed), shown)
            running.rest()
            assert "refused" in running.outcomes or heard.status == 200
        session = next(info.name for info in store.sessions())
        with Session(session, store=store) as kept:
            log = RequestLog(kept)
            recorded = b"".join(log.response(each.request.trace_id) for each in log.all() if each.response)
    for text in (KEY, KEY.replace("/", "\\/"), quote(KEY), f"{KEY}-cookie"):
        assert text.encode() not in recorded
        assert not [name for name, data in files(tmp_path) if text.encode() in data]
    if way not in ("an error packed in an unknown way", "a cut answer"):
        assert b"[redacted]" in recorded, recorded


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()


def test_a_proxy_that_masks_nothing_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CredentialMask, "__call__", lambda self, data: data)
    with pytest.raises(AssertionError):
        test_a_key_that_an_upstream_repeats_is_not_recorded("an error", False, tmp_path)
