"""When a model is offered the recall tools: from the first request where they are a small part of it or the client's
tools promise long results, else once something is left out, if that pays."""

import json
from typing import Any

import pytest

from keepwhole.canonical.round_times import RoundTimes
from keepwhole.config import Settings
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.exchange.checked_proxy import CheckedProxy, long_log, result_texts
from tests.wire.clients import ClaudeCode, Json, Sent

ORDERS: Json = {"name": "get_order", "description": "An order.", "input_schema": {"type": "object"}}
ANSWER = b'{"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}'


class Shop(ClaudeCode):
    """An agent with short prompts and tools of a service."""

    tools = (ORDERS,)


CLIENT = Shop()


def default_proxy(store: MemoryStore | None = None) -> CheckedProxy:
    return CheckedProxy(store, settings=Settings(home="unused"))


def turns(*results: str) -> list[Json]:
    """A conversation with these results."""
    history = [CLIENT.prompt("go")]
    for number, text in enumerate(results):
        history += [*CLIENT.calls(f"c{number}"), *CLIENT.results(**{f"c{number}": text})]
    return history


def names_of(body: bytes) -> list[str]:
    return [tool["name"] for tool in json.loads(body)["tools"]]


def forward_all(proxy: CheckedProxy, history: list[Json]) -> list[bytes]:
    """Send a conversation request by request; return what goes to the provider."""
    return [proxy.forward(CLIENT.request(history[:end])) for end in range(1, len(history) + 1, 2)]


def record(proxy: CheckedProxy, sent: Sent) -> bytes:
    """Forward a request and record that it was answered."""
    exchange = proxy.begin(sent)
    body: bytes = exchange.body
    exchange.settle()
    exchange.record(0, 200, ANSWER, "complete", exchange.learn_bill(200, ANSWER, True), RoundTimes(0, 0, 1, 1))
    return body


def test_a_short_conversation_of_which_nothing_is_left_out_is_sent_as_it_came() -> None:
    history = turns(*(f"order {number}: shipped" for number in range(12)))
    proxy = default_proxy()
    for end in range(1, len(history) + 1, 2):
        sent = CLIENT.request(history[:end])
        assert proxy.forward(sent) == sent.data


def test_the_tools_come_with_the_first_thing_that_is_left_out_and_stay() -> None:
    history = turns("shipped", long_log("a", 3_000), "shipped", "shipped")
    bodies = forward_all(default_proxy(), history)
    offered = [set(NAMES) <= set(names_of(body)) for body in bodies]
    assert offered == [False, False, True, True, True]
    shown = result_texts(json.loads(bodies[2])["messages"])
    assert "get_artifact" in shown["c1"]


def test_they_are_offered_at_the_same_place_by_a_process_that_comes_later() -> None:
    store, history = MemoryStore(), turns("shipped", long_log("a", 3_000), "shipped")
    first = default_proxy(store).forward(CLIENT.request(history[:5]))
    later = default_proxy(store).forward(CLIENT.request(history[:5]))
    assert first == later


def test_they_are_not_withdrawn_when_what_was_left_out_is_shown_again() -> None:
    store, history = MemoryStore(), turns(long_log("a", 3_000), "shipped")
    proxy = CheckedProxy(store, settings=Settings(home="unused"))
    assert names_of(record(proxy, CLIENT.request(history[:3])))[0] == NAMES[0]
    with Session(proxy.sessions()[0], store=store) as session:
        session.undo(session.artifacts()[0].artifact_id)
    body = proxy.forward(CLIENT.request(history))
    assert names_of(body)[0] == NAMES[0]
    assert "get_artifact" not in str(result_texts(json.loads(body)["messages"]))


@pytest.mark.parametrize("is_another_process", [False, True])
def test_what_was_read_back_stays_although_the_request_that_offered_the_tools_is_not_on_record_yet(
    is_another_process: bool,
) -> None:
    """A client may ask again before the request with which the tools came is recorded, which happens afterwards."""
    store, history = MemoryStore(), turns(long_log("a", 3_000), "shipped")
    proxy = default_proxy(store)
    exchange = proxy.begin(CLIENT.request(history[:3]))
    exchange.settle()
    artifact = result_texts(json.loads(exchange.body)["messages"])["c0"].partition("[Artifact: ")[2].partition("]")[0]
    recall = {"type": "tool_use", "id": "r0", "name": "get_artifact", "input": {"id": artifact, "lines": "7-7"}}
    called = history[3]["content"]
    assert exchange.read_answer(answer([recall])) is None
    assert exchange.read_answer(answer(called)) is not None
    after_round = unmarked(exchange.body)["messages"]
    later = default_proxy(store) if is_another_process else proxy
    body = unmarked(later.forward(CLIENT.request(history)))
    assert body["messages"][: len(after_round)] == after_round, "the provider has cached what was read back"
    assert names_of(json.dumps(body).encode())[0] == NAMES[0]


def unmarked(body: bytes) -> Json:
    """A request without the client's cache markers, which move on."""
    return json.loads(
        body, object_hook=lambda fields: {key: value for key, value in fields.items() if key != "cache_control"}
    )


def answer(blocks: list[Json]) -> bytes:
    about = {"type": "message", "role": "assistant", "stop_reason": "tool_use"}
    return json.dumps({**about, "content": blocks, "usage": {"input_tokens": 10, "output_tokens": 1}}).encode()


def test_a_cut_that_frees_less_than_the_tools_cost_is_not_made() -> None:
    """Everything that is cached would have to be sent again for the sake of a few hundred tokens."""
    small = [f"order {number}: " + "shipped to the usual place " * 60 for number in range(40)]
    history = turns(*small, long_log("a", 330))
    *_, before, last = forward_all(default_proxy(), history)
    assert len(long_log("a", 330)) > 8_000
    assert last.startswith(before[: before.index(b'"messages"')])
    assert result_texts(json.loads(last)["messages"])["c40"] == long_log("a", 330)


def test_a_cut_that_frees_more_is_made_in_the_same_conversation() -> None:
    small = [f"order {number}: " + "shipped to the usual place " * 60 for number in range(40)]
    *_, last = forward_all(default_proxy(), turns(*small, long_log("a", 9_000)))
    assert set(NAMES) <= set(names_of(last))


def names_offered_at_last(window: int) -> set[str]:
    small = [f"order {number}: " + "shipped to the usual place " * 60 for number in range(40)]
    proxy = CheckedProxy(settings=Settings(home="unused", models={"claude": {"window": window}}))
    *_, last = forward_all(proxy, turns(*small, long_log("a", 330)))
    return set(names_of(last))


def test_what_takes_more_than_nine_tenths_of_the_window_is_cut_in_any_case() -> None:
    assert set(NAMES) <= names_offered_at_last(window=16_000)
    assert not set(NAMES) & names_offered_at_last(window=24_000)


def test_an_agent_that_runs_commands_or_has_a_long_prompt_is_offered_them_from_the_first_request_on() -> None:
    shell = ClaudeCode()
    assert set(NAMES) <= set(names_of(default_proxy().forward(shell.request([shell.prompt("go")]))))
    system: Any = [{"type": "text", "text": "Be kind. " * 6_000}]
    assert set(NAMES) <= set(names_of(default_proxy().forward(CLIENT.request([CLIENT.prompt("go")], system=system))))


def test_a_user_may_ask_for_them_from_the_start() -> None:
    proxy = CheckedProxy(settings=Settings(home="unused", recall_from="start"))
    assert set(NAMES) <= set(names_of(proxy.forward(CLIENT.request([CLIENT.prompt("go")]))))
