"""While the worst texts are cut, the proxy answers everybody else: no step of that work keeps other threads waiting.

`/healthz` is asked at fixed times. An answer counts from the time at which it was due to be asked for, so one long
pause delays many of them: a client that only asks again after each answer would see a single slow one.
"""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.apps.proxy.proxy_server import Process, ask, request
from tests.promises.adversarial import shapes
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Text

_EVERY = 0.01
"""Seconds between two questions."""
_IDLE = 200
"""Questions to a proxy that does nothing else."""
_LEAST = 0.05
"""Seconds that may always pass, however quick an idle proxy is."""
_TIMES = 5
_AFTER = 0.3
"""Seconds after an answer in which its request is still being recorded."""
SHAPES = shapes()
WORST = ("an array of numbers", "many keys", "CRLF", "lines of typed code", "40 levels of arrays")
"""Texts of which single steps take longest, of several strategies."""


class Questions:
    """Asks for the health of a proxy at fixed times, on a thread of its own, until it is told to stop."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.delays: list[float] = []

    def __enter__(self) -> "Questions":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(20)
        self._connection.close()

    @property
    def slowest(self) -> float:
        """The delay that 99 of 100 answers keep to."""
        return sorted(self.delays)[len(self.delays) * 99 // 100]

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_over.is_set():
            self._connection.request("GET", "/healthz")
            answer = self._connection.getresponse()
            answer.read()
            assert answer.status == 200
            self.delays.append(time.monotonic() - due)
            due += _EVERY
            time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def served(home: Path) -> Iterator[tuple[Process, Upstream]]:
    """A proxy as a process of its own, in front of a provider."""
    with upstream(lambda _: [Text("done")]) as behind:
        options = ("--upstream", f"openai={behind.url}", "--upstream", f"anthropic={behind.url}")
        with Process("--no-token", *options, home=str(home)) as process:
            yield process, behind


def with_result(text: str, call_id: str) -> bytes:
    """The request of a client whose tool printed a text."""
    call = {"type": "tool_use", "id": call_id, "name": "work", "input": {"n": 1}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    messages = [
        {"role": "user", "content": f"begin with {call_id}"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return json.dumps(request("anthropic", messages=messages)).encode()


def idle_delay(port: int) -> float:
    with Questions(port) as questions:
        time.sleep(_IDLE * _EVERY)
    return questions.slowest


def delay_while_cutting(process: Process, behind: Upstream, bodies: Sequence[bytes]) -> float:
    """The delay of 99 of 100 answers while these requests are answered, one after another."""
    with Questions(process.port) as questions:
        for body in bodies:
            answer = ask(process.port, "/v1/messages", body)
            assert answer.status == 200
            assert len(behind.asked.pop().data) < len(body) / 2, "nothing was cut"
            time.sleep(_AFTER)
    return questions.slowest


def assert_responsive(home: Path, texts: Iterator[tuple[str, str]]) -> None:
    """Asks about every text by itself; a delay that is found once may be another process's."""
    slow: dict[str, str] = {}
    with served(home) as (process, behind):
        idle = idle_delay(process.port)
        most = max(_LEAST, _TIMES * idle)
        for name, text in texts:
            delays = (
                delay_while_cutting(process, behind, [with_result(text, f"toolu_{turn}_{len(slow)}_{len(name)}")])
                for turn in range(3)
            )
            delay = 0.0
            for delay in delays:
                if delay <= most:
                    break
            else:
                slow[name] = f"{delay * 1000:.0f} ms; {idle * 1000:.0f} ms when idle"
    assert not slow


def test_an_answer_to_others_waits_for_no_text_that_is_cut(tmp_path: Path) -> None:
    assert_responsive(tmp_path, ((name, SHAPES[name](4_000_000)) for name in WORST))
