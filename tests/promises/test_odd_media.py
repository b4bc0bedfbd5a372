"""Media as programs really send them: every form of base64, documents of any type, types that are wrong, broken bytes.

In every dialect nothing is lost, no request becomes invalid, and what is read back can be sent.
"""

import base64
import json
import random
from typing import Any, cast

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.media import MediaBytes
from keepwhole.store.protocol import result_of
from keepwhole.wire.media import HEAD
from tests.apps.proxy.screenshots import step_messages, text_part
from tests.canonical.pictures import gif, jpeg, pdf, png
from tests.promises.conversations import user_message
from tests.promises.dialect_bodies import ALL
from tests.promises.test_media import EAGER, request, sent_messages
from tests.upstream.spelling import Dialect, Json

HASTY = EAGER.replace(auto=EAGER.auto.replace(keep=dict.fromkeys(EAGER.auto.keep, 1)))
"""Only the newest image stays."""
ICON = base64.b64encode(png(40, 30)).decode()
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
NOISE = random.Random(3).randbytes(6_000)
PICTURE = png(900, 700, 1, 2_000)
FORMS = {
    "plain": lambda data: base64.b64encode(data).decode(),
    "without padding": lambda data: base64.b64encode(data).decode().rstrip("="),
    "for URLs": lambda data: base64.urlsafe_b64encode(data).decode(),
    "for URLs, without padding": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    "in lines": lambda data: base64.encodebytes(data).decode(),
    "in lines of Windows": lambda data: base64.encodebytes(data).decode().replace("\n", "\r\n"),
    "a line break behind": lambda data: base64.b64encode(data).decode() + "\n",
}
DATA_URL_HEADS = (
    "data:image/png;charset=utf-8;base64,",
    "data:image/png;name=a.png;base64,",
    'data:image/png;name="a, b.png";base64,',
    f"data:image/png;name={'a' * 300}.png;base64,",
    "data:image/png; base64,",
    "data:image/png;BASE64,",
    "DATA:IMAGE/PNG;base64,",
    "data:;base64,",
)
FILES: dict[str, tuple[str, bytes]] = {
    "an office document": (DOCX, b"PK\x03\x04" + NOISE),
    "a table": ("text/csv", b"name,berth\nIda,14\n" * 400),
    "a text": ("text/plain", b"The berth is 14.\n" * 400),
    "bytes of no known type": ("application/octet-stream", b"\x00\x01" + NOISE),
    "a PDF that says to be an image": ("image/png", pdf(2) + bytes(3_000)),
    "an image that says to be a PDF": ("application/pdf", PICTURE),
    "sound": ("audio/wav", b"RIFF\x00\x00\x00\x00WAVE" + 100 * NOISE),
    "a video": ("video/mp4", b"\x00\x00\x00\x18ftypmp42" + 100 * NOISE),
}
DOCUMENT_FORMATS = {DOCX: "docx", "text/csv": "csv", "text/plain": "txt"}


def part(dialect: Dialect, media_type: str, text: str) -> Json:
    """The part with this base64, as a client of the dialect spells it; of any type in Gemini."""
    is_image = media_type.startswith("image/")
    if dialect == "gemini":
        return {"inlineData": {"mimeType": media_type, "data": text}}
    if dialect == "converse":
        first, _, name = media_type.partition("/")
        kind = first if first in ("image", "audio", "video") else "document"
        ending = name if kind != "document" else DOCUMENT_FORMATS.get(media_type, "pdf")
        return {kind: {"format": ending, "source": {"bytes": text}, **({"name": "x"} if kind == "document" else {})}}
    if dialect == "anthropic":
        source = {"type": "base64", "media_type": media_type, "data": text}
        return {"type": "image" if is_image else "document", "source": source}
    url = f"data:{media_type};base64,{text}"
    if dialect == "openai_chat":
        return (
            {"type": "image_url", "image_url": {"url": url}}
            if is_image
            else {"type": "file", "file": {"file_data": url}}
        )
    return {"type": "input_image", "image_url": url} if is_image else {"type": "input_file", "file_data": url}


def played(dialect: Dialect, one: Json) -> tuple[Session, list[Json], bytes]:
    """A session in which a tool returned this part, and later steps made it age; its messages and its last request."""
    session = Session("s", store=MemoryStore(), settings=HASTY)
    messages: list[Json] = [user_message("Look.", dialect)]
    body = b""
    for number in range(6):
        later = [text_part(dialect, f"step {number} " * 700), part(dialect, "image/png", ICON)]
        parts = later if number else [one]
        messages += step_messages(dialect, f"c{number}", "look", {"at": number}, parts)
        body = session.view(_request(dialect, messages))
    return session, messages, body


def _request(dialect: Dialect, messages: list[Json]) -> bytes:
    if dialect != "gemini":
        return request(dialect, messages)
    return json.dumps({"contents": messages, "tools": [{"functionDeclarations": [{"name": "look"}]}]}).encode()


def _sent(body: bytes) -> list[Json]:
    return json.loads(body)["contents"] if b'"contents"' in body else sent_messages(body)


