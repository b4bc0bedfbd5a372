"""Images and documents in results, as each dialect spells them: in base64, behind a URL, in a provider's file.

Owns: the spellings, and a few kinds of media to draw from. Must not know: our code.
"""

import base64
import json
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from tests.canonical.pictures import jpeg, pdf, png
from tests.upstream.spelling import Dialect, Json

MediaKind: TypeAlias = Literal[
    "icon", "screenshot", "photo", "jpeg", "document", "image by URL", "document by URL", "file"
]
KINDS: tuple[MediaKind, ...] = (
    *("screenshot", "icon", "photo", "jpeg", "document"),
    *("image by URL", "document by URL", "file"),
)
PDF = "application/pdf"


class Made(NamedTuple):
    """One image or document."""

    media_type: str
    """Empty where it is not here but behind a URL, or in a file of the provider."""
    body: bytes
    """What the record has of it: its bytes, else the URL or the file's id."""


@lru_cache(maxsize=512)
def make_media(kind: MediaKind, seed: int) -> Made:
    """An image or a document; no two seeds give the same."""
    if kind == "icon":
        return Made("image/png", png(64, 48, seed, 40))
    if kind == "screenshot":
        return Made("image/png", png(1280, 800, seed, 600))
    if kind == "photo":
        return Made("image/png", png(1600, 1200, seed, 5_000))
    if kind == "jpeg":
        return Made("image/jpeg", jpeg(1024, 768, 0) + seed.to_bytes(8, "big", signed=True) + b"\xff\xd9")
    if kind == "document":
        return Made(PDF, pdf(3) + b"\n%" + str(seed).encode())
    if kind == "file":
        return Made("", f"file_{seed}".encode())
    name = "1024x768.png" if kind == "image by URL" else "2.pdf"
    return Made("", f"https://pictures.test/{seed}/{name}".encode())


def media_part(dialect: Dialect, kind: MediaKind, seed: int) -> Json:
    """The part of a result that is this image or document."""
    made = make_media(kind, seed)
    is_image = kind not in ("document", "document by URL", "file")
    if dialect == "converse":
        own = {"source": {"bytes": _text(made)}, "format": made.media_type.partition("/")[2]}
        return {"image": own} if is_image else {"document": {**own, "name": f"document {seed}"}}
    if dialect == "gemini":
        return {"inlineData": {"mimeType": made.media_type, "data": _text(made)}}
    if dialect == "anthropic":
        return {"type": "image" if is_image else "document", "source": _source(made, kind)}
    url = f"data:{made.media_type};base64,{_text(made)}" if made.media_type else made.body.decode()
    if dialect == "openai_chat":
        if is_image:
            return {"type": "image_url", "image_url": {"url": url}}
        own = {"file_id": made.body.decode()} if kind == "file" else {"file_data": url, "filename": "a.pdf"}
        return {"type": "file", "file": own}
    if is_image:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    name = "file_id" if kind == "file" else "file_url" if kind == "document by URL" else "file_data"
    return {"type": "input_file", name: url, **({"filename": "a.pdf"} if name == "file_data" else {})}


def kinds_in(dialect: Dialect) -> tuple[MediaKind, ...]:
    """The kinds that a dialect has in the parts of a result; Chat takes no document by its URL, Converse only bytes,
    Gemini has no parts."""
    if dialect == "gemini":
        return ()
    if dialect == "converse":
        return KINDS[:5]
    return tuple(kind for kind in KINDS if dialect != "openai_chat" or kind != "document by URL")


def without_wishes(messages: list[Json]) -> list[Json]:
    """The messages without what is not on record of images and documents: the detail asked for, a file's name."""

    def plain(fields: Json) -> Json:
        known = {key: value for key, value in fields.items() if key not in ("detail", "filename")}
        return {key: value for key, value in known.items() if key != "name" or "source" not in fields}

    return json.loads(json.dumps(messages), object_hook=plain)


def _source(made: Made, kind: MediaKind) -> Json:
    if made.media_type:
        return {"type": "base64", "media_type": made.media_type, "data": _text(made)}
    place = made.body.decode()
    return {"type": "file", "file_id": place} if kind == "file" else {"type": "url", "url": place}


def _text(made: Made) -> str:
    return base64.b64encode(made.body).decode()
