"""Which text is read as base64, of either alphabet, in one line or in several, and how it is written again."""

import base64

import pytest

from keepwhole.canonical.base64_text import (
    FOR_URLS,
    PLAIN,
    base64_in,
    decode_base64,
    decode_base64_start,
    encode_base64,
    encode_base64_like,
    is_data_url,
    is_padded,
    split_data_url,
)

DATA = bytes(range(256))
ENCODED = base64.b64encode(DATA).decode()
FOR_URL = base64.urlsafe_b64encode(DATA).decode()


@pytest.mark.parametrize(
    "text",
    [
        ENCODED,
        ENCODED.rstrip("="),
        FOR_URL,
        FOR_URL.rstrip("="),
        base64.encodebytes(DATA).decode(),
        base64.encodebytes(DATA).decode().replace("\n", "\r\n"),
        f"\n{base64.encodebytes(DATA).decode()}\n",
        "\n".join(FOR_URL[at : at + 64] for at in range(0, len(FOR_URL), 64)),
    ],
)
def test_bytes_are_read_in_every_form_that_encoders_write(text: str) -> None:
    assert decode_base64(text) == DATA


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("YQ", b"a"),
        ("YQ==", b"a"),
        ("YQ=", None),
        ("YWI", b"ab"),
        ("YWJj", b"abc"),
        ("Y", None),
        ("YWJjZ", None),
        ("YQ==YQ==", None),
        ("+/8", b"\xfb\xff"),
        ("-_8", b"\xfb\xff"),
        ("+_8=", None),
        ("-/8=", None),
        ("YW Jj", None),
        ("YWJj\nYWJj\nYQ==", b"abcabca"),
        ("YWJj\nYWJj\nYWJjYWJj", None),
        ("YWJj\nYWJjYWJj\nYWJj", None),
        ("YWJj\nYWJjYW==", None),
        ("YWJj\nYW Jj", None),
        ("YWJjé", None),
        ("YWJ!", None),
    ],
)
def test_only_whole_base64_of_one_alphabet_is_read(text: str, data: bytes | None) -> None:
    assert decode_base64(text) == data


@pytest.mark.parametrize(("most", "size"), [(8, 6), (9, 6), (11, 6), (12, 9), (343, 255), (344, 256), (345, 256)])
def test_the_beginning_is_read_up_to_the_last_whole_group(most: int, size: int) -> None:
    assert decode_base64_start(ENCODED, most) == DATA[:size]


def test_the_beginning_of_lines_is_read_as_well() -> None:
    lines = base64.encodebytes(DATA).decode()
    assert decode_base64_start(lines, 80) == DATA[: 79 // 4 * 3]
    assert decode_base64_start("YQ", 2) == b"a"
    assert decode_base64_start("no!", 100) is None


def test_bytes_are_written_in_one_line_of_the_alphabet_that_is_asked_for() -> None:
    assert encode_base64(DATA) == encode_base64(DATA, PLAIN) == ENCODED
    assert encode_base64(DATA, FOR_URLS) == FOR_URL
    assert encode_base64_like(DATA, "a-b") == encode_base64_like(DATA, "a_b") == FOR_URL
    assert encode_base64_like(DATA, "ab") == encode_base64_like(DATA, "a+/") == ENCODED


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("data:image/png;base64,iVBO", ("image/png", "iVBO")),
        ("DATA:image/png ; BASE64 ,iVBO", ("image/png", "iVBO")),
        ("data:;base64,", ("", "")),
        ('data:text/plain;name="a,b";base64,YQ', ('text/plain;name="a,b"', "YQ")),
        ("data:text/plain,a;base64,YQ", None),
        ("data:image/png,iVBO", None),
        (" data:image/png;base64,iVBO", None),
        ("iVBO", None),
        (f"data:{'x' * 1_987};base64,YQ", ("x" * 1_987, "YQ")),
        (f"data:{'x' * 1_988};base64,YQ", None),
    ],
)
def test_a_data_url_is_split_into_what_it_names_and_its_base64(text: str, head: tuple[str, str] | None) -> None:
    assert split_data_url(text) == head
    assert base64_in(text) == (text if head is None else head[1])


@pytest.mark.parametrize(
    ("text", "is_url"), [("data:x", True), ("DaTa:", True), ("data", False), ("xdata:x", False), ("", False)]
)
def test_a_url_that_holds_what_it_names_is_known_by_its_scheme(text: str, is_url: bool) -> None:
    assert is_data_url(text) is is_url


@pytest.mark.parametrize(
    ("text", "padded"),
    [
        (ENCODED, True),
        (ENCODED[:-1], False),
        (FOR_URL, False),
        (base64.encodebytes(DATA).decode(), True),
        ("YWJj\r\nYWJj\r\n", True),
        ("YWJj\r\nYWJ\r\n", False),
        ("YW Jj YWJj", False),
        ("ab c", False),
        ("ab-c", False),
        ("ab_c", False),
        ("", True),
    ],
)
def test_a_text_may_be_padded_base64_by_its_length(text: str, padded: bool) -> None:
    assert is_padded(text) is padded
