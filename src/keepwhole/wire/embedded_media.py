"""Images, documents and other bytes inside of any JSON that a tool returned, whoever spells them.

Owns: where in JSON base64 is bytes, and what is left of that JSON without them. Nothing here raises.
Must not know: clients, messages. The parts of a provider's messages are read by `media.py`.

    {"type": "image", "file": {"base64": "iVBOR…", "type": "image/png"}}        a file that Claude Code read
    {"output_type": "display_data", "image": {"image_data": "iVBOR…", "media_type": "image/png"}}    a notebook there
    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBOR…"}      an attachment of opencode
    {"type": "resource", "resource": {"uri": "…", "mimeType": "audio/wav", "blob": "UklGR…"}}          MCP
    {"output_type": "display_data", "data": {"image/png": "iVBOR…\n", "text/plain": "<Figure>"}}       Jupyter

A string under one of these keys, or under a media type, is bytes where it is a `data:` URL, or base64 of which a type
beside it or its own first bytes say that it is no text; only the plain alphabet with padding counts, since names may
look like the others. A type that is read as text, such as JSON, says so only of bytes that can be, and one that is the
key of none: a table of types has names there.
In its place the JSON gets a description, which has the digest under which the bytes are kept: so nothing is lost, and
the same result gives the same text.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from keepwhole.canonical.base64_text import base64_in, is_data_url, is_padded, split_data_url
from keepwhole.canonical.media import TEXT, Media, is_words, media_of, media_type
from keepwhole.canonical.message import MediaPart
from keepwhole.wire.fields import Json, text_of
from keepwhole.wire.media import decoded

_KEYS = frozenset(("base64", "blob", "data", "file_data", "image_data"))
_URL_KEYS = frozenset(("image_url", "url"))
_TYPES = ("media_type", "mimeType", "mediaType", "mime", "type")
_TYPE = re.compile(r"(?:image|audio|video|application)/[\w.+-]{1,80}", re.ASCII)
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
    return _part(text, "") if is_data_url(text) else None


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
    is_type = _TYPE.fullmatch(key) is not None
    text = _joined(value) if is_type else value
    if not isinstance(text, str):
        return _without(value, found, budget)
    is_bytes = is_type or key in _KEYS or (key in _URL_KEYS and is_data_url(text))
    part = _part(text, "" if is_type else _declared(fields)) if is_bytes else None
    if part is None:
        return value
    found.append(part)
    return f"[{part.facts.description}]"


def _joined(value: object) -> object:
    """The text whose lines a list has, as notebooks are stored; any other value as it is."""
    given = cast("list[object]", value) if isinstance(value, list) else []
    lines = [line for line in given if isinstance(line, str)]
    return "".join(lines) if lines and len(lines) == len(given) else cast("object", value)


def _part(text: str, declared: str) -> MediaPart | None:
    if is_data_url(text):
        inside = split_data_url(text)
        if inside is None:
            return None
        declared = inside[0]
    data = decoded(text) if text and is_padded(base64_in(text)) else None
    facts = media_of(data, declared) if data else None
    return MediaPart(facts, text, {}) if facts is not None and _is_media(data or b"", facts, declared) else None


def _is_media(data: bytes, facts: Media, declared: str) -> bool:
    """Whether bytes are no text; where nothing says what they are, somebody must have called them bytes."""
    if facts.media_type.startswith("text/") or (is_words(facts.media_type) and media_type(data) != TEXT):
        return False
    return facts.media_type not in (TEXT, _OCTETS) or declared == _OCTETS


def _declared(fields: Json) -> str:
    """The media type that stands beside a string."""
    return next((name for key in _TYPES if "/" in (name := text_of(fields.get(key)))), "")
