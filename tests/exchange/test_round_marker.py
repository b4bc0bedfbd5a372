"""What a hidden round reads back is cached there, so that the client's next request finds it and does not pay twice."""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.exchange.router import SessionRouter
from keepwhole.testing import printed_calls

MARK = {"cache_control": {"type": "ephemeral"}}
TEXT = "".join(f"line {number} has plain words and nothing else\n" for number in range(1_000))


def request(markers: int, results: list[Any]) -> bytes:
    """A conversation of one call, with so many markers on the system prompt and, before those, on the newest result."""
    system = [{"type": "text", "text": f"part {at}"} | (MARK if at < markers - 1 else {}) for at in range(4)]
    call = {"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [results[0] | (MARK if markers else {})]},
    ]
    tools = [{"name": "work", "input_schema": {"type": "object"}}]
    body = {"model": "claude-haiku-4-5", "max_tokens": 9, "system": system, "messages": messages, "tools": tools}
    return json.dumps(body).encode()


def second_round(markers: int) -> Any:
    """The request of a hidden round in which the model reads back what the first one cut."""
    router = SessionRouter(each=True, store=MemoryStore())
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": TEXT}
    exchange: Any = router.begin("POST", "/v1/messages", {"x-keepwhole-session": "s"}, request(markers, [result]))
    shown = json.loads(exchange.body)["messages"][-1]["content"][0]["content"]
    name, arguments = printed_calls(shown)[-1]
    recall = {"type": "tool_use", "id": "toolu_9", "name": name, "input": arguments}
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {"id": "m", "type": "message", "role": "assistant", "content": [recall], "usage": usage}
    assert exchange.read_answer(json.dumps({**answer, "stop_reason": "tool_use"}).encode()) is None
    return json.loads(exchange.body)


def marked(body: Any) -> list[int]:
    return [at for at, message in enumerate(body["messages"]) if "cache_control" in json.dumps(message)]


@pytest.mark.parametrize("markers", [1, 3])
def test_what_was_read_back_gets_a_marker(markers: int) -> None:
    body = second_round(markers)
    assert "line 500 has" in json.dumps(body["messages"][-1])
    assert marked(body) == [2, 4]


def test_a_client_that_has_all_the_markers_there_may_be_gets_no_more() -> None:
    assert marked(second_round(4)) == [2]


def test_a_client_that_sets_no_marker_gets_none() -> None:
    assert marked(second_round(0)) == []
