"""A page of a large artifact through the inspector, beside a bare handler that reads the same bytes; and how much a
browser loads before it shows a session of 2,000 steps.

Judged by wall time, per request, over one connection each; both are asked in turns. Every page is checked against the
file first. Ours finds the lines, checks every block it serves and writes JSON; the bare one is told the bytes.
"""

import http.client
import json
import os
import random
import subprocess
import time
from array import array
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import accumulate
from statistics import median
from urllib.parse import urlsplit

import holdfast
from bench import floors
from bench.row import Row, judged, reported
from bench.setup import PYTHON, ROOT, Setup, say
from bench.texts import KINDS, text_file
from holdfast.session.sent import About, Answer, Sent, Usage

_WHAT = "inspector"
_LINES = 200
_FIRST = ("/", "/api/sessions", "/api/sessions/steps", "/api/sessions/steps/steps")


def inspector(setup: Setup) -> list[Row]:
    if find_spec("aiohttp") is None:
        return [Row(_WHAT, "–", "needs the extra `proxy`")]
    source, home = text_file(next(iter(KINDS)), setup.large, setup.folder), setup.path("inspector")
    say(f"inspector: keeping {setup.large / 1e6:,.0f} MB")
    with holdfast.session("bench", store=home) as session, open(source, "rb") as file:
        artifact = session.keep("bench", None, file).artifact_id or ""
    steps = _long_session(home, 300 if setup.quick else 2_000)
    with ExitStack() as stack:
        bare = stack.enter_context(_process([PYTHON, "-m", "bench.relays.pread", source], setup, home))
        own = stack.enter_context(_process([PYTHON, "-m", "holdfast", "inspect", "--no-open"], setup, home))
        page = _Page(own)
        return [*_pages(setup, page, int(bare), source, artifact), *_first_look(page, steps)]


class _Page:
    """The page's own connection."""

    def __init__(self, line: str) -> None:
        url = urlsplit(line.split()[-1])
        self._connection = http.client.HTTPConnection("127.0.0.1", url.port or 0)
        token = json.dumps({"token": url.fragment.removeprefix("token=")})
        self._connection.request("POST", "/api/enter", token, {"x-holdfast-inspector": "1"})
        answer = self._connection.getresponse()
        answer.read()
        self._headers = {"cookie": (answer.headers["Set-Cookie"] or "").partition(";")[0]}

    def get(self, path: str, packed: bool = False) -> bytes:
        self._connection.request("GET", path, None, self._headers | ({"accept-encoding": "gzip"} if packed else {}))
        return self._connection.getresponse().read()


