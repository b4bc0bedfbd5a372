"""The inspector as a server: from a request to the answer of its route.

Owns: reading requests, writing answers, errors as words and statuses.
Must not know: what the answers say of the record.
"""

import asyncio
import gzip
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from keepwhole.apps.inspector import export, headers, raw, shapes
from keepwhole.apps.inspector.access import PageGuard
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.export import ExportRequest
from keepwhole.apps.inspector.files import PageFiles
from keepwhole.apps.inspector.images import is_displayed
from keepwhole.apps.inspector.live import Live
from keepwhole.apps.inspector.routes import Route, find_route
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.inspector.what_if import NotEnoughRecorded, Stopped
from keepwhole.apps.listener import Address, usage_error_if_taken
from keepwhole.apps.proxy.connection import BodyTooLarge, ClientGone, Connection, Connections, read_body, write
from keepwhole.errors import KeepwholeError, NotFound, StoreError, UsageError

_BODY = 65_536
_COMPRESSED_FROM = 2_048
_MOST_CONNECTIONS = 64
_STOP_WITHIN = 2.0
_HEARTBEAT = 0.5
_JSON = CIMultiDict({**headers.ALWAYS, "Content-Type": "application/json"})


class _Refused(Exception):
    """A request that is refused with a status and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _PageConnection(Connection):
    """A client whose every answer has the page's headers, even an answer to bytes that are not HTTP."""

    def handle_error(self, *about: Any, **more: Any) -> web.StreamResponse:
        answer = super().handle_error(*about, **more)
        answer.headers.update(headers.ALWAYS)
        return answer


class _PageConnections(Connections):
    connection_type = _PageConnection


