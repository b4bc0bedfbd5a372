"""How providers of five dialects spell answers, whole and streamed, in the shapes of the SDKs' own types.

Owns: the parts of an answer, and the bytes they become. Must not know: HTTP.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Dialect: TypeAlias = Literal["anthropic", "openai_chat", "openai_responses", "gemini", "converse"]
ENDS: dict[str, Dialect] = {
    "/messages": "anthropic",
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
    "/converse": "converse",
    "/converse-stream": "converse",
    "/invoke": "anthropic",
    "/invoke-with-response-stream": "anthropic",
    ":rawPredict": "anthropic",
    ":streamRawPredict": "anthropic",
}
"""How the paths of each dialect end."""


class Text(NamedTuple):
    """Words."""

    text: str


class Tool(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Json
    call_id: str | None = None


class Custom(NamedTuple):
    """A call of a tool that takes a text; Responses alone has them."""

    name: str
    text: str
    call_id: str | None = None


class Thinking(NamedTuple):
    """What a model thought, signed so that the provider knows its own words again."""

    thought: str

    @property
    def signature(self) -> str:
        return "sig_" + hashlib.sha256(self.thought.encode()).hexdigest()


Part: TypeAlias = Text | Tool | Custom | Thinking


class Spelling(NamedTuple):
    """One dialect's ways of writing an answer: its parts, its number, and its usage."""

    whole: Callable[[list[Part], int, Json | None], Json]
    events: Callable[[list[Part], int, Json | None], Iterator[bytes]]


def dialect_of(path: str) -> Dialect | None:
    """The dialect in which a path is asked."""
    return next((dialect for end, dialect in ENDS.items() if path.endswith(end)), None)


def event(name: str, data: Json) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _ids(said: list[Part], number: int) -> list[tuple[str, Part]]:
    own = (part.call_id if isinstance(part, Tool | Custom) else None for part in said)
    return [(name or f"call_{number}_{at}", part) for at, (name, part) in enumerate(zip(own, said, strict=True))]


def _block(call_id: str, part: Part) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text, "citations": None}
    if isinstance(part, Thinking):
        return {"type": "thinking", "thinking": part.thought, "signature": part.signature}
    assert isinstance(part, Tool)
    return {"type": "tool_use", "id": call_id, "name": part.name, "input": part.arguments}


def _anthropic(said: list[Part], number: int, usage: Json | None = None) -> Json:
    calls = any(isinstance(part, Tool) for part in said)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [_block(call_id, part) for call_id, part in _ids(said, number)],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 100 * number, "output_tokens": 5},
    }


def _anthropic_events(said: list[Part], number: int, usage: Json | None = None) -> Iterator[bytes]:
    message = _anthropic(said, number, usage)
    yield event("message_start", {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}})
    yield event("ping", {"type": "ping"})
    for at, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        yield event("content_block_start", {"type": "content_block_start", "index": at, "content_block": empty})
        for delta in deltas:
            yield event("content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta})
        yield event("content_block_stop", {"type": "content_block_stop", "index": at})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", {"type": "message_delta", "delta": delta, "usage": _written(message["usage"])})
    yield event("message_stop", {"type": "message_stop"})


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    """A block as it begins, and what is added to it."""
    if block["type"] == "text":
        text = block["text"]
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in (text[:3], text[3:])]
    if block["type"] == "thinking":
        deltas: list[Json] = [{"type": "thinking_delta", "thinking": block["thinking"]}]
        return {**block, "thinking": "", "signature": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    whole = json.dumps(block["input"])
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in (whole[:3], whole[3:])]
    return {**block, "input": {}}, pieces


def _written(usage: Json) -> Json:
    """What the end of a message says of usage: sums, of which the output is new."""
    told = ("output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return {key: usage[key] for key in told if key in usage}


def _chat(said: list[Part], number: int, usage: Json | None = None) -> Json:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": part.name, "arguments": json.dumps(part.arguments)}}
        for call_id, part in _ids(said, number)
        if isinstance(part, Tool)
    ]
    words = "".join(part.text for part in said if isinstance(part, Text))
    message: Json = {"role": "assistant", "content": words or None, "refusal": None, "annotations": []}
    message |= {"tool_calls": calls} if calls else {}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        ],
        "usage": usage or {"prompt_tokens": 100 * number, "completion_tokens": 5, "total_tokens": 100 * number + 5},
    }


