"""What a body is: text, or an image, a document or other media with its facts.

Owns: the media type by the first bytes; `Media`, the facts of what is no text: size, digest, pixels, pages. All of it
is read from headers, bounded, and nothing raises, whatever the bytes are.
Must not know: how a provider spells an image (`wire/media.py`), what it costs (`models/media_tokens.py`).
"""

import re
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole.canonical.body import digest_of_bytes
from keepwhole.canonical.value import Value

MediaKind: TypeAlias = Literal["image", "document", "audio", "file"]

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x00asm", "application/wasm"),
)
_SAMPLE = 8_192
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\v\b\x1b")
TEXT = "text/plain"
PDF = "application/pdf"
_UNSURE = (TEXT, "application/octet-stream")
_PACKED = ("application/zip", "application/gzip")
"""What the first bytes of many formats say, such as those of office programs."""
_WORDS = ("application/json", "application/xml", "application/yaml", "application/javascript", "image/svg+xml")
_OFFICE = ("application/vnd.o", "application/vnd.ms-", "application/msword", "application/rtf", "application/epub+zip")
URL, FILE_ID = "text/uri-list", "text/x-file-id"
"""Media types of bodies that only say where something is; `kind=…` behind it tells what."""
_NAMED = re.compile(r"[a-z]{1,20}/[\w.+-]{1,80}")
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
"""JPEG's codes of frame headers, and of marks without a length."""
_MOST_SEGMENTS = 512
_PDF_SAMPLE = 16_000_000
_PDF_COUNT = re.compile(rb"/Type\s{0,9}/Pages\b[^>]{0,400}?/Count\s{1,9}(\d{1,6})")
_PDF_PAGE = re.compile(rb"/Type\s{0,9}/Page(?![a-zA-Z])")
_PDF_PAGE_BYTES = 60_000
"""Bytes of a page of a PDF whose structure is compressed, about."""
_MOST_PAGES = 10_000


