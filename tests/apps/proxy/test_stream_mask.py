"""A key that a stream splits over events is not recorded, wherever it is split and however the stream ends."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, config
from keepwhole.apps.proxy.credentials import Credential, CredentialMask
from keepwhole.exchange.request_log import RequestLog
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.proxy.proxy_server import PATHS, ask, proxy, request
from tests.upstream.answer import Answer
from tests.upstream.server import upstream
from tests.upstream.spelling import Text, Tool, event

KEY = 'sk-CANARY/0123456789+"x"=='
"""With characters that JSON and addresses spell in other ways."""
SHORTEST = 8
"""Fewer characters of a key in a row may be recorded."""
MASK = CredentialMask([Credential("authorization", f"Bearer {KEY}")])
Spell = Callable[[str, int], bytes]


def anthropic(piece: str, index: int) -> bytes:
    delta = {"type": "text_delta", "text": piece}
    return event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})


def arguments(piece: str, index: int) -> bytes:
    delta = {"type": "input_json_delta", "partial_json": piece}
    return event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})


def chat(piece: str, index: int) -> bytes:
    return event("", {"id": "c", "choices": [{"index": index, "delta": {"content": piece}, "finish_reason": None}]})


def chat_call(piece: str, index: int) -> bytes:
    called = {"index": index, "function": {"arguments": piece}}
    return event("", {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [called]}}]})


def responses(piece: str, index: int) -> bytes:
    where = {"output_index": 0, "item_id": f"m{index}", "content_index": 0, "sequence_number": random.randrange(9**9)}
    return event("response.output_text.delta", {"type": "response.output_text.delta", **where, "delta": piece})


def plain(piece: str, index: int) -> bytes:
    return f"data: {piece}\n\n".encode()


SPELLED: dict[str, Spell] = {each.__name__: each for each in (anthropic, arguments, chat, chat_call, responses, plain)}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from strings(each) if key not in ("type", "id", "item_id") else ()


def said(stream: bytes) -> str:
    """The texts of all events, joined."""
    found = ""
    for block in stream.decode().split("\n\n"):
        for line in block.split("\n"):
            data = line.removeprefix("data: ")
            if data == line:
                continue
            found += "".join(strings(json.loads(data))) if data.startswith("{") else data
    return found


def split_at(text: str, places: Sequence[int]) -> list[str]:
    return [text[start:stop] for start, stop in pairwise([0, *places, len(text)])]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_key_split_at_any_place_is_hidden_and_nothing_else(spelled: str) -> None:
    spell = SPELLED[spelled]
    text = f"your key {KEY} is wrong"
    for at in range(9, 10 + len(KEY)):
        pieces = split_at(text, [at])
        stream = b"".join(spell(piece, 0) for piece in pieces) + b"data: [DONE]\n\n"
        recorded = MASK(stream, is_stream=True)
        assert said(recorded) == "your key [redacted] is wrong[DONE]", at
        assert recorded.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_key_in_any_number_of_pieces_is_hidden(spelled: str) -> None:
    spell, chance = SPELLED[spelled], random.Random(spelled)
    text = f"first {KEY}, then {KEY}."
    ways = [sorted(chance.sample(range(1, len(text)), chance.randrange(2, 20))) for _ in range(100)]
    for places in [list(range(1, len(text))), *ways]:
        recorded = MASK(b"".join(spell(piece, 0) for piece in split_at(text, places)), is_stream=True)
        assert said(recorded).count("[redacted]") == 2, places
        assert not [at for at in range(len(KEY) - SHORTEST) if KEY[at : at + SHORTEST] in said(recorded)], places


@pytest.mark.parametrize("spelled", sorted(SPELLED.keys() - {"plain"}))
def test_texts_that_come_in_turns_are_told_apart(spelled: str) -> None:
    spell = SPELLED[spelled]
    turns = zip(split_at(f"a {KEY} b", [8, 15]), ("one ", "two ", "three"), strict=True)
    stream = b"".join(spell(ours, 0) + spell(other, 1) for ours, other in turns)
    recorded = said(MASK(stream, is_stream=True))
    assert "".join(word in recorded and word for word in ("one ", "two ", "three")) == "one two three"
    assert not [at for at in range(len(KEY) - 4) if KEY[at : at + 5] in recorded]


def test_a_text_that_goes_on_in_the_next_block_is_one() -> None:
    stream = anthropic(f"a {KEY[:9]}", 0) + anthropic(f"{KEY[9:]} b", 1)
    assert said(MASK(stream, is_stream=True)) == "a [redacted] b"


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_stream_that_breaks_off_anywhere_tells_no_more_than_a_few_characters(spelled: str) -> None:
    spell = SPELLED[spelled]
    for at in (1, 3, 7, 8, 15, len(KEY) - 1):
        first, second = spell(KEY[:at], 0), spell(f"{KEY[at:]}.", 0)
        for end in range(len(second) + 1):
            recorded = MASK(first + second[:end], is_stream=True).decode("utf-8", "replace")
            told = _told_of(KEY[at:], second[:end].decode("utf-8", "replace"))
            is_recorded = first.decode() in recorded and second[:end].decode("utf-8", "replace") in recorded
            assert not (is_recorded and told and at + told >= SHORTEST), (at, end, recorded)


def _told_of(rest: str, event: str) -> int:
    """How many characters of the beginning of `rest` a cut event has, as they are or as JSON spells them."""
    sizes = range(len(rest), 0, -1)
    return next((size for size in sizes if rest[:size] in event or json.dumps(rest[:size])[1:-1] in event), 0)


@pytest.mark.parametrize("spelled", sorted(SPELLED.keys() - {"plain"}))
def test_escapes_that_nobody_needs_hide_nothing(spelled: str) -> None:
    stream = b"".join(SPELLED[spelled](piece, 0) for piece in split_at(f"a {KEY} b", [3, 6, 20]))
    assert said(MASK(stream.replace(b"-", b"\\u002d"), is_stream=True)) == "a [redacted] b"


def test_a_stream_without_a_key_keeps_its_bytes() -> None:
    stream = b": ping\r\n\r\n" + anthropic("s", 0) + b'id: 4\ndata:{"a" : 1.50}\n\n' + chat("k-", 0) + b'data: {"cut'
    assert MASK(stream, is_stream=True) == stream


def test_without_the_rule_for_streams_a_split_key_would_be_recorded() -> None:
    """A negative control."""
    stream = anthropic(KEY[:12], 0) + anthropic(KEY[12:], 0)
    assert KEY in said(MASK(stream))


OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
SAYS: dict[str, list[Any]] = {
    "an answer": [Text(KEY)],
    "a call": [Tool("work", {"key": KEY})],
    "a hidden round": [Text(KEY), OURS],
}


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("way", SAYS)
@pytest.mark.parametrize("piece", [None, 1, 7])
def test_no_file_has_a_key_that_an_upstream_repeats_in_a_stream(
    way: str, dialect: str, piece: int | None, tmp_path: Path
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        is_later = "get_artifact" in json.dumps(body.get("messages") or body["input"])
        return Answer([Text(f"Done. {KEY}")] if is_later else SAYS[way], piece=piece)

    headers: Any = {"authorization": f"Bearer {KEY}", "x-keepwhole-session": "s"}
    settings = config.load().replace(home=str(tmp_path), session_quota=1 << 30)
    store = SqliteStore(str(tmp_path))
    with upstream(answer) as served, closing(store):
        with proxy(served.url, store=store, settings=settings) as running:
            heard = ask(running.port, PATHS[dialect], request(dialect, True), headers)
            assert heard.status == 200
            running.rest()
        recorded = b"".join(_recorded(store))
    assert b"[redacted]" in recorded
    for part in (KEY, json.dumps(KEY)[1:-1], KEY[3:], KEY[4:20]):
        assert part.encode() not in recorded
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and part.encode() in path.read_bytes()]


def _recorded(store: SqliteStore) -> Iterator[bytes]:
    """All answers, all requests and all notes of the record."""
    for info in store.sessions():
        with Session(info.name, store=store) as session:
            log = RequestLog(session)
            for each in log.all():
                yield log.body(each.request.trace_id)
                if each.response:
                    yield log.response(each.request.trace_id)
            for row in store.rows(info.name, kind="result"):
                yield str(row.header).encode()


@pytest.mark.parametrize(
    ("secret", "is_hidden"),
    [("k3yk3yk3", True), ("k3yk3yk", False), ("onlyletterslikea", True), ("onlyletterslike", False)],
)
def test_a_credential_is_hidden_from_eight_characters_on_or_sixteen_without_a_digit(
    secret: str, is_hidden: bool
) -> None:
    mask = CredentialMask([Credential("x-api-key", secret)])
    assert (secret.encode() not in mask(b'{"echo": "' + secret.encode() + b'"}')) == is_hidden


def test_a_credential_that_breaks_off_is_hidden_as_far_as_it_tells_something() -> None:
    mask = CredentialMask([Credential("x-api-key", "s3cret-of-somebody")])
    assert b"s3cret-o" not in mask(b"it was s3cret-o")
    assert mask(b"it was s3cret-") == b"it was s3cret-"
