"""Chat messages as plain dicts, read as a transcript and written back with some results replaced.

Owns: results with the role `tool`, and blocks of the type `tool_result`; calls in both spellings.
Must not know: policies. Messages that cannot be read are left alone. A client's own objects are read, never changed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from keepwhole.canonical.message import Call, Message, Path, ResultText, Role
from keepwhole.policies.transcript import Transcript

ChatMessage: TypeAlias = dict[str, Any]
_ROLES: dict[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "system": "system",
    "developer": "system",
}


def transcript_of(messages: Iterable[ChatMessage]) -> Transcript:
    """Return the transcript of these messages."""
    transcript = Transcript()
    transcript.extend(map(decoded, messages))
    return transcript


def decoded(message: ChatMessage) -> Message:
    """Return one message as policies see it."""
    role = _ROLES.get(_get(message, "role"), "other")
    content = _get(message, "content")
    if role == "assistant":
        return Message(role, _said(content), calls=tuple(_calls(message)))
    if not isinstance(message, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        return Message(role, _said(content))
    return Message(role, "" if role == "tool" else _said(content), returned=tuple(_returned(message, role, content)))


def calls_tools(message: ChatMessage) -> bool:
    """Return whether a message is an assistant's with tool calls."""
    return _get(message, "role") == "assistant" and next(_calls(message), None) is not None


def with_text(message: ChatMessage, path: Path, text: str) -> ChatMessage:
    """Return a copy of a message with another text at `path`; everything beside the path is shared."""
    return cast("ChatMessage", _replaced(message, path, text))


def _replaced(value: Any, path: Path, text: str) -> Any:
    if not path:
        return text
    copied = value.copy()
    copied[path[0]] = _replaced(value[path[0]], path[1:], text)
    return copied


def _calls(message: ChatMessage) -> Iterator[Call]:
    """Yield the calls of an assistant's message, in either provider's spelling."""
    for call in _list(_get(message, "tool_calls")):
        function = _get(call, "function")
        yield Call(str(_get(call, "id")), str(_get(function, "name")), _arguments(_get(function, "arguments")))
    for block in _list(_get(message, "content")):
        if _get(block, "type") == "tool_use":
            yield Call(str(_get(block, "id")), str(_get(block, "name")), _arguments(_get(block, "input")))


def _returned(message: ChatMessage, role: Role, content: object) -> Iterator[ResultText]:
    """Yield the texts of the results in a message, each with its place."""
    if role == "tool":
        failed = message.get("is_error") is True or message.get("status") == "error"
        yield from _texts(str(message.get("tool_call_id")), ("content",), content, failed)
        return
    for number, block in enumerate(_list(content)):
        if isinstance(block, dict):
            fields = cast("dict[str, object]", block)
            if fields.get("type") == "tool_result":
                call_id, failed = str(fields.get("tool_use_id")), fields.get("is_error") is True
                yield from _texts(call_id, ("content", number, "content"), fields.get("content"), failed)


def _texts(call_id: str, path: Path, content: object, failed: bool) -> Iterator[ResultText]:
    """Yield the texts of a result, which is one text or a list of parts."""
    if isinstance(content, str):
        yield ResultText(call_id, path, content, failed)
    for number, part in enumerate(_list(content)):
        if isinstance(part, dict):
            text = cast("dict[str, object]", part).get("text")
            if isinstance(text, str):
                yield ResultText(call_id, (*path, number, "text"), text, failed)


def _said(content: object) -> str:
    """Return the text of a message without its results."""
    if isinstance(content, str):
        return content
    texts = (_get(block, "text") for block in _list(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return given
    return "{}" if given is None else json.dumps(given, ensure_ascii=False, default=str)


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _get(value: object, key: str) -> Any:
    """Return a field of a dict, or of a client's object."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)