class Inspector:
    """Answers the page's requests until it is stopped."""

    def __init__(self, services: InspectorServices, guard: PageGuard) -> None:
        self.services, self.guard = services, guard
        self.live = Live(services)
        self._files = PageFiles()
        self.on_request: Callable[[Any], None] = lambda _: None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.on_request(request.protocol)
        try:
            return await self._answer(request)
        except _Refused as refused:
            return _json_response({"error": str(refused)}, refused.status)
        except KeepwholeError as error:
            return _json_response({"error": str(error)}, _status(error))
        except BodyTooLarge:
            return _json_response({"error": "The request is too large."}, 400)
        except (TimeoutError, ConnectionError):
            raise
        except Exception as error:
            return _json_response(
                {"error": f"The inspector failed ({type(error).__name__}). Run `keepwhole doctor`."}, 500
            )

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self.guard.refusal_by_origin(request.headers)
        if refusal is not None:
            raise _Refused(*refusal)
        route, names = _route(request)
        refusal = self.guard.refusal_by_rule(route.rule, request.headers)
        if refusal is not None:
            raise _Refused(*refusal)
        asked = PageRequest(names, request.query)
        if route.method == "POST":
            asked = asked._replace(given=_parse_body(await read_body(request, _BODY)))
        if not isinstance(route.answer, str):
            answer = route.if_ready(self.services, asked) if route.if_ready is not None else None
            if answer is None:
                answer = await asyncio.get_running_loop().run_in_executor(None, route.answer, self.services, asked)
            return _json_response(
                answer, compress=route.is_compressed and "gzip" in request.headers.get("accept-encoding", "")
            )
        return await getattr(self, f"_{route.answer}")(request, asked)

    async def _page(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        return self._file(request, "index.html")

    async def _static(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        return self._file(request, "/".join(asked.names))

    def _file(self, request: web.BaseRequest, name: str) -> web.StreamResponse:
        answer = self._files.answer(name, request.headers)
        if answer is None:
            raise _Refused(404, "There is no such file.")
        return answer

    async def _enter(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        secret = self.guard.cookie_for(asked.given.get("token"))
        if secret is None:
            raise _Refused(401, "This is not the token. Open the address that `keepwhole inspect` prints.")
        answer = web.Response(status=204, headers=headers.ALWAYS)
        answer.set_cookie(self.guard.cookie, secret, httponly=True, samesite="Strict", path="/")
        return answer

    async def _raw_result(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        kept = await asyncio.to_thread(self.services.record.find_result, *asked.names)
        return await raw.send_result(self.services.record, asked.names[0], kept, request)

    async def _image(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        kept = await asyncio.to_thread(self.services.record.find_result, *asked.names)
        if not is_displayed(kept.result, kept.facts.size):
            raise _Refused(404, "A browser cannot display this. Download it.")
        own = headers.image(kept.result.media_type)
        return await raw.send_result(self.services.record, asked.names[0], kept, request, own)

    async def _raw_request(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        data = await asyncio.to_thread(self.services.record.request_body, *asked.names)
        return web.Response(body=data, headers={**headers.ALWAYS, **headers.attachment(f"{asked.names[1]}.json")})

    async def _export(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        is_html = asked.query.get("format", "html") == "html"
        first = shapes.number(asked.query, "from", 1, 1, 1 << 40)
        last = shapes.number(asked.query, "to", 1 << 40, 1, 1 << 40)
        wanted = ExportRequest(first, last)
        make = export.as_html if is_html else export.as_json
        data = await asyncio.to_thread(make, self.services, asked.session, wanted)
        name = f"keepwhole-{asked.session}.{'html' if is_html else 'json'}"
        return web.Response(body=data, headers={**headers.ALWAYS, **headers.attachment(name)})

    async def _play(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        """Compare settings; each line of the answer is a report, the last one is the outcome or what went wrong.

        The page gives up by closing the connection.
        """
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        is_gone = threading.Event()

        def report(share: float, words: str) -> None:
            if is_gone.is_set():
                raise Stopped
            loop.call_soon_threadsafe(lines.put_nowait, {"share": share, "words": words})

        await asyncio.to_thread(self.services.what_if.require, asked.session, asked.given)
        working = asyncio.create_task(asyncio.to_thread(self._compare, asked, report))
        working.add_done_callback(lambda task: lines.put_nowait({} if task.cancelled() else task.result()))
        answer = web.StreamResponse(headers={**headers.ALWAYS, "Content-Type": "application/x-ndjson"})
        await answer.prepare(request)
        try:
            while not working.done() or not lines.empty():
                line = await _next_line(lines)
                await write(answer, request, msgspec.json.encode(line) + b"\n")
                if "outcome" in line or "error" in line:
                    break
        except (ClientGone, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            is_gone.set()
        return answer

    def _compare(self, asked: PageRequest, report: Callable[[float, str], None]) -> dict[str, Any]:
        try:
            return {"outcome": self.services.what_if.compare(asked.session, asked.given, report)}
        except Stopped:
            return {"error": "Stopped.", "status": 409}
        except KeepwholeError as error:
            return {"error": str(error), "status": _status(error)}

    async def _live(self, request: web.BaseRequest, asked: PageRequest) -> web.StreamResponse:
        name = asked.query.get("session") or None
        last = request.headers.get("last-event-id") or asked.query.get("after", "")
        if name is not None:
            await asyncio.to_thread(self.services.record.timeline, name)
        answer = web.StreamResponse(headers={**headers.ALWAYS, "Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(b"retry: 1000\n\n")
        after = int(last) if last.isascii() and last.isdecimal() else None
        with suppress(ClientGone):  # the page left, or does not read; it reconnects by itself
            async with aclosing(self.live.events(name, after)) as events:
                async for event in events:
                    await write(answer, request, event.encode)
        return answer


@asynccontextmanager
async def start_inspector(
    services: InspectorServices, address: Address, token: str, option: str = "--port"
) -> AsyncGenerator[tuple[Inspector, Address]]:
    """Start an inspector and yield it with its address; on leaving, open pages are disconnected."""
    inspector = Inspector(services, PageGuard(address, token))
    server = _PageConnections(inspector.handle, _MOST_CONNECTIONS, access_log=None)
    inspector.on_request = server.note_request
    runner = web.ServerRunner(server, shutdown_timeout=_STOP_WITHIN)
    await runner.setup()
    try:
        with usage_error_if_taken(address, option):
            await web.TCPSite(runner, address.host, address.port).start()
        bound = address.replace(port=runner.addresses[0][1])
        inspector.guard = PageGuard(bound, token)
        yield inspector, bound
    finally:
        await inspector.live.close()
        await runner.cleanup()
        services.close()


async def _next_line(lines: "asyncio.Queue[dict[str, Any]]") -> dict[str, Any]:
    """The newest report, or the outcome; an empty one now and then, so that a page that left is noticed."""
    try:
        async with asyncio.timeout(_HEARTBEAT):
            line = await lines.get()
    except TimeoutError:
        return {}
    while "outcome" not in line and "error" not in line and not lines.empty():
        line = lines.get_nowait()
    return line


def _route(request: web.BaseRequest) -> tuple[Route, tuple[str, ...]]:
    route = find_route(request.method, request.raw_path.partition("?")[0])
    if isinstance(route, int):
        words = "There is nothing at this address." if route == 404 else "This address needs another HTTP method."
        raise _Refused(route, words)
    return route


def _parse_body(body: bytes) -> Mapping[str, Any]:
    if not body:
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise _Refused(400, "The body must be a JSON object.") from error


def _status(error: KeepwholeError) -> int:
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, StoreError | NotEnoughRecorded):
        return 409
    return 400 if isinstance(error, UsageError) else 409


def _json_response(answer: Mapping[str, Any], status: int = 200, compress: bool = False) -> web.Response:
    data = msgspec.json.encode(answer)
    own = _JSON.copy()
    if compress and len(data) >= _COMPRESSED_FROM:
        data = gzip.compress(data, 5, mtime=0)
        own.update({"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
    return web.Response(body=data, status=status, headers=own)
