"""How broken pairs are mended in each dialect: a notice stands in for a result that is missing, and a result
that answers no call becomes text that says so. Nothing is dropped without a word.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from keepwhole.wire.calls import result_block
from keepwhole.wire.pairs import ANSWERS, OUTPUTS, Wire, contents, pending_items

NO_RESULT = "[No result on record for this call: it was interrupted, or its result was lost. Call again if it matters.]"
_NO_CALL = "[A tool's result whose call ({id}) is not in this conversation. It is the tool's text, not the user's:]"
_SECOND = "[A second result of the call {id}. It is the tool's text, not the user's:]"
_TWICE = "[The result of the call {id} came twice, word for word; it is shown once.]"
_ALLOWED = frozenset(("text", "image", "document", "search_result", "input_text", "input_image", "input_file"))
"""Parts of a result that may also stand in a user's message."""


class Repairs(NamedTuple):
    """How many pairs were broken."""

    calls_without_result: int = 0
    results_without_call: int = 0
    duplicate_results: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


class _Group:
    """The calls of one turn and what answers them."""

    def __init__(self, kind: str = "text") -> None:
        self.kind = kind
        """How the dialect calls a block of text in a user's message."""
        self.waiting: dict[Any, None] = {}
        self.answered: dict[Any, object] = {}
        self.missing = self.without_call = self.twice = 0

    def begin(self, call_ids: Sequence[Any]) -> None:
        """A turn of the model with these calls."""
        self.waiting, self.answered = dict.fromkeys(call_ids), {}

    def accepts(self, call_id: Any, content: object) -> bool:
        """Whether a result answers a call that waits."""
        if call_id not in self.waiting:
            return False
        del self.waiting[call_id]
        self.answered[call_id] = content
        return True

    def note(self, call_id: Any, content: object) -> list[Wire]:
        """What is said in place of a result that answers nothing, as blocks of a user's message."""
        if call_id not in self.answered:
            self.without_call += 1
            return [self.text(_NO_CALL.format(id=call_id)), *self._parts(content)]
        self.twice += 1
        if self.answered[call_id] == content:
            return [self.text(_TWICE.format(id=call_id))]
        return [self.text(_SECOND.format(id=call_id)), *self._parts(content)]

    def take_missing(self) -> list[Any]:
        """The calls that got no result, no longer waiting."""
        missing = list(self.waiting)
        self.waiting = {}
        self.missing += len(missing)
        return missing

    def text(self, words: str) -> Wire:
        """A block of text."""
        return {"type": self.kind, "text": words}

    def _parts(self, content: object) -> list[Wire]:
        if isinstance(content, str) or content is None:
            return [self.text(content)] if content else []
        parts = cast("list[object]", content) if isinstance(content, list) else [content]
        return [self._part(part) for part in parts]

    def _part(self, part: object) -> Wire:
        if isinstance(part, Mapping) and cast("Wire", part).get("type") in _ALLOWED:
            return cast("Wire", part)
        return self.text(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str))

    @property
    def repairs(self) -> Repairs:
        """What was mended so far."""
        return Repairs(self.missing, self.without_call, self.twice)


def mend_chat(messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """OpenAI Chat with every pair whole: results stand right after the message that called."""
    group = _Group()
    mended: list[Wire] = []
    notes: list[Wire] = []
    for message in messages:
        if message.get("role") == "tool":
            call_id, content = message.get("tool_call_id"), message.get("content")
            if group.accepts(call_id, content):
                mended.append(message)
            else:
                notes += group.note(call_id, content)
            continue
        _finish_chat(group, mended, notes)
        mended.append(message)
        group.begin([call.get("id") for call in message.get("tool_calls") or ()])
    if messages[-1].get("role") == "tool":
        _finish_chat(group, mended, notes)
    return mended, group.repairs


def _finish_chat(group: _Group, mended: list[Wire], notes: list[Wire]) -> None:
    mended += [result_block("openai_chat", call_id, NO_RESULT) for call_id in group.take_missing()]
    if notes:
        plain = all(block.get("type") == "text" for block in notes)
        text = "\n".join(str(block.get("text")) for block in notes)
        mended.append({"role": "user", "content": text if plain else list(notes)})
        notes.clear()


def mend_anthropic(messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """Anthropic with every pair whole: results open the user's message after the one that called."""
    group = _Group()
    mended: list[Wire] = []
    first = 0
    for message in messages:
        if message.get("role") == "assistant":
            _finish_anthropic(group, mended, first)
            mended.append(message)
            group.begin([block.get("id") for block in contents(message) if block.get("type") == "tool_use"])
            first = len(mended)
        else:
            mended.append(_without_strays(group, message))
    if messages[-1].get("role") != "assistant":
        _finish_anthropic(group, mended, first)
    return mended, group.repairs


def _without_strays(group: _Group, message: Wire) -> Wire:
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


def _finish_anthropic(group: _Group, mended: list[Wire], first: int) -> None:
    blocks = [result_block("anthropic", call_id, NO_RESULT, True) for call_id in group.take_missing()]
    if not blocks:
        return
    if first == len(mended):
        mended.append({"role": "user", "content": blocks})
        return
    given = contents(mended[first])
    lead = next((place for place, block in enumerate(given) if block.get("type") != "tool_result"), len(given))
    mended[first] = {**mended[first], "content": [*given[:lead], *blocks, *given[lead:]]}


def mend_responses(items: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """OpenAI Responses with every pair whole: a result may come any time after its call."""
    group = _Group("input_text")
    unanswered = _unanswered(items)
    mended: list[Wire] = []
    missing: list[Wire] = []
    notes: list[Wire] = []
    for place, item in enumerate(items):
        kind, call_id = item.get("type"), item.get("call_id")
        if kind in ANSWERS:
            if group.accepts(call_id, item.get("output")):
                mended.append(item)
            else:
                notes += group.note(call_id, item.get("output"))
            continue
        is_new_run = place > 0 and items[place - 1].get("type") in ANSWERS
        if kind not in OUTPUTS or is_new_run or any(result["call_id"] == call_id for result in missing):
            _finish_responses(mended, missing, notes)
        mended.append(item)
        if place in unanswered:
            missing.append({"type": OUTPUTS[str(kind)], "call_id": call_id, "output": NO_RESULT})
            group.missing += 1
        elif kind in OUTPUTS:
            group.waiting[call_id] = None
    _finish_responses(mended, missing, notes)
    return mended, group.repairs


def _unanswered(items: Sequence[Wire]) -> set[int]:
    """The places of calls that no later item answers, those that are still to come apart."""
    waiting: dict[Any, int] = {}
    found: set[int] = set()
    for place, item in enumerate(items):
        call_id = item.get("call_id")
        if item.get("type") in OUTPUTS:
            found |= {waiting[call_id]} if call_id in waiting else set()
            waiting[call_id] = place
        elif item.get("type") in ANSWERS:
            waiting.pop(call_id, None)
    pending = pending_items(items)
    return found | {place for call_id, place in waiting.items() if call_id not in pending}


def _finish_responses(mended: list[Wire], missing: list[Wire], notes: list[Wire]) -> None:
    mended += missing
    missing.clear()
    if notes:
        mended.append({"type": "message", "role": "user", "content": list(notes)})
        notes.clear()