def base64_of(value: Any) -> set[bytes]:
    """The bytes of every long base64 in messages."""
    if isinstance(value, str):
        text = "".join(value.rpartition(",")[2].splitlines()).replace("-", "+").replace("_", "/")
        try:
            return {base64.b64decode(text + "=" * (-len(text) % 4), validate=True)} if len(text) > 1_000 else set()
        except ValueError:
            return set()
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {data for one in cast("list[Any]", list(inside)) for data in base64_of(one)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", ALL)
def test_an_image_is_kept_in_every_form_of_base64(dialect: Dialect, form: str) -> None:
    session, _, body = played(dialect, part(dialect, "image/png", FORMS[form](PICTURE)))
    results = [result_of(row) for row in session.store.rows("s", kind="result")]
    [result] = [one for one in results if (one.width, one.height) == (900, 700)]
    assert session.recall_bytes(result.trace_id) == PICTURE
    sent = _sent(body)
    assert base64_of(sent) == set(), "it has aged"
    assert base64_of(session.hydrate(sent)) == {PICTURE}


@pytest.mark.parametrize("head", DATA_URL_HEADS)
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses"])
def test_an_image_is_kept_behind_every_head_of_a_data_url(dialect: Dialect, head: str) -> None:
    url = head + FORMS["plain"](PICTURE)
    is_chat = dialect == "openai_chat"
    one: Json = (
        {"type": "image_url", "image_url": {"url": url}} if is_chat else {"type": "input_image", "image_url": url}
    )
    session, _, body = played(dialect, one)
    kept = [session.recall_bytes(result_of(row).trace_id) for row in session.store.rows("s", kind="result")]
    assert PICTURE in kept
    assert base64_of(_sent(body)) == set(), "it has aged"
    assert base64_of(session.hydrate(_sent(body))) == {PICTURE}


@pytest.mark.parametrize("form", FORMS)
def test_an_image_that_is_only_counted_costs_the_same_in_every_form(form: str) -> None:
    photo = png(1_600, 1_200, 1, 90_000)
    messages: list[Json] = [{"role": "user", "content": [part("anthropic", "image/png", FORMS[form](photo))]}]
    tokens = Session("s", store=MemoryStore()).projection(request("anthropic", messages)).account.tokens_whole
    assert len(FORMS[form](photo)) > HEAD
    assert 1_500 < tokens < 1_650


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dialect", ALL)
def test_a_file_of_any_type_is_kept_and_put_back_as_it_came(dialect: Dialect, name: str) -> None:
    media_type, data = FILES[name]
    session, messages, body = played(dialect, part(dialect, media_type, FORMS["plain"](data)))
    sent = _sent(body)
    assert data in [session.recall_bytes(result_of(row).trace_id) for row in session.store.rows("s", kind="result")]
    assert base64_of(sent) == set(), "it has aged"
    whole = session.hydrate(sent)
    assert base64_of(whole) == base64_of(messages) == {data}
    json.dumps(whole, ensure_ascii=False).encode()  # has no halves of characters


@pytest.mark.parametrize("name", ["sound", "a video", "bytes of no known type"])
@pytest.mark.parametrize("dialect", ALL)
def test_bytes_of_no_known_price_are_never_counted_as_text(dialect: Dialect, name: str) -> None:
    media_type, data = FILES[name]
    messages: list[Json] = [user_message("Look.", dialect)]
    messages += step_messages(dialect, "c", "look", {}, [part(dialect, media_type, FORMS["plain"](data))])
    tokens = Session("s", store=MemoryStore()).projection(_request(dialect, messages)).account.tokens_whole
    assert tokens < 3_000, f"{len(data)} bytes"


def test_a_document_of_text_is_read_back_as_text() -> None:
    for name in ("a table", "a text"):
        session, _, body = played("anthropic", part("anthropic", FILES[name][0], FORMS["plain"](FILES[name][1])))
        artifact = body[body.index(b"art_") :].partition(b"]")[0].decode()
        answer = session.call_tool("get_artifact", {"id": artifact, "lines": "2-2"})
        assert FILES[name][1].decode().splitlines()[1] in answer.content


def test_the_type_of_an_office_document_is_the_one_that_it_was_sent_with() -> None:
    session, _, body = played("openai_chat", part("openai_chat", DOCX, FORMS["plain"](FILES["an office document"][1])))
    assert DOCX.encode() in body
    assert DOCX in {result_of(row).media_type for row in session.store.rows("s", kind="result")}


def test_a_document_of_text_is_counted_as_text() -> None:
    data = FORMS["plain"](b"word " * 100_000)
    for dialect in ALL:
        session = Session("s", store=MemoryStore(), settings=EAGER)
        messages = [user_message("Look.", dialect)]
        messages += step_messages(dialect, "c", "look", {}, [part(dialect, "text/plain", data)])
        assert 100_000 <= session.projection(_request(dialect, messages)).account.tokens_whole <= 150_000


@pytest.mark.parametrize(
    "data",
    [b"<html>404</html>", b"\x89PNG\r\n", png(9_000, 1), gif(4, 4), b"", PICTURE[:-30], jpeg(900, 700)[:-2]],
    ids=["page", "cut", "long", "gif", "none", "without its end", "a photo without its end"],
)
def test_only_what_providers_take_is_shown_again(data: bytes) -> None:
    session = Session("s", store=MemoryStore())
    kept = session.keep_media("look", {}, [MediaBytes("image/png", data)], call_id="c")
    call: Json = {"type": "tool_use", "id": "x", "name": "get_artifact", "input": {"id": kept[0]}}
    block = cast("Any", session.answer(call))
    shown = [one for one in block["content"] if one["type"] == "image"] if isinstance(block["content"], list) else []
    assert [one["source"]["media_type"] for one in shown] == (["image/gif"] if data[:3] == b"GIF" else [])