def _chat_events(said: list[Part], number: int, usage: Json | None = None) -> Iterator[bytes]:
    whole = _chat(said, number, usage)
    message = whole["choices"][0]["message"]
    top = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}

    def chunk(delta: Json, reason: str | None = None) -> bytes:
        return event("", {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    words = message["content"] or ""
    for piece in filter(None, (words[:3], words[3:])):
        yield chunk({"content": piece})
    for at, call in enumerate(message.get("tool_calls", ())):
        arguments = call["function"]["arguments"]
        yield chunk({"tool_calls": [{**call, "index": at, "function": {**call["function"], "arguments": ""}}]})
        for piece in (arguments[:4], arguments[4:]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, whole["choices"][0]["finish_reason"])
    yield event("", {**top, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def _responses(said: list[Part], number: int, usage: Json | None = None) -> Json:
    sealed = {"encrypted_content": _sealed(said)} if any(isinstance(part, Thinking) for part in said) else {}
    items: list[Json] = [{"type": "reasoning", "id": f"rs_{number}", "summary": [], **sealed}]
    for call_id, part in _ids(said, number):
        if isinstance(part, Thinking):
            continue
        if isinstance(part, Text):
            content = [{"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}]
            own = {"type": "message", "id": f"m_{call_id}", "role": "assistant", "status": "completed"}
            items.append({**own, "content": content})
        elif isinstance(part, Custom):
            own = {"type": "custom_tool_call", "id": f"ctc_{call_id}", "call_id": call_id, "status": "completed"}
            items.append({**own, "name": part.name, "input": part.text})
        else:
            own = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "status": "completed"}
            items.append({**own, "name": part.name, "arguments": json.dumps(part.arguments)})
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage or responses_usage(100 * number, 5),
    }


def responses_usage(taken: int, made: int, cached: int = 0) -> Json:
    return {
        "input_tokens": taken,
        "output_tokens": made,
        "total_tokens": taken + made,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def _sealed(said: list[Part]) -> str:
    """What was thought, as nobody but the provider reads it."""
    return "".join(f"{part.signature}:{part.thought}" for part in said if isinstance(part, Thinking))


def _responses_events(said: list[Part], number: int, usage: Json | None = None) -> Iterator[bytes]:
    whole = _responses(said, number, usage)
    begun = {**whole, "output": [], "status": "in_progress"}
    events: list[Json] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for at, item in enumerate(whole["output"]):
        events += _item_events(at, item)
    events.append({"type": "response.completed", "response": whole})
    for sequence, data in enumerate(events):
        yield event(data["type"], {**data, "sequence_number": sequence})


def _item_events(at: int, item: Json) -> Iterator[Json]:
    where = {"output_index": at, "item_id": item["id"]}
    if item["type"] == "message":
        part = item["content"][0]
        empty = {**part, "text": ""}
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "content": []}}
        yield {"type": "response.content_part.added", **where, "content_index": 0, "part": empty}
        delta = {"type": "response.output_text.delta", **where, "content_index": 0, "logprobs": []}
        yield {**delta, "delta": part["text"]}
        yield {"type": "response.content_part.done", **where, "content_index": 0, "part": part}
    elif item["type"] == "function_call":
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "arguments": ""}}
        yield {"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]}
        done = {"type": "response.function_call_arguments.done", **where, "name": item["name"]}
        yield {**done, "arguments": item["arguments"]}
    else:
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def gemini_signature(call: Json) -> str:
    """What Gemini signs a call with, so that it knows its own call again."""
    return "sig_" + hashlib.sha256(json.dumps([call["name"], call.get("args")], sort_keys=True).encode()).hexdigest()


def _gemini_parts(said: list[Part]) -> list[Json]:
    """Calls have an id only where one is given; the first call of an answer is signed if the model thought before."""
    parts: list[Json] = []
    is_signed = any(isinstance(part, Thinking) for part in said)
    for part in said:
        if isinstance(part, Thinking):
            parts.append({"text": part.thought, "thought": True})
        elif isinstance(part, Text):
            parts.append({"text": part.text})
        else:
            assert isinstance(part, Tool)
            call = {"name": part.name, "args": part.arguments, **({"id": part.call_id} if part.call_id else {})}
            parts.append({"functionCall": call, **({"thoughtSignature": gemini_signature(call)} if is_signed else {})})
            is_signed = False
    return parts


def _gemini(said: list[Part], number: int, usage: Json | None = None) -> Json:
    content = {"role": "model", "parts": _gemini_parts(said)}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage or gemini_usage(100 * number, 5),
        "modelVersion": "gemini-2.5-pro",
        "responseId": f"resp{number}",
    }


def gemini_usage(taken: int, made: int, cached: int = 0) -> Json:
    """Counts as Gemini tells them: one that is zero is left out."""
    counts = {"promptTokenCount": taken, "candidatesTokenCount": made, "totalTokenCount": taken + made}
    return {**counts, **({"cachedContentTokenCount": cached} if cached else {})}


def _gemini_events(said: list[Part], number: int, usage: Json | None = None) -> Iterator[bytes]:
    """A chunk for each piece; the last one has the reason, and the last piece too."""
    whole = _gemini(said, number, usage)
    pieces: list[Json] = []
    for part in whole["candidates"][0]["content"]["parts"]:
        text = part.get("text", "")
        pieces += [{**part, "text": one} for one in (text[:3], text[3:]) if one] if text else [part]
    for piece in pieces[:-1]:
        candidate = {"content": {"role": "model", "parts": [piece]}, "index": 0}
        yield event("", {**whole, "candidates": [candidate]})
    candidate = {"content": {"role": "model", "parts": pieces[-1:]}, "finishReason": "STOP", "index": 0}
    yield event("", {**whole, "candidates": [candidate]})


def _converse_block(call_id: str, part: Part) -> Json:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Thinking):
        return {"reasoningContent": {"reasoningText": {"text": part.thought, "signature": part.signature}}}
    assert isinstance(part, Tool)
    return {"toolUse": {"toolUseId": call_id, "name": part.name, "input": part.arguments}}


