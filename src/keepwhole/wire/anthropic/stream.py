"""A streamed answer of Anthropic's Messages API: the part that a client sees, and all that the model wrote.

Owns: leaving out the blocks that call recall tools, numbering the others through all rounds, holding back the end.
Must not know: who answers the calls.
"""

import json
from typing import Any

from keepwhole.wire.anthropic.messages import calls_recall, read_reply
from keepwhole.wire.content import Json, fields_of
from keepwhole.wire.dialect import AnswerStream, Names, Reply, end_reason
from keepwhole.wire.sse import Event, written

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class AnthropicStream(AnswerStream):
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
        self._usage: Json = {}
        self._reason: str | None = None
        self._is_ended = False
        self._is_odd = False
        """Whether there was a delta of an unknown type, so that the block it belongs to is not known."""

    def feed(self, event: Event) -> bytes:
        """Take an event and return what the client gets of it."""
        data = event.data()
        kind = data.get("type")
        if kind == "message_start":
            self._usage = fields_of(fields_of(data.get("message")).get("usage"))
            return b"" if self._round else event.raw
        if kind in ("content_block_start", "content_block_delta", "content_block_stop"):
            return self._block(kind, event, data)
        if kind in ("message_delta", "message_stop"):
            self._held.append(event)
            self._reason = fields_of(data.get("delta")).get("stop_reason", self._reason)
            self._is_ended = self._is_ended or kind == "message_stop" or self._reason is not None
            return b""
        if self._held:  # what comes behind the end stays behind it
            self._held.append(event)
        return b"" if self._held else event.raw

    def reply(self) -> Reply | None:
        """The answer of this round; None where it broke off."""
        if not self._is_ended:
            return None
        for at, text in self._inputs.items():
            try:
                self._blocks[at]["input"] = json.loads(text) if text else self._blocks[at].get("input") or {}
            except ValueError:
                self._is_odd = True
        body = {"content": list(self._blocks.values()), "stop_reason": self._reason}
        reply = read_reply(body, self._names)
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

    def _block(self, kind: str, event: Event, data: Json) -> bytes:
        at = data.get("index", 0)
        if kind == "content_block_start":
            block: Json = dict(fields_of(data.get("content_block")))
            self._blocks[at] = block
            self._numbers[at] = None if calls_recall(block, self._names) else self._next
            self._next += not calls_recall(block, self._names)
        elif kind == "content_block_delta" and at in self._blocks:
            self._grow(at, fields_of(data.get("delta")))
        number = self._numbers.get(at, at)
        if number is None:
            return b""
        return event.raw if number == at else written(event.name, {**data, "index": number})

    def _grow(self, at: int, delta: Json) -> None:
        block, kind = self._blocks[at], delta.get("type")
        if kind in _GROWS:
            field = _GROWS[kind]
            block[field] = (block.get(field) or "") + (delta.get(field) or "")
        elif kind == "input_json_delta":
            self._inputs[at] = self._inputs.get(at, "") + (delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        else:
            self._is_odd = True

    def _ended(self, event: Event, waits: bool) -> bytes:
        """An event at the end of the last round, with the tokens that the model read in that round."""
        data = event.data()
        delta: dict[str, Any] = dict(fields_of(data.get("delta")))
        reason = end_reason(delta.get("stop_reason"), "tool_use", waits, "end_turn")
        if data.get("type") != "message_delta" or (not self._round and reason == delta.get("stop_reason")):
            return event.raw
        usage = {key: value for key, value in self._usage.items() if key != "output_tokens"}
        delta["stop_reason"] = reason
        return written(event.name, {**data, "delta": delta, "usage": {**usage, **fields_of(data.get("usage"))}})
