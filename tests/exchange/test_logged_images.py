"""Images in logged requests: a manifest refers to their bytes on record, and gives back exactly what was sent."""

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.manifest import BYTES as BYTE_SPELLINGS
from keepwhole.canonical.manifest import ShownPiece, decode_manifest
from keepwhole.canonical.media import MediaBytes
from keepwhole.config import Settings
from keepwhole.exchange.request_log import RequestLog
from keepwhole.policies.settings import ImageSettings
from keepwhole.store.protocol import Store
from tests.apps.proxy.screenshots import picture_part, screenshot, step_messages
from tests.build import stored_bytes
from tests.promises.test_media import DIALECTS, request
from tests.upstream.pictures import pictures_in
from tests.upstream.spelling import Dialect, Json

WEIGHT = 20_000


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def with_other_last_bits(data: bytes) -> str:
    """Base64 that decodes to the same bytes, and that no encoder writes."""
    text = encoded(data)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    at = len(text.rstrip("=")) - 1
    return text[:at] + alphabet[alphabet.index(text[at]) ^ (1 if "=" in text else 0)] + text[at + 1 :]


EXACT: dict[str, Callable[[bytes], str]] = {
    "plain": lambda data: quoted(encoded(data)),
    "URL": lambda data: quoted(f"data:image/png;base64,{encoded(data)}"),
    "for URLs": lambda data: quoted(base64.urlsafe_b64encode(data).decode()),
    "URL with more": lambda data: quoted(f"data:image/png;name=a.png;base64,{encoded(data)}"),
}
OTHERS: dict[str, Callable[[bytes], str]] = {
    "without padding": lambda data: quoted(encoded(data).rstrip("=")),
    "lines": lambda data: quoted(base64.encodebytes(data).decode()),
    "for URLs without padding": lambda data: quoted(base64.urlsafe_b64encode(data).decode().rstrip("=")),
    "other bits": lambda data: quoted(with_other_last_bits(data)),
    "escaped": lambda data: quoted(encoded(data)).replace("/", "\\/"),
    "escaped letters": lambda data: quoted(encoded(data)).replace("A", "\\u0041"),
    "odd URL": lambda data: quoted(f'data:é"\\;base64,{encoded(data)}'),
    "two": lambda data: quoted(f"data:,data:image/png;base64,{encoded(data)}"),
    "white space": lambda data: quoted(f" {encoded(data)} "),
}
BYTES = st.one_of(
    st.binary(min_size=200, max_size=400),
    st.text(min_size=200, max_size=300).map(str.encode),
    st.sampled_from([bytes(300), b"\xed\xa0\x80" * 100, b"\xff" * 4_001, base64.b64encode(bytes(300))]),
)


def shown(store: Store) -> list[ShownPiece]:
    pieces = (piece for row in store.rows("s", kind="request") for piece in decode_manifest(stored_bytes(store, row)))
    return [piece for piece in pieces if isinstance(piece, ShownPiece)]


@given(BYTES, st.sampled_from([*EXACT, *OTHERS]))
@settings(max_examples=120)
def test_a_request_is_read_byte_for_byte_however_it_spells_bytes_on_record(data: bytes, spelling: str) -> None:
    store = MemoryStore()
    session = Session("s", store=store, settings=Settings(home="unused"))
    session.keep_media("look", {}, [MediaBytes("image/png", data)], call_id="c")
    session.keep("look", {}, "\ud800" * 100, call_id="d")
    own = {**EXACT, **OTHERS}[spelling](data)
    halves = json.dumps("\ud800" * 100)  # as text it has the bytes of one of the drawn bodies
    body = f'{{"model": {halves}, "messages": [{{"role": "user", "content": [{own}, {own}]}}]}}'.encode()
    log = RequestLog(session)
    first, second = log.add(body), log.add(body.replace(b"user", b"system"))
    assert first is not None
    assert second is not None
    assert log.body(first) == body
    assert log.body(second) == body.replace(b"user", b"system")
    assert not session.verify().findings
    if spelling in EXACT:
        assert any(piece.spelling in BYTE_SPELLINGS for piece in shown(store))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_screenshots_are_stored_once(dialect: Dialect, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    session = Session("s", store=store, settings=Settings(home="unused"))
    log, messages = RequestLog(session), list[Json]([{"role": "user", "content": "Look."}])
    sent: dict[str, bytes] = {}
    pictures = [screenshot(number, WEIGHT) for number in range(20)]
    for number, data in enumerate(pictures):
        messages += step_messages(dialect, f"c{number}", "look", {"at": number}, [picture_part(dialect, data)])
        body = session.view(request(dialect, messages))
        name = log.add(body)
        assert name is not None
        sent[name] = body
    logged = sum(len(stored_bytes(store, row)) for row in store.rows("s", kind="request"))
    assert logged < 0.05 * sum(map(len, pictures))
    assert all(log.body(name) == body for name, body in sent.items())
    assert not session.verify().findings
    store.close()


def test_a_request_refers_to_the_smaller_image_that_was_sent(tmp_path: Path) -> None:
    from tests.promises.test_scaled_images import photo

    store = SqliteStore(str(tmp_path))
    session = Session("s", store=store, settings=Settings(home="unused", images=ImageSettings(max_edge=160)))
    messages = step_messages("anthropic", "c", "look", {}, [picture_part("anthropic", photo(1))])
    body = session.view(request("anthropic", messages))
    name = RequestLog(session).add(body)
    (piece,) = shown(store)
    assert (piece.spelling, piece.decision > 0) == ("base64", True)
    assert name is not None
    again = Session("s", store=store, settings=Settings(home="unused"))
    assert RequestLog(again).body(name) == body
    (data,) = (data for _, data in pictures_in(json.loads(body)["messages"]))
    assert len(base64.b64decode(data)) < len(photo(1))
    store.close()


def test_an_image_that_is_forgotten_is_in_no_request_any_more(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    session = Session("s", store=store, settings=Settings(home="unused"))
    data = random.Random(1).randbytes(3_000)
    (artifact,) = session.keep_media("look", {}, [MediaBytes("image/png", data)], call_id="c")
    log = RequestLog(session)
    for spelled in (EXACT["URL"](data), f'"see {encoded(data)}"'):
        assert log.add(f'{{"model": "m", "messages": [{{"role": "user", "content": {spelled}}}]}}'.encode())
    assert session.forget(artifact) == 3
    assert not list(store.rows("s"))
    assert not session.verify().findings
    store.close()
