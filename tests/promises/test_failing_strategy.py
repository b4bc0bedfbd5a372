"""A strategy that fails never costs the result: everything is stored, and another strategy cuts it."""

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import Cut, Inserted, Segment, Source
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.build import in_memory

TEXT = "".join(f"{number}: a line of text\n" for number in range(1_500))


def raising(error: BaseException) -> Callable[[Source, int, StrategyOptions], Cut]:
    """A strategy with a bug."""

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        raise error

    return strategy


def returning(cut: Any) -> Callable[[Source, int, StrategyOptions], Cut]:
    """A strategy that returns the same whatever it is given."""

    def strategy(source: Source, budget: int, options: StrategyOptions) -> Cut:
        return cut

    return strategy


def in_chunks() -> Iterator[bytes]:
    """The text as an iterator that can be read once."""
    data = TEXT.encode()
    for at in range(0, len(data), 10_000):
        yield data[at : at + 10_000]


OUTPUTS: dict[str, Callable[[], Any]] = {
    "str": lambda: TEXT,
    "bytes": lambda: TEXT.encode(),
    "iterator": in_chunks,
    "file": lambda: io.BytesIO(TEXT.encode()),
}
ERRORS = (
    AttributeError("a secret"),
    RuntimeError("a secret"),
    ZeroDivisionError("a secret"),
    MemoryError(),
    RecursionError(),
    AssertionError(),
    StopIteration(),
    KeyError("a secret"),
)
LENGTH = len(TEXT)
NO_CUTS: dict[str, object] = {
    "None": None,
    "a string": TEXT[:100],
    "not covering": Cut((Segment("kept", 0, 100),)),
    "overlapping": Cut((Segment("kept", 0, 100), Segment("gap", 50, LENGTH))),
    "backwards": Cut((Segment("gap", 100, LENGTH), Segment("kept", 0, 100))),
    "too long": Cut((Segment("kept", 0, 100), Segment("gap", 100, LENGTH + 1))),
    "offsets that are no numbers": Cut((Segment("kept", 0, 100.0), Segment("gap", 100.0, LENGTH))),  # type: ignore[arg-type]
    "an unknown part": Cut((Segment("seen", 0, 100), Segment("gap", 100, LENGTH))),  # type: ignore[arg-type]
    "words that are no text": Cut((Segment("kept", 0, 100), Inserted(b"x"), Segment("gap", 100, LENGTH))),  # type: ignore[arg-type]
    "pieces of another kind": Cut((Segment("kept", 0, 100), "more", Segment("gap", 100, LENGTH))),  # type: ignore[arg-type]
    "no pieces": Cut(None),  # type: ignore[arg-type]
    "a notice that is no text": Cut((Segment("kept", 0, 100), Segment("gap", 100, LENGTH)), below=7),  # type: ignore[arg-type]
}


def session_with(strategy: Any) -> Session:
    """A session that cuts everything by this strategy."""
    policy = TruncationConfiguration(default_strategy="own")
    return in_memory(policy=policy, strategies={**STRATEGIES, "own": strategy})


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_strategy_that_raises_costs_nothing_of_the_result(output: str, error: Exception) -> None:
    with session_with(raising(error)) as session:
        shown = session.keep("t", {}, OUTPUTS[output]())
        assert session.recall(str(shown.trace_id)) == TEXT
        assert shown.metadata.was_truncated
        assert shown.metadata.strategy_used == "head_tail"
        assert shown.content.startswith(TEXT[:1_000])
        assert session.verify().whole


@pytest.mark.parametrize("cut", NO_CUTS)
def test_a_strategy_that_returns_no_cut_of_the_result_costs_nothing_of_it(cut: str) -> None:
    with session_with(returning(NO_CUTS[cut])) as session:
        shown = session.keep("t", {}, in_chunks())
        assert session.recall(str(shown.trace_id)) == TEXT
        assert shown.metadata.strategy_used == "head_tail"
        assert session.verify().whole


def test_the_log_names_the_strategy_and_the_kind_of_error_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "keepwhole"), session_with(raising(RuntimeError("a secret"))) as session:
        session.keep("t", {}, TEXT)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "own: RuntimeError" in record.getMessage()
    assert "secret" not in caplog.text


def test_a_strategy_that_is_interrupted_is_not_taken_for_a_failing_one() -> None:
    with session_with(raising(KeyboardInterrupt())) as session, pytest.raises(KeyboardInterrupt):
        session.keep("t", {}, TEXT)
