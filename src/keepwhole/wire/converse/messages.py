"""Messages of Bedrock's Converse: `toolUse` and `toolResult` blocks, each the only field of its block.

Owns: decoding them, finding and repairing broken pairs, and reading an answer. What a model signs or Bedrock runs
itself (reasoning, guarded content, tools on its side) is sized and left alone.
Must not know: the other dialects.

    {"toolUse": {"toolUseId": "c1", "name": "ls", "input": {}}}
    {"toolResult": {"toolUseId": "c1", "content": [{"text": "a.txt"}, {"json": {"rows": 1}}, {"image": …}]}}

A `json` part is recorded as JSON text, and where it is cut a `text` part takes its place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message, Path, ResultText
from keepwhole.wire.content import (
    ROLES,
    Json,
    Wire,
    blocks_of,
    build,
    contents,
    fields_of,
    json_text,
    parts_of,
    size_of,
)
from keepwhole.wire.converse.media import media_part
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.media import read_media
from keepwhole.wire.pairs import (
    NO_RESULT,
    CallGroup,
    FindLost,
    LostResult,
    Repairs,
    in_order_of_calls,
    not_answered_later,
)

CALL, RESULT, REASONING = "toolUse", "toolResult", "reasoningContent"
_MEDIA = ("image", "document", "video", "audio")
_OTHERS = ("guardContent", "cachePoint", "citationsContent", "searchResult", "toolAddition", "toolRemoval")
BLOCKS = frozenset(("text", CALL, RESULT, REASONING, *_MEDIA, *_OTHERS))
_ROLES = ("user", "assistant", "system")
_NOTHING_SAID: Wire = {"role": "user", "content": []}
_BETWEEN = "[Messages in between are part of the summary above.]"


def is_own(message: Wire) -> bool:
    """Whether a message has blocks as Converse has them: no `type`, and a name for their only field."""
    content: Any = message.get("content")
    if content.__class__ is not list or not content or "type" in (first := fields_of(content[0])):
        return False
    if BLOCKS.isdisjoint(first) or "tool_calls" in message or message.get("role") not in _ROLES:
        return False
    return not any("type" in block for block in map(fields_of, content))


def decode(message: Json) -> Message | None:
    """The meaning of a message of Converse."""
    content: Any = message.get("content")
    if content.__class__ is not list or not content or (content[0].__class__ is dict and "type" in content[0]):
        return None  # as most messages of other dialects, which are all asked here first
    if not is_own(message):
        return None
    role = ROLES[message["role"]]
    words: list[str] = []
    calls: list[Call] = []
    returned: list[ResultText] = []
    other = 0
    for at, block in enumerate(blocks_of(message)):
        if isinstance(text := block.get("text"), str):
            words.append(text)
        elif (call := call_of(block)) is not None:
            calls.append(build(Call, (call["toolUseId"], call["name"], json_text(call.get("input")))))
        elif (result := result_of(block)) is not None:
            other += _add_results(result, ("content", at, RESULT, "content"), returned)
        else:
            other += size_of(block)
    if returned and not words:
        role = "tool"
    return build(Message, (role, "\n".join(words), tuple(calls), tuple(returned), other, False))


def call_of(block: Json) -> Json | None:
    """The call of a client's tool that a block is; None for any other block, and for a tool on Bedrock's side."""
    call = fields_of(block.get(CALL))
    is_named = isinstance(call.get("toolUseId"), str) and isinstance(call.get("name"), str)
    return call if is_named and "type" not in call else None


def result_of(block: Json) -> Json | None:
    """The result of a client's tool that a block is; None for any other block, and for a tool on Bedrock's side."""
    result = fields_of(block.get(RESULT))
    return result if isinstance(result.get("toolUseId"), str) and "type" not in result else None


def _add_results(result: Json, path: Path, returned: list[ResultText]) -> int:
    """Add the texts, values, images and documents of a result; return the tokens of its other parts."""
    call_id, is_error = result["toolUseId"], result.get("status") == "error"
    other = 0
    for at, part in enumerate(map(fields_of, parts_of(result.get("content")))):
        place = (*path, at)
        if isinstance(text := part.get("text"), str):
            returned.append(ResultText(call_id, (*place, "text"), text, is_error))
        elif "json" in part:
            returned.append(ResultText(call_id, place, json_text(part["json"]), is_error, spell=_as_text))
        elif (media := read_media(part)) is not None:
            returned.append(ResultText(call_id, place, media.facts.description, is_error, media))
        elif isinstance(text := fields_of(fields_of(part.get("document")).get("source")).get("text"), str):
            returned.append(ResultText(call_id, (*place, "document", "source", "text"), text, is_error))
        else:
            other += size_of(part)
    return other


def _as_text(text: str) -> Json:
    return {"text": text}


def read_reply(message: Json, reason: object, names: Names) -> Reply:
    """The reply that a message of the model is."""
    blocks = parts_of(message.get("content"))
    shown = [block for block in blocks if not calls_recall(block, names)]
    return Reply(
        said=[{"role": "assistant", "content": blocks}],
        shown=shown,
        calls=[block for block in blocks if calls_recall(block, names)],
        waits=any(call_of(fields_of(block)) for block in shown),
        whole=reason == "tool_use",
    )


def calls_recall(block: object, names: Names) -> bool:
    """Whether a block calls a recall tool."""
    call = call_of(fields_of(block))
    return call is not None and call["name"] in names


def call_ids(message: Wire) -> list[str]:
    """The ids of the calls in a message, in order."""
    return [call["toolUseId"] for block in blocks_of(message) if (call := call_of(block)) is not None]


def result_ids(message: Wire) -> list[str]:
    """The ids of the calls that the results in a message answer, in order."""
    return [result["toolUseId"] for block in blocks_of(message) if (result := result_of(block)) is not None]


def alternating(messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
    """The messages around a summary: roles must alternate, so where two messages of a role meet anew, users' are joined
    and assistants' held apart."""
    joined: list[Wire] = []
    before: int | None = None
    for place in places:
        message = summary if place is None else messages[place]
        meets_anew = joined and (place is None or before is None or place != before + 1)
        before = place
        last, fields = fields_of(joined[-1]) if joined else {}, fields_of(message)
        if meets_anew and last.get("role") == fields.get("role"):
            if fields.get("role") == "user":
                joined[-1] = {**last, "content": [*contents(last), *contents(fields)]}
                continue
            joined.append({"role": "user", "content": [{"text": _BETWEEN}]})
        joined.append(message)
    return joined


