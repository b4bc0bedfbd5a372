"""What the proxy adds where there is much: twenty new sessions at once, a new conversation of 1 MB, a very long one.

Sessions and new conversations go to a provider that reads, checks and bills what it gets, as every provider does; time
through the proxy is divided by the time without it. Of the long conversation the CPU of the proxy counts, for a byte of
the request: the steps around the 1,500th against those around the 100th, with a provider that answers at once.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

from bench import floors
from bench.support.proxy_processes import cpu, process, request, step
from bench.support.row import Row, row_with_floor
from bench.support.setup import PYTHON, Setup, say
from bench.texts.large_texts import ascii_line

_STREAMS = 20
_NEW_RESULTS, _NEW_CHARS = 16, 64_000
_STEP_CHARS = 3_000
_EARLY, _LATE = 100, 1_500
_AROUND = 10
"""Steps before and after the early and the late one that are measured with it."""
_STRIDE = 10
"""Steps that come with one request where none is measured."""


def load_rows(setup: Setup) -> list[Row]:
    """The rows of all three."""
    return [*_strict_rows(setup), _long_row(setup)]


class _Way:
    """One way to the provider."""

    def __init__(self, port: int, process: int) -> None:
        self._port, self.process = port, process

    def ask(self, body: bytes, session: str, connection: http.client.HTTPConnection | None = None) -> float:
        """Seconds to the first byte of an answer, which is then read to its end."""
        connection = connection or self.connect()
        headers = {"content-type": "application/json", "x-api-key": "k", "x-claude-code-session-id": session}
        begun = time.perf_counter()
        connection.request("POST", "/v1/messages", body, headers)
        answer = connection.getresponse()
        answer.read(1)
        first = time.perf_counter() - begun
        if answer.status != 200 or b"message_stop" not in answer.read():
            raise RuntimeError(f"answered {answer.status}")
        return first

    def connect(self) -> http.client.HTTPConnection:
        """A connection that is open already."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.connect()
        return connection


@contextmanager
def _ways(setup: Setup, provider: str, home: str) -> Generator[dict[str, _Way]]:
    with ExitStack() as stack:
        served = stack.enter_context(process([PYTHON, "-m", provider], setup))
        url = f"anthropic=http://127.0.0.1:{served[1]}"
        words = [PYTHON, "-m", "keepwhole", "proxy", "--port", "0", "--no-token", "--upstream", url]
        own = stack.enter_context(process(words, setup, home))
        yield {name: _Way(port, running.pid) for name, (running, port) in (("direct", served), ("proxy", own))}


def _strict_rows(setup: Setup) -> list[Row]:
    with _ways(setup, "bench.relays.strict_provider", "proxy-load") as ways:
        for way in ways.values():  # what a process does only once is not measured
            way.ask(_new_conversation("warm", 1), "bench-warm")
        say(f"proxy: {_STREAMS} streams at once")
        parallel = [{name: _together(way, f"{name}-{round}") for name, way in ways.items()} for round in _rounds(setup)]
        say("proxy: new conversations of 1 MB")
        new = [
            {
                name: way.ask(_new_conversation(f"{round}", _NEW_RESULTS), f"bench-new-{round}")
                for name, way in ways.items()
            }
            for round in _rounds(setup)
        ]
    return [
        _ratio_row(f"proxy: {_STREAMS} new streams at once, first byte p50", parallel, floors.PROXY_PARALLEL),
        _ratio_row("proxy: a new conversation of 1 MB, first byte", new, floors.PROXY_NEW),
    ]


def _rounds(setup: Setup) -> range:
    return range(setup.rounds)


def _together(way: _Way, name: str) -> float:
    """Seconds to the first byte, the median of streams of new sessions that begin at the same time."""
    start = threading.Barrier(_STREAMS)

    def ask(number: int) -> float:
        messages = [
            {"role": "user", "content": f"Say something about {name} and {number}."},
            *step(1, 200, f"{name}-{number}"),
        ]
        body, connection = request(messages), way.connect()
        start.wait()
        try:
            return way.ask(body, f"bench-{name}-{number}", connection)
        finally:
            connection.close()

    with ThreadPoolExecutor(_STREAMS) as pool:
        first = median(pool.map(ask, range(_STREAMS)))
    _wait_until_idle(way.process)
    return first


def _new_conversation(name: str, results: int) -> bytes:
    """A conversation with results that nobody has seen, each with text of its own."""
    chance = random.Random(name)
    messages: list[Any] = [{"role": "user", "content": "Find out what is wrong."}]
    for number in range(results):
        call, result = step(number, 0, name)
        text = "".join(ascii_line(chance) for _ in range(_NEW_CHARS // 60))[:_NEW_CHARS]
        result["content"][0]["content"] = text
        messages += [call, result]
    return request(messages)


def _ratio_row(what: str, rounds: list[dict[str, float]], floor: floors.Floor) -> Row:
    direct, own = (median(took[name] for took in rounds) * 1000 for name in ("direct", "proxy"))
    ratios = [took["proxy"] / took["direct"] for took in rounds]
    return row_with_floor(what, f"{own:.1f} ms", f"direct {direct:.1f} ms", ratios, floor)


def _long_row(setup: Setup) -> Row:
    late = _LATE // 5 if setup.quick else _LATE
    runs: list[tuple[float, float]] = []
    for run in range(1 if setup.quick else 3):
        say(f"proxy: a conversation of {late:,} steps, run {run + 1}")
        with _ways(setup, "bench.relays.provider", f"proxy-long-{run}") as ways:
            runs.append(_spent_per_byte(ways["proxy"], (_EARLY, late)))
    return row_with_floor(
        f"proxy: CPU for a byte of a request, step {late:,} against step {_EARLY}",
        f"{median(later for _, later in runs) * 1e9:.1f} ns",
        f"step {_EARLY} {median(early for early, _ in runs) * 1e9:.1f} ns",
        [later / early for early, later in runs],
        floors.PROXY_LONG,
    )


def _spent_per_byte(way: _Way, steps: tuple[int, int]) -> tuple[float, float]:
    """CPU seconds of the proxy for a byte, in all requests around each of these steps: in batches too."""
    messages = [json.dumps({"role": "user", "content": "Find out what is wrong."})]
    front, connection = request([])[:-2], way.connect()
    spent, sent = dict.fromkeys(steps, 0.0), dict.fromkeys(steps, 0)
    for number in range(1, steps[-1] + _AROUND + 1):
        messages += map(json.dumps, step(number, _STEP_CHARS))
        near = next((around for around in steps if abs(number - around) <= _AROUND), None)
        if near is None and number % _STRIDE:
            continue
        body = front + ", ".join(messages).encode() + b"]}"
        before = cpu(way.process)
        way.ask(body, "bench-long", connection)
        _wait_until_idle(way.process)
        if near is not None:
            spent[near] += cpu(way.process) - before
            sent[near] += len(body)
    connection.close()
    early, late = (spent[around] / sent[around] for around in steps)
    return early, late


def _wait_until_idle(process: int) -> None:
    """Wait until a process has recorded what it was asked: it uses no CPU for a while."""
    before, idle = cpu(process), 0
    while idle < 3:
        time.sleep(0.02)
        now = cpu(process)
        idle, before = (idle + 1, now) if now - before < 0.0005 else (0, now)
