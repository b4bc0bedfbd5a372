"""A new dialect is one folder and one line of the table: nothing else knows how many there are."""

import json
import re
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.apps.proxy.connection import error_body
from keepwhole.apps.proxy.destination import Upstreams
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import OwnAnswer, SessionRouter
from keepwhole.recall.names import NAMES
from keepwhole.wire import dialects
from keepwhole.wire.dialects import Endpoint, Table, decode_message, dialect_named, dialect_of, endpoint_of, parse_call
from keepwhole.wire.pairs import NO_RESULT
from keepwhole.wire.summary import compacted
from tests.wire.turns.dialect import TURNS, request
from tests.wire.turns.stream import events

pytestmark = pytest.mark.usefixtures("recall_from_start")

LOG = "".join(f"line {number} of a long output\n" for number in range(3_000))
ASKED = {"kind": "say", "who": "human", "body": "What does it print?"}
CALL = {"kind": "call", "id": "c1", "tool": "run", "with": {"command": "make"}}
OUTPUT = {"kind": "output", "for": "c1", "body": LOG}
SAID = {"kind": "say", "who": "model", "body": "It prints lines."}
USAGE = {"read": 1_000, "wrote": 10}


@pytest.fixture(autouse=True)
def _one_more_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "TABLE", Table((*dialects.DIALECTS, TURNS)))


def turns_in(body: bytes) -> list[Any]:
    return json.loads(body)["turns"]


def recall_of(cut: str) -> dict[str, Any]:
    """The call that reads lines back which a view has left out."""
    found = re.search(r"art_\w+", cut)
    assert found is not None
    return {"kind": "call", "id": "o1", "tool": "get_artifact", "with": {"id": found[0], "lines": "1500"}}


def test_it_is_found_by_name_by_path_by_headers_and_by_shape() -> None:
    assert dialect_named("made-up") is TURNS
    assert endpoint_of("/v2/turns/count") == Endpoint(TURNS, counts=True, provider="turns")
    assert dialect_of([ASKED]) is TURNS
    assert parse_call(CALL).dialect is TURNS
    assert Upstreams({}).target("/files", {"turns-key": "k"}) == ("turns", "/files")
    assert json.loads(error_body(400, "no", endpoint_of("/turns"))) == {
        "wrong": "keepwhole: no",
        "kind": "invalid_request_error",
    }


def test_a_path_may_name_the_model_and_another_provider() -> None:
    found = endpoint_of("/p/acme/models/turn%2D2.5:take")
    assert found == Endpoint(TURNS, model="turn-2.5", provider="cloud")
    assert Upstreams({}).target("/p/acme/models/m-2:take", {})[0] == "cloud"
    desk = SessionRouter(each=True, store=MemoryStore())
    for path, model in (("/p/acme/models/m-2:take", "m-2"), ("/turns", "m-1")):
        begun = desk.begin("POST", path, {}, request([ASKED, CALL, OUTPUT]))
        assert isinstance(begun, Exchange)
        assert begun.model == model
        assert begun.expected is not None
        assert begun.expected.model == model


def test_its_messages_are_decoded() -> None:
    roles = [decode_message(item).role for item in (ASKED, CALL, OUTPUT, SAID)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert decode_message(OUTPUT).returned[0].path == ("body",)
    assert decode_message(CALL).calls[0].tool == "run"


def test_its_tools_are_defined_and_answered() -> None:
    session = Session("fourth", store=MemoryStore())
    assert [tool["tool"] for tool in session.tools("turns")] == list(NAMES)
    shown = session.keep(CALL, "short")
    assert shown.block("turns") == {"kind": "output", "for": "c1", "body": "short"}


def test_a_result_in_a_request_is_cut_and_read_back() -> None:
    session = Session("fourth", store=MemoryStore())
    body = request([ASKED, CALL, OUTPUT])
    sent = session.view(body)
    cut = turns_in(sent)[2]["body"]
    assert len(cut) < len(LOG) / 2
    assert sent.replace(json.dumps(cut).encode(), json.dumps(LOG).encode()) == body, "all other bytes are as they came"
    recalled = session.answer(recall_of(cut))
    assert recalled is not None
    assert recalled["for"] == "o1"
    assert "line 1499 of" in recalled["body"]


def test_a_streamed_answer_hides_a_round_and_a_later_request_has_it_again() -> None:
    desk = SessionRouter(each=True, settles=True, store=MemoryStore())
    first = begin(desk, [ASKED, CALL, OUTPUT])
    assert [tool["tool"] for tool in json.loads(first.body)["instruments"]] == [*NAMES, "run"]
    recall = recall_of(turns_in(first.body)[2]["body"])
    assert first.feed_chunk(events([recall], USAGE)) == b""
    assert first.end_stream() is None, "another round follows"
    hidden = turns_in(first.body)[3:]
    assert hidden[0] == recall
    assert (hidden[1]["for"], "line 1499 of" in hidden[1]["body"]) == ("o1", True)
    answer = events([SAID], USAGE)
    got = first.feed_chunk(answer) + (first.end_stream() or b"")
    assert got == answer
    assert first.dialect.is_whole(got, is_stream=True)
    usage = first.learn_bill(200, got, complete=True)
    assert usage is not None
    assert usage.input == 1_000
    later = begin(desk, [ASKED, CALL, OUTPUT, SAID, {**ASKED, "body": "And then?"}])
    assert turns_in(later.body)[3:6] == [*hidden, SAID]


def begin(desk: SessionRouter, turns: list[Any]) -> Exchange:
    begun = desk.begin("POST", "/v2/turns", {}, request(turns))
    assert isinstance(begun, Exchange)
    return begun


def test_half_a_conversation_is_refused_in_its_own_words() -> None:
    desk = SessionRouter(each=True, store=MemoryStore())
    begun = desk.begin("POST", "/turns", {}, request([ASKED], since="t9"))
    assert begun == OwnAnswer(400, b'{"wrong": "Send all turns."}')


def test_broken_pairs_are_repaired_and_old_turns_give_way_to_a_summary() -> None:
    session = Session("fourth", store=MemoryStore())
    sent = turns_in(session.view(request([ASKED, CALL, SAID, {**OUTPUT, "for": "c9", "body": "lost"}, ASKED])))
    assert sent[2] == {"kind": "output", "for": "c1", "body": NO_RESULT}
    assert [item["who"] for item in sent[3:]] == ["model", "human", "human", "human"]
    assert sent[5]["body"] == "lost"
    short = compacted([ASKED, CALL, OUTPUT, SAID, ASKED], 4, "It was run.", TURNS)
    assert "It was run." in short[0]["body"]
    assert len(short) == 2
