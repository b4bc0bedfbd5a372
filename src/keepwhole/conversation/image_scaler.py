"""An image, smaller: the same format, the longer edge at most so many pixels.

Owns: which images can be made smaller, and how. Needs Pillow, the extra `images`.
Must not know: where the image is from, or that the outcome is recorded. Only the record makes it the same for ever:
another Pillow may give other bytes.

Left alone, since None is returned, are images that are small enough, animated ones, formats other than PNG, JPEG and
WebP (a GIF would get other colors), modes whose pixels are no plain colors, images that would not take fewer bytes,
and whatever Pillow cannot read. Images are from anywhere: none of more than `_MOST_PIXELS` is decoded, and no error
comes out of here but that Pillow is missing.
"""

from io import BytesIO
from typing import Any

from keepwhole.canonical.media import image_size
from keepwhole.policies.settings import missing_pillow

_MOST_PIXELS = 36_000_000
"""Pixels of an image that is decoded, at four bytes each: as many as a screen of 8K has."""
_FORMATS = ("PNG", "JPEG", "WEBP")
_MODES = {"1": "L", "L": "L", "LA": "LA", "P": "RGB", "PA": "RGBA", "RGB": "RGB", "RGBA": "RGBA"}
"""The modes of pixels that can be blended, and in which they are."""
_QUALITY = 85
_ORIENTATION = 0x0112


def scaled_down(data: bytes, max_edge: int) -> bytes | None:
    """The image with its longer edge at `max_edge` pixels; None for one that is sent as it came."""
    width, height = image_size(data)
    if max(width, height) <= max_edge or width * height > _MOST_PIXELS or min(width, height) < 1:
        return None
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_pillow() from error
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            written = _written(image, data, max_edge) if image.size == (width, height) else b""
    except Exception:  # whatever a broken or hostile image makes a decoder raise
        return None
    return written if 0 < len(written) < len(data) else None


def _written(image: Any, data: bytes, max_edge: int) -> bytes:
    """The bytes of the smaller image; none where it cannot be made."""
    from PIL import Image

    mode = _MODES.get(image.mode)
    if mode is None or getattr(image, "n_frames", 1) > 1:
        return b""
    if "transparency" in image.info:
        mode = "RGBA"
    width, height = image.size
    scale = max_edge / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    options: dict[str, Any] = {"icc_profile": image.info.get("icc_profile")}
    orientation = image.getexif().get(_ORIENTATION, 1)
    if orientation != 1:  # who shows the image turns it as before
        options["exif"] = Image.Exif()
        options["exif"][_ORIENTATION] = orientation
    if image.format != "PNG":
        options["quality"] = _QUALITY
    if image.format == "WEBP":
        options["lossless"] = data[12:16] == b"VP8L"
    smaller = image.convert(mode).resize(size, Image.Resampling.LANCZOS)
    smaller.info = {}
    out = BytesIO()
    smaller.save(out, image.format, **options)
    return out.getvalue()
