"""What the dialects have in common below a message: words, texts of results, images, and what is opaque.

Owns: which parts are words, and what the other ones weigh.
Must not know: which part is a call or a result in which dialect.
"""

from collections.abc import Mapping
from typing import Any, cast

from keepwhole.canonical.message import Path, ResultText, Role
from keepwhole.models.tokens import estimate
from keepwhole.wire.as_dict import build, fields_of, kind_of_part, parts_of

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
"""Where sizing stops, so that a value that holds itself ends too."""


def spoken(content: Any) -> tuple[str, int]:
    """The words of a content, joined by line breaks, and the tokens of what is no words."""
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


def results_in(call_id: str, path: Path, content: Any, is_error: bool = False) -> tuple[tuple[ResultText, ...], int]:
    """The texts of a result whose content lies at `path`, and the tokens of what is no text in it."""
    if isinstance(content, str):
        return (build(ResultText, (call_id, path, content, is_error)),), 0
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
            tokens += _sized(cast("dict[str, Any]", found), waiting)
        else:
            waiting += parts_of(found)
            tokens += _sized(fields_of(found), waiting)
    return tokens


def _sized(fields: dict[str, Any], waiting: list[Any]) -> int:
    """The flat price of an image; else nothing yet, and the values that can be read are left to `waiting`."""
    if kind_of_part(fields) not in _MEDIA:
        waiting += [value for key, value in fields.items() if key not in _OPAQUE]
        return 0
    source = fields_of(fields.get("source"))
    if kind_of_part(source) not in ("text", "content"):
        return MEDIA_TOKENS
    waiting += (source.get("data"), source.get("content"))
    return 0
