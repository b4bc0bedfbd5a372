"""Conversations that nobody names: each its own session from its first call on, and never two in one."""

import json
from typing import Any

import pytest

from keepwhole.errors import NotFound
from tests.exchange.checked_proxy import CheckedProxy, extends, long_log, result_texts
from tests.wire.clients import Json, Nameless, Sent, bare

CLIENT = Nameless()


def more(call: str) -> list[Json]:
    return [*CLIENT.calls(call), *CLIENT.results(**{call: long_log(call)})]


def test_two_with_the_same_prompt_never_meet_however_they_interleave() -> None:
    proxy = CheckedProxy()
    histories = [[CLIENT.prompt("go")], [CLIENT.prompt("go")]]
    before: list[list[Json]] = [[], []]
    for number in range(4):
        for at in (0, 1):
            after = proxy.send(CLIENT.request(histories[at]))
            assert extends(before[at], after)
            before[at] = after
            histories[at] += more(f"c{at}x{number}")
    assert len(proxy.sessions()) == 2
    names = sorted(proxy.sessions(), key=proxy.kept_calls)
    assert [proxy.kept_calls(name) for name in names] == [[f"c{at}x{number}" for number in range(3)] for at in (0, 1)]
    one, other = (proxy.session(name) for name in names)
    assert one.recall(one.artifacts()[0].artifact_id) == long_log("c0x0")
    with pytest.raises(NotFound):
        other.recall(one.artifacts()[0].artifact_id)


def test_two_processes_and_a_restart_find_the_same_session(tmp_path: Any) -> None:
    from keepwhole.store.sqlite.store import SqliteStore

    history = [CLIENT.prompt("go"), *more("c1")]
    one, other = CheckedProxy(SqliteStore(tmp_path)), CheckedProxy(SqliteStore(tmp_path))
    first = one.send(CLIENT.request(history))
    second = other.send(CLIENT.request([*history, *more("c2")]))
    third = one.send(CLIENT.request([*history, *more("c2"), *more("c3")]))
    assert extends(first, second)
    assert extends(second, third)
    assert len(one.sessions()) == 1
    assert other.kept_calls(one.sessions()[0]) == ["c1", "c2", "c3"]
    one.store.close()
    other.store.close()


def test_before_the_first_call_nothing_is_kept_and_our_tools_are_there() -> None:
    proxy = CheckedProxy()
    sent = CLIENT.request([CLIENT.prompt("go")])
    body = json.loads(proxy.forward(sent))
    assert [tool["name"] for tool in body["tools"]][-1] == "Bash"
    assert len(body["tools"]) > 1
    assert body["messages"] == sent.body["messages"]
    assert proxy.sessions() == []
    later = json.loads(proxy.forward(CLIENT.request([CLIENT.prompt("go"), *more("c1")])))
    assert later["tools"] == body["tools"]


OURS: Json = {"type": "tool_use", "id": "o1", "name": "search_artifacts", "input": {"query": "x"}}
WORDS: Json = {"type": "text", "text": "Let me look."}
ASKED: Json = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [WORDS, OURS]}
DONE: Json = {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [WORDS]}


def as_bytes(body: Json) -> bytes:
    return json.dumps(body).encode()


def test_a_call_of_ours_before_there_is_a_session_is_answered_and_found_again() -> None:
    """Providers sign what a model thinks: an answer is to be sent back as it was."""
    proxy = CheckedProxy()
    exchange = proxy.begin(CLIENT.request([CLIENT.prompt("go")]))
    assert exchange.read_answer(as_bytes(ASKED)) is None
    asked = json.loads(exchange.body)["messages"]
    assert "o1" in result_texts(asked)
    bash: Json = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "run c1"}}
    answer = json.loads(exchange.read_answer(as_bytes({**ASKED, "content": [bash]})))
    assert answer["content"] == [WORDS, bash], "both rounds are one answer, without what is ours"
    said = {"role": "assistant", "content": answer["content"]}
    again = proxy.send(CLIENT.request([CLIENT.prompt("go"), said, *CLIENT.results(c1=long_log("c1"))]))
    assert extends([*bare(asked), {"role": "assistant", "content": [bash]}], again)
    assert len(proxy.sessions()) == 1


def test_a_call_of_ours_in_an_answer_without_calls_leaves_nothing() -> None:
    proxy = CheckedProxy()
    exchange = proxy.begin(CLIENT.request([CLIENT.prompt("go")]))
    assert exchange.read_answer(as_bytes(ASKED)) is None
    assert json.loads(exchange.read_answer(as_bytes(DONE)))["content"] == [WORDS, WORDS]
    assert proxy.sessions() == []


def test_an_answer_that_may_be_gone_on_with_by_its_name_has_no_hidden_round_before_there_is_a_session() -> None:
    """Else the client would continue from an answer with a call of a recall tool, of which it has no result."""
    body = {
        "model": "gpt-5",
        "input": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "name": "shell", "parameters": {}}],
    }
    sent = Sent("/v1/responses", {}, body)
    assert CheckedProxy().forward(sent) == sent.data
    unkept = Sent("/v1/responses", {}, {**body, "store": False})
    assert b"search_artifacts" in CheckedProxy().forward(unkept)


def test_results_whose_calls_are_not_there_pass_whole() -> None:
    proxy = CheckedProxy()
    sent = CLIENT.request([CLIENT.prompt("go"), CLIENT.said("Hm."), *CLIENT.results(c1=long_log("c1"))])
    assert json.loads(proxy.forward(sent))["messages"] == sent.body["messages"]
    assert proxy.sessions() == []
