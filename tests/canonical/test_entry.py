"""Entries: the same bytes on any machine, and nothing read that was not written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.body import BodyFacts, measure
from keepwhole.canonical.entry import (
    GENESIS,
    Decision,
    Entry,
    Result,
    arguments_text,
    header_bytes,
    next_chain,
    parse_header,
)
from keepwhole.errors import Damaged

RESULT = Result(at=1_700_000_000_123, trace_id="trace_x", artifact_id="art_1700000000_x", tool="read_file")
DECISION = Decision(
    at=1, trace_id="trace_x", rule="arrival", strategy="head", version="0.1.0", shown_digest="00", shown_chars=5
)
PINNED = (
    b'{"v":1,"kind":"result","at":1700000000123,"trace_id":"trace_x","artifact_id":"art_1700000000_x",'
    b'"tool":"read_file","arguments":null,"call_id":null,"is_error":false,"exit_code":null,"turn":null,'
    b'"task_id":null,"query_id":null,"question":null,"media_type":"text/plain","flags":[],'
    b'"body":[5,5,1,"\\n","utf-8",""]}'
)
any_text = st.text(st.characters(exclude_categories=()), max_size=40)


def read_back(header: Result | Decision, facts: BodyFacts) -> object:
    return parse_header(header_bytes(header, facts), facts.digest, facts.blocks)


def test_the_bytes_of_a_header_are_pinned() -> None:
    assert header_bytes(RESULT, measure(b"hello")) == PINNED


def test_the_chain_of_a_header_is_pinned() -> None:
    chain = next_chain(GENESIS, PINNED, measure(b"hello").digest)
    assert chain.hex() == "cde8d3e5bf5b78ea6b543886f9fd0e62b56f0783cad16b80fc1f982e55d211a4"


@pytest.mark.parametrize("header", [RESULT, DECISION])
@pytest.mark.parametrize("body", [b"", b"text\n", b"\xff", b"x\n" * 70_000])
def test_a_header_is_read_back_as_it_was_written(header: Result | Decision, body: bytes) -> None:
    facts = measure(body)
    assert read_back(header, facts) == (header, facts)


@given(any_text, any_text, any_text, any_text)
def test_lone_surrogates_survive_in_any_field(tool: str, arguments: str, call_id: str, question: str) -> None:
    header = RESULT.replace(
        tool=tool, arguments=arguments, call_id=call_id, question=question, task_id=tool, query_id=arguments
    )
    facts = measure(b"hello")
    assert read_back(header, facts) == (header, facts)
    assert header_bytes(header, facts).isascii()


@given(any_text, any_text)
def test_the_frame_of_a_result_is_read_back_and_left_out_where_there_is_none(before: str, behind: str) -> None:
    facts = measure(b"hello")
    framed = RESULT.replace(frame=(before, behind))
    assert read_back(framed, facts) == (framed, facts)
    assert b"frame" not in header_bytes(RESULT, facts)


@pytest.mark.parametrize("frame", [b'["a"]', b'["a","b","c"]', b"7"])
def test_a_frame_that_is_none_is_refused(frame: bytes) -> None:
    facts = measure(b"hello")
    raw = header_bytes(RESULT.replace(frame=("a", "b")), facts).replace(b'["a","b"]', frame)
    with pytest.raises(Damaged):
        parse_header(raw, facts.digest, facts.blocks)


def test_every_field_is_in_the_header_and_so_in_the_chain() -> None:
    facts = measure(b"hello")
    plain = header_bytes(RESULT, facts)
    changes = [
        {"at": 1},
        {"trace_id": "t"},
        {"artifact_id": "a"},
        {"tool": "t"},
        {"arguments": "{}"},
        {"call_id": "c"},
        {"is_error": True},
        {"exit_code": 1},
        {"turn": 1},
        {"task_id": "t"},
        {"query_id": "q"},
        {"question": "?"},
        {"media_type": "image/png"},
        {"flags": ("x",)},
        {"width": 640},
        {"height": 480},
        {"pages": 3},
        {"frame": ("Chunk ID: 1\nOutput:\n", "")},
    ]
    assert {key for change in changes for key in change} == set(Result.fields)
    written = {header_bytes(RESULT.replace(**change), facts) for change in changes}
    assert len(written | {plain}) == len(changes) + 1


def test_the_facts_of_the_body_are_in_the_header() -> None:
    bodies = [b"hello", b"hell", b"h\nllo", b"h\rllo", b"hell\xff", b"x" * 70_000, b"y" * 70_000]
    assert len({header_bytes(RESULT, measure(body)) for body in bodies}) == len(bodies)


def test_an_entry_knows_its_kind() -> None:
    facts = measure(b"")
    assert Entry("s", 1, RESULT, facts, b"").kind == "result"
    assert Entry("s", 1, DECISION, facts, b"").kind == "decision"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"null",
        b"5",
        b"[]",
        b'"text"',
        b"{}",
        PINNED[:-1],
        PINNED.replace(b'"kind":"result"', b'"kind":"rumour"'),
        PINNED.replace(b'"kind":"result"', b'"kind":[]'),
        PINNED.replace(b'"kind":"result",', b""),
        PINNED.replace(b'"trace_id":"trace_x",', b""),
        PINNED.replace(b'"turn":null', b'"turn":null,"more":1'),
        PINNED.replace(b'"flags":[]', b'"flags":null'),
        PINNED.replace(b'"body":[5,', b'"body":['),
        PINNED.replace(b',"body":[5,5,1,"\\n","utf-8",""]', b""),
        b"[" * 100_000,
    ],
)
def test_a_damaged_header_is_damage_and_no_other_error(raw: bytes) -> None:
    with pytest.raises(Damaged, match="sessions verify"):
        parse_header(raw, b"", b"")


def test_a_changed_block_index_is_damage() -> None:
    facts = measure(b"x" * 70_000)
    with pytest.raises(Damaged):
        parse_header(header_bytes(RESULT, facts), facts.digest, facts.blocks[:-1] + b"\x01")


@given(st.integers(0, len(PINNED) - 1), st.integers(0, 255))
def test_a_header_with_any_byte_changed_breaks_the_chain(at: int, byte: int) -> None:
    damaged = PINNED[:at] + bytes([byte]) + PINNED[at + 1 :]
    digest = measure(b"hello").digest
    assert (next_chain(GENESIS, damaged, digest) == next_chain(GENESIS, PINNED, digest)) == (damaged == PINNED)


def test_the_chain_depends_on_what_came_before_and_on_the_body() -> None:
    one, two = measure(b"one").digest, measure(b"two").digest
    chains = {next_chain(GENESIS, PINNED, one), next_chain(GENESIS, PINNED, two), next_chain(one, PINNED, one)}
    assert len(chains) == 3


@pytest.mark.parametrize("text", ['{"a":  1}', "not json", "", None])
def test_arguments_given_as_text_stay_as_the_provider_spelled_them(text: str | None) -> None:
    assert arguments_text(text) == text


def test_arguments_given_as_an_object_become_json_in_their_order() -> None:
    assert arguments_text({"b": 1, "a": ["é"]}) == '{"b": 1, "a": ["é"]}'


def test_arguments_that_are_no_json_still_become_text() -> None:
    assert json.loads(str(arguments_text({"path": b"x"}))) == {"path": "b'x'"}
