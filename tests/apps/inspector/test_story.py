"""The story of a step: the words of the user and the model, whatever client and provider they came through."""

import json
from typing import Any

import pytest

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.messages import read_answer, read_messages, runs, states
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.errors import NotFound
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session

ASKED = "Why does the crane stop?"
SAID = "I look at its log."
RETURNED = "12:04 the brake closed\n" * 3

ANTHROPIC = {
    "system": [{"type": "text", "text": "You mend cranes."}],
    "tools": [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": ASKED},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A brake?", "signature": "s"},
                {"type": "text", "text": SAID},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "cat crane.log"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RETURNED}]},
    ],
}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "cat crane.log"}'}}
CHAT = {
    "messages": [
        {"role": "system", "content": "You mend cranes."},
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": SAID, "reasoning_content": "A brake?", "tool_calls": [CHAT_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": RETURNED},
    ],
}
RESPONSES = {
    "instructions": "You mend cranes.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "A brake?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "cat crane.log"}'},
        {"type": "function_call_output", "call_id": "c1", "output": RETURNED},
    ],
}
SHAPES = {"anthropic": ANTHROPIC, "openai_chat": CHAT, "openai_responses": RESPONSES}
DONE = "The brake closed at noon."
CHAT_EVENTS = [
    {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "The brake "}}]},
    {"id": "x", "choices": [{"index": 0, "delta": {"content": "closed at noon."}}]},
    {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
ANSWERS: dict[str, bytes] = {
    "anthropic": json.dumps({"content": [{"type": "text", "text": DONE}], "stop_reason": "end_turn"}).encode(),
    "openai_chat": b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in CHAT_EVENTS) + b"data: [DONE]\n\n",
    "openai_responses": json.dumps(
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": DONE}]}]}
    ).encode(),
}


def ask(services: InspectorServices, answer: Any, trace_id: str, **query: str) -> dict[str, Any]:
    asked = {key.strip("_"): value for key, value in query.items()}
    return dict(answer(services, PageRequest(("s", trace_id), asked)))


