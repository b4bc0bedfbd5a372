"""The inspector's answers from made-up data, in a thread: slow, broken or hostile where a test asks for it."""

import asyncio
import gzip
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web

import keepwhole
from tests.apps.inspector import fake_data

PAGE = Path(str(keepwhole.__file__)).parent / "apps" / "inspector" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
TOKEN = "a token of sixteen letters"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
GIANT = "giant"
Answer = dict[str, Any]


class Fake:
    """The answers of the server. Tests change them while it runs."""

    def __init__(self) -> None:
        self.steps = {"fix-the-router": 148, "long-haul": 2_000, "nothing-yet": 0}
        self.hostile: dict[str, str] = {}
        self.delay = 0.0
        self.broken: dict[str, tuple[int, str]] = {}
        self.listeners: list[tuple[str, web.StreamResponse]] = []
        self.refuse_live = False
        self.posted: list[tuple[str, Any]] = []
        self.stopped = 0
        self.url = ""
        self.ending = False
        self.loop = asyncio.new_event_loop()

    def add_hostile(self) -> None:
        for text in fake_data.HOSTILE:
            name = text.encode("utf-8", "replace").decode()
            self.steps[name] = 3
            self.hostile[name] = text

    def hear_of_steps(self, name: str, count: int = 1) -> None:
        for _ in range(count):
            index = self.steps[name]
            self.steps[name] += 1
            self._send(
                "step", name, {"session": name, "index": index, "total": index + 1, "step": fake_data.step(index)}
            )

    def progress(self, name: str, text: str) -> None:
        told = {"session": name, "preview": True, "canonical": {"trace_id": "t", "chars": 48_000}, "text": text}
        self._send("progress", name, told)

    def hang_up(self) -> None:
        for _, response in self.listeners:
            self.loop.call_soon_threadsafe(lambda one=response: one._req.transport.close())
        self.listeners.clear()

    def _send(self, kind: str, name: str, told: Answer) -> None:
        data = f"event: {kind}\nid: {self.steps[name] * 5}\ndata: {json.dumps(told)}\n\n".encode()
        for wanted, response in self.listeners:
            if wanted == name:
                asyncio.run_coroutine_threadsafe(response.write(data), self.loop).result(5)

    async def live(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_live:
            return web.json_response({"error": "not now"}, status=503)
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-store"})
        await response.prepare(request)
        await response.write(b": hello\n\n")
        self.listeners.append((request.query.get("session", ""), response))
        while request.transport and not self.ending:
            await asyncio.sleep(0.05)
        return response

    def sessions(self, query: str) -> list[Answer]:
        notes = {"nothing-yet": ("ok", ""), "long-haul": ("warning", "3 requests without a response")}
        rows = [
            fake_data.row(name, steps, *notes.get(name, ("ok", "")), hostile=self.hostile.get(name, ""))
            for name, steps in self.steps.items()
        ]
        return [row for row in rows if query.lower() in row["name"].lower()]


def _name(request: web.Request, fake: Fake) -> str:
    if request.match_info["name"] not in fake.steps:
        raise web.HTTPNotFound(text=json.dumps({"error": "No session has this name. `keepwhole sessions` lists them."}))
    return request.match_info["name"]


def _steps(request: web.Request, fake: Fake) -> Answer:
    name = _name(request, fake)
    first, total = int(request.query["from"]), fake.steps[name]
    last = min(first + int(request.query["count"]), total)
    found = [fake_data.step(index, fake.hostile.get(name, "")) for index in range(first, last)]
    return {"total": total, "from": first, "steps": found}


def _results(request: web.Request, fake: Fake) -> Answer:
    name, query = _name(request, fake), request.query
    hostile = fake.hostile.get(name, "")
    found = [fake_data.result(index, hostile=hostile) for index in range(fake.steps[name])]
    found = [each for each in found if query.get("query", "") in each["tool"] + each["arguments"]]
    found = [each for each in found if each["shown"] or query.get("only") != "cut"]
    first = int(query.get("from", 0))
    return {"total": len(found), "results": found[first : first + int(query["count"])]}


def _line(name: str, fake: Fake, number: int) -> str:
    hostile = fake.hostile.get(name)
    return hostile or f"{number:>9} {fake_data.LINES[number % len(fake_data.LINES)]}"


def _one_result(request: web.Request, fake: Fake) -> Answer:
    name, trace = _name(request, fake), request.match_info["id"]
    giant = trace == GIANT
    index = 0 if giant else int(trace[1:].split("-")[0])
    about = fake_data.result(index, hostile=fake.hostile.get(name, ""))
    is_before = "upto" in request.query and index % 10 == 0 and not giant
    if giant:
        about |= {"trace_id": GIANT, "lines": fake_data.GIANT_LINES, "chars": 1_000_000_000, "tokens": 250_000_000}
    text = "\n".join(_line(name, fake, number) for number in range(1, 120))
    segments = [
        {"part": "kept", "text": text[:900], "lines": 14, "chars": 900, "from_line": 1},
        {"part": "gap", "text": None, "lines": 412, "chars": 31_400, "from_line": 15},
        {"part": "elided", "text": None, "lines": 7, "chars": 210, "from_line": 427},
        {"part": "kept", "text": text[-700:], "lines": 10, "chars": 700, "from_line": 434},
        {
            "part": "notice",
            "text": f'[431 lines left out; get_artifact(id="{about["artifact_id"]}")]',
            "lines": 1,
            "chars": 60,
        },
    ]
    return {
        "result": about | {"size": about["chars"], "digest": "sha256:ab", "media_type": "text/plain", "flags": []},
        "decisions": [fake_data.decision(index, fake.hostile.get(name, ""))],
        "calls": {"whole": f'get_artifact(id="{trace}")', "python": "…", "cli": f"keepwhole show {trace}"},
        "canonical": {"text": text, "from_line": 1, "lines": about["lines"], "more": True},
        "shown": {"segments": segments, **about["shown"]} if about["shown"] and not is_before else None,
    }


def _lines(request: web.Request, fake: Fake) -> Answer:
    name, giant = _name(request, fake), request.match_info["id"] == GIANT
    total = fake_data.GIANT_LINES if giant else _one_result(request, fake)["result"]["lines"]
    first = int(request.query["from"])
    numbers = range(first, min(first + int(request.query["count"]), total + 1))
    lines = [_line(name, fake, number) for number in numbers]
    call = f'get_artifact(id="{request.match_info["id"]}", lines="{first}-{first + len(lines) - 1}")'
    return {"from": first, "count": len(lines), "lines": lines, "cut": [], "total": total, "call": call}


def _find(request: web.Request, fake: Fake) -> Answer:
    """Search a piece of the text at a time; the match is far down, so that it takes several calls."""
    first, text = int(request.query["from"]), request.query["text"]
    if text == "needle":
        at = 12_345_678
        if first > at:
            return {"found": [], "next": None, "searched_to": fake_data.GIANT_LINES}
        if first + 4_000_000 < at:
            return {"found": [], "next": first + 4_000_000, "searched_to": first + 4_000_000}
        return {"found": [{"line": at, "text": "a needle"}], "next": at + 1, "searched_to": at}
    return {"found": [], "next": None, "searched_to": fake_data.GIANT_LINES}


def _request(request: web.Request, fake: Fake) -> Answer:
    name = _name(request, fake)
    body = [{"role": "user", "content": fake.hostile.get(name, "Mend the router.")}] * 2_000
    text = json.dumps({"model": "claude-sonnet-5", "messages": body}, indent=1, ensure_ascii=False)
    first, most = int(request.query.get("from", 0)), int(request.query.get("count", 65_536))
    part = text[first : first + most]
    return {"size": len(text), "digest": "sha256:cd", "from": first, "text": part, "more": first + most < len(text)}


def _about_request(request: web.Request, fake: Fake) -> Answer:
    name, index = _name(request, fake), int(request.match_info["id"][1:])
    hostile = fake.hostile.get(name, "")
    made = {
        "story": lambda: fake_data.story(index, fake.steps[name], hostile),
        "messages": lambda: fake_data.request(index, request.query, hostile),
        "answer": lambda: fake_data.answer(hostile),
    }
    return made[request.path.rpartition("/")[2]]()


def _window(request: web.Request, fake: Fake) -> Answer:
    index, hostile = int(request.match_info["index"]), fake.hostile.get(_name(request, fake), "")
    step = fake_data.step(index)
    return fake_data.indicator(step["tokens_sent"], step["tokens_whole"], hostile)


def _search(request: web.Request, fake: Fake) -> Answer:
    line = _line(_name(request, fake), fake, 40)
    found = [{"trace_id": f"t{index}-0", "line": 4 + index, "text": line} for index in range(5)]
    return {"found": found if request.query["query"] != "absent" else []}


def _play(_: web.Request, __: Fake) -> Answer:
    before = {"policy": "auto", "tokens": 8_400_000, "cost": 0.77, "dollars": 3.1, "evidence": 0.81, "rewrites": 4}
    after = {"policy": "auto", "tokens": 5_100_000, "cost": 0.34, "dollars": 1.4, "evidence": 0.82, "rewrites": 2}
    return {
        "before": before | {"compaction_step": 61},
        "after": after | {"compaction_step": None},
        "yaml": "policy: auto\nauto:\n  patience: 1\n",
        "notes": ["12 results had no line that was used again."],
    }


PageRequest = Callable[[web.Request, Fake], Answer]
SESSION = "/api/sessions/{name:[^/]+}"
RESULT = SESSION + "/results/{id}"
ROUTES: dict[tuple[str, str], PageRequest] = {
    ("GET", "/api/sessions"): lambda request, fake: {
        "sessions": fake.sessions(request.query.get("query", "")),
        "next": None,
        "agents": ["claude-code", "codex"],
        "home": "/home/ada/.keepwhole",
        "version": "0.9.0",
    },
    ("GET", SESSION): lambda request, fake: fake_data.summary(
        _name(request, fake), fake.steps[_name(request, fake)], fake.hostile.get(_name(request, fake), "")
    ),
    ("GET", SESSION + "/steps"): _steps,
    ("GET", SESSION + "/results"): _results,
    ("GET", RESULT): _one_result,
    ("GET", RESULT + "/lines"): _lines,
    ("GET", RESULT + "/find"): _find,
    ("GET", SESSION + "/requests/{id}"): _request,
    ("GET", SESSION + "/requests/{id}/response"): _request,
    ("GET", SESSION + "/requests/{id}/story"): _about_request,
    ("GET", SESSION + "/requests/{id}/messages"): _about_request,
    ("GET", SESSION + "/requests/{id}/answer"): _about_request,
    ("GET", SESSION + "/steps/{index}/window"): _window,
    ("GET", SESSION + "/search"): _search,
    ("POST", SESSION + "/verify"): lambda request, fake: {"ok": True, "entries": 740, "findings": []},
    ("POST", RESULT + "/pin"): lambda request, fake: {"tokens": 0},
    ("POST", RESULT + "/undo"): lambda request, fake: {"tokens": 4_300},
    ("GET", "/api/policies"): lambda request, fake: fake_data.POLICIES,
    ("GET", "/api/health"): lambda request, fake: fake_data.HEALTH,
}


def _answering(asked: PageRequest, fake: Fake) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.cookies.get("keepwhole_inspector") != TOKEN.replace(" ", "-"):
            return web.json_response({"error": "Enter first."}, status=401)
        await asyncio.sleep(fake.delay)
        for part, (status, words) in fake.broken.items():
            if part in request.path:
                return web.json_response({"error": words}, status=status)
        if request.method == "POST":
            fake.posted.append((request.path, await request.json()))
        response = web.json_response(asked(request, fake), headers={"cache-control": "no-store"})
        response.enable_compression()
        return response

    return answer


def _playing(fake: Fake) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A comparison that reports how far it is, and notices when nobody waits for it."""

    async def answer(request: web.Request) -> web.StreamResponse:
        fake.posted.append((request.path, await request.json()))
        for part, (status, words) in fake.broken.items():
            if part in request.path:
                return web.json_response({"error": words}, status=status)
        response = web.StreamResponse(headers={"content-type": "application/x-ndjson"})
        await response.prepare(request)
        try:
            for share in (0.2, 0.6):
                line = {"share": share, "words": "sending everything"}
                await response.write(json.dumps(line).encode() + b"\n")
                await asyncio.sleep(fake.delay)
            await response.write(json.dumps({"outcome": _play(request, fake)}).encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            fake.stopped += 1
        return response

    return answer


@cache
def _packed(path: Path) -> tuple[bytes, str]:
    data = path.read_bytes()
    return gzip.compress(data, 9), f'"{hashlib.sha256(data).hexdigest()[:32]}"'


async def _static(request: web.Request) -> web.StreamResponse:
    """Serve a file as the server does: compressed once, and not sent again to a client that has it."""
    path = PAGE / (request.match_info.get("path") or "index.html")
    if not path.is_file() or PAGE not in path.resolve().parents:
        raise web.HTTPNotFound
    data, mark = _packed(path)
    headers = {"content-security-policy": POLICY, "x-content-type-options": "nosniff", "etag": mark}
    headers |= {"cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == mark:
        return web.Response(status=304, headers=headers)
    headers["content-encoding"] = "gzip"
    return web.Response(body=data, content_type=KINDS[path.suffix], charset="utf-8", headers=headers)


async def _empty(_: web.Request) -> web.Response:
    return web.Response(text="<!doctype html><p class=empty-page>empty", content_type="text/html")


async def _raw(request: web.Request) -> web.Response:
    headers = {"content-disposition": "attachment; filename=raw.txt", "content-security-policy": "sandbox"}
    return web.Response(body=b"the raw bytes\n", content_type="application/octet-stream", headers=headers)


async def _enter(request: web.Request) -> web.Response:
    body = await request.json()
    if body.get("token") != TOKEN or request.headers.get("x-keepwhole-inspector") != "1":
        return web.json_response({"error": "This key fits no more. Run `keepwhole inspect` again."}, status=403)
    response = web.Response(status=204)
    response.set_cookie("keepwhole_inspector", TOKEN.replace(" ", "-"), httponly=True, samesite="Strict", path="/")
    return response


def application(fake: Fake) -> web.Application:
    app = web.Application()
    app.router.add_get("/", _static)
    app.router.add_get("/empty", _empty)
    app.router.add_get("/static/{path:.+}", _static)
    app.router.add_post("/api/enter", _enter)
    app.router.add_get("/api/live", fake.live)
    app.router.add_get(RESULT + "/raw", _raw)
    app.router.add_get(SESSION + "/requests/{id}/raw", _raw)
    app.router.add_post(SESSION + "/play", _playing(fake))
    for (method, path), asked in ROUTES.items():
        app.router.add_route(method, path, _answering(asked, fake))
    return app


@contextmanager
def serving() -> Iterator[Fake]:
    """The fake at an address of its own, until the block ends."""
    fake, ready, end = Fake(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(application(fake), shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await end.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: fake.loop.run_until_complete(serve()), daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the fake inspector did not start")
    try:
        yield fake
    finally:
        fake.ending = True
        fake.loop.call_soon_threadsafe(end.set)
        thread.join(10)
        fake.loop.close()
