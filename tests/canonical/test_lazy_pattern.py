"""A lazy pattern finds what the pattern of `re.compile` finds, and is compiled at its first use."""

import re

import pytest

from keepwhole.canonical.lazy_pattern import lazy_pattern


def test_it_finds_the_same() -> None:
    lazy, plain, text = lazy_pattern(r"(\d)(x)?", re.I), re.compile(r"(\d)(x)?", re.I), "1X 2 3x"
    assert lazy.findall(text) == plain.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in plain.finditer(text)]
    assert lazy.sub("-", text) == plain.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.match("a")) == (plain.pattern, plain.flags, None)


def test_an_error_in_it_shows_at_its_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("x")