@contextmanager
def _process(words: Sequence[str], setup: Setup, home: str) -> Generator[str]:
    """A process that prints where it listens."""
    environ = {**setup.environment(home), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    running = subprocess.Popen(words, env=environ, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        yield running.stdout.readline()
    finally:
        running.terminate()
        running.wait(30)


def _pages(setup: Setup, page: _Page, port: int, source: str, artifact: str) -> list[Row]:
    bare = http.client.HTTPConnection("127.0.0.1", port)
    places = _places(source, 50 if setup.quick else 200)
    path = f"/api/sessions/bench/results/{artifact}/lines?count={_LINES}&from="
    took: dict[str, list[float]] = {"own": [], "bare": []}
    for number in range(setup.rounds + 1):
        say(f"inspector: pages, round {number} of {setup.rounds}")
        own_times: list[float] = []
        bare_times: list[float] = []
        for first, start, stop in places:
            begun = time.perf_counter()
            told = page.get(f"{path}{first}")
            own_times.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            bare.request("GET", f"/?start={start}&stop={stop}")
            data = bare.getresponse().read()
            bare_times.append(time.perf_counter() - begun)
            if not number and json.loads(told)["lines"] != data.decode().splitlines():
                raise RuntimeError(f"the page at line {first} is not what the file has")
        if number:
            took["own"].append(median(own_times))
            took["bare"].append(median(bare_times))
    bare.close()
    ratios = [own / other for own, other in zip(took["own"], took["bare"], strict=True)]
    size = os.path.getsize(source) / 1e9
    following = judged(
        f"inspector: {_LINES} lines of {size:.2g} GB, page after page",
        f"{median(took['own']) * 1000:.2f} ms",
        f"bare `pread` handler {median(took['bare']) * 1000:.2f} ms",
        ratios,
        floors.INSPECTOR_PAGE,
    )
    rest = _after_a_pause(page, path, port, places)
    own, other = (f"{median(rest[name]):.2f} ms" for name in ("own", "bare"))
    what = "inspector: the same after a pause"
    return [following, reported(what, own, f"bare `pread` handler {other}", rest["own"], " ms", 2)]


def _after_a_pause(page: _Page, path: str, port: int, places: list[tuple[int, int, int]]) -> dict[str, list[float]]:
    """Milliseconds of pages that nobody has just asked for others of."""
    bare = http.client.HTTPConnection("127.0.0.1", port)
    took: dict[str, list[float]] = {"own": [], "bare": []}
    for first, start, stop in places[:15]:
        time.sleep(0.3)
        begun = time.perf_counter()
        page.get(f"{path}{first}")
        took["own"].append((time.perf_counter() - begun) * 1000)
        time.sleep(0.3)
        begun = time.perf_counter()
        bare.request("GET", f"/?start={start}&stop={stop}")
        bare.getresponse().read()
        took["bare"].append((time.perf_counter() - begun) * 1000)
    bare.close()
    return took


def _places(source: str, count: int) -> list[tuple[int, int, int]]:
    with open(source, "rb") as file:
        ends = array("Q", accumulate(map(len, file), initial=0))
    chance = random.Random(7)
    firsts = [chance.randrange(len(ends) - 1 - _LINES) for _ in range(count)]
    return [(first + 1, ends[first], ends[first + _LINES]) for first in firsts]


def _long_session(home: str, steps: int) -> int:
    say(f"inspector: writing {steps:,} steps")
    with holdfast.session("steps", store=home) as session:
        sent = Sent(session)
        for number in range(steps):
            session.keep("read_file", {"path": f"src/module_{number % 90}/part.py"}, f"{number}\n" * (number % 60))
            about = About(
                model="gpt-5", tokens_whole=9_000 + number * 90, tokens_sent=9_000 + number * 60, predicted=9_000
            )
            usage = Usage(input=9_000 + number * 60, cached=9_000, written=0, output=200, first_ms=400, total_ms=3_000)
            sent.add(b'{"model": "gpt-5", "messages": []}', about, Answer(b"{}", 200, usage=usage))
    return steps


def _first_look(page: _Page, steps: int) -> list[Row]:
    """All that a browser loads before it shows the session: the page's files, then three answers."""
    begun = time.perf_counter()
    answers = [page.get(path, packed=True) for path in _FIRST]
    took = time.perf_counter() - begun
    files = [page.get(f"/static/{name}", packed=True) for name in _files()]
    size = sum(map(len, [*answers, *files])) / 1000
    again = [_timed(page) for _ in range(9)]
    what = f"inspector: first look at {steps:,} steps"
    return [
        judged(f"{what}, all files and answers", f"{size:.0f} KB", "–", [size], floors.INSPECTOR_FIRST),
        reported(f"{what}, read for the first time", f"{took * 1000:.0f} ms", "–", [took * 1000], " ms", 0),
        reported(f"{what}, again", f"{median(again):.1f} ms", "–", again, " ms", 1),
    ]


def _timed(page: _Page) -> float:
    begun = time.perf_counter()
    for path in _FIRST[1:]:
        page.get(path, packed=True)
    return (time.perf_counter() - begun) * 1000


def _files() -> list[str]:
    folder = os.path.join(ROOT, "src/holdfast/apps/inspector/page")
    found = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return [os.path.relpath(path, folder) for path in found if path.endswith((".js", ".css", ".svg"))]
