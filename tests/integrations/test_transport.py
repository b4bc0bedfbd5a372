"""The official SDKs with `http_client`: results are kept, views sent, recall tools answered in hidden rounds."""

import json
import re
from typing import Any

import pytest

import keepwhole
from keepwhole.testing import MemoryStore
from tests.integrations.sdks import SDKS
from tests.upstream.provider import Provider, Text, Tool

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("recall_from_start")]

LINES = [f"line {n}: nothing to see\n" for n in range(2_000)]
LOG = "".join([*LINES[:1_000], "the needle is 4711\n", *LINES[1_000:]])
USER = {"role": "user", "content": "work, then say"}
every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
both_ways = pytest.mark.parametrize("way", ["ask", "stream"])


def artifact_in(body: dict[str, Any]) -> str:
    found = re.search(r"art_\d+_\w{22}", json.dumps(body))
    assert found, "nothing was cut"
    return found[0]


def recall(body: dict[str, Any]) -> list[Any]:
    return [Text("Let me look."), Tool("get_artifact", {"id": artifact_in(body), "lines": "1001-1001"})]


@every_sdk
@both_ways
def test_an_agent_is_answered_as_if_nothing_were_between(sdk: Any, way: str) -> None:
    provider = Provider([[Tool("work", {"n": 1})], recall, [Text("It is 4711.")], [Text("Bye.")]])
    agent = sdk(provider, store=MemoryStore())
    messages: list[Any] = [USER]

    first = getattr(agent, way)(messages)
    assert [name for name, _ in first.calls] == ["work"]
    messages += [*first.history, *agent.result(first.calls[0][1], LOG)]

    second = getattr(agent, way)(messages)
    assert second.calls == []
    assert "Let me look." in second.text
    assert "It is 4711." in second.text
    assert len(provider.requests) == 3
    assert "the needle is 4711" not in json.dumps(provider.requests[1])
    assert "the needle is 4711" in json.dumps(provider.requests[2])
    messages += [*second.history, {"role": "user", "content": "thanks"}]

    third = getattr(agent, way)(messages)
    assert third.text == "Bye."
    before, after = agent.sent(provider.requests[2]), agent.sent(provider.requests[3])
    assert after[: len(before)] == before, "what was sent once is sent again, the hidden round too"
    assert "It is 4711." in json.dumps(after[len(before) : -1])


@every_sdk
@both_ways
def test_a_hidden_round_is_put_back_after_a_restart(sdk: Any, way: str, tmp_path: Any) -> None:
    provider = Provider([recall_of_nothing, [Text("Nothing there.")], [Text("Bye.")]])
    agent = sdk(provider, session="restarted", store=tmp_path)
    first = getattr(agent, way)([USER])
    agent.client.close()
    again = sdk(provider, session="restarted", store=tmp_path)
    getattr(again, way)([USER, *first.history, {"role": "user", "content": "thanks"}])
    before, after = again.sent(provider.requests[1]), again.sent(provider.requests[2])
    assert after[: len(before)] == before
    assert "Ours" not in first.text


def recall_of_nothing(_: Any) -> list[Any]:
    return [Tool("search_artifacts", {"query": "needle"})]


@every_sdk
@both_ways
def test_recall_calls_beside_calls_of_the_client_are_answered_with_them(sdk: Any, way: str) -> None:
    both = [Text("Two."), Tool("search_artifacts", {"query": "x"}), Tool("work", {"n": 1}), Tool("work", {"n": 2})]
    provider = Provider([both, [Text("Done.")], [Text("Bye.")]])
    agent = sdk(provider, store=MemoryStore())
    first = getattr(agent, way)([USER])
    assert [name for name, _ in first.calls] == ["work", "work"]
    messages = [USER, *first.history]
    if sdk.name == "anthropic":
        results = [agent.result(call_id, "ok")[0]["content"][0] for _, call_id in first.calls]
        messages += [{"role": "user", "content": results}]
    else:
        messages += [item for _, call_id in first.calls for item in agent.result(call_id, "ok")]
    second = getattr(agent, way)(messages)
    assert second.text == "Done."
    assert "call_1_1" in json.dumps(agent.sent(provider.requests[1]))
    getattr(agent, way)([*messages, *second.history, {"role": "user", "content": "thanks"}])
    before, after = agent.sent(provider.requests[1]), agent.sent(provider.requests[2])
    assert after[: len(before)] == before


