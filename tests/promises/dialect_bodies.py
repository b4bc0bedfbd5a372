"""A conversation that is written once, in Anthropic's words, as the same client would send it in every dialect.

Owns: the request in each dialect, its cache markers, what a provider answers, and how each bills. Calls of Gemini have
no ids, as its models before Gemini 3 write them. Must not know: our code, prices.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.upstream.prompt_cache import Bill, Breakpoints, CachePoints, ChatPrefixes, GeminiPrefixes, Prefixes
from tests.upstream.spelling import SPELLINGS, Dialect, Json, Part, Text, Tool

ALL: tuple[Dialect, ...] = ("anthropic", "openai_chat", "openai_responses", "gemini", "converse")
NAMED_IN_PATH: tuple[Dialect, ...] = ("gemini", "converse")
"""The dialects whose requests have the model in their path."""
MARKED: tuple[Dialect, ...] = ("anthropic", "converse")
"""The dialects in which a client says what is to be cached."""
_USAGES: dict[Dialect, type[Breakpoints] | type[Prefixes]] = {
    "anthropic": Breakpoints,
    "openai_chat": ChatPrefixes,
    "openai_responses": Prefixes,
    "gemini": GeminiPrefixes,
    "converse": CachePoints,
}


def spelled(dialect: Dialect, body: Json) -> Json:
    """A request of Anthropic's in another dialect."""
    return body if dialect == "anthropic" else _SPELLED[dialect](body)


def answered(dialect: Dialect, blocks: list[Json], number: int, usage: Json, model: str) -> Json:
    """The response of a provider with these blocks of Anthropic's, made by the model that was asked."""
    said: list[Part] = []
    for block in blocks:
        if block["type"] == "text":
            said.append(Text(block["text"]))
        else:
            said.append(Tool(block["name"], block["input"], None if dialect == "gemini" else block["id"]))
    made = SPELLINGS[dialect].whole(said, number, usage)
    return {**made, **{key: model for key in ("model", "modelVersion") if key in made}}


def usage_of(dialect: Dialect, till: Breakpoints | Prefixes, bill: Bill, made: int) -> Json:
    """What a provider tells of a bill, whatever its cache is."""
    return _USAGES[dialect].usage(till, bill, made)  # pyright: ignore


def messages_with_parts(body: Json) -> Iterator[tuple[Json, list[Json]]]:
    """Each message and its parts; an item or a result that is a message of its own is its only part."""
    for message in body.get("contents") or body.get("messages") or body.get("input") or ():
        parts = message.get("parts") or message.get("tool_calls") or message.get("content")
        is_own = message.get("role") == "tool" or "role" not in message
        yield message, [message] if is_own or not isinstance(parts, list) else parts


def recalls_in(parts: list[Json], ids: set[str]) -> list[Json]:
    """The parts that call `get_artifact`, whose ids are noted, and those that answer such a call."""
    return [part for part in parts if _is_recall(part, ids)]


def _is_recall(part: Json, ids: set[str]) -> bool:
    inner = next(
        (part[key] for key in ("function", "toolUse", "functionCall", "functionResponse") if key in part), part
    )
    if inner.get("name") == "get_artifact":
        ids.update(str(one[key]) for one in (part, inner) for key in ("id", "call_id", "toolUseId") if key in one)
        return True
    result = part.get("toolResult", part)
    return any(result.get(key) in ids for key in ("tool_use_id", "tool_call_id", "call_id", "toolUseId"))


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _parts_of_result(block: Json) -> list[Json]:
    return _blocks(block["content"])


def _words(blocks: list[Json]) -> str:
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _data(part: Json) -> str:
    """The base64 of an image or a document; what is behind a URL no dialect but Anthropic's is asked about."""
    return part["source"]["data"]


def _of_converse(body: Json) -> Json:
    made: Json = {
        "system": [one for block in body["system"] for one in _pointed({"text": block["text"]}, block)],
        "toolConfig": {"tools": [{"toolSpec": _spec(tool)} for tool in body["tools"]]},
        "messages": [
            {
                "role": message["role"],
                "content": [one for block in _blocks(message["content"]) for one in _pointed(_block(block), block)],
            }
            for message in body["messages"]
        ],
        "inferenceConfig": {"maxTokens": body["max_tokens"]},
    }
    if "cache_control" in body:
        made["messages"][-1]["content"] += _pointed({}, body)[1:]
    return made


def _spec(tool: Json) -> Json:
    return {
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": {"json": tool["input_schema"]},
    }