def media_type(head: bytes) -> str:
    """The media type that the first bytes of a body speak for; `text/plain` unless they clearly do not.

    >>> media_type(b"\\x89PNG\\r\\n\\x1a\\n...")
    'image/png'
    """
    sample = head[:_SAMPLE]
    for magic, name in _MAGIC:
        if sample.startswith(magic):
            return name
    if sample.startswith(b"RIFF") and sample[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if sample[8:12] == b"WEBP" else "audio/wav"
    return "application/octet-stream" if _looks_binary(sample) else TEXT


def _looks_binary(sample: bytes) -> bool:
    """More than a tenth of the sample in control characters and bytes that are no UTF-8."""
    odd = len(sample) - len(sample.translate(None, _CONTROLS))
    if sample.isascii():
        return odd * 10 > len(sample)
    text = sample.decode("utf-8", "surrogateescape")
    odd += len(text) - len(text.encode("utf-8", "ignore").decode())
    return odd * 10 > len(text)


class MediaBytes(NamedTuple):
    """The bytes of an image, a document or the like, and what they are."""

    media_type: str
    data: bytes

    @property
    def kind(self) -> MediaKind:
        """What it is, in one word."""
        return _kind_of(self.media_type)

    @property
    def url(self) -> str | None:
        """The URL behind which the thing itself is, where that is all there is of it."""
        return self.data.decode("utf-8", "surrogatepass") if self.media_type.startswith(URL) else None

    @property
    def file_id(self) -> str | None:
        """The provider's id of the file that it is, where that is all there is of it."""
        return self.data.decode("utf-8", "surrogatepass") if self.media_type.startswith(FILE_ID) else None


class Media(Value):
    """What is known of an image, a document or another body that is no text."""

    media_type: str
    size: int
    """Bytes."""
    digest: bytes
    """The digest under which the body is stored."""
    width: int = 0
    height: int = 0
    """Pixels; 0 where they are not known."""
    pages: int = 0
    """Pages of a document, about; 0 for anything else."""

    @property
    def kind(self) -> MediaKind:
        """What it is, in one word."""
        return _kind_of(self.media_type)

    @property
    def is_reference(self) -> bool:
        """Whether the body is not the thing itself but where it is: a URL, or a provider's id of a file."""
        return self.media_type.startswith((URL, FILE_ID))

    @property
    def looks(self) -> str:
        """Its type, and its size in pixels or pages as far as it is known.

        >>> Media("image/png", 2_048, b"", 1024, 768).looks
        'image/png 1024x768'
        """
        if self.is_reference:
            return f"{self.kind} by {'URL' if self.media_type.startswith(URL) else 'file id'}"
        if self.width and self.height:
            return f"{self.media_type} {self.width}x{self.height}"
        if self.pages:
            return f"{self.media_type} {self.pages} {'page' if self.pages == 1 else 'pages'}"
        return self.media_type

    @property
    def header_fields(self) -> dict[str, Any]:
        """The fields by which the header of an entry says all this."""
        pixels = {"width": self.width or None, "height": self.height or None}
        return {"media_type": self.media_type, **pixels, "pages": self.pages or None}

    @property
    def description(self) -> str:
        """One line by which policies know it: the same for the same bytes, another one for others."""
        return f"{self.looks}, {self.size} bytes, digest {self.digest.hex()}"


def media_of(data: bytes, declared: str = "") -> Media:
    """The facts of a body; `declared` is the type that whoever sent it gives, for bytes that do not say it."""
    found = media_type(data[:_SAMPLE])
    named = declared.partition(";")[0].strip().lower()
    is_told = found in _UNSURE or (found in _PACKED and named.startswith("application/") and named not in _UNSURE)
    kind = named if is_told and _NAMED.fullmatch(named) else found
    width, height = image_size(data) if kind.startswith("image/") else (0, 0)
    pages = page_count(data) if kind == PDF else 0
    return Media(kind, len(data), digest_of_bytes(data), width, height, pages)


def reference_to(kind: MediaKind, place: str, is_url: bool) -> Media:
    """The facts of something that is named by a URL or by a file's id."""
    data = place.encode("utf-8", "surrogatepass")
    return Media(f"{URL if is_url else FILE_ID}; kind={kind}", len(data), digest_of_bytes(data))


def _kind_of(media_type: str) -> MediaKind:
    if media_type.startswith((URL, FILE_ID)):
        named = media_type.rpartition("kind=")[2]
        return named if named in ("image", "document", "audio") else "file"
    if media_type.startswith("image/"):
        return "image"
    if media_type.startswith("audio/"):
        return "audio"
    is_document = media_type == PDF or media_type.startswith(_OFFICE) or (is_words(media_type) and media_type != TEXT)
    return "document" if is_document else "file"


def is_words(media_type: str) -> bool:
    """Whether bytes of this type are meant to be read as text.

    >>> is_words("text/csv"), is_words("image/svg+xml"), is_words("application/pdf")
    (True, True, False)
    """
    return media_type.startswith("text/") or media_type.endswith("+json") or media_type in _WORDS


def image_size(data: bytes) -> tuple[int, int]:
    """Width and height of a PNG, GIF, JPEG or WebP from its header; zeros where that does not say them.

    >>> image_size(b"GIF89a" + bytes([0, 4, 0, 3]))
    (1024, 768)
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return _numbers(data, 16, "big", 4)
    if data.startswith(b"GIF8"):
        return _numbers(data, 6, "little", 2)
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg_size(data)
    return _webp_size(data) if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else (0, 0)


def _numbers(data: bytes, at: int, order: Literal["big", "little"], width: int) -> tuple[int, int]:
    """Two numbers next to each other; zeros where the data ends before."""
    if len(data) < at + 2 * width:
        return 0, 0
    first, second = data[at : at + width], data[at + width : at + 2 * width]
    return int.from_bytes(first, order), int.from_bytes(second, order)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """The size in the frame header, found by stepping over the segments before it."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if data[at : at + 1] != b"\xff" or len(data) < at + 4:
            break
        code, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if code in _FRAMES:
            height, width = _numbers(data, at + 5, "big", 2)
            return width, height
        at += 1 if code == 0xFF else 2 if code in _ALONE else 2 + max(2, length)
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(data) >= 30:
        width, height = _numbers(data, 26, "little", 2)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def page_count(data: bytes) -> int:
    """Pages of a PDF, about: what its page tree says, else its page objects, else a guess by its size; at least 1."""
    looked_at = data[:_PDF_SAMPLE]
    counts = [int(found) for found in _PDF_COUNT.findall(looked_at)]
    pages = max(counts, default=0) or len(_PDF_PAGE.findall(looked_at)) or len(data) // _PDF_PAGE_BYTES
    return min(max(1, pages), _MOST_PAGES)
