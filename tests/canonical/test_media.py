"""Is a body text, and if not, what is it called?"""

import gzip
import io
import sqlite3
import zipfile
from pathlib import Path

import pytest

from keepwhole.canonical.media import media_type

OUTPUTS = Path(__file__).parents[1] / "outputs"


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "text")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ((OUTPUTS / "gradient.png").read_bytes(), "image/png"),
        (gzip.compress(b"text"), "application/gzip"),
        (zipped(), "application/zip"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"%PDF-1.7\n", "application/pdf"),
        (bytes(range(256)) * 4, "application/octet-stream"),
        (b"\x00" * 100, "application/octet-stream"),
    ],
    ids=["png", "gzip", "zip", "webp", "wav", "pdf", "all bytes", "zeros"],
)
def test_what_is_not_text_is_called_by_its_name(data: bytes, name: str) -> None:
    assert media_type(data) == name


def test_a_database_is_called_by_its_name(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert media_type((tmp_path / "x.db").read_bytes()) == "application/vnd.sqlite3"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain",
        b"\x1b[31mred\x1b[0m\r\n\ttab\f",
        "Grüße, 世界 😀".encode(),
        b"nearly all of it is UTF-8, but for one byte " + b"\xff",
        b"\xef\xbb\xbfwith a byte order mark",
    ],
)
def test_text_is_text_even_with_colours_and_a_few_odd_bytes(data: bytes) -> None:
    assert media_type(data) == "text/plain"


def test_real_tool_output_is_told_apart() -> None:
    binary = {path.name for path in OUTPUTS.iterdir() if media_type(path.read_bytes()) != "text/plain"}
    assert binary == {"gradient.png", "archive.tar"}


def test_a_character_cut_by_the_end_of_the_sample_does_not_make_text_binary() -> None:
    assert media_type("é".encode() * 10_000) == media_type(b"x" + "é".encode() * 10_000) == "text/plain"
