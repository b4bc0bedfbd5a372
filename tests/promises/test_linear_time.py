"""No text takes more than its length in time: every pass over tool output, over every adversarial shape.

CPU time of the thread, the best of up to five runs, since a busy machine only ever adds. Growth is the slope of a line
through the logarithms of sizes and times. The default run looks for what is quadratic in short texts; `make torture`
goes up to 8 MB, shape by shape, and holds the limits of `docs/decisions/0026-linear-time.md`. It times the longest text
and one of an eighth of it; all six sizes only where these two leave a doubt.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from typing import NamedTuple

import pytest

from keepwhole.truncation.question import terms
from tests.promises.adversarial import Shape, mixed_shapes, repeated, shapes
from tests.promises.passes import SLOWER, Pass, Slower, limits_of, passes


class Limit(NamedTuple):
    """What a pass may take."""

    at_once: float
    """CPU seconds for any text: work that depends on the room for a view and not on the text."""
    slowest: float
    """CPU seconds for a megabyte."""
    steepest: float
    """The power of the size with which time may grow."""


LONG = (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000)
MIDDLE = LONG[:3]
SHORT = (24_000, 48_000, 96_000)
QUADRATIC = Limit(at_once=2.0, slowest=5.0, steepest=1.5)
"""For short texts on a busy machine: in these what is done once for any text weighs more, and so does chance."""
DENSE = Limit(at_once=0.6, slowest=0.5, steepest=1.15)
"""For shapes between others, of which every unit may be as short as can be."""
AT_ONCE = 0.4
_RUNS, _TRIES = 5, 2
_UNCLEAR = 0.03
"""Seconds below which a time says nothing about growth."""
_APART, _DOUBT = 3, 0.05
"""How many sizes lie between the two texts of a first look, and what its growth must be away from the limit."""
PASSES = passes()
SHAPES, MIXED = shapes(), mixed_shapes()


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


def size_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def seconds_for(size: int, limit: Limit) -> float:
    """What a text of this size may take."""
    return max(limit.at_once, limit.slowest * size / 1e6)


def is_clearly_linear(run: Pass, texts: Sequence[str], limit: Limit) -> bool:
    """Whether the longest text and a much shorter one show already that all is well."""
    short, long = texts[max(0, len(texts) - 1 - _APART)], texts[-1]
    spent = seconds(run, long)
    if spent < min(limit.at_once, 4 * _UNCLEAR):
        return True  # of six sizes at most two would take a time that says something
    if spent > seconds_for(size_of(long), limit):
        return False
    least = min(seconds(run, short) for _ in range(2))
    return growth({size_of(short): least, size_of(long): spent}) < limit.steepest - _DOUBT


def growth(times: Mapping[int, float]) -> float:
    """The exponent of the power of the size that fits the times best."""
    logs = [(math.log(size), math.log(spent)) for size, spent in times.items()]
    x, y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)


def trouble(name: str, run: Pass, texts: Sequence[str], limit: Limit) -> str | None:
    """What is wrong with the times of a pass over texts of growing size: too long, or growing too fast."""
    times: dict[int, float] = {}
    for text in texts:
        size = size_of(text)
        most = seconds_for(size, limit)
        times[size] = best(run, text, most / 4)
        if times[size] > most:
            return f"{name}: {times[size] / size * 1e9:.0f} ms/MB at {size:,} bytes"
    clear = {size: spent for size, spent in times.items() if spent > _UNCLEAR}
    if len(clear) < 3 or (steep := growth(clear)) <= limit.steepest:
        return None
    return f"{name}: grows with the power {steep:.2f}"


def lasting_trouble(name: str, run: Pass, texts: Sequence[str], limit: Limit) -> str | None:
    """The same where it is found twice: chance is not."""
    words = None
    for _ in range(_TRIES):
        words = trouble(name, run, texts, limit)
        if words is None:
            break
    return words


@cache
def short_texts(shape: Shape) -> list[str]:
    return [shape(size) for size in SHORT]


@pytest.mark.parametrize("name", PASSES)
def test_no_pass_over_a_short_text_of_any_shape_is_quadratic(name: str) -> None:
    assert not quadratic_shapes(PASSES[name], SHAPES)


def quadratic_shapes(run: Pass, over: Mapping[str, Shape]) -> dict[str, str]:
    """The shapes over which a pass takes far more than its time; most texts are timed once, at the smallest size."""
    found: dict[str, str] = {}
    for shape, made in over.items():
        if seconds(run, short_texts(made)[0]) > 2 * _UNCLEAR and (
            words := lasting_trouble("it", run, short_texts(made), QUADRATIC)
        ):
            found[shape] = words
    return found


@pytest.mark.torture
@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_text_and_no_faster(shape: str) -> None:
    limits = {name: Limit(AT_ONCE, *limits_of(name, shape)) for name in PASSES}
    assert not troubles([SHAPES[shape](size) for size in LONG], limits)


@pytest.mark.torture
@pytest.mark.parametrize("shape", MIXED)
def test_the_same_holds_for_shapes_between_others(shape: str) -> None:
    slowest = {name: max(DENSE.slowest, limits_of(name, shape)[0]) for name in PASSES}
    limits = {name: Limit(DENSE.at_once, slowest[name], QUADRATIC.steepest) for name in PASSES}
    assert not troubles([MIXED[shape](size) for size in MIDDLE], limits)


def troubles(texts: Sequence[str], limits: Mapping[str, Limit]) -> list[str]:
    found = (trouble_after_doubt(name, run, texts, limits[name]) for name, run in PASSES.items())
    return [words for words in found if words]


def trouble_after_doubt(name: str, run: Pass, texts: Sequence[str], limit: Limit) -> str | None:
    return None if is_clearly_linear(run, texts, limit) else lasting_trouble(name, run, texts, limit)


@pytest.mark.parametrize("row", SLOWER)
def test_every_row_with_a_limit_of_its_own_is_there(row: Slower) -> None:
    assert any(fnmatch(name, row.passes) for name in PASSES)
    assert all(any(fnmatch(shape, one) for shape in SHAPES) for one in row.shapes)


def _backtracking(text: str) -> object:
    return re.search(r"\([^;\n]*\{", text)


def parentheses(size: int) -> str:
    """A text of two thirds of the size: a fast machine takes a clear time over the shortest, a slow one no minute."""
    return repeated("(aaa")(size * 2 // 3)


def test_what_is_quadratic_is_found() -> None:
    limit = DENSE._replace(at_once=2.0)
    assert not is_clearly_linear(_backtracking, [parentheses(size) for size in (6_000, 12_000, *SHORT[:2])], limit)
    assert trouble("control", _backtracking, short_texts(parentheses), limit) is not None


def test_what_is_quadratic_is_found_in_short_texts() -> None:
    over = {"parentheses": parentheses, "letters": repeated("a")}
    assert list(quadratic_shapes(_backtracking, over)) == ["parentheses"]


def test_a_question_of_any_length_has_a_bounded_number_of_terms() -> None:
    short, long = "why did parse_config fail?", " ".join(f"word{number} Name_{number}" for number in range(50_000))
    assert "parse_config" in terms(f"{short} {long}")
    assert len(terms(long)) == 48
