"""Items of OpenAI's Responses API: each call, each output and each message is an item of its own.

Owns: decoding the calls that a client answers and their outputs, finding and repairing broken pairs, and reading an
answer. What OpenAI runs or encrypts itself (web search, MCP, code interpreter, reasoning, compaction) is sized and left
alone, and so is every type that is not known here.
Must not know: the other dialects.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message, OnlyImage, ResultText
from keepwhole.wire.content import (
    ROLES,
    Json,
    Wire,
    build,
    fields_of,
    json_text,
    parts_of,
    results_in,
    size_of,
    spoken,
    text_of,
)
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.media import PDF, data_url, read_media
from keepwhole.wire.pairs import NO_RESULT, CallGroup, FindLost, Repairs, in_order_of_calls
from keepwhole.wire.text_card import card_size, card_url

_ANSWERED_BY = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""The output of each type of call that plain text may answer."""
_TEXT_OUTPUTS = frozenset(_ANSWERED_BY.values())


def decode(item: Json) -> Message | None:
    """The meaning of an item, which has a type."""
    if "type" not in item:
        return None
    kind = item["type"]
    if isinstance(kind, str):
        if kind in _CALLS:
            return _call(item, *_CALLS[kind](item))
        if kind in _OUTPUTS:
            return _OUTPUTS[kind](item)
        if kind != "message":
            return Message("other", other=size_of(item))
    role = item.get("role")
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(item))
    said, other = spoken(item.get("content"))
    return build(Message, (known, said, (), (), other, False))


def _call(item: Wire, name: object, arguments: object) -> Message:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not isinstance(name, str):
        return Message("other", other=size_of(item))
    call = build(Call, (call_id, name, json_text(arguments)))
    return build(Message, ("assistant", "", (call,), (), 0, False))


def _function(item: Wire) -> tuple[object, object]:
    name, space = item.get("name"), item.get("namespace")
    return f"{space}__{name}" if space and isinstance(name, str) else name, item.get("arguments")


def _custom(item: Wire) -> tuple[object, object]:
    return item.get("name"), item.get("input")


def _output(item: Wire) -> Message:
    call_id, output = item.get("call_id"), item.get("output")
    if not isinstance(call_id, str):
        return Message("other", other=size_of(output))
    returned, other = results_in(call_id, ("output",), output, item.get("status") == "failed")
    return build(Message, ("tool", "", (), returned, other, False))


def _local_shell_output(item: Wire) -> Message:
    """The SDK has only an `id` here, clients send a `call_id` too."""
    return _output({**item, "call_id": item.get("call_id") or item.get("id")})


def _shell_output(item: Wire) -> Message:
    call_id, output = item.get("call_id"), item.get("output")
    if not isinstance(call_id, str) or isinstance(output, str):
        return _output(item)
    returned: list[ResultText] = []
    for at, part in enumerate(parts_of(output)):
        fields = fields_of(part)
        is_error = _failed(fields_of(fields.get("outcome")))
        for stream in ("stdout", "stderr"):
            if text := text_of(fields.get(stream)):
                returned.append(ResultText(call_id, ("output", at, stream), text, is_error))
    return Message("tool", "", (), tuple(returned))


def _screenshot(item: Wire) -> Message:
    """A screenshot must be an image, so the words that take its place are drawn (`wire/text_card.py`)."""
    call_id, output = item.get("call_id"), fields_of(item.get("output"))
    media = read_media(output) if isinstance(call_id, str) else None
    if media is None or not isinstance(call_id, str):
        return Message("tool", "", (), (), size_of(output), pinned=True)
    own = {key: value for key, value in output.items() if key not in ("image_url", "file_id")}

    def spell(text: str) -> Json:
        return {**own, "image_url": card_url(text)}

    def whole(image: MediaBytes) -> Json:
        spelled = media_part(image)
        return {**own, **{key: value for key, value in spelled.items() if key != "type"}}

    shown = ResultText(call_id, ("output",), media.facts.description, media=media, spell=spell)
    return Message("tool", "", (), (shown._replace(only_image=OnlyImage(card_size, whole)),))