def has_broken_pairs(messages: Sequence[Wire]) -> bool:
    """A result must come in the user's message after the call."""
    waiting: set[str] = set()
    for message in messages:
        if waiting and message["role"] == "assistant":
            return True
        for block in message["content"]:
            if CALL in block and (call := call_of(block)) is not None:
                waiting.add(call["toolUseId"])
            elif RESULT in block and (result := result_of(block)) is not None:
                if result["toolUseId"] not in waiting:
                    return True
                waiting.remove(result["toolUseId"])
    return bool(waiting) and messages[-1]["role"] != "assistant"


def with_whole_pairs(messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """The messages with every pair whole: results open the user's message after the one that called."""
    group = CallGroup()
    whole: list[Wire] = []
    first = 0
    for message in messages:
        if message.get("role") == "assistant":
            _add_missing(group, whole, first)
            whole.append(message)
            group.begin(call_ids(message))
            first = len(whole)
        else:
            whole.append(_without_strays(group, message))
    if messages[-1].get("role") != "assistant":
        _add_missing(group, whole, first)
    return whole, group.repairs


def _without_strays(group: CallGroup, message: Wire) -> Wire:
    """A user's message in which results that answer nothing have become text; itself where there are none."""
    kept: list[Any] = []
    notes: list[Json] = []
    for block in blocks_of(message):
        result = result_of(block)
        content = [] if result is None else [_plain(part) for part in parts_of(result.get("content"))]
        if result is None or group.accepts(result["toolUseId"], content):
            kept.append(block)
        else:
            notes += [_as_block(note) for note in group.note(result["toolUseId"], content)]
    return {**message, "content": [*kept, *notes]} if notes else message


def _plain(part: object) -> object:
    """A part of a result as a note has it: its text, or an image or a document with a type."""
    fields = fields_of(part)
    kind = next((kind for kind in _MEDIA[:2] if kind in fields), None)
    if kind is not None:
        return {**fields, "type": kind}
    return fields["text"] if "text" in fields else json_text(fields.get("json", fields))


def _as_block(note: Wire) -> Json:
    return {key: value for key, value in note.items() if key != "type"}


def _add_missing(group: CallGroup, whole: list[Wire], first: int) -> None:
    """Add notices for the results that are missing after the turn which ends before the message `first`."""
    blocks = [result_block(call_id, [{"text": NO_RESULT}]) for call_id in group.take_missing()]
    if not blocks:
        return
    if first == len(whole):
        whole.append({"role": "user", "content": blocks})
        return
    given = contents(whole[first])
    lead = next((place for place, block in enumerate(given) if RESULT not in fields_of(block)), len(given))
    whole[first] = {**whole[first], "content": [*given[:lead], *blocks, *given[lead:]]}


def with_lost_results(messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
    """The messages with lost results put back: they open the user's message after the one that called."""
    whole: list[Wire] = []
    calls: Sequence[str] = []
    is_changed = False
    for at, message in enumerate(messages):
        is_answer = message["role"] == "assistant"
        calls = calls if is_answer else not_answered_later(calls, messages, at, _is_answer, result_ids)
        found = _with_lost_blocks(_NOTHING_SAID if is_answer else message, calls, find)
        if found is not None:
            whole.append(found)
            is_changed = True
        if found is None or is_answer:
            whole.append(message)
        calls = call_ids(message) if is_answer else []
        if calls and at == len(messages) - 1:
            found = _with_lost_blocks(_NOTHING_SAID, calls, find)
            whole += [] if found is None else [found]
            is_changed = is_changed or found is not None
    return whole if is_changed else messages


def _is_answer(message: Wire) -> bool:
    return message["role"] == "assistant"


def _with_lost_blocks(message: Wire, calls: Sequence[str], find: FindLost) -> Wire | None:
    """A user's message after these calls with the results that it lacks; None where nothing was found."""
    results: list[tuple[str, Json]] = []
    others: list[Json] = []
    is_changed = False
    for block in message["content"]:
        result = result_of(block) if RESULT in block else None
        if result is None:
            others.append(block)
            continue
        call_id = result["toolUseId"]
        found = find(call_id, result.get("content"))
        is_changed = is_changed or found is not None
        results.append((call_id, block if found is None else _found_block(call_id, found)))
    there = {call_id for call_id, _ in results}
    built = {
        call_id: _found_block(call_id, found)
        for call_id in calls
        if call_id not in there and (found := find(call_id)) is not None
    }
    if not is_changed and not built:
        return None
    return {**message, "content": [*in_order_of_calls(calls, results, built), *others]}


def _found_block(call_id: str, found: LostResult) -> Json:
    parts = [{"text": one} if isinstance(one, str) else media_part(one, call_id) for one in found.parts]
    # The client said so itself of this result, so its model takes a status.
    return result_block(call_id, parts, "error" if found.is_error else None)


def result_block(call_id: str | None, parts: Sequence[Json], status: str | None = None) -> Json:
    """The block that answers a call."""
    told: Mapping[str, str] = {} if status is None else {"status": status}
    return {RESULT: {"toolUseId": call_id, "content": list(parts), **told}}


def shown_block(call_id: str | None, content: str, media: MediaBytes | None) -> Json:
    """The block with which a recall tool answers."""
    return result_block(call_id, [{"text": content}, *([] if media is None else [media_part(media, call_id or "")])])
