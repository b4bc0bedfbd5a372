"""Images, documents and audio in messages: every provider's spelling of them, read as facts and bytes.

Owns: where the bytes, the URL or the file id are in a part, and the text part that may take its place.
Must not know: which message a part is in, what becomes of it. Nothing here raises.

    Anthropic   {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR…"}}
                `document` alike; the source may be a `url` or a `file` as well
    Chat        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR…", "detail": "low"}}
                {"type": "input_audio", "input_audio": {"data": "UklGR…", "format": "wav"}}
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBER…", "filename": "a.pdf"}}
    Responses   {"type": "input_image", "image_url": "data:image/png;base64,iVBOR…", "detail": "high"}
                {"type": "input_file", "file_data": "JVBER…"}, or a `file_url`, or a `file_id`
    MCP         {"type": "image", "data": "iVBOR…", "mimeType": "image/png"}, `audio` alike
                {"type": "resource", "resource": {"uri": "…", "mimeType": "application/pdf", "blob": "JVBER…"}}
    Gemini      {"inlineData": {"mimeType": "image/png", "data": "iVBOR…"}}, or `fileData` with a `fileUri`
    Converse    {"image": {"format": "png", "source": {"bytes": "iVBOR…"}}}, or an `s3Location`;
                `document` and `audio` alike
    LangChain   {"type": "image", "base64": "iVBOR…", "mime_type": "image/png"}, or a `url`, or a `file_id`;
                `file` and `audio` alike

What is not base64 (`canonical/base64_text.py`) is not read: such a part is passed on as it came.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.canonical.base64_text import (
    base64_in,
    decode_base64,
    decode_base64_start,
    encode_base64,
    is_data_url,
    split_data_url,
)
from keepwhole.canonical.media import PDF, MediaBytes, MediaKind, media_of, reference_to
from keepwhole.canonical.message import MediaPart, Path
from keepwhole.wire.fields import Json, fields_of, kind_of_part, text_of

_KINDS: dict[str, MediaKind] = {
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot"), "image"),
    **dict.fromkeys(("document", "file", "input_file", "resource"), "document"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
}
"""What a part shows, by its type."""
_UNKNOWN: dict[MediaKind, str] = {"image": "image/unknown", "audio": "audio/unknown"}
"""Media types of bytes that neither they nor whoever sent them name."""
_TEXT_KINDS = {"input_image": "input_text", "input_file": "input_text"}
"""The type of the text part that may take its place, where it is not `text`."""
_INLINE = ("inlineData", "inline_data", "fileData", "file_data")
_CONVERSE: dict[str, MediaKind] = {"image": "image", "document": "document", "audio": "audio", "video": "file"}
"""What a block of Converse shows, by its key."""
_MARKER = "cache_control"
IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The images that all providers take."""
HEAD = 100_000
"""Characters of base64 that are enough to find the size of nearly any image."""


class _Content(NamedTuple):
    """Where the content of a part is: in base64, behind a URL, or in a provider's file."""

    data: str = ""
    """Base64, or a `data:` URL with it."""
    declared: str = ""
    url: str = ""
    file_id: str = ""
    detail: str = ""
    at: Path = ()
    """Where the base64 is in the part."""


def inline_data(part: Json) -> tuple[str, Json] | None:
    """The media of a Gemini part, with the name that they have there; None for any other part."""
    for name in _INLINE:
        inside = fields_of(part.get(name))
        if inside.get("mimeType") or inside.get("mime_type") or "fileUri" in inside or "file_uri" in inside:
            return name, inside
    return None


def converse_media(part: Json) -> tuple[str, Json] | None:
    """The media of a block of Converse, with the key that they have there; None for any other part, for a document of
    texts, and for a video in a bucket, of which next to nothing is in the block."""
    for key in _CONVERSE:
        if key in part:
            inside = fields_of(part[key])
            source = fields_of(inside.get("source"))
            if "bytes" in source or ("s3Location" in source and key != "video"):
                return key, inside
    return None


def _kind_of(part: Json) -> MediaKind | None:
    kind = _KINDS.get(kind_of_part(part))
    if kind is not None or "type" in part:
        return kind
    if (own := converse_media(part)) is not None:
        return _CONVERSE[own[0]]
    found = inline_data(part)
    if found is None:
        return None
    first = _declared(found[1]).partition("/")[0]
    return "image" if first == "image" else "audio" if first == "audio" else "document"


def _declared(inner: Json) -> str:
    return text_of(inner.get("mimeType")) or text_of(inner.get("mime_type"))


