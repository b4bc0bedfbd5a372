"""A result on record, the views by which it is known again, the call that it is of, and the notes of forks."""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Entry, Request, Result
from keepwhole.canonical.message import Call
from keepwhole.record.fork_note import TOOL, ForkNote, origin_in, read_fork
from keepwhole.record.known_result import KnownResult, Origin, origin_of_entry, read_result
from keepwhole.store.protocol import Body
from keepwhole.truncation.client_cut import RULE
from keepwhole.truncation.cut import Cut, whole
from keepwhole.wire.text_card import card
from tests.build import NOON, decision, draft, opened, result

DATA = b"the original"


def known(seq: int = 0, **fields: Any) -> KnownResult:
    return KnownResult(result(**fields), Body(measure(DATA), DATA), seq)


def decided(digest: str, rule: str = "age", **fields: Any) -> Decision:
    about = {"at": NOON, "trace_id": "trace", "strategy": "head", "version": "0", "shown_chars": 1}
    return Decision(**{**about, "rule": rule, "shown_digest": digest, **fields})


def entry(header: Result | Decision | Request, data: bytes) -> Entry:
    return Entry("s", 4, header, measure(data), b"")


def test_the_newest_decision_holds_and_every_view_is_known() -> None:
    one = known()
    for seq, digest in ((3, "aa"), (8, "bb")):
        one.decide(seq, decided(digest), whole(3))
    assert one.decision is not None
    assert (one.decision[0].shown_digest, one.decided) == ("bb", 8)
    assert (one.views, one.client_views, one.named) == ({"aa", "bb"}, set(), {})


def test_what_the_client_cut_itself_is_told_apart() -> None:
    one = known()
    one.decide(3, decided("aa", rule=RULE), whole(3))
    one.decide(4, decided("bb"), whole(3))
    assert (one.views, one.client_views) == ({"aa", "bb"}, {"aa"})


@pytest.mark.parametrize("place", ["above", "below"])
@pytest.mark.parametrize("name", ["artifact_id", "trace_id"])
def test_a_view_names_its_result_in_a_notice(place: str, name: str) -> None:
    one = known()
    words = f"[cut, read {getattr(one.result, name)}]"
    one.decide(3, decided("aa"), Cut(whole(3).pieces, **{place: words}))
    one.decide(4, decided("bb"), Cut(whole(3).pieces, **{place: "[cut, read art_9]"}))
    one.decide(5, decided("cc"), Cut(whole(3).pieces, **{place: words}))
    one.decide(6, decided("aa"), Cut(whole(3).pieces, **{place: words}))
    assert one.named == {"aa": 6, "cc": 5}


def test_the_words_in_place_of_a_screenshot_are_known_as_the_image_that_is_drawn_of_them() -> None:
    drawn = measure(card("left out, art_1")).digest
    cut = Cut(whole(3).pieces, above="left out, ", below="art_1")
    for fields, is_known in (
        ({"tool": "computer", "media_type": "image/png"}, True),
        ({"tool": "browser", "media_type": "image/png"}, False),
        ({"tool": "computer"}, False),
    ):
        one = known(**fields)
        one.decide(3, decided("aa"), cut)
        assert one.has_drawn(drawn) is is_known, fields
        assert not one.has_drawn(drawn[::-1])
        assert one.has_drawn(b"\xaa")


@pytest.mark.parametrize(
    ("media_type", "pixels", "tokens"),
    [("image/png", (280, 280), 100), ("image/png", (None, None), 361), ("text/plain", (9, 9), 0)],
)
def test_an_image_has_tokens_by_its_pixels_and_text_has_none(
    media_type: str, pixels: tuple[int | None, int | None], tokens: int
) -> None:
    one = known(media_type=media_type, width=pixels[0], height=pixels[1])
    assert one.media_tokens == tokens
    assert (one.media is None) is (tokens == 0)


def test_each_page_of_a_document_has_tokens() -> None:
    one, two = (known(media_type="application/pdf", pages=pages).media_tokens for pages in (1, 2))
    assert two == 2 * one > 0


