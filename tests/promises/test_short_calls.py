"""No pass over tool output keeps the other threads of a process waiting: every call of C that it makes is short.

Python switches threads between its own instructions, and not while one call runs. A second thread wants to run every
half a millisecond; what counts is how much CPU time the pass used until it could, so that other processes on a busy
machine do not count. The default run tries the texts that were worst; `make torture` tries every pass over every shape.
"""

import sys
import threading
import time
from collections.abc import Iterator, Mapping

import pytest

from tests.promises.adversarial import shapes
from tests.promises.passes import Pass, passes

_LONGEST = 0.05
"""Seconds of CPU time that a pass may use without letting another thread run, over 8 MB."""
_TICK = 0.0005
_TRIES = 3
ON_SHORT_TEXT = ("words", "noise", "marking", "quoting", "imitates")
"""Passes that are only ever given passages of a text, or what is shown of it."""
PASSES: Mapping[str, Pass] = {name: run for name, run in passes().items() if name not in ON_SHORT_TEXT}
SHAPES = shapes()
WORST = ("an array of numbers", "many keys", "40 levels of arrays", "lines of typed code")
"""Texts over which single calls took longest before they were made short."""
STRATEGIES = {name: run for name, run in PASSES.items() if name.startswith("strategy ") and "question" not in name}


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Let threads take turns as often as the proxy does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TICK)
    yield
    sys.setswitchinterval(before)


class Waiting(threading.Thread):
    """Wants to run again and again, and notes how much CPU time another thread used between two turns."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._is_over = False
        self.longest = 0.0

    def run(self) -> None:
        before = time.clock_gettime(self._clock)
        while not self._is_over:
            time.sleep(_TICK)
            now = time.clock_gettime(self._clock)
            self.longest = max(self.longest, now - before)
            before = now

    def stop(self) -> float:
        self._is_over = True
        self.join()
        return self.longest


def longest_call(run: Pass, text: str) -> float:
    """The least of a few measurements; none after the first that is short enough."""
    least = float("inf")
    for _ in range(_TRIES):
        waiting = Waiting()
        waiting.start()
        run(text)
        least = min(least, waiting.stop())
        if least <= _LONGEST:
            break
    return least


def long_calls(over: Mapping[str, Pass], text: str) -> dict[str, str]:
    """The passes that keep another thread waiting for too long."""
    found = {name: longest_call(run, text) for name, run in over.items()}
    return {name: f"{seconds * 1000:.0f} ms" for name, seconds in found.items() if seconds > _LONGEST}


@pytest.mark.parametrize("shape", WORST)
def test_no_strategy_makes_a_long_call_over_the_worst_texts(shape: str) -> None:
    assert not long_calls(STRATEGIES, SHAPES[shape](4_000_000))


@pytest.mark.torture
@pytest.mark.parametrize("shape", SHAPES)
def test_no_pass_makes_a_long_call_over_any_text(shape: str) -> None:
    assert not long_calls(PASSES, SHAPES[shape](8_000_000))


def test_a_long_call_is_found() -> None:
    assert longest_call(lambda _: sum(range(20_000_000)), "") > _LONGEST
