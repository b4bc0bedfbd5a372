"""Events of a stream: whole whatever the pieces they came in, and the bytes they came in."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.wire.sse import Events, written

STREAM = b'event: a\ndata: {"x": 1}\n\ndata: one\ndata: two\n\n: note\n\nevent: b\r\ndata:{"y": "\xc3\xa9"}\r\n\r\n'


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_wherever_the_network_cuts(places: list[int]) -> None:
    cuts = sorted({0, *places, len(STREAM)})
    events = Events()
    found = [event for start, stop in itertools.pairwise(cuts) for event in events.feed(STREAM[start:stop])]
    assert b"".join(event.raw for event in found) == STREAM
    assert [(event.name, event.text) for event in found] == [
        ("a", '{"x": 1}'),
        ("", "one\ntwo"),
        ("", ""),
        ("b", '{"y": "é"}'),
    ]
    assert events.rest() == b""


def test_what_is_cut_off_is_not_lost() -> None:
    events = Events()
    assert events.feed(b"data: 1\n\ndata: half")[0].text == "1"
    assert events.rest() == b"data: half"


def test_what_is_written_is_read_again() -> None:
    (event,) = Events().feed(written("name", {"text": "a\nb"}))
    assert (event.name, event.data()) == ("name", {"text": "a\nb"})


def test_data_that_is_no_object_is_none() -> None:
    assert Events().feed(b"data: [1]\n\ndata: no\n\n")[0].data() == {}


def test_lines_may_end_in_different_ways() -> None:
    found = Events().feed(b"data: 1\n\r\ndata: 2\r\n\ndata: 3\r\rdata: 4\r\n\r\n")
    assert [event.text for event in found] == ["1", "2", "3", "4"]
