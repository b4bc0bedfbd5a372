"""A page of a large artifact by the inspector, against a bare handler that reads the same bytes; how much a browser
loads before it shows a session of 2,000 steps; and how long Chromium takes to show the rows of one with 50,000 results.

Judged by wall time, per request, over one connection each, in turns. Every page is first checked against the
file. The inspector finds the lines, checks every block and writes JSON; the bare handler gets the byte range.
"""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import time
from array import array
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import keepwhole
from bench import floors
from bench.support.row import Row, row_with_floor, row_without_floor
from bench.support.setup import PYTHON, ROOT, Setup, say
from bench.texts.large_texts import KINDS, text_file
from docs.pictures import BROWSERS, FLAGS
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.inspector.long_record import write_results

_WHAT = "inspector"
_LINES = 200
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
Place: TypeAlias = tuple[int, int, int]
"""The number of a page's first line, and the bytes that its lines take."""
_FIRST = ("/", "/api/sessions", "/api/sessions/steps", "/api/sessions/steps/steps")


def inspector(setup: Setup) -> list[Row]:
    if find_spec("aiohttp") is None:
        return [Row(_WHAT, "–", "needs the extra `proxy`")]
    source, home = text_file(next(iter(KINDS)), setup.large, setup.folder), setup.path("inspector")
    say(f"inspector: keeping {setup.large / 1e6:,.0f} MB")
    with keepwhole.session("bench", store=home) as session, open(source, "rb") as file:
        artifact = session.keep("bench", None, file).artifact_id or ""
    steps = _long_session(home, 300 if setup.quick else 2_000)
    with ExitStack() as stack:
        bare = stack.enter_context(_process([PYTHON, "-m", "bench.relays.bare_file_server", source], setup, home))
        own = stack.enter_context(_process([PYTHON, "-m", "keepwhole", "inspect", "--no-open"], setup, home))
        page = _Page(own)
        rows = [*_pages(setup, page, int(bare), source, artifact), *_first_look(page, steps)]
    return [*rows, *_opening(setup, 5_000 if setup.quick else 50_000)]


class _Client:
    """One persistent connection with as little work as possible, since the server is measured."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"Host: 127.0.0.1:{port}\r\n"

    def ask(self, path: str, method: str = "GET", more: str = "", body: str = "") -> tuple[bytes, bytes]:
        """Send a request; return the head and the body of the answer."""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{self._head}{more}{length}\r\n{body}".encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._socket.recv(262_144)
        head, _, told = data.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        size = int(found[1]) if found else 0
        parts = [told]
        left = size - len(told)
        while left > 0:
            parts.append(self._socket.recv(262_144))
            left -= len(parts[-1])
        return head, b"".join(parts)

    def close(self) -> None:
        self._socket.close()


class _Page:
    """The page's own connection."""

    def __init__(self, line: str) -> None:
        url = urlsplit(line.split()[-1])
        self._client = _Client(url.port or 0)
        token = json.dumps({"token": url.fragment.removeprefix("token=")})
        head, _ = self._client.ask("/api/enter", "POST", "x-keepwhole-inspector: 1\r\n", token)
        cookie = next(line for line in head.decode().split("\r\n") if line.lower().startswith("set-cookie: "))
        self._cookie = f"Cookie: {cookie.partition(': ')[2].partition(';')[0]}\r\n"

    def get(self, path: str, packed: bool = False) -> bytes:
        return self._client.ask(path, more=self._cookie + ("Accept-Encoding: gzip\r\n" if packed else ""))[1]


