"""What a client makes of an answer, whole or streamed, and whether a stream keeps to its dialect's grammar.

Owns: strict readers of three dialects. Must not know: what was hidden.
"""

import json
from typing import Any, NamedTuple, TypeAlias

from keepwhole.wire.sse import Events
from tests.upstream.spelling import Dialect, Json, Part, Text, Thinking

Seen: TypeAlias = tuple[str, ...]


class Heard(NamedTuple):
    """An answer as a client has it."""

    body: Json
    """As if it had come whole."""
    seen: list[Seen]
    """Texts, thoughts with their signatures, and calls, in order."""
    reason: str | None
    usage: Json

    def history(self, dialect: Dialect) -> list[Json]:
        """What a client adds to its messages."""
        if dialect == "anthropic":
            return [{"role": "assistant", "content": self.body["content"]}]
        if dialect == "openai_chat":
            return [self.body["choices"][0]["message"]]
        return self.body["output"]


def expected(dialect: Dialect, rounds: list[list[Part]], ours: tuple[str, ...]) -> list[Seen]:
    """What a model without our tools would have said in these rounds."""
    shown = [[part for part in said if getattr(part, "name", "") not in ours] for said in rounds]
    if dialect == "openai_chat":
        texts = ["".join(part.text for part in said if isinstance(part, Text)) for said in shown]
        words = "\n\n".join(filter(None, texts))
        shown = [([Text(words)] if words else []) + [one for said in shown for one in said if hasattr(one, "name")]]
    thinks = dialect == "anthropic"
    return [_part(part) for said in shown for part in said if thinks or not isinstance(part, Thinking)]


def _part(part: Part) -> Seen:
    if isinstance(part, Text):
        return "text", part.text
    if isinstance(part, Thinking):
        return "thinking", part.thought, part.signature
    return "call", part.name, json.dumps(part.arguments)


def heard(dialect: Dialect, data: bytes, streamed: bool) -> Heard:
    """Read an answer; an `AssertionError` where no client could."""
    body = _STREAMS[dialect](_events(data)) if streamed else json.loads(data)
    return _READ[dialect](body)


def _events(data: bytes) -> list[tuple[str, Any]]:
    events = Events()
    found = [(one.name, one.text if one.text == "[DONE]" else json.loads(one.text)) for one in events.feed(data)]
    assert not events.rest(), "the stream ends in the middle of an event"
    return [(name, value) for name, value in found if value != {"type": "ping"}]


def _anthropic_stream(events: list[tuple[str, Any]]) -> Json:
    assert all(name == data["type"] for name, data in events)
    assert [name for name, _ in events].count("message_start") == 1
    assert events[0][0] == "message_start"
    assert events[-1][0] == "message_stop"
    assert events[-2][0] == "message_delta"
    message, blocks, inputs = dict(events[0][1]["message"]), list[Json](), dict[int, str]()
    is_open = False
    for name, data in events[1:-2]:
        if name == "content_block_start":
            assert not is_open, "one block at a time"
            assert data["index"] == len(blocks), "blocks are numbered in order"
            is_open = True
            blocks.append(dict(data["content_block"]))
            continue
        assert (is_open, data["index"]) == (True, len(blocks) - 1), f"{name} of a block that is not open"
        is_open = name != "content_block_stop"
        if name == "content_block_delta":
            _grow(blocks[-1], data["delta"], inputs, data["index"])
    assert not is_open
    for at, text in inputs.items():
        blocks[at]["input"] = json.loads(text or "{}")
    end = events[-2][1]
    return {**message, "content": blocks, **end["delta"], "usage": {**message["usage"], **end["usage"]}}


def _grow(block: Json, delta: Json, inputs: dict[int, str], at: int) -> None:
    kind = delta["type"].removesuffix("_delta")
    if kind == "input_json":
        assert block["type"] == "tool_use"
        inputs[at] = inputs.get(at, "") + delta["partial_json"]
    else:
        assert kind in block or kind == "signature"
        block[kind] = block.get(kind, "") + delta[kind]


def _chat_stream(events: list[tuple[str, Any]]) -> Json:
    assert events[-1][1] == "[DONE]"
    assert all(data != "[DONE]" for _, data in events[:-1])
    chunks = [data for _, data in events[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1, "every chunk of an answer has the same id"
    message: Json = {"role": "assistant", "content": None}
    calls, reasons, usage, roles = list[Json](), list[str](), {}, 0
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            assert not reasons, "something came after the end"
            delta = choice["delta"]
            roles += "role" in delta
            if delta.get("content"):
                message["content"] = (message["content"] or "") + delta["content"]
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    assert call["index"] == len(calls), "calls are numbered in order"
                    calls.append({"id": call["id"], "type": "function", "function": dict(call["function"])})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
            reasons += [choice["finish_reason"]] if choice["finish_reason"] else []
    assert roles == 1
    assert len(reasons) == 1
    message |= {"tool_calls": calls} if calls else {}
    return {
        "id": chunks[0]["id"],
        "choices": [{"index": 0, "message": message, "finish_reason": reasons[0]}],
        "usage": usage,
    }


def _responses_stream(events: list[tuple[str, Any]]) -> Json:
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert [name for name, _ in events].count("response.created") == 1
    assert events[-1][0] == "response.completed"
    added = [data["output_index"] for name, data in events if name == "response.output_item.added"]
    assert added == list(range(len(added)))
    done = [data["item"] for name, data in events if name == "response.output_item.done"]
    response = events[-1][1]["response"]
    assert response["output"] == done
    assert len({data["response"]["id"] for _, data in events if "response" in data}) == 1
    return response


def _read_anthropic(body: Json) -> Heard:
    seen: list[Seen] = []
    for block in body["content"]:
        if block["type"] == "text":
            seen.append(("text", block["text"]))
        elif block["type"] == "thinking":
            seen.append(("thinking", block["thinking"], block["signature"]))
        else:
            seen.append(("call", block["name"], json.dumps(block["input"])))
    return Heard(body, seen, body["stop_reason"], body["usage"])


def _read_chat(body: Json) -> Heard:
    message = body["choices"][0]["message"]
    seen: list[Seen] = [("text", message["content"])] if message.get("content") else []
    calls = [call["function"] for call in message.get("tool_calls", ())]
    seen += [("call", call["name"], call["arguments"]) for call in calls]
    return Heard(body, seen, body["choices"][0]["finish_reason"], body["usage"])


def _read_responses(body: Json) -> Heard:
    seen: list[Seen] = []
    for item in body["output"]:
        if item["type"] == "message":
            seen.append(("text", item["content"][0]["text"]))
        elif item["type"] == "function_call":
            seen.append(("call", item["name"], item["arguments"]))
    return Heard(body, seen, body["status"], body["usage"])


_STREAMS = {"anthropic": _anthropic_stream, "openai_chat": _chat_stream, "openai_responses": _responses_stream}
_READ = {"anthropic": _read_anthropic, "openai_chat": _read_chat, "openai_responses": _read_responses}
