"""What a body's header says of it: pixels and pages, for any bytes, without raising."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.body import BLOCK, digest_of_bytes, measure
from keepwhole.canonical.media import FILE_ID, URL, image_size, media_of, page_count, reference_to
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