@pytest.mark.parametrize(
    ("recorded", "called", "is_of"),
    [
        ({"path": "a"}, {"path": "a"}, True),
        ({"path": "a"}, {"path": "b"}, False),
        ({"path": "a", "text": "long"}, {"path": "a"}, True),
        ({"path": "a"}, {"path": "a", "text": "more"}, False),
        ({"path": "a"}, {}, True),
        ({"path": "a"}, {"path": ""}, True),
        ({"path": "a"}, {"path": 1}, False),
        ({"path": {"deep": "a", "b": 1}}, {"path": {"deep": "a"}}, True),
        ({"path": {"deep": "a"}}, {"path": {"deep": "b"}}, False),
        ({"path": "a"}, {"path": "[Old tool result content cleared]"}, True),
        ({"text": "x" * 99}, {"text": "x[truncated: 98 more]"}, True),
        ({"text": "x" * 99}, {"text": "x" * 98}, False),
        ({"path": ["a"]}, {"path": ["b"]}, False),
        ({}, {"path": "b"}, True),
    ],
)
def test_a_result_is_of_a_call_with_the_same_arguments_or_what_a_client_left_of_them(
    recorded: object, called: object, is_of: bool
) -> None:
    one = known(tool="read", arguments=json.dumps(recorded))
    assert one.is_of(Call("c", "read", json.dumps(called))) is is_of
    assert not one.is_of(Call("c", "write", json.dumps(called)))


def test_arguments_that_are_no_json_or_not_known_are_compared_as_text() -> None:
    one = known(tool="read", arguments="{a")
    assert one.is_of(Call("c", "read", "{a"))
    assert not one.is_of(Call("c", "read", "{b"))
    assert known(tool="read", arguments=None).is_of(Call("c", "read", "{b"))


def test_a_text_comes_from_a_result_or_from_a_decision_about_it() -> None:
    text, data = entry(result(trace_id="t1"), b"words"), entry(result(trace_id="t2"), b"\xff\x00")
    assert origin_of_entry(text) == (measure(b"words").digest.hex(), Origin("t1", 0, True))
    assert origin_of_entry(data) == (measure(b"\xff\x00").digest.hex(), Origin("t2", 0, False))
    for width, is_text in ((None, True), (9, False)):
        shown = entry(decided("aa", trace_id="t3", width=width), b"")
        assert origin_of_entry(shown) == ("aa", Origin("t3", 4, is_text))
    assert origin_of_entry(entry(Request(at=1, trace_id="t4", size=0, digest=""), b"")) is None


NOTE = ForkNote(("first", "older"), 7, ("main", "side"), (("m", 100, 120),))


def note(arguments: object, seq: int = 5) -> KnownResult:
    return known(seq, tool=TOOL, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments))


def test_a_note_of_a_fork_is_read_as_it_was_written() -> None:
    about = NOTE._replace(offered=("side", "main")).as_arguments()
    assert about["v"] == 1, "a reader of another version can tell"
    read = read_fork([note(about)])
    assert read == NOTE._replace(seq=5)
    assert (read and read.origin, origin_in(note(about).result)) == ("first", "first")


def test_the_newest_note_that_can_be_read_counts() -> None:
    good, other = NOTE.as_arguments(), NOTE._replace(turns=8).as_arguments()
    broken: list[object] = ["", "{", [], {**good, "bills": [1]}, {**good, "turns": "x"}, {**good, "origins": []}, {}]
    read = read_fork([*(note(one, 9) for one in broken), note(other, 6), note(good, 5)])
    assert read is not None
    assert (read.turns, read.seq) == (8, 6)
    assert read_fork([note(one) for one in broken]) is None
    assert read_fork([]) is None


@pytest.mark.parametrize("arguments", [None, "", "{", "[]", "5", "{}", '{"origins": []}', '{"origins": null}'])
def test_a_note_that_cannot_be_read_names_no_origin(arguments: str | None) -> None:
    assert origin_in(result(arguments=arguments)) is None


def test_a_row_of_the_record_is_read_as_a_result_where_it_is_one() -> None:
    store = MemoryStore()
    opened(store)
    kept = draft(store, b"%PDF-1.7", media_type="application/pdf")
    store.append("s", [kept, decision(kept.header.trace_id)])
    first, second = store.rows("s")
    found = read_result(first)
    assert found is not None
    assert (found.result, found.seq, found.body) == (kept.header, 1, kept.body)
    assert found.media is not None
    assert (found.media.pages, found.media.width) == (0, 0), "not known"
    assert read_result(second) is None
