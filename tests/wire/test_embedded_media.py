"""Bytes inside of any JSON: found in every spelling, taken out without a loss, and nothing else touched."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.media import media_of
from keepwhole.wire.embedded_media import read_data_url, take_out
from tests.canonical.pictures import jpeg, pdf, png

PNG = png(30, 20)
B64 = base64.b64encode(PNG).decode()
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([B64, f"data:image/png;base64,{B64}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "url", "blob", "base64", "type", "mimeType", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "image", "file": {"base64": B64, "type": "image/png"}},
        {"outputs": [{"image": {"image_data": B64, "media_type": "image/png"}}]},
        {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{B64}"},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "image/png", "blob": B64}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": B64}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{B64}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{B64}"},
        {"data": B64},
        {"output_type": "display_data", "data": {"image/png": B64, "text/plain": "<Figure>"}},
    ],
    ids=[
        "Read",
        "notebook",
        "attachment",
        "resource",
        "anthropic",
        "chat",
        "responses",
        "by its first bytes",
        "Jupyter",
    ],
)
def test_an_image_is_found_in_every_spelling(value: Any) -> None:
    left, (part,) = take_out(value)
    assert (part.body(), part.facts.looks) == (PNG, "image/png 30x20")
    assert B64 not in json.dumps(left)
    assert part.facts.digest.hex() in json.dumps(left), "the JSON says which bytes are meant"
    assert json.dumps(left).replace(f"[{part.facts.description}]", "") == _without_bytes(value)


@pytest.mark.parametrize(
    "value",
    [
        {"image_data": f"{B64}\n"},
        {"type": "image", "mimeType": "image/png", "data": base64.encodebytes(PNG).decode()},
        {"data": base64.encodebytes(PNG).decode().replace("\n", "\r\n")},
        {"data": {"image/png": base64.encodebytes(PNG).decode().splitlines(keepends=True)}},
        {"url": f"data:image/png;name=a.png;BASE64,{B64}"},
        {"url": f'data:image/png;name="a, b.png";base64,{B64}'},
    ],
    ids=["line break behind", "lines", "CRLF", "list of lines", "capitals", "comma in a name"],
)
def test_base64_is_found_in_lines_and_behind_any_head_of_a_data_url(value: Any) -> None:
    left, (part,) = take_out(value)
    assert (part.body(), part.facts.looks) == (PNG, "image/png 30x20")
    assert B64[:60] not in json.dumps(left)


def _without_bytes(value: Any) -> str:
    return json.dumps(value).replace(f"data:image/png;base64,{B64}", "").replace(B64, "")


@pytest.mark.parametrize(
    "value",
    [
        {"data": "aGVsbG8gd29ybGQ="},
        {"mimeType": "text/plain", "blob": base64.b64encode(b"words").decode()},
        {"mime": "image/png", "url": "logo/img"},
        {"url": "https://example.org/a.png"},
        {"data": B64[:-1]},
        {"data": "data:image/png,raw"},
        {"content": B64},
        {"image/jpeg": "jpeg", "application/gzip": "gzip"},
        {"image/png": ["png1", "png2"]},
        {"mimeType": "application/json", "data": "true"},
        {"type": "image/svg+xml", "data": "none"},
        [B64, None, 3],
        "plain",
    ],
)
def test_what_is_text_or_cannot_be_read_stays_as_it_is(value: Any) -> None:
    assert take_out(value) == (value, ())


def test_bytes_of_no_known_type_are_bytes_where_somebody_says_so() -> None:
    odd = base64.b64encode(bytes(range(128, 256))).decode()
    assert take_out({"blob": odd}).media == ()
    (part,) = take_out({"blob": odd, "mimeType": "application/octet-stream"}).media
    assert part.body() == bytes(range(128, 256))


def test_a_data_url_alone_is_read_with_the_type_of_its_bytes() -> None:
    part = read_data_url(f" data:application/octet-stream;base64,{B64}\n")
    assert part is not None
    assert (part.facts.media_type, part.body()) == ("image/png", PNG)
    assert read_data_url("data:text/plain;base64,aGVsbG8=") is None
    assert read_data_url(B64) is None


def test_what_is_nested_too_deep_stays_as_it_is() -> None:
    deep: Any = {"data": B64}
    for _ in range(50_000):
        deep = [deep]
    assert take_out(deep).media == ()


@given(JSON)
def test_the_same_value_gives_the_same_and_all_bytes_are_there(value: Any) -> None:
    left, media = take_out(value)
    assert take_out(value) == (left, media)
    assert all(part.body() == PNG for part in media)
    assert json.dumps(left).count(media_of(PNG).digest.hex()) == len(media)
    assert take_out(left).media == (), "what is left has no bytes in it"


@pytest.mark.parametrize(("data", "looks"), [(jpeg(9, 8), "image/jpeg 9x8"), (pdf(2), "application/pdf 2 pages")])
def test_the_bytes_say_what_they_are(data: bytes, looks: str) -> None:
    (part,) = take_out({"type": "image/png", "base64": base64.b64encode(data).decode()}).media
    assert part.facts.looks == looks