def read_media(part: Json) -> MediaPart | None:
    """The image, document or audio that a part is; None for anything else, and for one that cannot be read."""
    kind = _kind_of(part)
    if kind is None:
        return None
    found = _content(part)
    if not found.data:
        place = found.url or found.file_id
        facts = reference_to(kind, place, bool(found.url)) if place else None
        return None if facts is None else MediaPart(facts, place, _text_part(part), found.detail)
    data = decoded(found.data)
    facts = None if data is None else media_of(data, found.declared or _UNKNOWN.get(kind, ""))
    return None if facts is None else MediaPart(facts, found.data, _text_part(part), found.detail, found.at)


def glance(part: Json) -> MediaPart | None:
    """The same for a part that is only counted: of its bytes no more than the first are looked at."""
    kind = _kind_of(part)
    if kind is None:
        return None
    found = _content(part)
    if not found.data:
        return MediaPart(reference_to(kind, found.url or found.file_id, bool(found.url)), "", {}, found.detail)
    text = base64_in(found.data)
    data = decode_base64_start(text, HEAD)
    facts = None if data is None else media_of(data, found.declared or _UNKNOWN.get(kind, ""))
    if facts is not None and len(text) > HEAD:
        facts = facts.replace(size=len(text) * 3 // 4)
    return None if facts is None else MediaPart(facts, "", {}, found.detail)


def decoded(data: str) -> bytes | None:
    """The bytes of base64, or of a `data:` URL with it; None for anything else."""
    return decode_base64(base64_in(data))


def encoded(data: bytes) -> str:
    """The base64 of bytes."""
    return encode_base64(data)


def data_url(media: MediaBytes) -> str:
    """A URL that holds the bytes themselves."""
    return f"data:{media.media_type};base64,{encoded(media.data)}"


def _content(part: Json) -> _Content:
    source = fields_of(part.get("source"))
    if source:
        return _of_source(source)
    if (found := inline_data(part)) is not None and "type" not in part:
        return _of_inline(*found)
    if (own := converse_media(part)) is not None and "type" not in part:
        return _of_block(*own)
    inside = ((fields_of(part.get(name)), (name,)) for name in ("image_url", "input_audio", "file", "resource"))
    inner, path = next(((fields, at) for fields, at in inside if fields), (part, ()))
    detail = text_of(inner.get("detail"))
    declared = _declared(inner) or _audio_type(inner)
    url, key = _first_text(inner, ("url", "image_url", "file_data", "file_url"))
    if is_data_url(url):
        inside = split_data_url(url)
        return _Content() if inside is None else _Content(url, inside[0], detail=detail, at=(*path, key))
    if url and key == "file_data":
        return _Content(url, "application/pdf", detail=detail, at=(*path, key))
    own, key = _first_text(inner, ("data", "base64", "blob"))
    return _Content(own, declared, url, text_of(inner.get("file_id")), detail, (*path, key))


def _first_text(fields: Json, names: Sequence[str]) -> tuple[str, str]:
    """The first of these fields that is a text, and its name."""
    return next(((text, name) for name in names if (text := text_of(fields.get(name)))), ("", ""))


def _of_source(source: Json) -> _Content:
    """Anthropic's sources; text in place of a document is none."""
    kind = kind_of_part(source)
    if kind == "base64":
        return _Content(text_of(source.get("data")), text_of(source.get("media_type")), at=("source", "data"))
    return _Content(url=text_of(source.get("url")), file_id=text_of(source.get("file_id")))


def _of_inline(name: str, inner: Json) -> _Content:
    """Gemini's `inlineData` and `fileData`; an object of its SDK has bytes in place of base64, and is not read."""
    place, _ = _first_text(inner, ("fileUri", "file_uri"))
    return _Content(text_of(inner.get("data")), _declared(inner), url=place, at=(name, "data"))


def _of_block(key: str, inner: Json) -> _Content:
    """Converse's sources; an object of its SDK has bytes in place of base64, and is not read."""
    source = fields_of(inner.get("source"))
    place = text_of(fields_of(source.get("s3Location")).get("uri"))
    name = text_of(inner.get("format"))
    is_named = key != "document" and name.replace("_", "").isalnum()
    declared = f"{key}/{name}" if is_named else PDF if name == "pdf" else ""
    return _Content(text_of(source.get("bytes")), declared, url=place, at=(key, "source", "bytes"))


def _audio_type(inner: Json) -> str:
    name = text_of(inner.get("format"))
    return f"audio/{name}" if name.isalnum() else ""


def _text_part(part: Json) -> Json:
    """The part in which a line of text takes its place, without that text; a cache marker stays where it was."""
    if "type" not in part:
        return {"text": ""}
    kept = {_MARKER: part[_MARKER]} if _MARKER in part else {}
    return {"type": _TEXT_KINDS.get(kind_of_part(part), "text"), "text": "", **kept}
