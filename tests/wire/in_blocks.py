"""Messages of Converse and Gemini as Anthropic would spell them, and back: all three have lists of parts and turns.

Owns: the spelling. Must not know: our code, what is wrong with a conversation.
"""

from typing import Any

Wire = dict[str, Any]
DIALECTS = ("anthropic", "converse", "gemini")
"""The dialects whose messages are lists of parts, and whose users and models take turns."""


def content_of(message: Wire) -> Any:
    """The list of the parts of a message."""
    return message["parts"] if "parts" in message else message["content"]


def respelled(message: Wire, dialect: str) -> Wire:
    """A message of Anthropic's in another of these dialects."""
    if dialect == "anthropic":
        return message
    if dialect == "converse":
        return {"role": message["role"], "content": [_block(block) for block in message["content"]]}
    role = "model" if message["role"] == "assistant" else "user"
    return {"role": role, "parts": [_part(block) for block in message["content"]]}


def as_anthropic(message: Wire) -> Wire:
    """A message of one of these dialects as Anthropic's."""
    if "parts" in message:
        role = "assistant" if message["role"] == "model" else "user"
        return {"role": role, "content": [_of_part(part) for part in message["parts"]]}
    return {"role": message["role"], "content": [_of_block(block) for block in message["content"]]}


def _block(block: Wire) -> Wire:
    if block["type"] == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
    if block["type"] == "tool_result":
        return {"toolResult": {"toolUseId": block["tool_use_id"], "content": [{"text": block["content"]}]}}
    return {"text": block["text"]}


def _of_block(block: Wire) -> Wire:
    if "type" in block:
        return block
    if "reasoningContent" in block:
        own = block["reasoningContent"]["reasoningText"]
        return {"type": "thinking", "thinking": own["text"], "signature": own["signature"]}
    if "toolUse" in block:
        own = block["toolUse"]
        return {"type": "tool_use", "id": own["toolUseId"], "name": own["name"], "input": own["input"]}
    if "toolResult" in block:
        own = block["toolResult"]
        [part] = own["content"]
        return {"type": "tool_result", "tool_use_id": own["toolUseId"], "content": part["text"]}
    return {"type": "text", "text": block["text"]}


def _part(block: Wire) -> Wire:
    if block["type"] == "thinking":
        return {"text": block["thinking"], "thought": True}
    if block["type"] == "tool_use":
        return {"functionCall": {"id": block["id"], "name": block["name"], "args": block["input"]}}
    if block["type"] == "tool_result":
        output = {"output": block["content"]}
        return {"functionResponse": {"id": block["tool_use_id"], "name": "read", "response": output}}
    return {"text": block["text"]}


def _of_part(part: Wire) -> Wire:
    if part.get("thought"):
        return {"type": "thinking", "thinking": part["text"], "signature": ""}
    if "functionCall" in part:
        own = part["functionCall"]
        return {"type": "tool_use", "id": own["id"], "name": own["name"], "input": own["args"]}
    if "functionResponse" in part:
        own = part["functionResponse"]
        [text] = own["response"].values()
        return {"type": "tool_result", "tool_use_id": own["id"], "content": text}
    return {"type": "text", "text": part["text"]}
