"""A streamed answer of ConverseStream: the part that a client sees, and all that the model wrote.

Owns: leaving out the blocks that call recall tools, numbering the others through all rounds, holding back the end.
Must not know: who answers the calls; frames (`wire.event_stream`).

A block of text has no start of its own: it begins with its first delta. `messageStop` says why the model ended, and
`metadata` behind it what it took.
"""

import json
from typing import Any

from keepwhole.wire.content import Json, fields_of, parts_of, text_of
from keepwhole.wire.converse.messages import CALL, REASONING, RESULT, calls_recall, read_reply
from keepwhole.wire.dialect import AnswerStream, Names, Reply, end_reason
from keepwhole.wire.sse import Event, written

_OF_BLOCKS = ("contentBlockStart", "contentBlockDelta", "contentBlockStop")


class ConverseStream(AnswerStream):
    """All rounds of one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._next = 0
        """The number of the next block that is shown."""
        self._round = 0
        self._begin()

    def _begin(self) -> None:
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, str] = {}
        self._numbers: dict[int, int | None] = {}
        """The client's number of each block; None for one that calls a recall tool."""
        self._held: list[Event] = []
        self._reason: str | None = None
        self._is_odd = False
        """Whether there was a block or a delta of an unknown kind."""

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        if event.name == "messageStart":
            return b"" if self._round else event.raw
        if event.name in _OF_BLOCKS:
            return self._block(event, event.data())
        if event.name in ("messageStop", "metadata"):
            self._held.append(event)
            self._reason = text_of(event.data().get("stopReason")) or self._reason
            return b""
        if self._held:  # what comes behind the end stays behind it
            self._held.append(event)
        return b"" if self._held else event.raw

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        if self._reason is None:
            return None
        for at, text in self._inputs.items():
            try:
                self._blocks[at][CALL]["input"] = json.loads(text or "{}")
            except ValueError:
                self._is_odd = True
        # Bedrock takes no empty text back.
        message = {"content": [block for block in self._blocks.values() if block not in ({}, {"text": ""})]}
        reply = read_reply(message, self._reason, self._names)
        return reply._replace(whole=reply.whole and not self._is_odd)

    def end(self, waits: bool) -> bytes:
        """The events that end the answer."""
        return b"".join(self._ended(event, waits) for event in self._held)

    def go_on(self) -> None:
        """Begin another round."""
        self._round += 1
        self._begin()

    def ids(self) -> tuple[object, object]:
        """None: no request can name an answer."""
        return None, None

    def _block(self, event: Event, data: Json) -> bytes:
        at = data.get("contentBlockIndex", 0)
        if at not in self._numbers:
            block = self._started(at, fields_of(data.get("start")))
            self._blocks[at] = block
            is_hidden = calls_recall(block, self._names)
            self._numbers[at] = None if is_hidden else self._next
            self._next += not is_hidden
        if "delta" in data:
            self._grow(at, fields_of(data["delta"]))
        number = self._numbers[at]
        if number is None:
            return b""
        return event.raw if number == at else written(event.name, {**data, "contentBlockIndex": number})

    def _started(self, at: int, start: Json) -> Json:
        """A block as it begins; one of words or reasoning is empty until its first delta."""
        self._is_odd = self._is_odd or not start.keys() <= {CALL, RESULT}
        if CALL in start:
            self._inputs[at] = ""
            return {CALL: {**fields_of(start[CALL]), "input": {}}}
        return {RESULT: {**fields_of(start[RESULT]), "content": []}} if RESULT in start else {}

    def _grow(self, at: int, delta: Json) -> None:
        block = self._blocks[at]
        for kind, value in delta.items():
            if kind == "text":
                _add_text(block, text_of(value))
            elif kind == CALL and at in self._inputs:
                self._inputs[at] += text_of(fields_of(value).get("input"))
            elif kind == RESULT and RESULT in block:
                block[RESULT]["content"] += parts_of(value)
            elif kind == "citation":
                _add_citation(block, value)
            elif kind != REASONING or not _add_reasoning(block, fields_of(value)):
                self._is_odd = True

    def _ended(self, event: Event, waits: bool) -> bytes:
        """An event at the end of the last round."""
        data = event.data()
        reason = end_reason(data.get("stopReason"), "tool_use", waits, "end_turn")
        return event.raw if reason == data.get("stopReason") else written(event.name, {**data, "stopReason": reason})


def _add_text(block: Json, text: str) -> None:
    """Add words to a block of text, or to one with citations."""
    cited = block.get("citationsContent")
    if cited is None:
        block["text"] = block.get("text", "") + text
    else:
        cited["content"] = [{"text": "".join(part["text"] for part in cited["content"]) + text}]


def _add_citation(block: Json, citation: Any) -> None:
    """Add a citation, which makes a block of text another one."""
    words = [{"text": block.pop("text")}] if "text" in block else []
    cited = block.setdefault("citationsContent", {"content": words, "citations": []})
    cited["citations"].append(citation)


def _add_reasoning(block: Json, delta: Json) -> bool:
    """Add what was thought, its signature, or what is encrypted of it; False for anything else."""
    if delta.keys() == {"redactedContent"} and not block:
        block[REASONING] = {"redactedContent": delta["redactedContent"]}
        return True
    own = block.setdefault(REASONING, {"reasoningText": {"text": ""}}).get("reasoningText")
    if own is None or not delta.keys() <= {"text", "signature"}:
        return False
    for key, value in delta.items():
        own[key] = own.get(key, "") + text_of(value)
    return True
