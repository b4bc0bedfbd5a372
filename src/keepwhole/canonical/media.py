"""Is a body text, and if not, what is it called? Judged by its first bytes alone."""

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
