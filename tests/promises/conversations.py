"""Conversations in all dialects, built message by message."""

import json
from collections.abc import Sequence
from typing import Any

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "converse")
_LISTS = {"openai_responses": "input", "gemini": "contents"}


def list_name(dialect: str) -> str:
    """The name of the list of messages in a request."""
    return _LISTS.get(dialect, "messages")


def user_message(words: str, dialect: str = "") -> dict[str, Any]:
    """A message of the user, which all dialects but Gemini and Converse spell alike."""
    if dialect == "gemini":
        return {"role": "user", "parts": [{"text": words}]}
    return {"role": "user", "content": [{"text": words}] if dialect == "converse" else words}


def call_messages(dialect: str, calls: list[tuple[str, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The messages in which an assistant calls tools; each call is an id, a name and arguments."""
    if dialect == "anthropic":
        blocks = [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]
        return [{"role": "assistant", "content": [{"type": "text", "text": "I will look."}, *blocks]}]
    if dialect == "openai_responses":
        return [
            {"type": "function_call", "call_id": id, "name": name, "arguments": json.dumps(given)}
            for id, name, given in calls
        ]
    if dialect == "gemini":
        parts = [{"functionCall": {"id": id, "name": name, "args": given}} for id, name, given in calls]
        return [{"role": "model", "parts": [{"text": "I will look."}, *parts]}]
    if dialect == "converse":
        uses = [{"toolUse": {"toolUseId": id, "name": name, "input": given}} for id, name, given in calls]
        return [{"role": "assistant", "content": [{"text": "I will look."}, *uses]}]
    functions = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id, name, given in calls
    ]
    return [{"role": "assistant", "content": None, "tool_calls": functions}]


def result_messages(dialect: str, results: Sequence[tuple[str, str | list[Any]]]) -> list[dict[str, Any]]:
    """The messages with the results of calls; each result is a call id, and a text or parts."""
    if dialect == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
        return [{"role": "user", "content": blocks}]
    if dialect == "openai_responses":
        return [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results]
    if dialect == "gemini":
        made = [{"id": id, "name": "bash", "response": {"output": text}} for id, text in results]
        return [{"role": "user", "parts": [{"functionResponse": one} for one in made]}]
    if dialect == "converse":
        given = [(id, [{"text": text}] if isinstance(text, str) else text) for id, text in results]
        return [
            {"role": "user", "content": [{"toolResult": {"toolUseId": id, "content": parts}} for id, parts in given]}
        ]
    return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]


def assistant_message(words: str, dialect: str = "") -> dict[str, Any]:
    """A message of the assistant, which all dialects but Gemini and Converse spell alike."""
    if dialect == "gemini":
        return {"role": "model", "parts": [{"text": words}]}
    return {"role": "assistant", "content": [{"text": words}] if dialect == "converse" else words}


def result_texts(dialect: str, messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Every result in the messages, in order: call id, and its text or parts."""
    found: list[tuple[str, Any]] = []
    for message in messages:
        if dialect == "anthropic" and isinstance(message.get("content"), list):
            found += [(b["tool_use_id"], b["content"]) for b in message["content"] if b["type"] == "tool_result"]
        elif dialect == "gemini":
            given = [part["functionResponse"] for part in message.get("parts", ()) if "functionResponse" in part]
            found += [(one["id"], next(iter(one["response"].values()), "")) for one in given]
        elif dialect == "converse":
            given = [block["toolResult"] for block in message["content"] if "toolResult" in block]
            found += [(one["toolUseId"], _text_or_parts(one["content"])) for one in given]
        elif dialect == "openai_responses" and message.get("type") == "function_call_output":
            found.append((message["call_id"], message["output"]))
        elif message.get("role") == "tool":
            found.append((message["tool_call_id"], message["content"]))
    return found


def _text_or_parts(content: list[Any]) -> Any:
    """The only text of a result, else its parts."""
    return content[0]["text"] if len(content) == 1 and "text" in content[0] else content


def call_ids(dialect: str, messages: list[dict[str, Any]]) -> list[str]:
    """The ids of all calls, in order."""
    found: list[str] = []
    for message in messages:
        if dialect == "anthropic" and isinstance(message.get("content"), list):
            found += [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        elif dialect == "gemini":
            found += [part["functionCall"]["id"] for part in message.get("parts", ()) if "functionCall" in part]
        elif dialect == "converse":
            found += [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        elif message.get("type") == "function_call":
            found.append(message["call_id"])
        found += [call["id"] for call in message.get("tool_calls") or ()]
    return found


def tools_fields(dialect: str, names: Sequence[str]) -> dict[str, Any]:
    """The fields of a request that declares these tools."""
    tools = [tool_spec(dialect, name) for name in names]
    if dialect == "gemini":
        tools = [{"functionDeclarations": [one for tool in tools for one in tool["functionDeclarations"]]}]
    return {"toolConfig": {"tools": tools}} if dialect == "converse" else {"tools": tools}


def tool_spec(dialect: str, name: str) -> dict[str, Any]:
    """The declaration of a tool that takes anything."""
    schema = {"type": "object", "properties": {}}
    if dialect == "anthropic":
        return {"name": name, "input_schema": schema}
    if dialect == "converse":
        return {"toolSpec": {"name": name, "inputSchema": {"json": schema}}}
    function = {"name": name, "parameters": schema}
    if dialect == "gemini":
        return {"functionDeclarations": [function]}
    return (
        {"type": "function", **function}
        if dialect == "openai_responses"
        else {"type": "function", "function": function}
    )
