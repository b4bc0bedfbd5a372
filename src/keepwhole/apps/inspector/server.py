"""The inspector as a server: from a socket to a route's answer, and down again.

Owns: reading requests, writing answers, errors as words and statuses.
Must not know: what is told of the record.
"""

import asyncio
import gzip
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from keepwhole.apps.inspector import headers, raw
from keepwhole.apps.inspector.access import Guard
from keepwhole.apps.inspector.answers import Asked
from keepwhole.apps.inspector.connections import PageConnections
from keepwhole.apps.inspector.files import PageFiles
from keepwhole.apps.inspector.live import Live
from keepwhole.apps.inspector.routes import Route, found
from keepwhole.apps.inspector.services import Desk
from keepwhole.apps.inspector.what_if import TooLittle
from keepwhole.apps.listener import Address, usage_error_if_taken
from keepwhole.apps.proxy.connection import BodyTooLarge, ClientGone, read_body, write
from keepwhole.errors import KeepwholeError, NotFound, StoreError, UsageError

_BODY = 65_536
_PACKED_FROM = 2_048
_MOST_CONNECTIONS = 64
_STOP_WITHIN = 2.0
_JSON = CIMultiDict({**headers.ALWAYS, "Content-Type": "application/json"})


class Refused(Exception):
    """An answer that says no."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Inspector:
    """Answers the page's requests until it is told to stop."""

    def __init__(self, desk: Desk, guard: Guard) -> None:
        self.desk, self.guard = desk, guard
        self.live = Live(desk.record, desk.sessions)
        self._files = PageFiles()
        self.on_request: Callable[[Any], None] = lambda _: None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.on_request(request.protocol)
        try:
            return await self._answered(request)
        except Refused as refused:
            return _json({"error": str(refused)}, refused.status)
        except KeepwholeError as error:
            return _json({"error": str(error)}, _status(error))
        except BodyTooLarge:
            return _json({"error": "The request is too large."}, 400)
        except (TimeoutError, ConnectionError):
            raise
        except Exception as error:
            return _json({"error": f"Something is wrong here ({type(error).__name__}). Run `keepwhole doctor`."}, 500)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        turned = self.guard.refuses(request.headers)
        if turned is not None:
            raise Refused(*turned)
        route, names = _route(request)
        turned = self.guard.admits(route.rule, request.headers)
        if turned is not None:
            raise Refused(*turned)
        asked = Asked(names, request.query)
        if route.method == "POST":
            asked = asked._replace(given=_given(await read_body(request, _BODY)))
        if not isinstance(route.tells, str):
            told = route.at_once(self.desk, asked) if route.at_once is not None else None
            if told is None:
                told = await asyncio.get_running_loop().run_in_executor(None, route.tells, self.desk, asked)
            return _json(told, packs=route.packed and "gzip" in request.headers.get("accept-encoding", ""))
        return await getattr(self, f"_{route.tells}")(request, asked)

    async def _page(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        return self._file(request, "index.html")

    async def _static(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        return self._file(request, "/".join(asked.names))

    def _file(self, request: web.BaseRequest, name: str) -> web.StreamResponse:
        answer = self._files.answer(name, request.headers)
        if answer is None:
            raise Refused(404, "There is no such file.")
        return answer

    async def _enter(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        secret = self.guard.swapped(asked.given.get("token"))
        if secret is None:
            raise Refused(401, "This is not the token. Open the address that `keepwhole inspect` prints.")
        answer = web.Response(status=204, headers=headers.ALWAYS)
        answer.set_cookie(self.guard.cookie, secret, httponly=True, samesite="Strict", path="/")
        return answer

    async def _raw_result(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        kept = await asyncio.to_thread(self.desk.record.kept, *asked.names)
        return await raw.result(self.desk.record, asked.names[0], kept, request)

    async def _raw_request(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        data = await asyncio.to_thread(self.desk.record.sent, *asked.names)
        return web.Response(body=data, headers={**headers.ALWAYS, **headers.attachment(f"{asked.names[1]}.json")})

    async def _live(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        name = asked.query.get("session") or None
        last = request.headers.get("last-event-id") or asked.query.get("after", "")
        if name is not None:
            await asyncio.to_thread(self.desk.record.timeline, name)
        answer = web.StreamResponse(headers={**headers.ALWAYS, "Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(b"retry: 1000\n\n")
        after = int(last) if last.isascii() and last.isdecimal() else None
        with suppress(ClientGone):  # the page left, or does not read; it comes back by itself
            async with aclosing(self.live.events(name, after)) as told:
                async for event in told:
                    await write(answer, request, event.encoded)
        return answer


@asynccontextmanager
async def inspecting(
    desk: Desk, address: Address, token: str, option: str = "--port"
) -> AsyncGenerator[tuple[Inspector, Address]]:
    """An inspector that listens, and where; on leaving, pages are let go."""
    inspector = Inspector(desk, Guard(address, token))
    server = PageConnections(inspector.handle, _MOST_CONNECTIONS, access_log=None)
    inspector.on_request = server.note_request
    runner = web.ServerRunner(server, shutdown_timeout=_STOP_WITHIN)
    await runner.setup()
    try:
        with usage_error_if_taken(address, option):
            await web.TCPSite(runner, address.host, address.port).start()
        bound = address.replace(port=runner.addresses[0][1])
        inspector.guard = Guard(bound, token)
        yield inspector, bound
    finally:
        await inspector.live.close()
        await runner.cleanup()
        desk.close()


def _route(request: web.BaseRequest) -> tuple[Route, tuple[str, ...]]:
    route = found(request.method, request.raw_path.partition("?")[0])
    if isinstance(route, int):
        words = "There is nothing at this address." if route == 404 else "This address is asked otherwise."
        raise Refused(route, words)
    return route


def _given(body: bytes) -> Mapping[str, Any]:
    if not body:
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Refused(400, "The body must be a JSON object.") from error


def _status(error: KeepwholeError) -> int:
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, StoreError | TooLittle):
        return 409
    return 400 if isinstance(error, UsageError) else 409


def _json(told: Mapping[str, Any], status: int = 200, packs: bool = False) -> web.Response:
    data = msgspec.json.encode(told)
    own = _JSON.copy()
    if packs and len(data) >= _PACKED_FROM:
        data = gzip.compress(data, 5, mtime=0)
        own.update({"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
    return web.Response(body=data, status=status, headers=own)