@contextmanager
def _process(words: Sequence[str], setup: Setup, home: str) -> Generator[str]:
    """Start a process that prints where it listens."""
    environ = {**setup.environment(home), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    running = subprocess.Popen(words, env=environ, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        yield running.stdout.readline()
    finally:
        running.terminate()
        running.wait(30)


def _pages(setup: Setup, page: _Page, port: int, source: str, artifact: str) -> list[Row]:
    path = f"/api/sessions/bench/results/{artifact}/lines?count={_LINES}&from="
    ends = _ends(source)
    jumps = _places(ends, 50 if setup.quick else 200)
    pages = [place for jump in jumps[: len(jumps) // 10] for place in _next_pages(ends, jump)]
    size = os.path.getsize(source) / 1e9
    what = f"inspector: {_LINES} lines of {size:.2g} GB"
    own, bare = _time_pages(setup, page, path, port, pages)
    ratios = [mine / other for mine, other in zip(own, bare, strict=True)]
    rows = [row_with_floor(f"{what}, page after page", _ms(own), _bare(bare), ratios, floors.INSPECTOR_PAGE)]
    own, bare = _time_pages(setup, page, path, port, jumps)
    ratios = [mine / other for mine, other in zip(own, bare, strict=True)]
    rows.append(row_without_floor(f"{what}, anywhere", _ms(own), _bare(bare), ratios, "×", 2))
    rest = _after_a_pause(page, path, port, jumps)
    rows.append(row_without_floor(f"{what}, anywhere, after a pause", _ms(rest[0]), _bare(rest[1]), rest[0], " ms", 2))
    return rows


def _ms(took: list[float]) -> str:
    return f"{median(took):.2f} ms"


def _bare(took: list[float]) -> str:
    return f"bare `pread` handler {_ms(took)}"


def _time_pages(
    setup: Setup, page: _Page, path: str, port: int, places: list[Place]
) -> tuple[list[float], list[float]]:
    """Milliseconds of a page by the inspector and by the bare handler, one median per round."""
    bare = _Client(port)
    rounds: tuple[list[float], list[float]] = [], []
    for number in range(setup.rounds + 1):
        say(f"inspector: pages, round {number} of {setup.rounds}")
        times: tuple[list[float], list[float]] = [], []
        for first, start, stop in places:
            begun = time.perf_counter()
            told = page.get(f"{path}{first}")
            times[0].append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            _, data = bare.ask(f"/?start={start}&stop={stop}")
            times[1].append((time.perf_counter() - begun) * 1000)
            if not number and json.loads(told)["lines"] != data.decode().splitlines():
                raise RuntimeError(f"the page at line {first} is not what the file has")
        if number:
            rounds[0].append(median(times[0]))
            rounds[1].append(median(times[1]))
    bare.close()
    return rounds


def _after_a_pause(page: _Page, path: str, port: int, places: list[Place]) -> tuple[list[float], list[float]]:
    """Milliseconds of pages that are requested after a pause."""
    bare = _Client(port)
    took: tuple[list[float], list[float]] = [], []
    for first, start, stop in places[:15]:
        time.sleep(0.3)
        begun = time.perf_counter()
        page.get(f"{path}{first}")
        took[0].append((time.perf_counter() - begun) * 1000)
        time.sleep(0.3)
        begun = time.perf_counter()
        bare.ask(f"/?start={start}&stop={stop}")
        took[1].append((time.perf_counter() - begun) * 1000)
    bare.close()
    return took


def _ends(source: str) -> "array[int]":
    """The end of each line of a file, found by reading all of it."""
    with open(source, "rb") as file:
        return array("Q", accumulate(map(len, file), initial=0))


def _places(ends: "array[int]", count: int) -> list[Place]:
    """Random pages."""
    chance = random.Random(7)
    firsts = [chance.randrange(len(ends) - 1 - 11 * _LINES) for _ in range(count)]
    return [_place(ends, first) for first in firsts]


def _next_pages(ends: "array[int]", place: Place) -> list[Place]:
    """Ten consecutive pages."""
    return [_place(ends, place[0] - 1 + number * _LINES) for number in range(10)]


def _place(ends: "array[int]", first: int) -> Place:
    return first + 1, ends[first], ends[first + _LINES]


def _long_session(home: str, steps: int) -> int:
    say(f"inspector: writing {steps:,} steps")
    with keepwhole.session("steps", store=home) as session:
        sent = RequestLog(session)
        for number in range(steps):
            session.keep("read_file", {"path": f"src/module_{number % 90}/part.py"}, f"{number}\n" * (number % 60))
            about = RequestFacts(
                model="gpt-5", tokens_whole=9_000 + number * 90, tokens_sent=9_000 + number * 60, predicted=9_000
            )
            usage = AnswerFacts(
                input=9_000 + number * 60, cached=9_000, written=0, output=200, first_ms=400, total_ms=3_000
            )
            sent.add(b'{"model": "gpt-5", "messages": []}', about, LoggedAnswer(b"{}", 200, usage=usage))
    return steps


def _first_look(page: _Page, steps: int) -> list[Row]:
    """The bytes that a browser loads before it shows the session: the page's files, then three answers."""
    begun = time.perf_counter()
    answers = [page.get(path, packed=True) for path in _FIRST]
    took = time.perf_counter() - begun
    files = [page.get(f"/static/{name}", packed=True) for name in _files()]
    size = sum(map(len, [*answers, *files])) / 1000
    again = [_time(page) for _ in range(9)]
    what = f"inspector: first look at {steps:,} steps"
    return [
        row_with_floor(f"{what}, all files and answers", f"{size:.0f} KB", "–", [size], floors.INSPECTOR_FIRST),
        row_without_floor(f"{what}, read for the first time", f"{took * 1000:.0f} ms", "–", [took * 1000], " ms", 0),
        row_without_floor(f"{what}, again", f"{median(again):.1f} ms", "–", again, " ms", 1),
    ]


def _time(page: _Page) -> float:
    begun = time.perf_counter()
    for path in _FIRST[1:]:
        page.get(path, packed=True)
    return (time.perf_counter() - begun) * 1000


def _files() -> list[str]:
    folder = os.path.join(ROOT, "src/keepwhole/apps/inspector/page")
    found = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return [os.path.relpath(path, folder) for path in found if path.endswith((".js", ".css", ".svg"))]


def _opening(setup: Setup, results: int) -> list[Row]:
    """The time until Chromium shows the rows of a long session: of a server that was just started, and once it has
    read the session; beside that the CPU time of this server until then."""
    what = f"inspector: {results:,} results, until Chromium shows rows"
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None or find_spec("playwright") is None:
        return [Row(what, "–", "needs Chromium and Playwright (`make browser-ready`)")]
    driver: Any = import_module("playwright.sync_api")
    home = setup.path("opening")
    say(f"inspector: writing {results:,} results")
    store = SqliteStore(home)
    write_results(store, "long", results, per_request=25)
    store.close()
    took: list[tuple[float, float, float]] = []
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for number in range(setup.rounds + 1):
            say(f"inspector: opening, round {number} of {setup.rounds}")
            took.append(_open_in(browser, setup, home))
        browser.close()
    first, cpu, again = ([round[at] for round in took[1:]] for at in range(3))  # in the first, Chromium starts too
    return [
        row_with_floor(f"{what}, never read", _ms(first), "–", [each / 1000 for each in first], floors.INSPECTOR_OPENS),
        row_without_floor(f"{what}, CPU of the server", _ms(cpu), "–", cpu, " ms", 0),
        row_without_floor(f"{what}, by a click in the list, once it is read", _ms(again), "–", again, " ms", 0),
    ]


def _open_in(browser: Any, setup: Setup, home: str) -> tuple[float, float, float]:
    """Milliseconds until there are rows, those that the server computed meanwhile, and those of a click later on."""
    words = [PYTHON, "-m", "keepwhole", "inspect", "--no-open", "--port", "0"]
    process = subprocess.Popen(
        words, env={**setup.environment(home), "PYTHONPATH": f"{ROOT}/src"}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        url = process.stdout.readline().split()[-1]
        tab, rows = context.new_page(), ".row:not(.unknown)"
        time.sleep(0.5)  # until the server waits
        computed, begun = _cpu(process.pid), time.perf_counter()
        tab.goto(f"{url}&session=long")
        tab.wait_for_selector(rows)
        first, cpu = (time.perf_counter() - begun) * 1000, _cpu(process.pid) - computed
        tab.wait_for_selector(".note[role=status]", state="detached", timeout=60_000)
        tab.goto(f"{url.partition('#')[0]}#/")
        name = tab.wait_for_selector("table.sessions tbody tr a")
        begun = time.perf_counter()
        name.click()
        tab.wait_for_selector(rows)
        return first, cpu, (time.perf_counter() - begun) * 1000
    finally:
        context.close()
        process.terminate()
        process.wait(30)


def _cpu(pid: int) -> float:
    """Milliseconds that a process has computed; Linux alone tells those of another one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")
