"""The comparison that `make clients` rests on notices what it must, and lets pass what Keepwhole may do."""

import json
from typing import Any

import pytest

from tests.clients.edits import differences, take_apart
from tests.upstream.server import Asked

CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "c1", "content": "a long list", "is_error": False}
MARKER = {"cache_control": {"type": "ephemeral"}}
TOOLS = [{"name": "Bash", "description": "runs"}]


def asked(*results: Any, tools: Any = (), words: str = "look", path: str = "/v1/messages", **headers: str) -> Asked:
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": [CALL]}, *results]
    body = {"model": "m", "messages": messages, "tools": [*tools, *TOOLS], "stream": True}
    return Asked("POST", path, {"x-session": "s", **headers}, json.dumps(body).encode())


def answered(*blocks: Any) -> Any:
    return {"role": "user", "content": list(blocks)}


SENT = asked(answered(RESULT))
RECALL: dict[str, Any] = {"type": "tool_use", "id": "r1", "name": "get_artifact", "input": {"id": "art_1_x"}}


@pytest.mark.parametrize(
    "received",
    [
        SENT,
        asked(answered({**RESULT, "content": "cut"})),
        asked(answered({**RESULT, **MARKER})),
        asked(answered(RESULT), tools=[{"name": "get_artifact"}, {"name": "search_artifacts"}]),
        asked(answered(RESULT), path="/kw-token/v1/messages", host="elsewhere"),
        asked(
            answered(RESULT),
            {"role": "assistant", "content": [{"type": "text", "text": "I need more."}, RECALL]},
            answered({"type": "tool_result", "tool_use_id": "r1", "content": "whole"}),
        ),
    ],
)
def test_an_edit_passes(received: Asked) -> None:
    assert differences([SENT], [received]) == []


@pytest.mark.parametrize(
    "received",
    [
        asked(answered(RESULT), words="Look"),
        asked(answered({**RESULT, "is_error": True})),
        asked(answered({**RESULT, "tool_use_id": "c2"})),
        asked(answered(RESULT, {"type": "text", "text": "more"})),
        asked(answered(RESULT), tools=[{"name": "other"}]),
        asked(answered(RESULT), path="/v1/responses"),
        asked(answered(RESULT), path="/v1/messages?beta=true"),
        asked(answered(RESULT), authorization="another"),
        SENT._replace(data=SENT.data.replace(b'"stream": true', b'"stream":true')),
        SENT._replace(data=SENT.data.replace(b'"look"', b'"lo\\u006fk"')),
    ],
)
def test_anything_else_is_noticed(received: Asked) -> None:
    assert differences([SENT], [received])


def test_a_marker_of_the_clients_that_is_gone_is_noticed() -> None:
    assert differences([asked(answered({**RESULT, **MARKER}))], [SENT])


def test_a_request_that_is_missing_is_noticed() -> None:
    assert differences([SENT], [])
    assert differences([], [SENT])


def test_a_round_of_recall_is_no_difference_in_later_requests_either() -> None:
    """The client has what was said in the round before its next call, in one message."""
    said, again = {"type": "text", "text": "I need more."}, {**CALL, "id": "c2"}
    last = answered({**RESULT, "tool_use_id": "c2"})
    recalled = answered({"type": "tool_result", "tool_use_id": "r1", "content": "whole"})
    sent = asked(answered(RESULT), {"role": "assistant", "content": [said, again]}, last)
    rounds = [{"role": "assistant", "content": [said, RECALL]}, recalled, {"role": "assistant", "content": [again]}]
    assert differences([sent], [asked(answered(RESULT), *rounds, last)]) == []
    assert differences([sent], [asked(answered(RESULT), *rounds[1:], last)])


def test_results_are_found_in_every_dialect() -> None:
    chat = [{"role": "tool", "tool_call_id": "c1", "content": "one"}]
    items = [{"type": "function_call_output", "call_id": "c1", "output": "one"}]
    blocks = [answered({**RESULT, "content": [{"type": "text", "text": "one"}]})]
    for name, path, messages in (
        ("messages", "/v1/chat/completions", chat),
        ("input", "/v1/responses", items),
        ("messages", "/v1/messages", blocks),
    ):
        data = json.dumps({name: messages}).encode()
        assert take_apart(Asked("POST", path, {}, data)).results == {"c1": "one"}
