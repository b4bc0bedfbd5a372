"""Messages of Anthropic's Messages API: `tool_use` and `tool_result` blocks in lists of blocks.

Owns: decoding them, finding and repairing broken pairs, and reading an answer. What Anthropic runs, signs or encrypts
itself (server tools and their results, thinking, compaction) is sized and left alone.
Must not know: the other dialects.
"""

from collections.abc import Sequence
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.wire.content import (
    ROLES,
    WORDS,
    Json,
    Wire,
    blocks_of,
    build,
    contents,
    fields_of,
    json_text,
    kind_of_part,
    parts_of,
    results_in,
    size_of,
)
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.media import encoded
from keepwhole.wire.pairs import NO_RESULT, CallGroup, FindLost, Repairs, in_order_of_calls, not_answered_later

_LISTS: Any = (list, tuple)
_NOTHING_SAID: Wire = {"role": "user", "content": []}
_BETWEEN = "[Messages in between are part of the summary above.]"


def decode(message: Json) -> Message | None:
    """The meaning of a message whose content is a list of blocks. Blocks tell by their types what they are, so this
    reads those of OpenAI too."""
    content: Any = message.get("content")
    if content.__class__ is not list and (content.__class__ is str or not isinstance(content, _LISTS)):
        return None
    if "role" not in message or "tool_calls" in message or message["role"] == "tool":
        return None
    role = message["role"]
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(content))
    words: list[str] = []
    calls: list[Call] = []
    returned: list[ResultText] = []
    other = 0
    for at, block in enumerate(parts_of(content)):
        fields = block if block.__class__ is dict else fields_of(block)
        kind = fields.get("type")
        if kind == "tool_result":
            other += _add_results(fields, at, returned)
        elif kind == "tool_use":
            _add_call(fields, calls)
        elif kind == "text" and isinstance(text := fields.get("text"), str):
            words.append(text)
        else:
            other += _add_words(block, fields, words)
    if returned and not words:
        known = "tool"
    return build(Message, (known, "\n".join(words), tuple(calls), tuple(returned), other, False))


def _add_call(block: Json, calls: list[Call]) -> None:
    call_id, name = block.get("id"), block.get("name")
    if isinstance(call_id, str) and isinstance(name, str):
        calls.append(build(Call, (call_id, name, json_text(block.get("input")))))


def _add_results(block: Json, at: int, returned: list[ResultText]) -> int:
    """Add the texts of a result; return the tokens of its other parts."""
    call_id, content = block.get("tool_use_id"), block.get("content")
    if not isinstance(call_id, str):
        return size_of(content)
    path, is_error = ("content", at, "content"), block.get("is_error") is True
    if isinstance(content, str):
        returned.append(build(ResultText, (call_id, path, content, is_error, None, "", "", None, None, None)))
        return 0
    found, other = results_in(call_id, path, content, is_error)
    returned += found
    return other


def _add_words(block: Any, fields: Json, words: list[str]) -> int:
    """Add a block's text; return the tokens of a block that is no text."""
    text = block if isinstance(block, str) else fields.get(WORDS.get(kind_of_part(fields), ""))
    if not isinstance(text, str):
        return size_of(fields)
    words.append(text)
    return 0


def read_reply(body: Json, names: Names) -> Reply:
    """The reply in the body of a response."""
    blocks = parts_of(body.get("content"))
    shown = [block for block in blocks if not calls_recall(block, names)]
    return Reply(
        said=[{"role": "assistant", "content": blocks}],
        shown=shown,
        calls=[block for block in blocks if calls_recall(block, names)],
        waits=any(fields_of(block).get("type") == "tool_use" for block in shown),
        whole=body.get("stop_reason") == "tool_use",
    )


def calls_recall(block: object, names: Names) -> bool:
    """Whether a block calls a recall tool."""
    fields = fields_of(block)
    return fields.get("type") == "tool_use" and fields.get("name") in names


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
            joined.append({"role": "user", "content": [{"type": "text", "text": _BETWEEN}]})
        joined.append(message)
    return joined


def has_broken_pairs(messages: Sequence[Wire]) -> bool:
    """A result must come in the user's message after the call."""
    waiting: set[Any] = set()
    for message in messages:
        if waiting and message["role"] == "assistant":
            return True
        content: Any = message["content"]
        if content.__class__ is list:
            for block in content:
                kind = block["type"]
                if kind == "tool_use":
                    waiting.add(block["id"])
                elif kind == "tool_result":
                    call_id = block["tool_use_id"]
                    if call_id not in waiting:
                        return True
                    waiting.remove(call_id)
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
            group.begin([block.get("id") for block in contents(message) if block.get("type") == "tool_use"])
            first = len(whole)
        else:
            whole.append(_without_strays(group, message))
    if messages[-1].get("role") != "assistant":
        _add_missing(group, whole, first)
    return whole, group.repairs


