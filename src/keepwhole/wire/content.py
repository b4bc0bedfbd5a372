"""Messages and their parts as plain values: fields, parts, words, texts of results, and what the rest weighs.

Owns: reading dicts, other mappings and objects of an SDK alike, which parts are words, and the tokens of images and of
what is opaque. Nothing here raises.
Must not know: which part is a call or a result in which dialect.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from keepwhole.canonical.message import Message, Path, ResultText, Role
from keepwhole.models.tokens import estimate

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
Wire: TypeAlias = Mapping[str, Any]
"""A message, an input item or a block as it is sent."""

MEDIA_TOKENS = 1_500
"""About what an image or a document costs; their base64 says nothing of it."""

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}

WORDS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Types of parts that are words, with the key the words are under."""
_IMAGES = ("image", "image_url", "input_image", "image_file", "image_generation_call", "computer_screenshot")
_FILES = ("document", "file", "input_file", "input_audio", "audio", "video_url", "container_upload")
_MEDIA = frozenset((*_IMAGES, *_FILES))
_SEALED = ("data", "file_data", "signature", "encrypted_content", "encrypted_index", "encrypted_stdout", "fingerprint")
_MARKS = ("type", "id", "call_id", "tool_use_id", "file_id", "status", "caller", "cache_control")
_OPAQUE = frozenset((*_SEALED, *_MARKS))
"""Keys whose values are no text for a model, or cannot be read."""
_MOST_VALUES = 20_000
"""Where sizing stops, so that a value that contains itself ends too."""

_OF_MESSAGES = ("role", "type", "content", "tool_calls", "tool_call_id", "function", "custom", "text", "refusal")
_OF_CALLS = ("id", "call_id", "tool_use_id", "name", "namespace", "arguments", "input", "action", "operation")
_OF_RESULTS = ("output", "is_error", "status", "outcome", "exit_code", "stdout", "stderr")
_NAMES = (*_OF_MESSAGES, *_OF_CALLS, *_OF_RESULTS)
"""Attributes that are read from an object besides its `__dict__`; it may have them as properties or in slots."""

# A NamedTuple's own constructor is a Python function; `tuple.__new__` is not. Measured (`python -m bench wire`, Python
# 3.11): 0.12 instead of 0.27 µs a value, 15 to 30 % of the time of `decode_message`, which runs for every message.
build = cast("Callable[[Any, tuple[Any, ...]], Any]", tuple.__new__)  # pyright: ignore[reportUnknownMemberType]
"""`build(Message, (…))` is `Message(…)`, faster; every field must be given."""


def fields_of(value: Any) -> Json:
    """A dict, another mapping or an object of an SDK as a dict, one level deep; empty for anything else."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, str | bytes | int | float | list | tuple):
        return {}
    try:
        return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else _attributes(value)
    except Exception:  # whatever a foreign object raises, it is one that cannot be understood
        return {}


def _attributes(value: Any) -> Json:
    own: Json = {**getattr(value, "__dict__", {}), **(getattr(value, "__pydantic_extra__", None) or {})}
    known = {name: found for name, found in own.items() if found is not None and not name.startswith("_")}
    asked = {name: found for name in _NAMES if (found := getattr(value, name, None)) is not None}
    return known | asked


def field_of(value: object, key: str) -> Any:
    """One field of a mapping or of an SDK's object; None where it has none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)


def parts_of(content: Any) -> list[Any]:
    """The parts of a content that is a list; an iterator would be used up by reading it, so it has none."""
    if isinstance(content, list):
        return content  # pyright: ignore[reportUnknownVariableType]
    return list(cast("tuple[Any, ...]", content)) if isinstance(content, tuple) else []


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def kind_of_part(part: Wire) -> str:
    """The `type` of a part or an item; empty if it has none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def role_of(message: Wire) -> Role:
    """Who speaks in a message; `other` where that is not known."""
    role = message.get("role")
    return ROLES.get(role, "other") if isinstance(role, str) else "other"


def blocks_of(message: Wire) -> list[Json]:
    """The content blocks of a message as dicts; none where its content is plain text."""
    return [fields_of(block) for block in parts_of(message.get("content"))]


def contents(message: Wire) -> list[Any]:
    """The content of a message as blocks, plain text as one of them; a new list of the same blocks."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(parts_of(content))


