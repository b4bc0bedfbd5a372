"""A proxied request may be cancelled wherever it waits: what was hidden is stored, and the next one is served."""

import asyncio
import http.client
import re
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from keepwhole import Session
from keepwhole.apps.proxy.proxy import Proxy
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.proxy.proxy_server import ask, proxy
from tests.apps.proxy.test_tenants import LONG, conversation
from tests.exchange.test_cancellation import CancelAt
from tests.upstream.server import upstream
from tests.upstream.spelling import Json, Part, Text, Tool

MOST = 200


class Step:
    """At which wait the next request is cancelled; 0 for none. Whether it was."""

    at = 0
    was_cancelled = False


def model(body: Json) -> list[Part]:
    """A model that reads one result back before it answers."""
    said = str(body["messages"])
    found = re.search(r"art_\d+_\w{22}", said)
    return [Tool("get_artifact", {"id": found[0]})] if found and "get_artifact" not in said else [Text("fine")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_request_may_be_cancelled_at_any_wait(
    streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, handle = Step(), Proxy.handle

    async def stepping(self: Proxy, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        try:
            return await CancelAt(handle(self, request), step.at, task.cancel)
        except asyncio.CancelledError:
            step.was_cancelled = True
            raise

    monkeypatch.setattr(Proxy, "handle", stepping)
    store = SqliteStore(str(tmp_path))
    body = conversation("anthropic", LONG, **({"stream": True} if streamed else {}))
    with upstream(model) as served, proxy(served.url, store=store) as running:
        for at in range(1, MOST):
            step.at, step.was_cancelled = at, False
            headers = {"x-keepwhole-session": f"s{at}"}
            ask_or_be_cut(running.port, body, headers)
            step.at = 0
            served.answers = 0
            answer = ask(running.port, "/v1/messages", body, headers)
            assert answer.status == 200
            assert (b"message_stop" if streamed else b"fine") in answer.data
            running.rest()
            if not step.was_cancelled:
                break
        assert 1 < at < MOST - 1
        hidden = {name for asked in served.asked for name in re.findall(rb"art_\d+_\w{22}", asked.data)}
        sessions = [info.name for info in store.sessions()]
        assert len(hidden) == len(sessions) == at, "a result was stored twice, or in nobody's session"
        kept = {name: Session(name, store=store).recall_bytes(artifact) for name, artifact in owners(store).items()}
        assert set(kept) == set(sessions)
        assert set(kept.values()) == {LONG.encode()}
        for name in sessions:
            with Session(name, store=store) as session:
                assert session.verify().whole
        assert running.tasks() <= 1 + 2
    store.close()


def owners(store: SqliteStore) -> dict[str, str]:
    """The result of the tool in each session."""
    names = [info.name for info in store.sessions()]
    return {name: next(iter(store.rows(name, kind="result"))).trace_id for name in names}


def ask_or_be_cut(port: int, body: Json, headers: dict[str, str]) -> None:
    with suppress(OSError, http.client.HTTPException):
        ask(port, "/v1/messages", body, headers)
