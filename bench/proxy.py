"""What the proxy adds to a request: time to the first byte and CPU, against a bare relay over aiohttp in the same run.

The provider answers at once, so that only the way to it is measured. Requests of the three ways alternate.
"""

import http.client
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench import floors
from bench.proxy_load import load_rows
from bench.support.bare_log import BareLog
from bench.support.proxy_processes import cpu, process, request, step
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import PYTHON, Setup, say

_WHAT = "proxy"
_TOGETHER = 8


def proxy(setup: Setup) -> list[Row]:
    if find_spec("aiohttp") is None or not os.path.exists("/proc/self/stat"):
        return [Row(_WHAT, "–", "needs the extra `proxy` and /proc")]
    with ExitStack() as stack:
        ways = _Ways(setup, stack)
        return [*_first_byte(ways, setup), *_streams(ways, setup), *_large(ways), *load_rows(setup)]


class _Ways:
    """The provider, and two ways to it."""

    def __init__(self, setup: Setup, stack: ExitStack) -> None:
        say("proxy: starting")
        provider = stack.enter_context(process([PYTHON, "-m", "bench.relays.provider"], setup))
        url = f"http://127.0.0.1:{provider[1]}"
        bare = stack.enter_context(process([PYTHON, "-m", "bench.relays.bare_relay", url], setup))
        words = [PYTHON, "-m", "keepwhole", "proxy", "--port", "0", "--no-token", "--upstream", f"anthropic={url}"]
        own = stack.enter_context(process(words, setup))
        self.ports = {"direct": provider[1], "bare": bare[1], "proxy": own[1]}
        self.processes = {"bare": bare[0].pid, "proxy": own[0].pid}
        self.connect()

    def connect(self) -> None:
        """Connect again, since connections that were unused for long are closed."""
        self._open = {name: http.client.HTTPConnection("127.0.0.1", port) for name, port in self.ports.items()}

    def ask(self, way: str, body: bytes, session: str) -> tuple[float, float]:
        """Seconds to the first byte of an answer, and to its end."""
        connection = self._open[way]
        headers = {"content-type": "application/json", "x-api-key": "k", "x-claude-code-session-id": session}
        begun = time.perf_counter()
        connection.request("POST", "/v1/messages", body, headers)
        answer = connection.getresponse()
        first = time.perf_counter() - begun
        if answer.status != 200 or b"message_stop" not in answer.read():
            raise RuntimeError(f"{way} answered {answer.status}")
        return first, time.perf_counter() - begun

    def ask_together(self, way: str, most: int, many: int, name: str) -> None:
        """Request `many` streams one after the other, with several clients at a time."""
        messages = [{"role": "user", "content": "Say something."}, *step(1, 200)]
        body = request(messages, most=most)

        def ask(number: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[way])
            headers = {"content-type": "application/json", "x-claude-code-session-id": f"bench-{most}-{name}-{number}"}
            for _ in range(many):
                connection.request("POST", "/v1/messages", body, headers)
                if b"message_stop" not in connection.getresponse().read():
                    raise RuntimeError(f"{way} left a stream unfinished")
            connection.close()

        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(ask, range(_TOGETHER)))


def _first_byte(ways: _Ways, setup: Setup) -> list[Row]:
    """A conversation of about 200 KB that continues with small results, then one that continues with long ones."""
    requests = 30 if setup.quick else 200
    small = _measure_added(ways, "small", 100, requests)
    large = _measure_added(ways, "large", 20_000, requests // 5)
    commit = _commit(setup)
    ratios = [own / bare for own, bare in zip(small["proxy"], small["bare"], strict=True)]
    over = [(own - median(small["proxy"]) - commit) * 1000 for own in large["proxy"]]
    return [
        row_with_floor(
            "proxy: added to the first byte, 200 KB, nothing to hide",
            f"{median(small['proxy']) * 1000:.2f} ms",
            f"bare relay {median(small['bare']) * 1000:.2f} ms",
            ratios,
            floors.PROXY_FIRST_BYTE,
        ),
        row_with_floor(
            "proxy: added with 20 KB to hide, over that and a bare commit",
            f"{median(large['proxy']) * 1000:.2f} ms",
            f"bare commit {commit * 1000:.2f} ms",
            over,
            floors.PROXY_HIDING,
        ),
    ]


def _measure_added(ways: _Ways, name: str, chars: int, requests: int) -> dict[str, list[float]]:
    """Seconds that each way adds to the first byte of the provider itself, in nine parts of the run."""
    messages: list[Any] = [{"role": "user", "content": "Find out what is wrong."}]
    for number in range(60):
        messages += step(number, 3_000)
    took: dict[str, list[float]] = {way: [] for way in ways.ports}
    say(f"proxy: {requests} requests, {name} results")
    for number in range(requests):
        messages += step(1_000 + number, chars)
        if chars > 10_000:  # so that the request keeps its size
            del messages[-4:-2]
        body = request(messages)
        for way in ways.ports:
            took[way].append(ways.ask(way, body, f"bench-{name}")[0])
    size = max(1, requests // 9)
    parts = [slice(at, at + size) for at in range(size, requests - size + 1, size)]
    direct = [median(took["direct"][part]) for part in parts]
    return {way: [median(took[way][part]) - base for part, base in zip(parts, direct, strict=True)] for way in took}


def _commit(setup: Setup) -> float:
    """Seconds of one bare durable commit of 20 KB."""
    log = BareLog(setup.path("bare"))
    took: list[float] = []
    for _ in range(50):
        begun = time.perf_counter()
        log.keep_row(b"x" * 20_000)
        took.append(time.perf_counter() - begun)
    return median(took)


def _streams(ways: _Ways, setup: Setup) -> list[Row]:
    """CPU of a process for a stream of 200 events: one by one like a model's, and all at once."""
    many = 6 if setup.quick else 12
    rows: list[Row] = []
    for what, most in (("one by one", 201), ("all at once", 200)):
        say(f"proxy: streams, {what}")
        spent: dict[str, list[float]] = {way: [] for way in ways.processes}
        for round in range(setup.rounds):
            for way, running in ways.processes.items():
                before = cpu(running)
                ways.ask_together(way, most, many, f"{round}")
                spent[way].append((cpu(running) - before) * 1000 / (many * _TOGETHER))
        ratios = [own / bare for own, bare in zip(spent["proxy"], spent["bare"], strict=True)]
        rows.append(
            row_with_floor(
                f"proxy: CPU of a stream of 200 events, {what}",
                f"{median(spent['proxy']):.2f} ms",
                f"bare relay {median(spent['bare']):.2f} ms",
                ratios,
                floors.PROXY_STREAM,
            )
        )
    return rows


def _large(ways: _Ways) -> list[Row]:
    """A request with a result of 10 MB."""
    ways.connect()
    took: list[float] = []
    for number in range(3):
        messages = [{"role": "user", "content": "Go."}, *step(number, 10_000_000)]
        took.append(ways.ask("proxy", request(messages), f"bench-large-{number}")[1])
    peak = _peak(ways.processes["proxy"])
    return [
        row_with_floor("proxy: a result of 10 MB in a request", f"{median(took):.2f} s", "–", took, floors.PROXY_LARGE),
        row_without_floor("proxy: peak memory meanwhile", f"{peak:.0f} MB", "–", [peak], " MB", 0),
    ]


def _peak(process: int) -> float:
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
