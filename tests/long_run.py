"""What the default run tries some of, and the long run all of."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

IS_LONG = int(os.environ.get("EXAMPLES", "30")) >= 1_000
"""Whether this is the long run of tests that try few examples by default."""
T = TypeVar("T")


def one_in(step: int, combinations: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The parameters of a test: one of `step` combinations by default, all of them under `torture`.

    With a step that has no factor in common with the number of values of a parameter, all of these have their turn.
    """
    return [
        pytest.param(*values, marks=() if number % step == 0 else pytest.mark.torture)
        for number, values in enumerate(combinations)
    ]


def some_of(step: int, values: Sequence[T]) -> Sequence[T]:
    """One of `step` values by default, the last one among them; all of them in the long run."""
    return values if IS_LONG else values[(len(values) - 1) % step :: step]