def _failed(outcome: Wire) -> bool:
    return outcome.get("type") == "timeout" or outcome.get("exit_code") not in (0, None)


_CALLS: Mapping[str, Callable[[Wire], tuple[object, object]]] = {
    "function_call": _function,
    "custom_tool_call": _custom,
    "local_shell_call": lambda item: ("local_shell", item.get("action")),
    "shell_call": lambda item: ("shell", item.get("action")),
    "apply_patch_call": lambda item: ("apply_patch", item.get("operation")),
    "computer_call": lambda item: ("computer", item.get("actions") or item.get("action")),
}
_OUTPUTS: Mapping[str, Callable[[Wire], Message]] = {
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "local_shell_call_output": _local_shell_output,
    "shell_call_output": _shell_output,
    "apply_patch_call_output": _output,
    "computer_call_output": _screenshot,
}


def read_reply(body: Json, names: Names) -> Reply:
    """The reply in the body of a response."""
    items = parts_of(body.get("output"))
    shown = [item for item in items if not calls_recall(item, names)]
    is_stored = body.get("store") is not False
    return Reply(
        said=[item if is_stored else _without_id(item) for item in items if is_stored or _can_be_sent(item)],
        shown=shown,
        calls=[item for item in items if calls_recall(item, names)],
        waits=any(isinstance(fields_of(item).get("call_id"), str) for item in shown),
        whole=body.get("status") == "completed",
    )


def calls_recall(item: object, names: Names) -> bool:
    """Whether an item calls a recall tool."""
    fields = fields_of(item)
    return fields.get("type") == "function_call" and fields.get("name") in names


def _can_be_sent(item: Json) -> bool:
    """Whether an item that the provider does not store can be sent back: reasoning only if it is in the item."""
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _without_id(item: Json) -> Json:
    """An item without its id, since the provider stores nothing under it."""
    return {key: value for key, value in item.items() if key != "id"}


def has_broken_pairs(items: Sequence[Wire]) -> bool:
    """A result may come any time after its call. A reference to an item may stand for the missing half, so nothing is
    broken where there is one."""
    return _is_unpaired(items) and not any(item.get("type") == "item_reference" for item in items)


def _is_unpaired(items: Sequence[Wire]) -> bool:
    waiting: dict[Any, bool] = {}
    for item in items:
        kind = item.get("type")
        if kind in _ANSWERED_BY:
            call_id = item.get("call_id")
            if call_id in waiting:
                return True
            waiting[call_id] = False
        elif kind in _TEXT_OUTPUTS and waiting.pop(item.get("call_id"), None) is None:
            return True
    return bool(waiting) and not waiting.keys() <= _pending(items)


def _pending(items: Sequence[Wire]) -> set[Any]:
    """The ids of the calls that end an input, with nothing after them: their results are still to come."""
    found: set[Any] = set()
    for item in reversed(items):
        if item.get("type") in _TEXT_OUTPUTS or item.get("role") in ("user", "system", "developer"):
            break
        if item.get("type") in _ANSWERED_BY:
            found.add(item.get("call_id"))
    return found


