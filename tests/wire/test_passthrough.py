"""A stream that is passed on unread: the same bytes however they are torn, until a name turns up."""

import time

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.wire.sse import StreamPassthrough

NAMES = ("get_artifact", "search_artifacts")
_events = st.lists(st.sampled_from(["data: a", "data: get_art", "ifact", "\n", "\n\n", "data: {}\n\n", "search_", "x"]))


@given(_events, st.lists(st.integers(1, 9), min_size=1))
def test_however_a_stream_is_torn_whole_events_pass_and_a_name_wakes(parts: list[str], sizes: list[int]) -> None:
    data, passthrough, passed, at, turn = "".join(parts).encode(), StreamPassthrough(NAMES), b"", 0, 0
    while at < len(data):
        piece = data[at : at + sizes[turn % len(sizes)]]
        at, turn = at + len(piece), turn + 1
        whole = passthrough.feed(piece)
        assert (whole is None) == any(name.encode() in passthrough.rest for name in NAMES)
        if whole is None:
            break
        passed += whole
        assert passed.endswith(b"\n\n") or not passed
        assert b"\n\n" not in passthrough.rest
    assert passed == passthrough.seen
    assert passed + passthrough.rest == data[:at]


def test_a_large_event_in_small_pieces_takes_no_longer_than_its_bytes() -> None:
    def seconds(pieces: int) -> float:
        passthrough, piece = StreamPassthrough(NAMES), b"x" * 4_096
        began = time.thread_time()
        for _ in range(pieces):
            passthrough.feed(piece)
        return time.thread_time() - began

    small, large = (min(seconds(pieces) for _ in range(5)) for pieces in (400, 4_000))
    assert large < 40 * small