def parts(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [part for message in messages for part in message["parts"] if part["kind"] == kind]


def send(session: Session, dialect: str, body: dict[str, Any], answer: bytes = b"{}", status: int = 200) -> str:
    sent = RequestLog(session).add(
        json.dumps(body).encode(), RequestFacts(dialect, "a-model", mode="on"), LoggedAnswer(answer, status)
    )
    assert sent is not None
    return sent


@pytest.mark.parametrize("dialect", SHAPES)
def test_the_words_of_a_step_are_told_for_every_provider(
    services: InspectorServices, session: Session, dialect: str
) -> None:
    kept = session.keep("bash", {"command": "cat crane.log"}, RETURNED, call_id="c1")
    told = ask(services, answers.story, send(session, dialect, SHAPES[dialect], ANSWERS[dialect]))
    texts = [part["text"] for part in parts(told["messages"], "text")]
    assert texts[-2:] == [ASKED, SAID]
    assert [part["text"] for part in parts(told["messages"], "thinking")] == ["A brake?"]
    (call,) = parts(told["messages"], "call")
    assert (call["tool"], json.loads(call["text"])) == ("bash", {"command": "cat crane.log"})
    (result,) = parts(told["messages"], "result")
    assert (result["text"], result["trace_id"], result["rule"]) == (RETURNED, kept.trace_id, None)
    assert [part["text"] for part in parts(told["answer"]["messages"], "text")] == [DONE]
    assert told["next"] is None


def test_only_what_is_new_since_the_request_before_is_told_and_the_next_step_is_named(
    services: InspectorServices, session: Session
) -> None:
    first = send(session, "anthropic", {**ANTHROPIC, "messages": ANTHROPIC["messages"][:1]})
    session.keep("bash", {"command": "cat crane.log"}, RETURNED, call_id="c1")
    second = send(session, "anthropic", ANTHROPIC)
    told = ask(services, answers.story, first)
    assert [part["text"] for part in parts(told["messages"], "text")] == [ASKED]
    assert (told["next"]["index"], told["next"]["results"][0]["tool"]) == (1, "bash")
    told = ask(services, answers.story, second)
    assert [part["text"] for part in parts(told["messages"], "text")] == [SAID]
    assert told["next"] is None


def test_a_request_says_which_messages_are_changed_and_what_they_were(
    services: InspectorServices, session: Session
) -> None:
    first = send(session, "anthropic", ANTHROPIC)
    cut = json.loads(json.dumps(ANTHROPIC).replace(json.dumps(RETURNED)[1:-1], "[a pointer]"))
    cut["messages"].append({"role": "assistant", "content": [{"type": "text", "text": DONE}]})
    second = send(session, "anthropic", cut)
    told = ask(services, answers.request_messages, second)
    assert [(run["state"], run["count"]) for run in told["runs"]] == [("same", 2), ("changed", 1), ("new", 1)]
    (changed,) = parts(told["messages"], "result")
    assert (changed["text"], changed["was"]["text"]) == ("[a pointer]", RETURNED)
    assert (told["before"]["id"], told["gone"], told["step"], told["total"]) == (first, 0, 1, 4)
    assert told["system"]["text"] == "You mend cranes."
    assert [tool["name"] for tool in told["tools"]] == ["bash"]


def test_cache_markers_do_not_count_as_a_change() -> None:
    marked = json.loads(json.dumps(ANTHROPIC))
    marked["messages"][2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    before, now = (read_messages(json.dumps(one).encode()) for one in (ANTHROPIC, marked))
    assert before is not None
    assert now is not None
    assert runs(states(now.messages, before.messages)) == [{"state": "same", "from": 0, "count": 3}]


def test_a_page_of_messages_is_bounded_and_a_long_text_can_be_loaded(
    services: InspectorServices, session: Session
) -> None:
    messages = [{"role": "user", "content": "x" * 9_000}, *({"role": "user", "content": str(n)} for n in range(300))]
    sent = send(session, "openai_chat", {"messages": messages})
    told = ask(services, answers.request_messages, sent, count="9999")
    assert len(told["messages"]) == 100
    assert (len(told["messages"][0]["parts"][0]["text"]), told["messages"][0]["parts"][0]["more"]) == (4_000, True)
    told = ask(services, answers.request_messages, sent, from_="0", count="1", chars="99999999")
    assert [len(part["text"]) for part in parts(told["messages"], "text")] == [9_000]
    assert ask(services, answers.story, sent)["skipped"] == 301 - 24


def test_the_command_that_sends_a_request_again_has_no_key_in_it(services: InspectorServices, session: Session) -> None:
    for dialect, name in (("anthropic", "$ANTHROPIC_API_KEY"), ("openai_chat", "$OPENAI_API_KEY")):
        told = ask(services, answers.request_messages, send(session, dialect, SHAPES[dialect]))
        assert told["curl"]["command"].startswith("curl https://api.")
        assert name in told["curl"]["command"]


@pytest.mark.parametrize(
    ("data", "error", "readable"),
    [
        (b'{"error": {"type": "overloaded", "message": "Too many cranes."}}', "Too many cranes.", True),
        (b"<html>", "", False),
        (b"event: message_start\ndata: {", "", False),
        (b"", "", True),
    ],
)
def test_an_answer_that_is_none_says_so(data: bytes, error: str, readable: bool) -> None:
    found = read_answer("anthropic", data)
    assert (found.error, found.is_readable, found.messages) == (error, readable, ())


def test_a_request_that_is_no_json_is_told_without_messages(services: InspectorServices, session: Session) -> None:
    sent = RequestLog(session).add(b"\x00 no JSON", RequestFacts("anthropic", "m"), LoggedAnswer(b"", 500, "refused"))
    assert sent is not None
    assert ask(services, answers.story, sent)["messages"] == []
    assert ask(services, answers.request_messages, sent)["is_readable"] is False
    with pytest.raises(NotFound):
        ask(services, answers.story, "trace_nothing")


def streamed(*events: dict[str, Any], end: str = "\n\n") -> bytes:
    text = "\n\n".join(f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events)
    return (text + end).encode()


def test_the_last_event_of_a_stream_counts_where_only_its_empty_line_is_missing() -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": {}}
    events = (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "All cranes "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "are in."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    )
    assert not read_answer("anthropic", streamed(*events[:-1])).is_readable
    for end in ("\n\n", "\n", ""):
        found = read_answer("anthropic", streamed(*events, end=end))
        assert found.is_readable
        assert [one.message.said for one in found.messages] == ["All cranes are in."]


def test_a_stream_that_nobody_understands_is_not_readable() -> None:
    for broken in ({"type": "content_block_delta", "index": 0}, {"type": "message_start", "message": []}):
        found = read_answer("anthropic", streamed(broken))
        assert (found.messages, found.is_readable) == ((), False)


def test_a_dialect_that_is_not_known_is_read_as_the_most_common_one() -> None:
    data = json.dumps({"choices": [{"message": {"role": "assistant", "content": "All is in."}}]}).encode()
    assert [one.message.said for one in read_answer("of_tomorrow", data).messages] == ["All is in."]
