"""Strings whose use is followed through a run: found as whole words, wherever in a text they are."""

import pytest

from keepwhole.policies.atoms import occurs, positions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("needle", [0]),
        ("xneedle", []),
        ("needlex", []),
        (".needle.", [1]),
        ("xneedle needle", [8]),
        ("needle, needle", [0, 8]),
    ],
)
def test_a_string_is_found_where_it_is_no_part_of_a_longer_word(text: str, found: list[int]) -> None:
    assert list(positions("needle", text)) == found
    assert occurs("needle", text) == bool(found)
