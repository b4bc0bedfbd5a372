"""What providers refuse of a conversation: calls without results, results without calls, words that are not theirs,
arguments that are no JSON or that were changed beside signed thinking.

Owns: the rules, one dialect each. Must not know: HTTP, prices, windows.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.upstream.converse_rules import converse_complaint
from tests.upstream.gemini_rules import gemini_complaint
from tests.upstream.pictures import wrong_picture
from tests.upstream.spelling import Dialect, Json, Thinking

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def complaint(body: Json, dialect: Dialect | None = None) -> str:
    """What a provider would refuse of a request; nothing if it would take it."""
    if "contents" in body:
        return gemini_complaint(body)
    if dialect == "converse":
        return converse_complaint(body)
    wrong = wrong_picture(body)
    if wrong:
        return wrong
    offered = [tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools") or ()]
    tools = set(filter(None, offered))
    if len(tools) != len(list(filter(None, offered))):
        return "tool names must be unique"
    wrong = _changed_arguments(body)
    if wrong:
        return wrong
    if "messages" not in body:
        return _of_items(body, tools)
    calls: dict[str, str] = {}
    waiting: set[str] = set()
    before = ""
    for message in body["messages"]:
        made, answered = _calls(message), _answered(message)
        wrong = _misplaced(message, answered, waiting) or _tampered(message) or _repeated(body, message, before)
        if wrong:
            return wrong
        waiting -= set(answered)
        if set(made) & set(calls):
            return f"calls {sorted(set(made) & set(calls))} are made twice"
        calls |= made
        waiting |= set(made)
        before = message["role"]
    return f"calls {sorted(waiting)} have no results" if waiting else _unknown(calls, tools)


def _of_items(body: Json, tools: set[Any]) -> str:
    """The same of the items of Responses, where a result may come any time after its call."""
    items = body["input"] if isinstance(body["input"], list) else []
    made = [(item["call_id"], item["name"]) for item in items if item.get("type") in _CALLS]
    wrong = _of_screens(items)
    if wrong:
        return wrong
    answered = [item["call_id"] for item in items if item.get("type") in _OUTPUTS]
    for item in items:
        sealed = item.get("encrypted_content")
        if sealed and Thinking(sealed.partition(":")[2]).signature != sealed.partition(":")[0]:
            return f"the encrypted content of {item.get('id')} could not be verified"
    if body.get("previous_response_id"):
        return ""
    if len(dict(made)) != len(made):
        return "a call is made twice"
    if len(set(answered)) != len(answered):
        return "a call is answered twice"
    if set(dict(made)) != set(answered):
        return f"calls {sorted(dict(made))} have the results {sorted(answered)}"
    # A request for a summary offers no tools, and tells all the same of those that were called.
    return _unknown(dict(made), tools) if tools else ""


def _of_screens(items: list[Json]) -> str:
    """What is wrong with the calls of a computer and their screenshots, which must be images."""
    seen: list[str] = []
    for at, item in enumerate(items):
        if item.get("type") != "computer_call_output":
            continue
        seen.append(item["call_id"])
        output = item["output"]
        place = output.get("file_id") or output.get("image_url") or ""
        if output["type"] != "computer_screenshot" or not place.startswith(("data:image/", "https://", "file")):
            return f"Invalid 'input[{at}].output.image_url'. Expected a valid URL."
        if not output.keys() <= {"type", "image_url", "file_id", "detail"}:
            return f"Unknown parameter: 'input[{at}].output.{sorted(output)}'"
    called = [item["call_id"] for item in items if item.get("type") == "computer_call"]
    return "" if sorted(called) == sorted(seen) else f"the computer was called as {called}, the screens are of {seen}"


def _changed_arguments(body: Json) -> str:
    """Arguments that are no JSON; and those beside signed thinking in the turn that goes on, where they are not whole.

    Providers ask for the thinking of this turn back as it was, with the calls that it led to. The strictest of them
    would compare all of the answer.
    """
    messages = body.get("messages") if "messages" in body else body["input"]
    is_signed = False
    wrong: list[str] = []
    for message in messages if isinstance(messages, list) else ():
        if _is_asked(message):
            wrong = []
        is_answer = message.get("role") == "assistant" or message.get("type") in ("reasoning", "function_call")
        is_signed = is_answer and (is_signed or _is_signed(message))
        for call_id, arguments, is_text in _arguments(message):
            try:
                json.loads(arguments) if is_text else None
            except ValueError:
                return f"the arguments of {call_id} are no JSON"
            if is_signed and "this view hides them]" in arguments:
                wrong.append(f"the arguments of {call_id} were changed beside signed thinking")
    return wrong[0] if wrong else ""


def _is_asked(message: Json) -> bool:
    return message.get("role") == "user" and not _answered(message)


def _is_signed(message: Json) -> bool:
    thinks = any(block.get("type") in ("thinking", "redacted_thinking") for block in _blocks(message))
    own = any("extra_content" in call for call in message.get("tool_calls") or ())
    return thinks or own or message.get("type") == "reasoning"


def _arguments(message: Json) -> Iterator[tuple[str, str, bool]]:
    """The arguments of each call as text, and whether the provider was given a text."""
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            yield block["id"], json.dumps(block["input"], ensure_ascii=False), False
    for call in message.get("tool_calls") or ():
        if "function" in call:
            yield call["id"], call["function"]["arguments"], True
    if message.get("type") == "function_call":
        yield message["call_id"], message["arguments"], True


def _unknown(calls: dict[str, str], tools: set[Any]) -> str:
    unknown = set(calls.values()) - tools
    return f"tools {sorted(unknown)} are called and not offered" if unknown else ""


def _misplaced(message: Json, answered: list[str], waiting: set[str]) -> str:
    """Results that are not those of the calls just before."""
    if len(set(answered)) != len(answered):
        return f"calls {sorted(answered)} are answered twice"
    if set(answered) - waiting:
        return f"results {sorted(set(answered) - waiting)} have no calls just before them"
    left = waiting - set(answered)
    if left and message["role"] not in ("tool", "system"):
        return f"calls {sorted(left)} have no results just after them"
    return ""


def _repeated(body: Json, message: Json, before: str) -> str:
    """Two messages of the assistant in a row, in Messages, where its models never wrote them so."""
    return "roles must alternate" if "system" in body and message["role"] == before == "assistant" else ""


def _tampered(message: Json) -> str:
    """Thoughts that do not have their signature, and texts that are empty."""
    for block in _blocks(message):
        if block.get("type") == "thinking" and block.get("signature") != Thinking(block["thinking"]).signature:
            return "the signature in a thinking block is invalid"
        if block.get("type") == "text" and not block["text"]:
            return "text content blocks must be non-empty"
    return ""


def _calls(message: Json) -> dict[str, str]:
    made = {block["id"]: block["name"] for block in _blocks(message) if block.get("type") == "tool_use"}
    calls = message.get("tool_calls") or ()
    return made | {call["id"]: (call.get("function") or call["custom"])["name"] for call in calls}


def _answered(message: Json) -> list[str]:
    found = [block["tool_use_id"] for block in _blocks(message) if block.get("type") == "tool_result"]
    return found + ([message["tool_call_id"]] if message["role"] == "tool" else [])


def _blocks(message: Json) -> Iterator[Json]:
    content = message.get("content")
    return (block for block in (content if isinstance(content, list) else ()) if isinstance(block, dict))
