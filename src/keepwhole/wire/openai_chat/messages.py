"""Messages of OpenAI's Chat Completions: `tool_calls` (functions and custom tools) and messages of role `tool`.

Owns: decoding them, finding and repairing broken pairs, and reading an answer.
Must not know: the other dialects.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message
from keepwhole.wire.content import (
    Json,
    Wire,
    build,
    decode_plain,
    fields_of,
    json_text,
    parts_of,
    results_in,
    size_of,
    spoken,
)
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.media import PDF, data_url, encoded
from keepwhole.wire.pairs import NO_RESULT, CallGroup, FindLost, Repairs, in_order_of_calls

BREAK = "\n\n"
"""Between the words of two rounds, since a message has one text for all of them."""
_NOT_SENT_BACK = ("annotations", "audio")


def decode(message: Json) -> Message | None:
    """The meaning of a message with calls, with a result, or with reasoning."""
    role = message.get("role")
    if role == "tool":
        return _result(message)
    if "tool_calls" not in message and "reasoning_content" not in message:
        return None
    if role != "assistant":
        return decode_plain(message)
    said, other = spoken(message.get("content"))
    if "reasoning_content" in message:
        other += size_of(message["reasoning_content"])
    calls = message.get("tool_calls")
    return build(Message, (role, said, _calls(calls) if calls else (), (), other, False))


def _result(message: Json) -> Message:
    call_id, content = message.get("tool_call_id"), message.get("content")
    if not isinstance(call_id, str):
        return Message("other", other=size_of(content))
    returned, other = results_in(call_id, ("content",), content)
    return build(Message, ("tool", "", (), returned, other, False))


def _calls(tool_calls: Any) -> tuple[Call, ...]:
    calls: list[Call] = []
    for spelled in parts_of(tool_calls):
        fields = fields_of(spelled)
        called, key = fields_of(fields.get("function")), "arguments"
        if not called:
            called, key = fields_of(fields.get("custom")), "input"
        call_id, name = fields.get("id"), called.get("name")
        if isinstance(call_id, str) and isinstance(name, str):
            calls.append(build(Call, (call_id, name, json_text(called.get(key)))))
    return tuple(calls)


def read_message(message: Json, reason: object, names: Names) -> Reply:
    """The reply that an assistant's message is."""
    calls = parts_of(message.get("tool_calls"))
    others = [call for call in calls if not calls_recall(call, names)]
    said = {key: value for key, value in message.items() if value is not None and key not in _NOT_SENT_BACK}
    shown = {key: value for key, value in message.items() if key != "tool_calls"}
    return Reply(
        said=[{"content": None, **said}],
        shown=[{**shown, "tool_calls": others} if others else shown],
        calls=[call for call in calls if calls_recall(call, names)],
        waits=bool(others),
        whole=reason in ("tool_calls", "stop"),
    )


def calls_recall(call: object, names: Names) -> bool:
    """Whether a call is one of a recall tool."""
    fields = fields_of(call)
    return fields.get("type", "function") == "function" and fields_of(fields.get("function")).get("name") in names


def one_message(shown: Iterable[Json]) -> Json:
    """The messages of several rounds as one."""
    messages = list(shown)
    if not messages:
        return {"role": "assistant", "content": None}
    contents: list[Any] = [content for message in messages if (content := message.get("content"))]
    joined: Any = next(iter(contents), messages[-1].get("content"))
    for content in contents[1:]:
        joined = joined_content(joined_content(joined, BREAK), content)
    return {**messages[-1], "content": joined}


def joined_content(before: str | list[Any], content: str | list[Any]) -> str | list[Any]:
    """Two contents as one: a text, or parts where one of them has parts, as Mistral's models write their reasoning.

    >>> joined_content([{"type": "thinking"}], "So."), joined_content("a", "b")
    ([{'type': 'thinking'}, {'type': 'text', 'text': 'So.'}], 'ab')
    """
    if isinstance(before, str) and isinstance(content, str):
        return before + content
    parts = [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in (before, content)]
    return [*parts[0], *parts[1]]


def has_broken_pairs(messages: Sequence[Wire]) -> bool:
    """A result must follow its call before anybody else speaks; a later one has no call."""
    waiting: set[Any] = set()
    for message in messages:
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            if call_id not in waiting:
                return True
            waiting.remove(call_id)
        elif waiting:
            return True
        elif "tool_calls" in message:
            for call in message["tool_calls"] or ():
                waiting.add(call["id"])
    return bool(waiting) and messages[-1]["role"] == "tool"


def with_whole_pairs(messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """The messages with every pair whole: results follow the message that called."""
    group = CallGroup()
    whole: list[Wire] = []
    notes: list[Wire] = []
    for message in messages:
        if message.get("role") == "tool":
            call_id, content = message.get("tool_call_id"), message.get("content")
            if group.accepts(call_id, content):
                whole.append(message)
            else:
                notes += group.note(call_id, content)
            continue
        _end_turn(group, whole, notes)
        whole.append(message)
        group.begin([call.get("id") for call in message.get("tool_calls") or ()])
    if messages[-1].get("role") == "tool":
        _end_turn(group, whole, notes)
    return whole, group.repairs


def _end_turn(group: CallGroup, whole: list[Wire], notes: list[Wire]) -> None:
    """Add notices for the results that are missing, and a user's message with the results that answer nothing."""
    whole += [result_message(call_id, NO_RESULT) for call_id in group.take_missing()]
    if notes:
        is_text = all(block.get("type") == "text" for block in notes)
        text = "\n".join(str(block.get("text")) for block in notes)
        whole.append({"role": "user", "content": text if is_text else list(notes)})
        notes.clear()


def with_lost_results(messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
    """The messages with lost results put back: they follow the message that called."""
    whole: list[Wire] = []
    calls: list[Any] = []
    results: list[tuple[Any, Wire]] = []
    is_changed = False
    for message in (*messages, None):
        if message is not None and message["role"] == "tool":
            call_id = message["tool_call_id"]
            found = find(call_id, message.get("content"))
            if found is not None:
                message, is_changed = {**message, "content": found.content(media_part)}, True
            results.append((call_id, message))
            continue
        missing = dict.fromkeys(calls) if calls else {}
        for call_id, _ in results:
            missing.pop(call_id, None)
        given = {call_id: found for call_id in missing if (found := find(call_id)) is not None}
        built = {
            call_id: {**result_message(call_id, ""), "content": found.content(media_part)}
            for call_id, found in given.items()
        }
        whole += in_order_of_calls(calls, results, built) if built else [result for _, result in results]
        is_changed = is_changed or bool(built)
        if message is not None:
            whole.append(message)
            calls, results = [call["id"] for call in message.get("tool_calls") or ()], []
    return whole if is_changed else messages


def media_part(media: MediaBytes) -> Json:
    """The part of an image, a document or audio, as servers take it that allow them in results."""
    if media.file_id is not None:
        return {"type": "file", "file": {"file_id": media.file_id}}
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": media.url or data_url(media)}}
    if media.url is not None:
        return {"type": "file", "file": {"file_url": media.url}}
    if media.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": encoded(media.data), "format": media.media_type[6:]}}
    name = "file.pdf" if media.media_type == PDF else "file"
    return {"type": "file", "file": {"file_data": data_url(media), "filename": name}}


def result_message(call_id: str | None, content: str) -> Json:
    """The message that answers a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}