@every_sdk
@both_ways
def test_several_rounds_are_one_answer_and_all_come_back(sdk: Any, way: str) -> None:
    provider = Provider([recall_of_nothing, recall_of_nothing, recall_of_nothing, [Tool("work", {})], [Text("Bye.")]])
    agent = sdk(provider, store=MemoryStore())
    first = getattr(agent, way)([USER])
    assert [name for name, _ in first.calls] == ["work"]
    getattr(agent, way)([USER, *first.history, *agent.result(first.calls[0][1], "ok")])
    before, after = agent.sent(provider.requests[3]), agent.sent(provider.requests[4])
    assert after[: len(before)] == before


@every_sdk
@both_ways
def test_a_model_that_never_stops_reading_is_stopped(sdk: Any, way: str) -> None:
    provider = Provider([recall_of_nothing] * 40)
    answer = getattr(sdk(provider, store=MemoryStore()), way)([USER])
    assert answer.calls == []
    assert len(provider.requests) == 13


@every_sdk
@both_ways
def test_the_client_learns_how_much_the_model_read_last(sdk: Any, way: str) -> None:
    provider = Provider([recall_of_nothing, [Text("Done.")]])
    usage = getattr(sdk(provider, store=MemoryStore()), way)([USER]).raw.usage
    assert 200 in (getattr(usage, "input_tokens", 0), getattr(usage, "prompt_tokens", 0))


@every_sdk
@both_ways
def test_an_answer_without_recall_calls_keeps_its_stop_reason(sdk: Any, way: str) -> None:
    provider = Provider([[Text("Hm."), Tool("work", {})]])
    raw = getattr(sdk(provider, store=MemoryStore()), way)([USER]).raw
    assert "tool" in str(getattr(raw, "stop_reason", "") or getattr(raw, "choices", "tool"))


@every_sdk
def test_our_tools_stand_first_with_the_same_bytes_in_every_request(sdk: Any) -> None:
    provider = Provider([[Text("a")], [Text("b")]])
    agent = sdk(provider, store=MemoryStore())
    agent.ask([USER])
    agent.ask([{"role": "user", "content": "something else"}])
    first, second = (body["tools"] for body in provider.requests)
    assert first == second
    assert first[:3] == keepwhole.session(store=MemoryStore()).tools_to_offer(sdk.name)
    assert len(first) == 4


@every_sdk
def test_a_request_without_tools_is_offered_none(sdk: Any) -> None:
    provider = Provider([[Text("a")]])
    agent = sdk(provider, store=MemoryStore())
    agent.options.pop("tools")
    agent.ask([USER])
    assert "tools" not in provider.requests[0]


@every_sdk
@pytest.mark.parametrize("recall_by", ["path", "off"])
def test_where_nothing_is_recalled_by_tools_none_are_offered(sdk: Any, recall_by: str, tmp_path: Any) -> None:
    provider = Provider([[Text("a")]])
    sdk(provider, store=tmp_path, recall=recall_by).ask([USER])
    assert len(provider.requests[0]["tools"]) == 1


@every_sdk
def test_a_client_that_answers_our_tools_itself_is_left_to_it(sdk: Any) -> None:
    provider = Provider([recall_of_nothing])
    agent = sdk(provider, store=MemoryStore())
    agent.options["tools"] += keepwhole.session(store=MemoryStore()).tools(sdk.name)
    assert agent.ask([USER]).calls == [("search_artifacts", "call_1_0")]


@every_sdk
def test_a_packed_response_that_needs_no_change_comes_as_it_was(sdk: Any) -> None:
    provider = Provider([[Text("a")]], packed=True)
    assert sdk(provider, store=MemoryStore()).ask([USER]).text == "a"


@every_sdk
def test_a_packed_response_that_is_changed_is_unpacked(sdk: Any) -> None:
    provider = Provider([recall_of_nothing, [Text("a")]], packed=True)
    assert sdk(provider, store=MemoryStore()).ask([USER]).text == "a"
