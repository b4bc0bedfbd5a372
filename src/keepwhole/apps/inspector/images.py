"""Images on the page: which of them a browser is given to display, and what is said of any that is no text.

Owns: the types that a browser displays, and how large one may be.
Must not know: sockets, how the page lays an image out.

Only raster images are displayed, whose header was read when they came: what a tool returned as an image may be
anything. An SVG is a document with scripts in it, so it is a download like every other body.
"""

from typing import Any

from keepwhole.canonical.entry import Result
from keepwhole.canonical.media import TEXT, Media
from keepwhole.models.media_tokens import media_tokens
from keepwhole.wire.media import IMAGE_TYPES

_MOST_BYTES = 20_000_000
_MOST_PIXELS = 50_000_000
"""A small file may unfold to many pixels."""


def is_displayed(result: Result, size: int) -> bool:
    """Whether a browser displays a result as an image."""
    pixels = (result.width or 0) * (result.height or 0)
    return result.media_type in IMAGE_TYPES and 0 < pixels <= _MOST_PIXELS and size <= _MOST_BYTES


def media_fields(result: Result, size: int, digest: bytes) -> dict[str, Any] | None:
    """What the page says of an image, a document or other bytes; None for a text."""
    if result.media_type == TEXT:
        return None
    facts = Media(result.media_type, size, digest, result.width or 0, result.height or 0, result.pages or 0)
    return {
        "media_type": result.media_type,
        "looks": facts.looks,
        "size": size,
        "width": result.width,
        "height": result.height,
        "pages": result.pages,
        "tokens": media_tokens(facts),
        "is_displayed": is_displayed(result, size),
    }
