"""Broken pairs in what a client sends: a call without its result, a result without its call, a result twice.

Owns: finding them at next to no cost, and mending them in the view with words that say so.
Must not know: the record; nothing that is mended here flows back into it.

Calls that end a conversation are not broken: their results are still to come. In OpenAI Chat and Anthropic a result
must follow its call before the model speaks again; a later one has no call. In OpenAI Responses it may come any time
after. A request that continues another one (`previous_response_id`) holds half of its pairs and must not be mended.
What cannot be understood is left as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any

from keepwhole.errors import UsageError
from keepwhole.wire.as_dict import fields_of, parts_of
from keepwhole.wire.dialect import Dialect, dialect_named
from keepwhole.wire.pairs import ANSWERS, OUTPUTS, Wire, pending_items
from keepwhole.wire.repaired import Repairs, mend_anthropic, mend_chat, mend_responses


def is_broken(messages: Sequence[Wire], dialect: str) -> bool:
    """Whether some call has no result, some result no call, or some call two results."""
    find = _FINDERS[_conversing(dialect)]
    for spelled in (_as_they_are, _as_dicts):
        try:
            return find(spelled(messages))
        except (AttributeError, KeyError, TypeError):
            continue
    return False


def repair(messages: Sequence[Wire], dialect: str) -> tuple[Sequence[Wire], Repairs]:
    """The messages with every pair whole, and what was mended; the same object where nothing was."""
    name = _conversing(dialect)
    if not is_broken(messages, name):
        return messages, Repairs()
    dicts = _as_dicts(messages)
    own = {id(plain): message for plain, message in zip(dicts, messages, strict=True)}
    try:
        mended, repairs = _MENDERS[name](dicts)
    except (AttributeError, KeyError, TypeError):
        return messages, Repairs()
    return [own.get(id(message), message) for message in mended], repairs


def _as_they_are(messages: Sequence[Wire]) -> Sequence[Wire]:
    return messages


def _as_dicts(messages: Sequence[Wire]) -> list[Wire]:
    """The messages with objects of an SDK, and those inside them, read as dicts; the same ones where there are none."""
    return [_as_dict(message) for message in messages]


def _as_dict(message: Wire) -> Wire:
    fields = fields_of(message)
    read: dict[str, list[Any]] = {}
    for key in ("content", "tool_calls"):
        parts = parts_of(fields.get(key))
        if any(part.__class__ is not dict for part in parts):
            read[key] = [fields_of(part) or part for part in parts]
    return {**fields, **read} if read else fields


def _conversing(dialect: str) -> Dialect:
    name = dialect_named(dialect)
    if name not in _FINDERS:
        raise UsageError(f"`{name}` has no conversations. Use one of {', '.join(f'`{known}`' for known in _FINDERS)}.")
    return name


def _broken_chat(messages: Sequence[Wire]) -> bool:
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


def _broken_anthropic(messages: Sequence[Wire]) -> bool:
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


def _broken_responses(items: Sequence[Wire]) -> bool:
    """A reference to an item may stand for the missing half, so nothing is broken where there is one."""
    return _unpaired(items) and not any(item.get("type") == "item_reference" for item in items)


def _unpaired(items: Sequence[Wire]) -> bool:
    waiting: dict[Any, bool] = {}
    for item in items:
        kind = item.get("type")
        if kind in OUTPUTS:
            call_id = item.get("call_id")
            if call_id in waiting:
                return True
            waiting[call_id] = False
        elif kind in ANSWERS and waiting.pop(item.get("call_id"), None) is None:
            return True
    return bool(waiting) and not waiting.keys() <= pending_items(items)


_FINDERS: dict[str, Callable[[Sequence[Wire]], bool]] = {
    "openai_chat": _broken_chat,
    "openai_responses": _broken_responses,
    "anthropic": _broken_anthropic,
}
_MENDERS: dict[str, Callable[[Sequence[Wire]], tuple[Sequence[Wire], Repairs]]] = {
    "openai_chat": mend_chat,
    "openai_responses": mend_responses,
    "anthropic": mend_anthropic,
}
