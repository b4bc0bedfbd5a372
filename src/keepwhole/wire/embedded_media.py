"""Images, documents and other bytes inside of any JSON that a tool returned, whoever spells them.

Owns: where in JSON base64 is bytes, and what is left of that JSON without them. Nothing here raises.
Must not know: clients, messages. The parts of a provider's messages are read by `media.py`.

    {"type": "image", "file": {"base64": "iVBOR…", "type": "image/png"}}        a file that Claude Code read
    {"output_type": "display_data", "image": {"image_data": "iVBOR…", "media_type": "image/png"}}    a notebook there
    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBOR…"}      an attachment of opencode
    {"type": "resource", "resource": {"uri": "…", "mimeType": "audio/wav", "blob": "UklGR…"}}          MCP

A string under one of these keys is bytes where it is a `data:` URL, or base64 of which a type beside it or its own
first bytes say that it is no text; only the plain alphabet with padding counts, since names may look like the others.
In its place the JSON gets a description, which has the digest under which the bytes are kept: so nothing is lost, and
the same result gives the same text.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from keepwhole.canonical.base64_text import base64_in, is_padded
from keepwhole.canonical.media import TEXT, Media, media_of
from keepwhole.canonical.message import MediaPart
from keepwhole.wire.fields import Json, text_of
from keepwhole.wire.media import decoded

_KEYS = frozenset(("base64", "blob", "data", "file_data", "image_data"))
_URL_KEYS = frozenset(("image_url", "url"))
_TYPES = ("media_type", "mimeType", "mediaType", "mime", "type")
_OCTETS = "application/octet-stream"
_MOST_VALUES = 100_000
"""Values that are looked at; what comes behind them stays as it is."""


class WithoutMedia(NamedTuple):
    """JSON without the bytes that were in it, and these."""

    value: Any
    media: tuple[MediaPart, ...]


def take_out(value: object) -> WithoutMedia:
    """The value with a description in place of each image, document or other bytes; itself where it has none."""
    found: list[MediaPart] = []
    try:
        left = _without(value, found, iter(range(_MOST_VALUES)))
    except RecursionError:
        return WithoutMedia(value, ())
    return WithoutMedia(left if found else value, tuple(found))


def read_data_url(text: str) -> MediaPart | None:
    """The bytes of a text that is one `data:` URL and nothing else; None for any other text, and for text in one."""
    text = text.strip()
    return _part(text, "") if text.startswith("data:") else None


def _without(value: object, found: list[MediaPart], budget: Iterator[int]) -> Any:
    if isinstance(value, str) or next(budget, None) is None:
        return value
    if isinstance(value, list):
        return [_without(each, found, budget) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Json", value)
    return {key: _member(fields, key, found, budget) for key in fields}


def _member(fields: Json, key: str, found: list[MediaPart], budget: Iterator[int]) -> Any:
    value = fields[key]
    if not isinstance(value, str):
        return _without(value, found, budget)
    is_bytes = key in _KEYS or (key in _URL_KEYS and value.startswith("data:"))
    part = _part(value, _declared(fields)) if is_bytes else None
    if part is None:
        return value
    found.append(part)
    return f"[{part.facts.description}]"


def _part(text: str, declared: str) -> MediaPart | None:
    if text.startswith("data:"):
        declared, is_base64, _ = text[5:205].partition(";base64,")
        if not is_base64:
            return None
    data = decoded(text) if text and is_padded(base64_in(text)) else None
    facts = media_of(data, declared) if data else None
    return MediaPart(facts, text, {}) if facts is not None and _is_media(facts, declared) else None


def _is_media(facts: Media, declared: str) -> bool:
    """Whether bytes are no text; where nothing says what they are, somebody must have called them bytes."""
    if facts.media_type.startswith("text/"):
        return False
    return facts.media_type not in (TEXT, _OCTETS) or declared == _OCTETS


def _declared(fields: Json) -> str:
    """The media type that stands beside a string."""
    return next((name for key in _TYPES if "/" in (name := text_of(fields.get(key)))), "")
