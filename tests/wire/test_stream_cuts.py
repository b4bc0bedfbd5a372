"""Streams of every dialect, cut at any byte: the client gets the same, wherever a network breaks them in two.

By default one of eleven bytes is tried; eleven has no factor in common with the length of what repeats in a stream.
"""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from tests.long_run import some_of
from tests.promises import conversations as talk
from tests.promises.entry_points import MODELS, PATHS
from tests.upstream.bedrock import framed
from tests.upstream.spelling import SPELLINGS, Part, Text, Thinking, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

WORDS: list[Part] = [Thinking("hm"), Text("Ünïcode 🎈\r\n\r\nand get_artifact in words")]
CALL: list[Part] = [Text("So."), Tool("work", {"command": "é"}, "c1")]
RECALL: list[Part] = [Text("Let me look."), Tool("get_artifact", {"id": "x"}, "o1"), Tool("work", {"n": 1}, "c1")]
each_dialect = pytest.mark.parametrize("dialect", [*sorted(SPELLINGS), "bedrock"])
each_answer = pytest.mark.parametrize("said", [WORDS, CALL, RECALL], ids=["words", "call", "recall"])
_STORE = MemoryStore()
_STREAMED = {
    "gemini": PATHS["gemini"].replace(":generate", ":streamGenerate"),
    "converse": PATHS["converse"] + "-stream",
    "bedrock": PATHS["converse"].replace("/converse", "/invoke-with-response-stream"),
}


def begin(dialect: str) -> Exchange:
    """A request with a tool of the client, whose streamed answer is read; `bedrock` is Anthropic's in frames."""
    path = _STREAMED.get(dialect) or PATHS[dialect]
    body: dict[str, Any] = {"anthropic_version": "bedrock-2023-05-31"} if dialect == "bedrock" else {}
    dialect = "anthropic" if dialect == "bedrock" else dialect
    body |= {"model": MODELS[dialect], "stream": True, "store": False}
    body = {} if dialect in ("converse", "gemini") else body
    body |= {talk.list_name(dialect): [talk.user_message("go", dialect)], **talk.tools_fields(dialect, ["work"])}
    begun = SessionRouter(each=True, settles=True, store=_STORE).begin("POST", path, {}, json.dumps(body).encode())
    assert isinstance(begun, Exchange)
    assert begun.offers
    return begun


def streamed(dialect: str, said: list[Part]) -> bytes:
    """What the provider sends."""
    is_framed = dialect in ("converse", "bedrock")
    events = SPELLINGS["anthropic" if dialect == "bedrock" else dialect].events(said, 1, None)  # type: ignore[index]
    return b"".join(framed(events, in_chunks=dialect == "bedrock") if is_framed else events)


def shown(dialect: str, *pieces: bytes) -> bytes:
    """What the client gets of a stream that comes in these pieces."""
    exchange = begin(dialect)
    given = b"".join(map(exchange.feed_chunk, pieces))
    return given + (exchange.end_stream() or b"")


@each_dialect
@each_answer
def test_the_client_gets_the_same_wherever_a_stream_is_cut(dialect: str, said: list[Part]) -> None:
    data = streamed(dialect, said)
    whole = shown(dialect, data)
    assert whole == data or said is not CALL, "a stream without a name of a recall tool is passed on unread"
    assert b"get_artifact" not in whole or said is WORDS
    for at in some_of(11, range(1, len(data))):
        assert shown(dialect, data[:at], data[at:]) == whole, at
    assert shown(dialect, *(data[at : at + 1] for at in range(len(data)))) == whole


@each_dialect
def test_of_a_stream_that_breaks_off_the_client_gets_a_beginning_and_it_is_not_whole(dialect: str) -> None:
    data = streamed(dialect, CALL)
    exchange = begin(dialect)
    told = [at for at in some_of(11, range(len(data))) if exchange.is_whole(data[:at], True)]
    assert exchange.is_whole(data, True)
    assert not told or told[0] > len(data) - 250, "only what follows the last words may be missing"
    for at in some_of(11, range(len(data))):
        assert data.startswith(shown(dialect, data[:at])), at
