"""Shapes that the providers define and few clients send."""

import base64
import json
from typing import Any

import pytest

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call
from keepwhole.wire import openai_chat, openai_responses
from keepwhole.wire.anthropic.stream import AnthropicStream
from keepwhole.wire.call_arguments import find_arguments
from keepwhole.wire.content import spoken
from keepwhole.wire.dialects import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES
from keepwhole.wire.media import glance
from keepwhole.wire.openai_chat.messages import one_message
from keepwhole.wire.openai_responses.stream import ResponsesStream
from keepwhole.wire.pairs import Repairs
from keepwhole.wire.request_body import read_request
from keepwhole.wire.sse import Event, written

NAMES = frozenset(("get_artifact",))
DATA = base64.b64encode(b"bytes").decode()


def event(**data: Any) -> Event:
    return Event(data["type"], json.dumps(data), written(data["type"], data))


def test_the_words_of_a_content_are_joined_and_its_other_parts_are_counted() -> None:
    parts = [
        "one",
        {"type": "text", "text": "two"},
        {"type": "input_text", "text": "three"},
        {"type": "odd", "a": "some more words"},
    ]
    words, other = spoken(parts)
    assert words == "one\ntwo\nthree"
    assert other == spoken(parts[3:])[1] > 0
    assert spoken("plain") == ("plain", 0)


@pytest.mark.parametrize(("role", "known"), [("user", "user"), ("assistant", "assistant"), ("developer", "system")])
def test_an_item_of_the_type_message_has_a_role_and_words(role: str, known: str) -> None:
    item = {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": "go"}, {"type": "odd", "a": "more words"}],
    }
    message = OPENAI_RESPONSES.decode(item)
    assert message is not None
    assert (message.role, message.said, message.other > 0) == (known, "go", True)
    strange = OPENAI_RESPONSES.decode({**item, "role": "nobody"})
    assert strange is not None
    assert (strange.role, strange.said) == ("other", "")


