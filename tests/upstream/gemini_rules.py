"""What Gemini refuses of a request: unequal numbers of calls and results, signatures that are not its own, fields that
it does not know.

Owns: the rules, in the words of Google's errors. Must not know: HTTP, prices, windows; our code.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.upstream.pictures import wrong_picture
from tests.upstream.spelling import Json, gemini_signature

UNSIGNED = "skip_thought_signature_validator"
"""The signature that Google names for calls that its models did not make; Gemini CLI sets it."""
_DATA = {"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult"}
_OF_PARTS = _DATA | {"thought", "thoughtSignature"}
_OF_CALLS, _OF_RESPONSES = {"id", "name", "args"}, {"id", "name", "response", "parts"}
_OF_REQUESTS = {
    *("contents", "tools", "toolConfig", "systemInstruction", "cachedContent"),
    *("generationConfig", "safetySettings", "labels", "model"),
}


def gemini_complaint(body: Json) -> str:
    """What Gemini would refuse of a request; nothing if it would take it."""
    wrong = filter(None, [wrong_picture(body)])
    found = (*_of_fields(body), *_of_tools(body), *_of_contents(body["contents"], _declared(body)), *wrong)
    return next(iter(found), "")


def count_complaint(path: str, body: Json) -> str:
    """What `countTokens` would refuse: both kinds of a request, or at AI Studio tools beside bare contents."""
    is_studio = "/projects/" not in path and "/publishers/" not in path
    known = {"contents", "generateContentRequest"} if is_studio else _OF_REQUESTS
    for name in sorted(body.keys() - known):
        return f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    if "generateContentRequest" not in body:
        return gemini_complaint(body)
    inside = body["generateContentRequest"]
    if "contents" in body:
        return "contents and generate_content_request are mutually exclusive"
    return gemini_complaint(inside) if inside.get("model") else "generate_content_request.model is not specified"


def _of_fields(body: Json) -> Iterator[str]:
    for name in body.keys() - _OF_REQUESTS:
        yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    if body.get("cachedContent") and any(body.get(name) for name in ("tools", "toolConfig", "systemInstruction")):
        yield "CachedContent can not be used with a request setting system_instruction, tools or tool_config."


def _lists(body: Json) -> list[list[Json]]:
    """The lists of declarations. Google's parser takes an object in place of a list, and either case."""
    tools = body.get("tools") or []
    named = ("functionDeclarations", "function_declarations")
    return [tool[name] for tool in ([tools] if isinstance(tools, dict) else tools) for name in named if name in tool]


def _declared(body: Json) -> list[Json]:
    return [one for each in _lists(body) for one in each]


def _of_tools(body: Json) -> Iterator[str]:
    if len(_lists(body)) > 1:
        yield "Multiple tools are supported only when they are all search tools."
    names = Counter(one["name"] for one in _declared(body))
    for name in (name for name, count in names.items() if count > 1):
        yield f"Duplicate function declaration found: {name}"
    for one in _declared(body):
        for key, value in one.get("parameters", {}).get("properties", {}).items():
            if "type" not in value:
                yield f"function_declarations.parameters.properties[{key}].type: must be specified"


def _of_contents(contents: list[Json], declared: list[Json]) -> Iterator[str]:
    if not contents:
        yield "contents is not specified"
    names = {one["name"] for one in declared}
    waiting: list[Json] | None = None
    before = ""
    for at, content in enumerate(contents):
        yield from _of_parts(content, at)
    for content in _merged(contents):
        if content.get("role", "user") not in ("user", "model"):
            yield "Please use a valid role: user, model."
        calls = _inside(content, "functionCall")
        results = _inside(content, "functionResponse")
        if waiting or results:
            yield from _unpaired(waiting or [], results)
        if calls and not before:
            yield "function call turn comes immediately after a user turn or after a function response turn"
        if names and any(call["name"] not in names for call in calls):
            yield f"functions {sorted({call['name'] for call in calls} - names)} are called and not declared"
        waiting, before = calls, content["role"]
    if waiting:
        yield "function calls at the end have no responses"


def _merged(contents: list[Json]) -> list[Json]:
    """The contents with those of one role in a row as one: the SDK sends a streamed answer back in pieces."""
    merged: list[Json] = []
    for content in contents:
        if merged and merged[-1]["role"] == content.get("role", "user"):
            merged[-1] = {**merged[-1], "parts": [*merged[-1]["parts"], *content.get("parts", ())]}
        else:
            merged.append({"role": "user", **content})
    return merged


def _of_parts(content: Json, at: int) -> Iterator[str]:
    if not content.get("parts"):
        yield f"contents[{at}].parts must not be empty"
    for part in content.get("parts") or ():
        unknown = part.keys() - _OF_PARTS
        unknown |= part.get("functionCall", {}).keys() - _OF_CALLS
        unknown |= part.get("functionResponse", {}).keys() - _OF_RESPONSES
        if unknown:
            yield f"Invalid JSON payload received. Unknown name {sorted(unknown)}"
        if len(part.keys() & _DATA) != 1:
            yield "contents.parts: required oneof field 'data' must have one initialized field"
        call = part.get("functionCall")
        if call is not None and part.get("thoughtSignature") not in (None, UNSIGNED, gemini_signature(call)):
            yield "Thought signature is not valid"
        response = part.get("functionResponse")
        if response is not None and not isinstance(response.get("response"), dict):
            yield "function_response.response: must be an object"
        if response is not None:
            yield from _of_references(response)


def _of_references(response: Json) -> Iterator[str]:
    """A response names the parts beside it by `{"$ref": …}`, each at most once."""
    beside = (part.get("inlineData") or part.get("fileData") or {} for part in response.get("parts") or ())
    names = {one["displayName"] for one in beside if "displayName" in one}
    referred = Counter(re.findall(r'\{"\$ref": "([^"]*)"\}', json.dumps(response.get("response"))))
    for name, count in referred.items():
        if name not in names:
            yield f"function_response.response: $ref {name} matches no display_name"
        elif count > 1:
            yield f"function_response.response: display_name {name} is referenced more than once"


def _unpaired(calls: list[Json], results: list[Json]) -> Iterator[str]:
    if len(calls) != len(results):
        yield (
            "Please ensure that the number of function response parts is equal to the number of function call parts "
            "of the function call turn."
        )
    elif Counter(one["name"] for one in calls) != Counter(one["name"] for one in results):
        yield "Please ensure that function responses name the functions that were called."
    elif {one.get("id") for one in results} - {None, *(one.get("id") for one in calls)}:
        yield "function_response.id matches no function call"


def _inside(content: Json, key: str) -> list[Any]:
    return [part[key] for part in content.get("parts") or () if key in part]
