"""Images in requests, as providers read them: where they are, whether they are images, what they take.

Owns: finding images and checking their bytes, without our code. Must not know: HTTP, prices.
"""

import base64
import binascii
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


def pictures_in(value: Any) -> Iterator[tuple[str, str]]:
    """The media type and the base64 of every image or document in a value."""
    if isinstance(value, list):
        for part in value:
            yield from pictures_in(part)
    elif isinstance(value, dict):
        url = value.get("image_url", value.get("file_data", ""))
        url = url.get("url", "") if isinstance(url, dict) else url
        if value.get("type") in ("image", "document"):
            source = value["source"]
            if source["type"] == "base64":
                yield source["media_type"], source["data"]
        elif isinstance(url, str) and url.startswith("data:"):
            yield url[5:].partition(";")[0], url.partition(",")[2]
        else:
            yield from (found for part in value.values() for found in pictures_in(part))


def wrong_picture(body: Json) -> str:
    """What a provider would refuse of the images of a request; nothing if it would take them."""
    for kind, data in pictures_in(body.get("messages", body.get("input"))):
        try:
            begins = base64.b64decode(data, validate=True)[:16]
        except binascii.Error:
            return "an image is not valid base64"
        if kind not in _BEGINNINGS or not begins.startswith(_BEGINNINGS[kind]):
            return f"an image is not of the type {kind}"
    return ""


def picture_tokens(data: str, patch: int = 28, most: int = 1_568) -> int:
    """What a PNG takes by the patches that it has."""
    head = base64.b64decode(data[:64])
    width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    return min(most, ceil(width / patch) * ceil(height / patch))


def without_pictures(value: Any) -> Any:
    """The same without the bytes of its images."""
    if isinstance(value, list):
        return [without_pictures(part) for part in value]
    if isinstance(value, dict):
        return {key: without_pictures(part) for key, part in value.items()}
    return "" if isinstance(value, str) and (len(value) > 400 and _is_bytes(value)) else value


def _is_bytes(text: str) -> bool:
    return text.startswith(("data:", *_FIRST))


_FIRST = tuple(base64.b64encode(begin).decode()[: len(begin) * 8 // 6] for begin in _BEGINNINGS.values())