def _converse(said: list[Part], number: int, usage: Json | None = None) -> Json:
    content = [_converse_block(call_id, part) for call_id, part in _ids(said, number)]
    return {
        "metrics": {"latencyMs": 10 * number},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": "tool_use" if any(isinstance(part, Tool) for part in said) else "end_turn",
        "usage": usage or {"inputTokens": 100 * number, "outputTokens": 5, "totalTokens": 100 * number + 5},
    }


def _converse_events(said: list[Part], number: int, usage: Json | None = None) -> Iterator[bytes]:
    """Each event with its name; a block of text or reasoning has no start."""
    whole = _converse(said, number, usage)
    yield event("messageStart", {"role": "assistant"})
    for at, block in enumerate(whole["output"]["message"]["content"]):
        start, deltas = _converse_deltas(block)
        if start:
            yield event("contentBlockStart", {"contentBlockIndex": at, "start": start})
        for delta in deltas:
            yield event("contentBlockDelta", {"contentBlockIndex": at, "delta": delta})
        yield event("contentBlockStop", {"contentBlockIndex": at})
    yield event("messageStop", {"stopReason": whole["stopReason"]})
    yield event("metadata", {"metrics": whole["metrics"], "usage": whole["usage"]})


def _converse_deltas(block: Json) -> tuple[Json | None, list[Json]]:
    if "text" in block:
        return None, [{"text": piece} for piece in (block["text"][:3], block["text"][3:])]
    if "reasoningContent" in block:
        own = block["reasoningContent"]["reasoningText"]
        return None, [{"reasoningContent": {name: own[name]}} for name in ("text", "signature")]
    call = block["toolUse"]
    whole = json.dumps(call["input"])
    start = {"toolUse": {"name": call["name"], "toolUseId": call["toolUseId"]}}
    return start, [{"toolUse": {"input": piece}} for piece in (whole[:3], whole[3:])]


SPELLINGS: dict[Dialect, Spelling] = {
    "anthropic": Spelling(_anthropic, _anthropic_events),
    "openai_chat": Spelling(_chat, _chat_events),
    "openai_responses": Spelling(_responses, _responses_events),
    "gemini": Spelling(_gemini, _gemini_events),
    "converse": Spelling(_converse, _converse_events),
}
