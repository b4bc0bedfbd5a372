"""Images in requests, as providers read them: where they are, whether they are images, what they take.

Owns: finding images and checking their bytes, without our code. Must not know: HTTP, prices.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from math import ceil
from typing import Any

from tests.upstream.spelling import Json

_BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}
_MEDIA = ("image", "document", "image_url", "file", "input_image", "input_file")
_PAGE = 2_250
"""Tokens of a page: Anthropic says 1,500 to 3,000."""


def pictures_in(value: Any) -> Iterator[tuple[str, str]]:
    """The media type and the base64 of every image or document in a value."""
    if isinstance(value, list):
        for part in value:
            yield from pictures_in(part)
    elif isinstance(value, dict):
        url = value.get("image_url", value.get("file_data", ""))
        url = url.get("url", "") if isinstance(url, dict) else url
        if (own := _block_of_converse(value)) is not None:
            yield own
        elif value.get("type") in ("image", "document"):
            source = value["source"]
            if source["type"] == "base64":
                yield source["media_type"], source["data"]
        elif isinstance(url, str) and url.startswith("data:"):
            yield url[5:].partition(";")[0], url.partition(",")[2]
        elif isinstance(inline := value.get("inlineData", value.get("inline_data")), dict):
            # Google's own SDK writes names beside a response and base64 so; Gemini takes both spellings.
            kind = inline.get("mimeType") or inline["mime_type"]
            if not kind.startswith("text/"):
                yield kind, inline["data"].replace("-", "+").replace("_", "/")
        else:
            yield from (found for part in value.values() for found in pictures_in(part))


def _block_of_converse(value: Json) -> tuple[str, str] | None:
    kind = next((kind for kind in ("image", "document") if isinstance(value.get(kind), dict)), None)
    inside = value[kind] if kind else {}
    data = inside.get("source", {}).get("bytes")
    return None if data is None else (f"{'image' if kind == 'image' else 'application'}/{inside['format']}", data)


def wrong_picture(body: Json) -> str:
    """What a provider would refuse of the images of a request; nothing if it would take them."""
    for kind, data in pictures_in(body.get("messages", body.get("input", body.get("contents")))):
        try:
            begins = base64.b64decode(data, validate=True)[:16]
        except binascii.Error:
            return "an image is not valid base64"
        if kind not in _BEGINNINGS or not begins.startswith(_BEGINNINGS[kind]):
            return f"an image is not of the type {kind}"
    return ""


def links_in(value: Any) -> Iterator[str]:
    """The URL or the file id of every image or document that is not in the request itself."""
    if isinstance(value, list):
        for part in value:
            yield from links_in(part)
    elif isinstance(value, dict) and value.get("type") in _MEDIA:
        inner = next(
            (value[name] for name in ("source", "image_url", "file") if isinstance(value.get(name), dict)), value
        )
        places = [inner.get(name) for name in ("url", "image_url", "file_url", "file_id")]
        yield from (place for place in places if isinstance(place, str) and not place.startswith("data:"))
    elif isinstance(value, dict):
        yield from (found for part in value.values() for found in links_in(part))


def media_tokens(value: Any) -> int:
    """What the images and documents of a value take: an image by its patches, a document by its pages."""
    inside = sum(_data_tokens(kind, data) for kind, data in pictures_in(value))
    return inside + sum(_link_tokens(place) for place in links_in(value))


def _data_tokens(kind: str, data: str) -> int:
    whole = base64.b64decode(data)
    if kind == "application/pdf":
        return _PAGE * whole.count(b"/Type/Page/")
    if kind == "image/jpeg":
        at = max(whole.find(b"\xff\xc0"), whole.find(b"\xff\xc2"))
        return _patches(int.from_bytes(whole[at + 7 : at + 9], "big"), int.from_bytes(whole[at + 5 : at + 7], "big"))
    return _patches(int.from_bytes(whole[16:20], "big"), int.from_bytes(whole[20:24], "big"))


def _link_tokens(place: str) -> int:
    """What is behind a link: of an image the pixels, of a document the pages, as its name says."""
    pixels, pages = re.search(r"(\d+)x(\d+)\.", place), re.search(r"(\d+)\.pdf", place)
    return _patches(int(pixels[1]), int(pixels[2])) if pixels else _PAGE * int(pages[1]) if pages else 1_800


def _patches(width: int, height: int, patch: int = 28, most: int = 1_568) -> int:
    return min(most, ceil(width / patch) * ceil(height / patch))


def without_pictures(value: Any) -> Any:
    """The same without the bytes of its images."""
    if isinstance(value, list):
        return [without_pictures(part) for part in value]
    if isinstance(value, dict):
        return {key: without_pictures(part) for key, part in value.items()}
    return "" if isinstance(value, str) and (len(value) > 100 and _is_bytes(value)) else value


def _is_bytes(text: str) -> bool:
    return text.startswith(("data:", *_FIRST))


_FIRST = tuple(base64.b64encode(begin).decode()[: len(begin) * 8 // 6] for begin in _BEGINNINGS.values())