def with_whole_pairs(items: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """The items with every pair whole: notices follow the run of calls that got no result."""
    group = CallGroup("input_text")
    unanswered = _unanswered(items)
    whole: list[Wire] = []
    missing: list[Wire] = []
    notes: list[Wire] = []
    for place, item in enumerate(items):
        kind, call_id = item.get("type"), item.get("call_id")
        if kind in _TEXT_OUTPUTS:
            if group.accepts(call_id, item.get("output")):
                whole.append(item)
            else:
                notes += group.note(call_id, item.get("output"))
            continue
        is_new_run = place > 0 and items[place - 1].get("type") in _TEXT_OUTPUTS
        if kind not in _ANSWERED_BY or is_new_run or any(result["call_id"] == call_id for result in missing):
            _end_run(whole, missing, notes)
        whole.append(item)
        if place in unanswered:
            missing.append({"type": _ANSWERED_BY[str(kind)], "call_id": call_id, "output": NO_RESULT})
            group.missing += 1
        elif kind in _ANSWERED_BY:
            group.waiting[call_id] = None
    _end_run(whole, missing, notes)
    return whole, group.repairs


def with_lost_results(items: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
    """The items with lost results put back: they follow the run of calls that they answer."""
    answered = {item.get("call_id") for item in items if item.get("type") in _TEXT_OUTPUTS}
    has_references = any(item.get("type") == "item_reference" for item in items)
    whole: list[Wire] = []
    calls: dict[Any, str] = {}
    results: list[tuple[Any, Wire]] = []
    is_changed = False

    def ends_turn(call_id: Any) -> bool:
        """Whether a call is of a later turn than the one before it, whose result is lost."""
        before = next(reversed(calls), None)
        lost = find(before) if before is not None and before not in answered else None
        return lost is not None and not lost.is_beside(call_id)

    for item in (*items, None):
        kind = None if item is None else item.get("type")
        if item is not None and kind in _TEXT_OUTPUTS:
            found = find(item.get("call_id"), item.get("output"))
            if found is not None:
                item, is_changed = {**item, "output": found.content(media_part, "input_text")}, True
            results.append((item.get("call_id"), item))
            continue
        if results or kind not in _ANSWERED_BY or (item is not None and ends_turn(item.get("call_id"))):
            built = {} if has_references else _lost_outputs(calls, answered, find)
            whole += in_order_of_calls(list(calls), results, built) if built else [result for _, result in results]
            is_changed = is_changed or bool(built)
            calls, results = {}, []
        if item is not None:
            whole.append(item)
            if kind in _ANSWERED_BY:
                calls[item.get("call_id")] = _ANSWERED_BY[str(kind)]
    return whole if is_changed else items


def _lost_outputs(calls: Mapping[Any, str], answered: set[Any], find: FindLost) -> dict[Any, Wire]:
    given = {call_id: found for call_id in calls if call_id not in answered and (found := find(call_id)) is not None}
    return {
        call_id: {"type": calls[call_id], "call_id": call_id, "output": found.content(media_part, "input_text")}
        for call_id, found in given.items()
    }


def media_part(media: MediaBytes) -> Json:
    """The part of an image or a document."""
    is_image = media.kind == "image"
    if media.file_id is not None:
        return {"type": "input_image" if is_image else "input_file", "file_id": media.file_id}
    if is_image:
        return {"type": "input_image", "image_url": media.url or data_url(media)}
    if media.url is not None:
        return {"type": "input_file", "file_url": media.url}
    name = "file.pdf" if media.media_type == PDF else "file"
    return {"type": "input_file", "filename": name, "file_data": data_url(media)}


def _unanswered(items: Sequence[Wire]) -> set[int]:
    """The places of calls that no later item answers, without those whose results are still to come."""
    waiting: dict[Any, int] = {}
    found: set[int] = set()
    for place, item in enumerate(items):
        call_id = item.get("call_id")
        if item.get("type") in _ANSWERED_BY:
            found |= {waiting[call_id]} if call_id in waiting else set()
            waiting[call_id] = place
        elif item.get("type") in _TEXT_OUTPUTS:
            waiting.pop(call_id, None)
    pending = _pending(items)
    return found | {place for call_id, place in waiting.items() if call_id not in pending}


def _end_run(whole: list[Wire], missing: list[Wire], notes: list[Wire]) -> None:
    """Add the notices for missing results, and a user's message with the results that answer nothing."""
    whole += missing
    missing.clear()
    if notes:
        whole.append({"type": "message", "role": "user", "content": list(notes)})
        notes.clear()