def _without_strays(group: CallGroup, message: Wire) -> Wire:
    """A user's message in which results that answer nothing have become text; itself where there are none."""
    kept: list[Wire] = []
    notes: list[Wire] = []
    for block in contents(message):
        call_id, content = block.get("tool_use_id"), block.get("content")
        if block.get("type") != "tool_result" or group.accepts(call_id, content):
            kept.append(block)
        else:
            notes += group.note(call_id, content)
    return {**message, "content": [*kept, *notes]} if notes else message


def _add_missing(group: CallGroup, whole: list[Wire], first: int) -> None:
    """Add notices for the results that are missing after the turn which ends before the message `first`."""
    blocks = [result_block(call_id, NO_RESULT, is_error=True) for call_id in group.take_missing()]
    if not blocks:
        return
    if first == len(whole):
        whole.append({"role": "user", "content": blocks})
        return
    given = contents(whole[first])
    lead = next((place for place, block in enumerate(given) if block.get("type") != "tool_result"), len(given))
    whole[first] = {**whole[first], "content": [*given[:lead], *blocks, *given[lead:]]}


def with_lost_results(messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
    """The messages with lost results put back: they open the user's message after the one that called."""
    whole: list[Wire] = []
    calls: Sequence[Any] = []
    is_changed = False
    for at, message in enumerate(messages):
        is_users = message["role"] != "assistant"
        after = message if not calls or is_users else _NOTHING_SAID
        calls = not_answered_later(calls, messages, at, _is_answer, _result_ids) if is_users else calls
        found = _with_lost_blocks(after, calls, find) if is_users or calls else None
        if found is not None:
            whole.append(found)
            is_changed = True
        elif is_users:
            whole.append(message)
        if not is_users:
            whole.append(message)
        content: Any = message["content"]
        is_list = not is_users and content.__class__ is list
        calls = [block["id"] for block in content if block["type"] == "tool_use"] if is_list else []
        if calls and at == len(messages) - 1:
            found = _with_lost_blocks(_NOTHING_SAID, calls, find)
            whole += [] if found is None else [found]
            is_changed = is_changed or found is not None
    return whole if is_changed else messages


def _is_answer(message: Wire) -> bool:
    return message["role"] == "assistant"


def _result_ids(message: Wire) -> list[Any]:
    """The ids of the calls that the results in a message answer."""
    return [block.get("tool_use_id") for block in blocks_of(message) if block.get("type") == "tool_result"]


def _with_lost_blocks(message: Wire, calls: Sequence[Any], find: FindLost) -> Wire | None:
    """A user's message after these calls with the results that it lacks; None where nothing was found."""
    content: Any = message["content"]
    is_changed = False
    results: list[tuple[Any, Wire]] = []
    others: list[Wire] = []
    for block in content if content.__class__ is list else contents(message) if calls else ():
        if block["type"] != "tool_result":
            others.append(block)
            continue
        call_id = block["tool_use_id"]
        found = find(call_id, block.get("content"))
        is_changed = is_changed or found is not None
        results.append((call_id, block if found is None else {**block, "content": found.content(media_part)}))
    missing = dict.fromkeys(calls)
    for call_id, _ in results:
        missing.pop(call_id, None)
    given = {call_id: found for call_id in missing if (found := find(call_id)) is not None}
    built = {
        call_id: {**result_block(call_id, "", found.is_error), "content": found.content(media_part)}
        for call_id, found in given.items()
    }
    if not is_changed and not built:
        return None
    if not built:
        replaced = iter(result for _, result in results)
        return {
            **message,
            "content": [next(replaced) if block["type"] == "tool_result" else block for block in content],
        }
    return {**message, "content": [*in_order_of_calls(calls, results, built), *others]}


def media_part(media: MediaBytes) -> Json:
    """The block of an image or a document."""
    if media.url is not None:
        source = {"type": "url", "url": media.url}
    elif media.file_id is not None:
        source = {"type": "file", "file_id": media.file_id}
    else:
        source = {"type": "base64", "media_type": media.media_type, "data": encoded(media.data)}
    return {"type": "image" if media.kind == "image" else "document", "source": source}


def result_block(call_id: str | None, content: str, is_error: bool) -> Json:
    """The block that answers a call."""
    block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if is_error else block