def _pointed(block: Json, marked: Json) -> list[Json]:
    """A block, and behind it a cache point where Anthropic's has a marker."""
    marker = marked.get("cache_control")
    if marker is None:
        return [block]
    return [block, {"cachePoint": {"type": "default", **({"ttl": marker["ttl"]} if "ttl" in marker else {})}}]


def _block(block: Json) -> Json:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
    if block["type"] == "tool_result":
        return {
            "toolResult": {
                "toolUseId": block["tool_use_id"],
                "content": [_block(one) for one in _parts_of_result(block)],
            }
        }
    own: Json = {"format": block["source"]["media_type"].partition("/")[2], "source": {"bytes": _data(block)}}
    if block["type"] == "image":
        return {"image": own}
    return {"document": {**own, "name": f"document {sum(_data(block).encode())}"}}


def _of_gemini(body: Json) -> Json:
    declared = [
        {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
        for tool in body["tools"]
    ]
    names = {
        block["id"]: block["name"]
        for message in body["messages"]
        for block in _blocks(message["content"])
        if block["type"] == "tool_use"
    }
    return {
        "systemInstruction": {"parts": [{"text": _words(body["system"])}]},
        "tools": [{"functionDeclarations": declared}],
        "contents": [
            {
                "role": "model" if message["role"] == "assistant" else "user",
                "parts": [_part(block, names) for block in _blocks(message["content"])],
            }
            for message in body["messages"]
        ],
        "generationConfig": {"maxOutputTokens": body["max_tokens"]},
    }


def _part(block: Json, names: dict[str, str]) -> Json:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "tool_use":
        return {"functionCall": {"name": block["name"], "args": block["input"]}}
    if block["type"] == "tool_result":
        inside = _parts_of_result(block)
        media = [_part(one, names) for one in inside if one["type"] != "text"]
        made = {"name": names[block["tool_use_id"]], "response": {"output": _words(inside)}}
        return {"functionResponse": {**made, **({"parts": media} if media else {})}}
    return {"inlineData": {"mimeType": block["source"]["media_type"], "data": _data(block)}}


def _functions(body: Json) -> list[Json]:
    return [
        {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
        for tool in body["tools"]
    ]


def _url(part: Json) -> str:
    return f"data:{part['source']['media_type']};base64,{_data(part)}"


def _of_chat(body: Json) -> Json:
    messages: list[Json] = [{"role": "system", "content": _words(body["system"])}]
    for message in body["messages"]:
        blocks = _blocks(message["content"])
        words = _words(blocks)
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
            }
            for block in blocks
            if block["type"] == "tool_use"
        ]
        messages += [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _content(block, _chat_part)}
            for block in blocks
            if block["type"] == "tool_result"
        ]
        if calls:
            messages.append({"role": "assistant", "content": words or None, "tool_calls": calls})
        elif words:
            messages.append({"role": message["role"], "content": words})
    tools = [{"type": "function", "function": one} for one in _functions(body)]
    return {"model": body["model"], "max_tokens": body["max_tokens"], "tools": tools, "messages": messages}


def _content(block: Json, spell: Callable[[Json], Json]) -> str | list[Json]:
    content = block["content"]
    return content if isinstance(content, str) else [spell(part) for part in content]


def _chat_part(part: Json) -> Json:
    if part["type"] == "text":
        return part
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _url(part)}}
    return {"type": "file", "file": {"file_data": _url(part), "filename": "a.pdf"}}


def _of_responses(body: Json) -> Json:
    items: list[Json] = []
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            if block["type"] == "text":
                items.append({"role": message["role"], "content": block["text"]})
            elif block["type"] == "tool_use":
                own = {"call_id": block["id"], "name": block["name"], "arguments": json.dumps(block["input"])}
                items.append({"type": "function_call", **own})
            else:
                output = _content(block, _responses_part)
                items.append({"type": "function_call_output", "call_id": block["tool_use_id"], "output": output})
    tools = [{"type": "function", **one} for one in _functions(body)]
    own = {"model": body["model"], "instructions": _words(body["system"]), "store": False}
    return {**own, "tools": tools, "input": items}


def _responses_part(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image":
        return {"type": "input_image", "image_url": _url(part), "detail": "auto"}
    return {"type": "input_file", "file_data": _url(part), "filename": "a.pdf"}


_SPELLED: dict[Dialect, Callable[[Json], Json]] = {
    "openai_chat": _of_chat,
    "openai_responses": _of_responses,
    "gemini": _of_gemini,
    "converse": _of_converse,
}
