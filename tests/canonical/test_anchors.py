"""Stretches around rare words: every anchor is in one, with its surroundings, and no two touch."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.anchors import stretches_around


@given(st.text("ab.", max_size=200), st.lists(st.sampled_from(["ab", "ba", "aa", "b.a"]), min_size=1, max_size=3))
def test_every_anchor_is_in_a_stretch_with_what_is_around_it(text: str, anchors: list[str]) -> None:
    found = list(stretches_around(text, anchors, 3, 4))
    for anchor in anchors:
        for at in range(len(text)):
            if text.startswith(anchor, at):
                assert any(start <= max(0, at - 3) and at + 4 <= stop for start, stop in found)
    assert all(stop < later for (_, stop), (later, _) in pairwise(found))


def test_bytes_are_read_like_text() -> None:
    assert list(stretches_around(b"x cut y", [b"cut"], 1, 3)) == list(stretches_around("x cut y", ["cut"], 1, 3))
