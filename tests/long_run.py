"""What the default run tries some of, and the long run all of."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, combinations: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The parameters of a test: one of `step` combinations by default, all of them under `torture`.

    With a step that has no factor in common with the number of values of a parameter, all of these have their turn.
    """
    return [
        pytest.param(*values, marks=() if number % step == 0 else pytest.mark.torture)
        for number, values in enumerate(combinations)
    ]
