"""Stretches around rare words: every anchor is in one, with its surroundings, and no two touch.

Searching in windows finds what searching at once does.
"""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical import anchors as searching
from keepwhole.canonical.anchors import matches_from, matches_within, stretches_around


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


@pytest.fixture(params=[1, 3, 10])
def _short_windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_WINDOW", request.param)


@pytest.mark.usefixtures("_short_windows")
@pytest.mark.parametrize("pattern", ["ab", "a{1,4}b?", "(?<!a)b", r"b(?=\.{0,3}a)", "a|aab"])
@given(text=st.text("ab.", max_size=60), start=st.integers(0, 9), stop=st.integers(0, 60))
def test_a_bounded_pattern_is_found_within_windows(pattern: str, text: str, start: int, stop: int) -> None:
    known = re.compile(pattern)
    found = [match.span() for match in matches_within(known, text, start, min(stop, len(text)), 6)]
    assert found == [match.span() for match in known.finditer(text, start, min(stop, len(text)))]


@pytest.mark.usefixtures("_short_windows")
@pytest.mark.parametrize("pattern", [r"\na++", r"\n(?=[^\s])", r"\n *+(?=\n)", r"\nab*$", r"\na.*(?=\n[ab]b)"])
@given(text=st.text("ab \n", max_size=60))
def test_a_pattern_of_lines_is_found_line_by_line(pattern: str, text: str) -> None:
    known = re.compile(pattern, re.M)
    found = [match.span() for match in matches_from(known, text, "\n", 3)]
    assert found == [match.span() for match in known.finditer(text)]
