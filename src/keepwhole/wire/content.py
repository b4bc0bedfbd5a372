"""Messages and their parts as plain values: words, texts and images of results, and what the rest weighs.

Owns: which parts are words, which are results, and the tokens of everything else. Nothing here raises.
Must not know: which part is a call or a result in which dialect.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from keepwhole.canonical.base64_text import split_data_url
from keepwhole.canonical.message import Message, Path, ResultText, Role
from keepwhole.models.media_tokens import FLAT_TOKENS, media_tokens
from keepwhole.models.tokens import estimate
from keepwhole.wire.fields import Json, Wire, fields_of, kind_of_part, parts_of, text_of
from keepwhole.wire.media import converse_media, glance, inline_data, read_media

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
_SIGNED = ("thoughtSignature", "thought_signature", "redactedContent")
_MARKS = ("type", "id", "call_id", "tool_use_id", "toolUseId", "file_id", "status", "caller", "cache_control")
_OPAQUE = frozenset((*_SEALED, *_SIGNED, *_MARKS))
"""Keys whose values are no text for a model, or cannot be read."""
_MOST_VALUES = 20_000
"""Where sizing stops, so that a value that contains itself ends too."""

# A NamedTuple's own constructor is a Python function; `tuple.__new__` is not. Measured (`python -m bench wire`, Python
# 3.11): 0.12 instead of 0.27 µs a value, 15 to 30 % of the time of `decode_message`, which runs for every message.
build = cast("Callable[[Any, tuple[Any, ...]], Any]", tuple.__new__)  # pyright: ignore[reportUnknownMemberType]
"""`build(Message, (…))` is `Message(…)`, faster; every field must be given."""


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
    """The texts, images and documents of a result whose content is at `path`, and the tokens of its other parts."""
    if isinstance(content, str):
        return (build(ResultText, (call_id, path, content, is_error, None, "", "", None, None, None)),), 0
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
        elif (one := _media_result(call_id, (*path, at), fields, is_error)) is not None:
            found.append(one)
        else:
            other += size_of(fields)
    return tuple(found), other


def _media_result(call_id: str, path: Path, part: Json, is_error: bool) -> ResultText | None:
    """The image or document that a part is; the text of a document that is given as text; None for anything else."""
    media = read_media(part)
    if media is not None:
        return ResultText(call_id, path, media.facts.description, is_error, media)
    source = fields_of(part.get("source"))
    text = source.get("data") if kind_of_part(source) == "text" else None
    return ResultText(call_id, (*path, "source", "data"), text, is_error) if isinstance(text, str) else None


def size_of(value: object) -> int:
    """Tokens of what can be read in a value, and of each image or document in it."""
    tokens = 0
    waiting: list[Any] = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            break
        found = waiting.pop()
        if isinstance(found, str):
            tokens += 0 if split_data_url(found) else estimate(found)
        elif isinstance(found, dict):
            tokens += _sized(cast("Json", found), waiting)
        else:
            waiting += parts_of(found)
            tokens += _sized(fields_of(found), waiting)
    return tokens


def _sized(fields: Json, waiting: list[Any]) -> int:
    """The tokens of an image; for anything else 0, and the values that can be read are added to `waiting`."""
    if kind_of_part(fields) not in _MEDIA and inline_data(fields) is None and converse_media(fields) is None:
        waiting += [value for key, value in fields.items() if key not in _OPAQUE]
        return 0
    source = fields_of(fields.get("source"))
    if kind_of_part(source) not in ("text", "content"):
        media = glance(fields)
        return FLAT_TOKENS if media is None else media_tokens(media.facts, detail=media.detail)
    waiting += (source.get("data"), source.get("content"))
    return 0


def count_in(fields: Json, *names: str) -> int | None:
    """The first of these fields that is a number of tokens."""
    return next((value for name in names if type(value := fields.get(name)) is int and value >= 0), None)