def words_in(message: Wire) -> str:
    """The text in the blocks of a message, or in an item itself, without white space."""
    blocks = map(fields_of, contents(message)) if "role" in message else (message,)
    return "".join("".join(text_of(block.get("text")).split()) for block in blocks)


def json_text(value: object) -> str:
    """A call's arguments as JSON text; a text is taken to be that already."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else "".join(_encode(value, 0))
    except Exception:  # a cycle, names that are no strings, or whatever a foreign object raises
        return ""


def _as_plain(value: object) -> object:
    return fields_of(value) or str(value)


def _encoder() -> Callable[[Any, int], Iterable[str]]:
    """The pieces that `JSONEncoder.encode` joins, without the C encoder that it makes anew for each call.

    Measured (Python 3.11): 0.6 instead of 1.4 µs for the arguments of a call, 15 to 25 % of the time of decoding an
    Anthropic conversation, whose arguments are objects. `c_make_encoder` is private, so without it, or with other
    parameters, the public encoder does the same more slowly.
    """
    try:
        make = cast("Callable[..., Callable[[Any, int], Iterable[str]]]", vars(json.encoder)["c_make_encoder"])
        return make(None, _as_plain, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
    except (KeyError, TypeError):
        slow = json.JSONEncoder(ensure_ascii=False, default=_as_plain)
        return lambda value, _: slow.iterencode(value)


_encode = _encoder()


def spoken(content: Any) -> tuple[str, int]:
    """The words of a content, joined by line breaks, and the tokens of its other parts."""
    if isinstance(content, str):
        return content, 0
    words: list[str] = []
    other = 0
    for part in parts_of(content):
        if isinstance(part, str):
            words.append(part)
            continue
        fields = fields_of(part)
        text = fields.get(WORDS.get(kind_of_part(fields), ""))
        if isinstance(text, str):
            words.append(text)
        else:
            other += size_of(fields)
    return "\n".join(words), other


def decode_plain(message: Json) -> Message:
    """The meaning of a message without calls and results, as all dialects have them; one that is not understood has
    the role `other`."""
    role = message.get("role")
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return Message("other", other=size_of(message.get("content")))
    said, other = spoken(message.get("content"))
    return build(Message, (known, said, (), (), other, False))


def results_in(call_id: str, path: Path, content: Any, is_error: bool = False) -> tuple[tuple[ResultText, ...], int]:
    """The texts of a result whose content is at `path`, and the tokens of its other parts."""
    if isinstance(content, str):
        return (build(ResultText, (call_id, path, content, is_error, "", "", None)),), 0
    found: list[ResultText] = []
    other = 0
    for at, part in enumerate(parts_of(content)):
        if isinstance(part, str):
            found.append(ResultText(call_id, (*path, at), part, is_error))
            continue
        fields = fields_of(part)
        key = WORDS.get(kind_of_part(fields), "")
        text = fields.get(key)
        if isinstance(text, str):
            found.append(ResultText(call_id, (*path, at, key), text, is_error))
        else:
            other += size_of(fields)
    return tuple(found), other


def size_of(value: object) -> int:
    """Tokens of what can be read in a value, plus a flat price for each image or document."""
    tokens = 0
    waiting: list[Any] = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            break
        found = waiting.pop()
        if isinstance(found, str):
            tokens += 0 if found.startswith("data:") else estimate(found)
        elif isinstance(found, dict):
            tokens += _sized(cast("Json", found), waiting)
        else:
            waiting += parts_of(found)
            tokens += _sized(fields_of(found), waiting)
    return tokens


def _sized(fields: Json, waiting: list[Any]) -> int:
    """The flat price of an image; for anything else 0, and the values that can be read are added to `waiting`."""
    if kind_of_part(fields) not in _MEDIA:
        waiting += [value for key, value in fields.items() if key not in _OPAQUE]
        return 0
    source = fields_of(fields.get("source"))
    if kind_of_part(source) not in ("text", "content"):
        return MEDIA_TOKENS
    waiting += (source.get("data"), source.get("content"))
    return 0


def count_in(fields: Json, *names: str) -> int | None:
    """The first of these fields that is a number of tokens."""
    return next((value for name in names if type(value := fields.get(name)) is int and value >= 0), None)
