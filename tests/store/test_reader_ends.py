"""Line ends before a place: the same from place to place, in any order, as counted from the beginning."""

from hypothesis import given
from hypothesis import strategies as st

from keepwhole import MemoryStore
from keepwhole.canonical.body import BLOCK
from keepwhole.store.feed import Feed


@given(
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.text("ab", max_size=9), min_size=1, max_size=60),
    st.lists(st.integers(0, 700), min_size=1, max_size=30),
)
def test_line_ends_are_counted_alike_from_anywhere(end: str, lines: list[str], places: list[int]) -> None:
    text = end.join(lines) + end
    store = MemoryStore()
    with store.open(store.store_body(Feed(text), 1 << 30).body) as reader:
        eol = reader.eol
        assert [reader.ends_before(place) for place in places] == [text[:place].count(eol) for place in places]


def test_line_ends_are_counted_over_blocks() -> None:
    text = "some words of a line\n" * (2 * BLOCK // 21)
    store = MemoryStore()
    with store.open(store.store_body(Feed(text), 1 << 30).body) as reader:
        for place in (5, 4_000, 3_999, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 9, BLOCK + 100, len(text)):
            assert reader.ends_before(place) == text[:place].count("\n")
