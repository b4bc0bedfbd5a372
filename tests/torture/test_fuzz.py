"""Damaged real output through every strategy: no crash, nothing unsound. Briefly by default, at length when asked.

`KEEPWHOLE_FUZZ_SECONDS` says for how long.
"""

import os
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source
from keepwhole.truncation.head_tail import head_tail
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, Strategy, StrategyOptions
from tests.promises import views
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


def fuzz(seconds: float) -> int:
    """How many damaged outputs were looked at; `AssertionError` with the first that is not shown soundly."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    count = 0
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
            raise AssertionError(f"seed {seed}: {error!r} with {given}") from error
        count += 1
    return count


@pytest.mark.torture
@pytest.mark.timeout(SECONDS + 120)
def test_damaged_real_output_is_shown_soundly_for_a_long_time() -> None:
    print(f"\n{fuzz(SECONDS):,} damaged outputs in {SECONDS:,.0f} s")


def raising(source: Source, budget: int, options: StrategyOptions) -> Cut:
    raise RuntimeError("no text is good enough")


def inventing(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Says something that is not in the text, and is no notice."""
    cut = head_tail(source, budget - 50, options)
    return Cut((*cut.pieces, Inserted("\nall 12 tests passed\n")))


def losing(source: Source, budget: int, options: StrategyOptions) -> Cut:
    """Forgets the end of the text."""
    return Cut((Segment("kept", 0, budget // 2), Segment("gap", budget // 2, source.chars - 1)))


@pytest.mark.parametrize(
    ("broken", "found"),
    [(raising, "RuntimeError"), (inventing, "all 12 tests passed"), (losing, "InvalidCut")],
)
def test_a_strategy_that_is_unsound_is_caught(
    broken: ITruncationStrategy, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_ones = {name: Strategy(name, broken, kinds=whole.kinds) for name, whole in STRATEGIES.items()}
    monkeypatch.setattr(views, "STRATEGIES", broken_ones)
    with pytest.raises(AssertionError, match=found):
        fuzz(20)


def test_a_view_that_is_longer_than_its_limit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def longer(source: Source, artifact: Artifact, limits: Limits, strategies: Any) -> TruncationResult:
        return present(source, artifact, limits.replace(inline_limit=2 * limits.inline_limit), strategies)

    monkeypatch.setattr(views, "present", longer)
    with pytest.raises(AssertionError, match=r"AssertionError\(\(\d+, \d+, "):
        fuzz(20)
