"""While the worst texts are cut, the proxy answers everybody else: no step of that work keeps other threads waiting.

`/healthz` is asked a hundred times a second. Where an answer takes longer, the questions that were due meanwhile count
too, as if they had been asked: else one long pause would be a single slow answer. Another proxy that has nothing to do
is asked at the same time, since a machine that is busy with something else makes both slow.
"""

import http.client
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import pytest

from tests.apps.proxy.proxy_server import Process, ask, proxy, request
from tests.memory_folder import memory_folder
from tests.promises.adversarial import shapes
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Text

_EVERY = 0.01
"""Seconds between two questions."""
_AFTER = 0.3
"""Seconds in which a request that is answered is still being recorded."""
_LEAST, _TIMES = 0.05, 5
"""Seconds that may always pass, and how many times as long as with an idle proxy."""
_TRIES = 3
"""What is found each time is not chance."""
SHAPES = shapes()
WORST = ("an array of numbers", "many keys", "empty lines", "lines of typed code", "quoted", "40 levels of arrays")
"""Texts over which single calls took longest before they were made short, of several strategies."""

LARGE_AS_JSON = {"escape signs": 4_000_000}
"""Texts of which 8 MB are a request of 48 MB, since JSON has six characters for each: copying that takes too long."""


class Questions:
    """Asks a proxy for its health again and again, on a thread of its own."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._delays: list[float] = []

    def __enter__(self) -> "Questions":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(20)
        self._connection.close()

    @property
    def delay(self) -> float:
        """The seconds that 99 of 100 answers took at most."""
        return sorted(self._delays)[len(self._delays) * 99 // 100]

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_over.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            self._connection.request("GET", "/healthz")
            answer = self._connection.getresponse()
            answer.read()
            assert answer.status == 200
            delay = time.monotonic() - due
            due = max(due + _EVERY, time.monotonic())
            while delay > 0:  # the answer, and those to questions that were due meanwhile
                self._delays.append(delay)
                delay -= _EVERY


class Served(NamedTuple):
    """Two proxies, each a process of its own, and the provider behind them."""

    busy: Process
    idle: Process
    provider: Upstream
    calls: Iterator[int]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The records are in memory where that is possible: `/healthz` waits for a commit, however slow the disk is."""
    memory = memory_folder()
    with (
        tempfile.TemporaryDirectory(dir=memory) as first,
        tempfile.TemporaryDirectory(dir=memory) as second,
        upstream(lambda _: [Text("done")]) as provider,
        Process("--no-token", "--upstream", f"anthropic={provider.url}", home=first) as busy,
        Process("--no-token", home=second) as idle,
    ):
        yield Served(busy, idle, provider, count())


def with_result(text: str, call_id: str) -> bytes:
    """The request of a client whose tool printed a text."""
    call = {"type": "tool_use", "id": call_id, "name": "work", "input": {"n": 1}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    messages = [
        {"role": "user", "content": f"begin with {call_id}"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return json.dumps(request("anthropic", messages=messages), ensure_ascii=False).encode("utf-8", "replace")


def delays_while_cutting(served: Served, texts: Sequence[str]) -> tuple[float, float]:
    """The delays of the proxy that cuts these texts and of the one that does nothing."""
    bodies = [with_result(text, f"toolu_{next(served.calls)}") for text in texts]
    with Questions(served.busy.port) as questions, Questions(served.idle.port) as others:
        for body in bodies:
            assert ask(served.busy.port, "/v1/messages", body).status == 200
            assert len(served.provider.asked.pop().data) < len(body) / 2, "nothing was cut"
            time.sleep(_AFTER)
    return questions.delay, others.delay


def assert_responsive(served: Served, texts: Sequence[str]) -> None:
    found: list[str] = []
    for _ in range(_TRIES):
        delay, idle = delays_while_cutting(served, texts)
        if delay <= max(_LEAST, _TIMES * idle):
            return
        found.append(f"{delay * 1000:.0f} ms, {idle * 1000:.0f} ms where nothing is cut")
    pytest.fail("; ".join(found))


def test_nobody_waits_for_the_worst_texts_to_be_cut(served: Served) -> None:
    assert_responsive(served, [SHAPES[name](4_000_000) for name in WORST])


@pytest.mark.torture
@pytest.mark.parametrize("shape", SHAPES)
def test_nobody_waits_for_a_text_of_any_shape_to_be_cut(served: Served, shape: str) -> None:
    assert_responsive(served, [SHAPES[shape](LARGE_AS_JSON.get(shape, 8_000_000))])


def test_a_call_that_keeps_all_threads_waiting_is_found() -> None:
    with upstream(lambda _: [Text("done")]) as provider, proxy(provider.url) as running:
        with Questions(running.port) as questions:
            time.sleep(0.3)
            began = time.monotonic()
            while time.monotonic() - began < 0.6:
                sum(range(30_000_000))  # one call, as long as a search of a long text was
        assert questions.delay > _LEAST