@pytest.mark.parametrize(
    ("media_type", "chat", "responses"),
    [
        (
            "image/png",
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
            {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
        ),
        (
            "audio/wav",
            {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
            {"type": "input_file", "filename": "file", "file_data": f"data:audio/wav;base64,{DATA}"},
        ),
        (
            "application/pdf",
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}"}},
            {"type": "input_file", "filename": "file.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
        ),
    ],
)
def test_images_audio_and_documents_are_parts_of_their_own(media_type: str, chat: object, responses: object) -> None:
    media = MediaBytes(media_type, b"bytes")
    shown = openai_chat.messages.media_part(media)
    shown.get("file", {}).pop("filename", None)
    assert shown == chat
    assert openai_responses.messages.media_part(media) == responses


@pytest.mark.parametrize(
    ("source", "is_known"),
    [({"type": "url", "url": "https://x/y.png"}, True), ({"type": "file", "file_id": "f1"}, True)],
)
def test_an_image_that_is_only_named_is_known_by_its_place(source: dict[str, str], is_known: bool) -> None:
    found = glance({"type": "image", "source": source})
    assert found is not None
    assert found.facts.is_reference is is_known


def test_rounds_without_a_message_are_an_empty_message() -> None:
    assert one_message(()) == {"role": "assistant", "content": None}
    said = [{"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two", "refusal": None}]
    assert one_message(said)["content"].split() == ["one", "two"]


@pytest.mark.parametrize("is_stored", [True, False])
def test_items_that_the_provider_does_not_store_go_back_without_ids_and_reasoning_only_if_it_is_there(
    is_stored: bool,
) -> None:
    output = [
        {"type": "reasoning", "id": "r1"},
        {"type": "reasoning", "id": "r2", "encrypted_content": "x"},
        {"type": "message", "id": "m1", "content": []},
    ]
    body = {"output": output, "status": "completed", "store": is_stored}
    said = openai_responses.messages.read_reply(body, NAMES).said
    plain = [{key: value for key, value in item.items() if key != "id"} for item in output[1:]]
    assert said == (output if is_stored else plain)


def test_the_end_of_an_answer_without_recall_passes_as_it_came() -> None:
    stream = ResponsesStream(NAMES)
    assert stream.end(waits=False) == b""
    ended = event(type="response.completed", response={"id": "r", "output": [], "status": "completed"})
    assert stream.feed(ended) == b""
    assert stream.end(waits=False) == ended.raw


def anthropic_reply(*deltas: dict[str, Any], block: dict[str, Any] | None = None) -> Any:
    stream = AnthropicStream(NAMES)
    stream.feed(event(type="content_block_start", index=0, content_block=block or {"type": "text", "text": ""}))
    for delta in deltas:
        stream.feed(event(type="content_block_delta", index=0, delta=delta))
    assert stream.reply() is None
    stream.feed(event(type="message_delta", delta={"stop_reason": "tool_use"}))
    return stream.reply()


def test_citations_of_a_streamed_text_are_collected() -> None:
    reply = anthropic_reply(
        {"type": "text_delta", "text": "a"},
        {"type": "citations_delta", "citation": {"n": 1}},
        {"type": "citations_delta", "citation": {"n": 2}},
    )
    assert reply.shown == [{"type": "text", "text": "a", "citations": [{"n": 1}, {"n": 2}]}]
    assert reply.whole


@pytest.mark.parametrize(
    ("delta", "whole"),
    [({"type": "text_delta", "text": "a"}, True), ({"type": "odd_delta"}, False)],
)
def test_a_block_that_grows_in_an_unknown_way_is_not_whole(delta: dict[str, Any], whole: bool) -> None:
    assert anthropic_reply(delta).whole is whole


@pytest.mark.parametrize(("text", "whole"), [('{"id": 1}', True), ("", True), ('{"id":', False)])
def test_arguments_that_broke_off_are_not_whole(text: str, whole: bool) -> None:
    block = {"type": "tool_use", "id": "c", "name": "work", "input": {}}
    reply = anthropic_reply({"type": "input_json_delta", "partial_json": text}, block=block)
    assert reply.whole is whole
    assert reply.waits


def test_a_request_whose_messages_are_its_own_keeps_its_bytes() -> None:
    request = read_request(b'{ "model":"m", "messages":[{"role": "user",  "content":"go"}]}')
    assert request is not None
    assert request.joined(request.messages) is request.data
    assert request.joined([]) == b'{ "model":"m", "messages":[]}'


@pytest.mark.parametrize(
    ("arguments", "is_found"), [('{"a": 1}', True), ("[1]", False), ('{"a":', False), ("{" * 9, False)]
)
def test_arguments_may_be_changed_where_they_are_an_object(arguments: str, is_found: bool) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "work", "arguments": arguments}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    found = find_arguments(messages, 0, Call("c", "work", arguments))
    assert (found is not None) is is_found


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES], ids=repr)
def test_messages_of_a_shape_that_breaks_the_repair_stay_as_they_are(
    dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("role")

    monkeypatch.setattr(type(dialect), "is_broken", lambda *_: True)
    monkeypatch.setattr(type(dialect), "with_whole_pairs", fail)
    messages = [{"role": "user", "content": "go"}]
    assert dialect.repair(messages) == (messages, Repairs())


def test_arguments_that_come_at_once_are_not_lost_to_an_empty_delta() -> None:
    """Some servers that speak like Anthropic send a call whole."""
    stream = AnthropicStream(NAMES)
    block = {"type": "tool_use", "id": "c", "name": "get_artifact", "input": {"id": "x"}}
    stream.feed(event(type="content_block_start", index=0, content_block=block))
    stream.feed(event(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": ""}))
    stream.feed(event(type="message_delta", delta={"stop_reason": "tool_use"}))
    reply = stream.reply()
    assert reply is not None
    assert (reply.whole, reply.calls) == (True, [block])
