"""What a body's header says of it: pixels and pages, for any bytes, without raising."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.body import BLOCK, digest_of_bytes, measure
from keepwhole.canonical.media import FILE_ID, URL, Media, MediaBytes, image_size, media_of, page_count, reference_to
from tests.canonical.pictures import gif, jpeg, pdf, png, webp


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(1280, 720), "image/png"),
        (jpeg(1280, 720), "image/jpeg"),
        (gif(1280, 720), "image/gif"),
        (webp(1280, 720), "image/webp"),
        (webp(1280, 720, b"VP8L"), "image/webp"),
        (webp(1280, 720, b"VP8 "), "image/webp"),
    ],
)
def test_the_size_of_an_image_is_in_its_header(data: bytes, kind: str) -> None:
    media = media_of(data)
    assert (media.media_type, media.width, media.height) == (kind, 1280, 720)
    assert media.looks == f"{kind} 1280x720"
    assert all(image_size(data[:stop]) in ((0, 0), (1280, 720)) for stop in range(0, min(len(data), 80)))


def test_the_pages_of_a_document_are_counted() -> None:
    assert media_of(pdf(12)).pages == 12
    assert media_of(pdf(1)).looks == "application/pdf 1 page"
    assert page_count(b"%PDF-1.7 " + bytes(600_000)) == 10  # compressed, so by its size
    assert page_count(b"%PDF-1.7 /Type /Pages /Count 999999 ") == 10_000


def test_bytes_that_do_not_say_what_they_are_are_what_the_sender_says() -> None:
    assert media_of(bytes(range(256)), "image/x-canvas").media_type == "image/x-canvas"
    assert media_of(png(4, 4), "image/jpeg").media_type == "image/png"
    assert media_of(b"\0\1\2\3", "no type\n").media_type == "application/octet-stream"


def test_a_reference_says_what_it_refers_to() -> None:
    url, file_id = reference_to("image", "https://x/y.png", True), reference_to("document", "file_1", False)
    assert url.media_type.startswith(URL)
    assert file_id.media_type.startswith(FILE_ID)
    assert (url.kind, url.looks) == ("image", "image by URL")
    assert (file_id.kind, file_id.looks) == ("document", "document by file id")


@given(st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF0000WEBP", b"%PDF-"]), st.binary())
def test_no_bytes_raise(head: bytes, rest: bytes) -> None:
    media = media_of(head + rest)
    assert media.size == len(head + rest)
    assert min(media.width, media.height, media.pages) >= 0


@given(st.integers(0, 3 * BLOCK))
def test_the_digest_is_that_of_the_stored_body(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert digest_of_bytes(data) == measure(data).digest


def segments(*codes: int, length: int = 4) -> bytes:
    """Segments of a JPEG, each with so many bytes after its code."""
    return b"".join(bytes([0xFF, code]) + length.to_bytes(2, "big") + bytes(length - 2) for code in codes)


def frame(code: int = 0xC0) -> bytes:
    """The frame header of a JPEG of 640x480."""
    return bytes([0xFF, code, 0, 17, 8, 1, 224, 2, 128])


@pytest.mark.parametrize(
    ("between", "size"),
    [
        (b"", (640, 480)),
        (segments(0xE0, 0xDB, 0xC4, 0xC8, 0xCC), (640, 480)),
        (segments(0xE1, length=60_000), (640, 480)),
        (b"\xff\xff\xff", (640, 480)),
        (b"\xff\x01\xff\xd0\xff\xd8", (640, 480)),
        (b"\xff\xe0\x00\x00", (640, 480)),
        (b"\x00", (0, 0)),
        (segments(*[0xE0] * 510), (640, 480)),
        (segments(*[0xE0] * 511), (0, 0)),
    ],
)
def test_the_frame_of_a_jpeg_is_found_behind_whatever_segments_are_before_it(
    between: bytes, size: tuple[int, int]
) -> None:
    assert image_size(b"\xff\xd8\xff\xe0\x00\x02" + between + frame()) == size


def test_every_kind_of_frame_has_its_size_in_the_same_place_and_other_codes_have_none() -> None:
    found = {code: image_size(b"\xff\xd8" + frame(code)) for code in range(0xC0, 0xD0)}
    without = {0xC4, 0xC8, 0xCC}
    assert {code for code, size in found.items() if size == (640, 480)} == set(range(0xC0, 0xD0)) - without
    assert image_size(b"\xff\xd8" + frame()[:-1]) == (0, 0)


def test_each_form_of_webp_has_its_size_in_other_bits() -> None:
    head = b"RIFF0000WEBP"
    extended = head + b"VP8X" + bytes(8) + (16_383).to_bytes(3, "little") + (70_000).to_bytes(3, "little")
    lossless = head + b"VP8L" + bytes(5) + (299 | 199 << 14 | 0b1111 << 28).to_bytes(4, "little")
    lossy = head + b"VP8 " + bytes(10) + (300 | 1 << 14).to_bytes(2, "little") + (200 | 3 << 14).to_bytes(2, "little")
    for data, size in ((extended, (16_384, 70_001)), (lossless, (300, 200)), (lossy, (300, 200))):
        assert image_size(data) == image_size(data + b"\xff") == size
        assert image_size(data[:-1]) == (0, 0)


@pytest.mark.parametrize(("data", "size"), [(png(3, 4), (3, 4)), (gif(3, 4), (3, 4))])
def test_a_header_that_is_cut_off_says_no_size(data: bytes, size: tuple[int, int]) -> None:
    end = 24 if data.startswith(b"\x89PNG") else 10
    assert (image_size(data[:end]), image_size(data[: end - 1])) == (size, (0, 0))


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\0" + b"x" * 9, "text/plain"),
        (b"\0" + b"x" * 8, "application/octet-stream"),
        (b"\t\n\r\f\v\b\x1b", "text/plain"),
        (b"\x80" + "é".encode() * 9, "text/plain"),
        (b"\x80" + "é".encode() * 8, "application/octet-stream"),
        (b"x" * 8_192 + bytes(9_000), "text/plain"),
        (b"x" * 8_191 + bytes(9_000), "text/plain"),
        (bytes(820) + b"x" * 7_372, "application/octet-stream"),
        (bytes(820) + b"x" * 7_380, "application/octet-stream"),
        (bytes(819) + b"x" * 7_373, "text/plain"),
        (b"RIFF1234WAVEfmt", "audio/wav"),
        (b"RIFF1234WEBPVP8", "image/webp"),
        (b"RIFF1234AVI LIST", "text/plain"),
        (b"", "text/plain"),
    ],
)
def test_a_body_is_binary_where_more_than_a_tenth_of_its_beginning_is_no_text(data: bytes, media_type: str) -> None:
    assert media_of(data).media_type == media_type


@pytest.mark.parametrize(
    ("declared", "media_type"),
    [
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", None),
        ("application/octet-stream", "application/zip"),
        ("text/plain", "application/zip"),
        ("image/png", "application/zip"),
        ("", "application/zip"),
    ],
)
def test_what_is_packed_is_what_the_sender_says_where_that_is_a_kind_of_file(
    declared: str, media_type: str | None
) -> None:
    assert media_of(b"PK\x03\x04", declared).media_type == (media_type or declared)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/svg+xml", "image"),
        ("audio/mpeg", "audio"),
        ("application/pdf", "document"),
        ("application/msword", "document"),
        ("application/vnd.ms-excel", "document"),
        ("text/csv", "document"),
        ("application/geo+json", "document"),
        ("text/plain", "file"),
        ("application/zip", "file"),
        (f"{URL}; kind=audio", "audio"),
        (f"{FILE_ID}; kind=video", "file"),
    ],
)
def test_what_a_body_is_follows_from_its_type(media_type: str, kind: str) -> None:
    assert Media(media_type, 1, b"").kind == kind
    assert MediaBytes(media_type, b"x").kind == kind


def test_facts_are_told_as_far_as_they_are_known() -> None:
    image, half = Media("image/png", 9, b"\xab", 4, 3), Media("image/png", 9, b"\xab", 4)
    assert (image.looks, half.looks) == ("image/png 4x3", "image/png")
    assert image.header_fields == {"media_type": "image/png", "width": 4, "height": 3, "pages": None}
    assert half.header_fields == {"media_type": "image/png", "width": 4, "height": None, "pages": None}
    assert image.description == "image/png 4x3, 9 bytes, digest ab"
    assert [Media("application/pdf", 9, b"", pages=pages).looks[15:] for pages in (0, 1, 2)] == [
        "",
        " 1 page",
        " 2 pages",
    ]
    place = MediaBytes(f"{URL}; kind=image", b"https://x")
    named = MediaBytes(f"{FILE_ID}; kind=image", b"file_1")
    assert (place.url, place.file_id, named.url, named.file_id) == ("https://x", None, None, "file_1")


@pytest.mark.parametrize(
    ("data", "pages"),
    [
        (b"%PDF- /Type /Page /Type/Page /Type /Pages /Type /Pagelabel", 2),
        (b"%PDF- /Type /Pages /Count 3 /Type /Pages /Kids [] /Count 7 /Type /Page", 7),
        (b"%PDF- /Type /Pages /Count 0 /Type /Page", 1),
        (b"%PDF- " + bytes(59_000), 1),
        (b"%PDF- " + bytes(119_993), 1),
        (b"%PDF- " + bytes(119_994), 2),
    ],
)
def test_a_document_has_the_pages_of_its_tree_or_its_page_objects_or_about_its_size(data: bytes, pages: int) -> None:
    assert page_count(data) == pages


def test_of_a_very_large_document_only_the_beginning_is_read() -> None:
    tree = b"/Type /Pages /Count 3"
    for before, pages in ((16_000_000 - len(tree), 3), (16_000_000 - len(tree) + 1, 266)):
        assert page_count(bytes(before) + tree) == pages
