"""The desk of a transport: one session for one agent, or one for each conversation, in whose name it says."""

import json
from functools import partial
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import OwnAnswer, Scope, SessionRouter
from keepwhole.wire.request_body import RequestBody, read_request
from tests.exchange.checked_proxy import long_log
from tests.wire.clients import ClaudeCode, Codex, Nameless, Sent


def begun(client: ClaudeCode, call: str = "c1") -> Sent:
    return client.request([client.prompt("go"), *client.calls(call), *client.results(**{call: long_log(call)})])


def send(desk: SessionRouter, sent: Sent, **more: object) -> Exchange:
    exchange = desk.begin("POST", sent.path, sent.headers, sent.data, **more)  # type: ignore[arg-type]
    assert isinstance(exchange, Exchange)
    return exchange


def names(desk: SessionRouter) -> set[str]:
    return {info.name for info in desk.own.store.sessions()}


def test_a_transport_of_one_agent_has_one_session_unless_another_is_named() -> None:
    desk = SessionRouter(store=MemoryStore())
    send(desk, begun(Nameless(), "c1"))
    send(desk, begun(Nameless(), "c2"))
    assert names(desk) == {desk.own.id}
    send(desk, begun(ClaudeCode("theirs")))
    assert names(desk) == {desk.own.id, "theirs"}


def test_a_session_that_is_given_holds_unless_our_header_names_another() -> None:
    desk = SessionRouter("given", store=MemoryStore())
    send(desk, begun(ClaudeCode("theirs")))
    sent = begun(ClaudeCode("theirs"), "c2")
    assert names(desk) == {"given"}
    send(desk, sent._replace(headers={**sent.headers, "x-keepwhole-session": "other"}))
    assert names(desk) == {"given", "other"}


def test_each_conversation_has_its_own_session_where_that_is_asked_for() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    for call in ("c1", "c2"):
        send(desk, begun(Nameless(), call))
    assert len(names(desk)) == 2
    assert desk.own.id not in names(desk)


def _scope(tenant: str, _: RequestBody) -> Scope:
    return f"{tenant}:{{}}".format


def test_a_scope_parts_what_two_tenants_call_the_same() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    for tenant in ("acme", "other"):
        for client in (ClaudeCode("s"), Nameless(), ClaudeCode("l" * 128)):
            send(desk, begun(client), scope_of=partial(_scope, tenant))
    found = names(desk)
    assert len(found) == 6
    assert {"acme:s", "other:s"} <= found
    assert max(map(len, found)) <= 128


def test_an_exchange_says_whose_it_is_and_what_for() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    exchange = send(desk, begun(ClaudeCode("s", agent="a1")))
    assert exchange.identity == ("s", "a1", "turn", "client", True, "claude-code", "", False)
    assert desk.counts["turn"] == desk.counts["requests"] == 1
    client = Codex()
    send(desk, client.compaction([client.prompt("go")]))
    assert desk.counts["compaction"] == 1


def test_settings_are_read_once_for_all_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    monkeypatch.setattr("keepwhole.config.load", None)
    send(desk, begun(ClaudeCode("s")))
    session = Session("s", store=desk.own.store, settings=desk.own.settings)
    assert len(session.artifacts()) == 1


def test_a_turn_is_read_once_unless_messages_are_put_in_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, read = SessionRouter(each=True, store=MemoryStore()), read_request
    times = 0

    def counted(*given: Any) -> Any:
        nonlocal times
        times += 1
        return read(*given)

    for module in (
        "exchange.router",
        "exchange.exchange",
        "exchange.outgoing_request",
        "conversation.conversations",
        "conversation.pipeline",
    ):
        monkeypatch.setattr(f"keepwhole.{module}.read_request", counted)
    exchange = send(desk, begun(ClaudeCode()))
    assert exchange.offers
    assert b"get_artifact" in exchange.body
    assert times == 1


def test_a_thread_is_refused_so_that_the_whole_conversation_comes() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    sent = begun(ClaudeCode())
    threaded = sent._replace(body={**sent.body, "thread": {"type": "continue", "previous_message_id": "m"}})
    refused = desk.begin("POST", threaded.path, threaded.headers, threaded.data)
    assert isinstance(refused, OwnAnswer)
    assert refused.status == 400
    assert b"thread_unsupported_request" in refused.body
    assert names(desk) == set()


def test_a_request_with_nothing_to_change_keeps_every_byte() -> None:
    desk = SessionRouter(each=True, store=MemoryStore(), recall="off")
    messages = b'[ {"role":"user","content":"go"} ,\n {"role":"assistant","content":"x"} ]'
    spaced = b'{ "model":"m", "tools": [{"name" : "f"}],"messages" : ' + messages + b" }"
    exchange = desk.begin("POST", "/v1/messages", {"x-session-id": "s"}, spaced)
    assert isinstance(exchange, Exchange)
    assert exchange.body == spaced


def test_fewer_sessions_are_held_where_their_requests_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.exchange.router._MOST_WEIGHT", 50_000)
    desk = SessionRouter(each=True, store=MemoryStore())
    tool = {"name": "work", "description": "d", "input_schema": {"type": "object"}}
    for number in range(9):
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 20_000}], "tools": [tool]}
        headers = {"x-keepwhole-session": f"s{number}"}
        assert desk.begin("POST", "/v1/messages", headers, json.dumps(body).encode()) is not None
    assert list(desk._sessions) == ["s5", "s6", "s7", "s8"]
    assert set(desk._weights) == {"s5", "s6", "s7", "s8"}


def test_what_cannot_be_understood_is_passed_on_and_counted() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    for path, body in (
        ("/v1/messages", b"no JSON"),
        ("/model/m/count-tokens", b'{"input": {"other": {}}}'),
        ("/model/m/invoke", b'{"messages": [{"role": "user", "content": "hi"}]}'),
    ):
        assert desk.begin("POST", path, {}, body) is None
    assert desk.begin("GET", "/v1/messages", {}, b"{}") is None
    assert desk.begin("POST", "/v1/other", {}, b"{}") is None
    assert dict(desk.counts) == {
        "requests": 3,
        "untouched": 3,
        "untouched: not understood": 2,
        "untouched: of another vendor": 1,
    }


def test_sixty_four_sessions_are_remembered_and_the_longest_unused_is_read_again() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    first, second = desk.session("s0"), desk.session("s1")
    for number in range(2, 64):
        desk.session(f"s{number}")
    assert desk.session("s0") is first
    desk.session("s64")
    assert desk.session("s0") is first
    assert desk.session("s1") is not second
