"""An image that is too large is made smaller in its own format; anything else is left as it came, and nothing hurts."""

import random
import sys
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from keepwhole.conversation.image_scaler import scaled_down
from keepwhole.errors import ConfigError
from keepwhole.policies.settings import ImageSettings
from tests.canonical.pictures import gif, jpeg, png, webp


def drawn(format: str, mode: str = "RGB", size: tuple[int, int] = (400, 300), **options: Any) -> bytes:
    """An image of noise, which no encoder makes small."""
    channels = 2 if mode == "I;16" else len(Image.new(mode, (1, 1)).getbands())
    image = Image.frombytes(mode, size, random.Random(1).randbytes(size[0] * size[1] * channels))
    if mode == "P":
        image.putpalette(random.Random(2).randbytes(768))
    out = BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def read(data: bytes | None) -> Image.Image:
    assert data is not None
    image = Image.open(BytesIO(data))
    image.load()
    return image


def turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "a camera"
    return exif


@pytest.mark.parametrize(
    ("data", "format", "mode"),
    [
        (drawn("PNG"), "PNG", "RGB"),
        (drawn("PNG", "RGBA"), "PNG", "RGBA"),
        (drawn("PNG", "LA"), "PNG", "LA"),
        (drawn("PNG", "L"), "PNG", "L"),
        (drawn("PNG", "P", transparency=3), "PNG", "RGBA"),
        (drawn("JPEG"), "JPEG", "RGB"),
        (drawn("JPEG", "L"), "JPEG", "L"),
        (drawn("WEBP"), "WEBP", "RGB"),
        (drawn("WEBP", "RGBA", lossless=True), "WEBP", "RGBA"),
    ],
)
def test_a_large_image_keeps_its_format_and_its_shape(data: bytes, format: str, mode: str) -> None:
    smaller = scaled_down(data, 100)
    image = read(smaller)
    assert (image.format, image.mode, image.size) == (format, mode, (100, 75))
    assert smaller is not None
    assert len(smaller) < len(data)
    assert scaled_down(data, 100) == smaller
    assert scaled_down(smaller, 100) is None


def test_the_way_an_image_is_turned_stays_and_other_facts_of_the_camera_go() -> None:
    exif = read(scaled_down(drawn("JPEG", exif=turned()), 100)).getexif()
    assert dict(exif) == {0x0112: 6}


def test_a_thin_image_keeps_at_least_one_pixel() -> None:
    assert read(scaled_down(drawn("PNG", size=(4, 3_000)), 100)).size == (1, 100)


def frames(format: str) -> bytes:
    images = [Image.new("RGB", (400, 300), color) for color in ("red", "green")]
    out = BytesIO()
    images[0].save(out, format, save_all=True, append_images=images[1:], duration=100)
    return out.getvalue()


LEFT = {
    "small enough": drawn("PNG", size=(100, 40)),
    "animated PNG": frames("PNG"),
    "animated WebP": frames("WEBP"),
    "GIF": drawn("GIF", "L"),
    "GIF's header": gif(400, 300),
    "JPEG's header": jpeg(400, 300, 0),
    "WebP's header": webp(400, 300),
    "truncated": drawn("PNG")[:-5_000],
    "four inks": drawn("JPEG", "CMYK"),
    "16 bits": drawn("PNG", "I;16", (200, 150)),
    "few bytes already": drawn("JPEG", quality=1),
    "no image": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "nothing": b"",
}


@pytest.mark.parametrize("kind", LEFT)
def test_what_cannot_be_made_smaller_is_left_as_it_came(kind: str) -> None:
    assert scaled_down(LEFT[kind], 100 if kind != "few bytes already" else 399) is None


def test_an_image_that_would_fill_the_memory_is_not_even_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(Image, "open", lambda *given, **_: opened.append(given))
    assert scaled_down(png(6_001, 1).replace(b"\0\0\0\1", (6_001).to_bytes(4, "big"), 1), 100) is None
    assert not opened
    assert scaled_down(png(6_000, 1).replace(b"\0\0\0\1", (6_000).to_bytes(4, "big"), 1), 100) is None
    assert opened


def test_damaged_images_raise_nothing() -> None:
    luck = random.Random(5)
    for whole in (drawn("PNG", size=(120, 90)), drawn("JPEG", size=(120, 90), exif=turned()), drawn("WEBP")):
        for _ in range(40):
            data = bytearray(whole)
            for _ in range(luck.randint(1, 8)):
                data[luck.randrange(len(data))] = luck.randrange(256)
            found = scaled_down(bytes(data), 60)
            assert found is None or max(read(found).size) == 60


def test_settings_that_need_pillow_say_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert ImageSettings(max_edge=0).max_edge == 0
    with pytest.raises(ConfigError, match=r"`images\.max_edge` needs Pillow, the extra `images`: `pip install "):
        ImageSettings(max_edge=800)
    with pytest.raises(ConfigError, match="the extra `images`"):
        scaled_down(png(400, 300), 100)
