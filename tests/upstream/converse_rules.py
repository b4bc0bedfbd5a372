"""What Bedrock's Converse refuses of a request: unequal calls and results, roles that do not alternate, blank texts,
tools that are not configured, markers and names that it does not take.

Owns: the rules, in the words of Bedrock's errors where they are known. Must not know: HTTP, prices, windows; our code.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.upstream.pictures import wrong_picture
from tests.upstream.spelling import Json, Thinking

_OF_REQUESTS = {
    *("messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig", "additionalModelRequestFields"),
    *("promptVariables", "additionalModelResponseFieldPaths", "requestMetadata", "performanceConfig", "serviceTier"),
    "outputConfig",
}
_BLOCKS = {
    *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint"),
    *("reasoningContent", "citationsContent", "searchResult"),
}
_RESULTS = {"text", "json", "image", "document", "video", "searchResult"}
_FORMATS = {
    "image": {"png", "jpeg", "gif", "webp"},
    "document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
}
_ID, _NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOCUMENT = re.compile(r"[a-zA-Z0-9 ()\[\]-]{1,200}")
_MOST_POINTS = 4


def converse_complaint(body: Json) -> str:
    """What Converse would refuse of a request; nothing if it would take it."""
    found = (
        *_of_fields(body),
        *filter(None, [wrong_picture(body)]),
        *_of_tools(body),
        *_of_blocks(body),
        *_of_turns(body),
        *_of_points(body),
    )
    return next(iter(found), "")


def _of_fields(body: Json) -> Iterator[str]:
    for name in sorted(body.keys() - _OF_REQUESTS):
        yield f"#: extraneous key [{name}] is not permitted"
    for message in body["messages"]:
        if message.keys() != {"role", "content"} or not isinstance(message["content"], list):
            yield "Malformed input request: a message has a role and a list of content"
            return


def _tools(body: Json) -> list[Json]:
    return (body.get("toolConfig") or {}).get("tools", [])


def _of_tools(body: Json) -> Iterator[str]:
    if "toolConfig" in body and not any("toolSpec" in tool for tool in _tools(body)):
        yield "toolConfig.tools must have at least one tool"
    names: set[str] = set()
    for tool in _tools(body):
        if len(tool) != 1 or not tool.keys() <= {"toolSpec", "systemTool", "cachePoint"}:
            yield f"Unknown tool {sorted(tool)}"
        spec = tool.get("toolSpec")
        if spec is None:
            continue
        if not spec.keys() <= {"name", "description", "inputSchema", "strict"} or not _NAME.fullmatch(spec["name"]):
            yield f"Invalid toolSpec {spec['name']}"
        if spec["name"] in names:
            yield f"The tool names must be unique: {spec['name']}"
        names.add(spec["name"])
        yield from _of_spec(spec)


def _of_spec(spec: Json) -> Iterator[str]:
    if not spec.get("description", "x"):
        yield "description: Minimum length is 1"
    schema = spec["inputSchema"]["json"]
    if schema.get("type") != "object":
        yield f"The value at inputSchema.json.type of {spec['name']} must be one of the following: object."
    for key, value in schema.get("properties", {}).items():
        if "type" not in value and "anyOf" not in value:
            yield f"inputSchema.json.properties.{key}: a type is required"


def _of_blocks(body: Json) -> Iterator[str]:
    documents: list[str] = []
    for at, message in enumerate(body["messages"]):
        for number, block in enumerate(message["content"]):
            place = f"messages.{at}.content.{number}"
            yield from _of_block(place, block, _BLOCKS)
            documents += _documents(block)
            for part in block.get("toolResult", {}).get("content", ()):
                yield from _of_block(f"{place}.toolResult", part, _RESULTS)
                documents += _documents(part)
    if len(set(documents)) != len(documents):
        yield "Duplicate document names are not allowed in a request"
    for block in body.get("system") or ():
        if len(block) != 1 or not block.keys() <= {"text", "guardContent", "cachePoint"}:
            yield "system: a block has one of text, guardContent, cachePoint"


def _documents(block: Json) -> list[str]:
    return [block["document"]["name"]] if "document" in block else []


def _of_block(place: str, block: Json, known: set[str]) -> Iterator[str]:
    if len(block) != 1 or not block.keys() <= known:
        yield f"The content block at {place} must have one member, of {sorted(known)}; it has {sorted(block)}"
        return
    [(kind, value)] = block.items()
    if kind == "text" and (not isinstance(value, str) or (known is _BLOCKS and not value.strip())):
        yield f"The text field in the ContentBlock object at {place} is blank."
    if kind in _FORMATS and not _is_medium(kind, value):
        yield f"The {kind} at {place} is invalid"
    if kind == "document" and not _DOCUMENT.fullmatch(value["name"]):
        yield f"The document name at {place} can only contain letters, digits, single spaces, hyphens and brackets"
    if kind == "toolUse" and not _is_call(value):
        yield f"The toolUse block at {place} is invalid"
    if kind == "toolResult" and not _is_result(value):
        yield f"The toolResult block at {place} is invalid"
    thought = value.get("reasoningText") if kind == "reasoningContent" else None
    if thought is not None and thought.get("signature") != Thinking(thought["text"]).signature:
        yield f"{place}: Invalid `signature` in `thinking` block"


def _is_medium(kind: str, value: Json) -> bool:
    source = value["source"]
    if value["format"] not in _FORMATS[kind] or len(source) != 1:
        return False
    try:
        return "bytes" not in source or bool(base64.b64decode(source["bytes"], validate=True))
    except binascii.Error:
        return False


def _is_call(value: Json) -> bool:
    is_known = value.keys() <= {"toolUseId", "name", "input", "type"} and isinstance(value["input"], dict)
    return is_known and bool(_ID.fullmatch(value["toolUseId"]) and _NAME.fullmatch(value["name"]))


def _is_result(value: Json) -> bool:
    is_known = value.keys() <= {"toolUseId", "content", "status"} and isinstance(value["content"], list)
    return is_known and value.get("status", "success") in ("success", "error")


def _of_turns(body: Json) -> Iterator[str]:
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "A conversation must start with a user message."
    before, waiting = "", list[str]()
    names, made = {tool["toolSpec"]["name"] for tool in _tools(body) if "toolSpec" in tool}, set[str]()
    users = [at for at, one in enumerate(messages) if one["role"] == "user" and not _inside(one, "toolResult")]
    for at, message in enumerate(messages):
        if message["role"] == before:
            yield f"A conversation must alternate between user and assistant roles (messages.{at})."
        before = message["role"]
        calls, results = _inside(message, "toolUse"), _inside(message, "toolResult")
        if (calls or results) and "toolConfig" not in body:
            yield "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        yield from _unpaired(at, waiting, [one["toolUseId"] for one in results])
        waiting = [one["toolUseId"] for one in calls]
        if made & set(waiting) or len(set(waiting)) != len(waiting):
            yield f"messages.{at}.content contains duplicate toolUse ids"
        made |= set(waiting)
        yield from _of_calls(at, message, calls, names, is_current=at > max(users, default=-1))
    if waiting:
        yield f"Expected toolResult blocks for the following Ids: {', '.join(waiting)}"


def _of_calls(at: int, message: Json, calls: list[Json], names: set[str], *, is_current: bool) -> Iterator[str]:
    """What is refused of calls; reasoning has to come back with its calls in the turn that goes on."""
    for call in calls:
        if message["role"] != "assistant" or (names and call["name"] not in names):
            yield f"messages.{at}: the tool {call['name']} is not one of toolConfig.tools"
        if is_current and _inside(message, "reasoningContent") and "this view hides them]" in json.dumps(call["input"]):
            yield f"the arguments of {call['toolUseId']} were changed beside signed reasoning"


def _unpaired(at: int, waiting: list[str], answered: list[str]) -> Iterator[str]:
    if len(answered) > len(waiting):
        yield (
            f"The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of the "
            "previous turn."
        )
    missing = [one for one in waiting if one not in answered]
    if missing:
        yield f"Expected toolResult blocks at messages.{at}.content for the following Ids: {', '.join(missing)}"
    elif sorted(waiting) != sorted(answered):
        yield f"messages.{at}.content: unexpected toolUseId in toolResult blocks"


def _of_points(body: Json) -> Iterator[str]:
    lists: list[list[Json]] = [_tools(body), body.get("system") or [], *(one["content"] for one in body["messages"])]
    points = [(blocks, at) for blocks in lists for at, block in enumerate(blocks) if "cachePoint" in block]
    if len(points) > _MOST_POINTS:
        yield "You have exceeded the maximum number of cache points: 4"
    for blocks, at in points:
        if not at or "cachePoint" in blocks[at - 1] or "reasoningContent" in blocks[at - 1]:
            yield "Cache point cannot be inserted after reasoning block, another cache point or nothing."
        if blocks[at]["cachePoint"].get("type") != "default":
            yield "cachePoint.type: must be default"
    lives = [blocks[at]["cachePoint"].get("ttl", "5m") for blocks, at in points]
    if lives != sorted(lives):  # "1h" before "5m"
        yield "a ttl='1h' cache point must not come after a ttl='5m' one"


def _inside(message: Json, key: str) -> list[Any]:
    return [block[key] for block in message["content"] if key in block]
