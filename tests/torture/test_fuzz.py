"""Damaged real output through every strategy: no crash, nothing unsound. Briefly by default, at length when asked."""

import os
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.promises.recorded_outputs import NAMES, read_output
from tests.promises.views import ALL_STRATEGIES, check_view, view_of

SECONDS = float(os.environ.get("KEEPWHOLE_FUZZ_SECONDS", "120"))
ODD = ("\n", "\r", '"', "[", "{", "]", "}", "<", ">", "</", "\x1b[", "\ud800", "\u0301", "\x00", "@@", ",", "\\", "\\u")
SLOW = 5.0
edits = st.lists(
    st.tuples(st.sampled_from(("delete", "repeat", "insert")), st.floats(0, 1), st.floats(0, 1), st.sampled_from(ODD)),
    max_size=6,
)
Edit = tuple[str, float, float, str]


def damaged(text: str, changes: list[Edit]) -> str:
    """The text with slices deleted, repeated, and odd things put in; a share of its length says where."""
    for kind, where, share, odd in changes:
        start = int(where * len(text))
        stop = min(len(text), start + int(share * 4_000))
        if kind == "delete":
            text = text[:start] + text[stop:]
        elif kind == "repeat":
            text = text[:stop] + text[start:]
        else:
            text = text[:start] + odd * (1 + int(share * 20)) + text[start:]
    return text


def look(name: str, changes: list[Edit], strategy: str | None, limit: int, question: str) -> None:
    text = damaged(read_output(name).decode("utf-8", "surrogateescape")[:60_000], changes)
    began = time.perf_counter()
    view = view_of(text, strategy, limit, question)
    assert time.perf_counter() - began < SLOW
    check_view(view, text, limit)


@settings(max_examples=120)
@given(
    st.sampled_from(NAMES),
    edits,
    st.sampled_from([None, *ALL_STRATEGIES]),
    st.integers(256, 6_000),
    st.sampled_from(("", "error 12")),
)
def test_damaged_real_output_is_shown_soundly(
    name: str, changes: list[Edit], strategy: str | None, limit: int, question: str
) -> None:
    look(name, changes, strategy, limit, question)


@pytest.mark.torture
@pytest.mark.timeout(SECONDS + 120)
def test_damaged_real_output_is_shown_soundly_for_a_long_time() -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        changes = [
            (chance.choice(("delete", "repeat", "insert")), chance.random(), chance.random(), chance.choice(ODD))
            for _ in range(chance.randrange(8))
        ]
        given = (
            chance.choice(NAMES),
            changes,
            chance.choice([None, *ALL_STRATEGIES]),
            chance.randint(256, 9_000),
            "error 12",
        )
        try:
            look(*given)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {given}") from error
