"""No text takes more than its length in time: every pass over tool output, over every adversarial shape.

CPU time of the thread, the best of up to five runs, since a busy machine only ever adds. Growth is the slope of a line
through the logarithms of sizes and times. The default run times a few sizes; `make torture` times six, up to 8 MB.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence

import pytest

from keepwhole.truncation.question import terms
from tests.promises.adversarial import Shape, mixed_shapes, repeated, shapes
from tests.promises.passes import SLOWER, Pass, passes

LONG = (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000)
MIDDLE = LONG[:3]
SHORT = (24_000, 48_000, 96_000)
STEEPEST, STEEPEST_SHORT = 1.15, 1.4
"""How fast time may grow; in short texts what is done once for any text weighs more, and so does chance."""
SLOWEST = 0.05
"""CPU seconds for a megabyte."""
_AT_ONCE = 0.4
"""CPU seconds that a view of any text may take: it depends on the room for the view, not on the text."""
_RUNS = 5
_UNCLEAR = 0.03
"""Seconds below which a time says nothing about growth."""
PASSES = passes()


def seconds(run: Pass, text: str) -> float:
    began = time.thread_time()
    run(text)
    return time.thread_time() - began


def best(run: Pass, text: str, enough: float) -> float:
    """The least of up to five runs; none after the first that is quick enough."""
    least = math.inf
    for _ in range(_RUNS):
        least = min(least, seconds(run, text))
        if not enough < least < 1:
            break
    return least


def growth(times: Mapping[int, float]) -> float:
    """The exponent of the power of the size that fits the times best."""
    logs = [(math.log(size), math.log(spent)) for size, spent in times.items()]
    x, y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)


def measured(run: Pass, shape: Shape, sizes: Sequence[int], slowest: float) -> dict[int, float]:
    """CPU seconds by size in bytes, up to the first size that takes far too long."""
    times: dict[int, float] = {}
    for size in sizes:
        text = shape(size)
        size = len(text.encode("utf-8", "surrogatepass"))
        times[size] = best(run, text, slowest * size / 2e6)
        if times[size] > 4 * (slowest * size / 1e6 + _AT_ONCE):
            break
    return times


def trouble(times: Mapping[int, float], slowest: float, steepest: float) -> str | None:
    """What is wrong with the times of a pass: too long, or growing too fast."""
    size, spent = list(times.items())[-1]
    if spent > max(_AT_ONCE, slowest * size / 1e6):
        return f"{spent / size * 1e9:.0f} ms/MB at {size:,} bytes"
    clear = {size: spent for size, spent in times.items() if spent > _UNCLEAR}
    if len(clear) < 3 or (steep := growth(clear)) <= steepest:
        return None
    return f"grows with the power {steep:.2f}"


def slow_shapes(
    name: str, run: Pass, over: Mapping[str, Shape], sizes: Sequence[int] = LONG, steepest: float = STEEPEST
) -> dict[str, str]:
    """The shapes over which a pass is too slow, and how slow it is."""
    slowest = SLOWER.get(name, SLOWEST)
    found = {shape: trouble(measured(run, made, sizes, slowest), slowest, steepest) for shape, made in over.items()}
    return {shape: words for shape, words in found.items() if words}


@pytest.mark.parametrize("name", PASSES)
def test_a_short_text_of_any_shape_is_passed_over_in_no_time(name: str) -> None:
    run = PASSES[name]
    suspect = {shape: made for shape, made in shapes().items() if seconds(run, made(SHORT[0])) > 2 * _UNCLEAR}
    assert not slow_shapes(name, run, suspect, SHORT, STEEPEST_SHORT)


@pytest.mark.torture
@pytest.mark.parametrize("name", PASSES)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    assert not slow_shapes(name, PASSES[name], shapes())


@pytest.mark.torture
@pytest.mark.parametrize("name", PASSES)
def test_the_same_holds_for_shapes_between_others(name: str) -> None:
    assert not slow_shapes(name, PASSES[name], mixed_shapes(), MIDDLE, STEEPEST_SHORT)


def _quadratic(text: str) -> int:
    """For every hundred characters it looks at all of them."""
    return sum(text.count("\0") for _ in range(0, len(text), 100))


def _backtracking(text: str) -> object:
    return re.search(r"\([^;\n]*\{", text)


@pytest.mark.torture
def test_what_is_quadratic_is_found() -> None:
    found = slow_shapes("control", _quadratic, {"letters": repeated("a"), "lines": repeated("a\n")})
    assert list(found) == ["letters", "lines"]


def test_what_is_quadratic_is_found_in_short_texts() -> None:
    over = {"parentheses": repeated("(" + "a" * 9), "letters": repeated("a")}
    assert list(slow_shapes("control", _backtracking, over, SHORT, STEEPEST_SHORT)) == ["parentheses"]


def test_a_question_of_any_length_has_a_bounded_number_of_terms() -> None:
    short, long = "why did parse_config fail?", " ".join(f"word{number} Name_{number}" for number in range(50_000))
    assert "parse_config" in terms(f"{short} {long}")
    assert len(terms(long)) == 48
