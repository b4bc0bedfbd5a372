"""A provider on loopback in every dialect: it bills, refuses what real ones refuse, and misbehaves as it is told.

Owns: the socket, what was asked, who left before the answer was there.
Must not know: what a model decides; it asks a script or a function of the request.
"""

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias

from tests.upstream import bedrock
from tests.upstream.answer import Answer, refusal, written
from tests.upstream.clouds import cloud_complaint
from tests.upstream.complaint import complaint
from tests.upstream.gemini_rules import count_complaint
from tests.upstream.prompt import tokens_of
from tests.upstream.prompt_cache import Refused, Till
from tests.upstream.spelling import Dialect, Json, Part, dialect_of

Said: TypeAlias = list[Part] | Answer
Model: TypeAlias = Callable[[Json], Said]
Line: TypeAlias = Said | Model
_STATUSES = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 404: "Not Found", 426: "Upgrade Required"}
_FRAMED = ("content-type", "application/vnd.amazon.eventstream")
_TICK = 0.005


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    """By names in lower case."""
    data: bytes

    @property
    def body(self) -> Json:
        return json.loads(self.data)


class Left(Exception):
    """The client went away."""


class Upstream:
    """A provider while it is there. Read it from any thread."""

    def __init__(self, model: Model | Sequence[Line], till: Till | None) -> None:
        self.model, self._till = model, till
        self._script = [] if callable(model) else list(model)
        self.port = 0
        self.asked: list[Asked] = []
        self.refused: list[str] = []
        """Why requests were refused that no provider would take."""
        self.failed: list[Exception] = []
        """What the script or the model itself did wrong."""
        self.answers = 0
        self.left = 0
        """Answers that nobody waited for."""
        self.open = 0
        """Connections now."""
        self.connections = 0
        """Connections ever."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(self, started: threading.Event, stop: asyncio.Event) -> None:
        """Serve until told to stop."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open, self.connections = self.open + 1, self.connections + 1
        try:
            with suppress(asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._respond(await _request(reader, writer), reader, writer):
                    pass
        except (Left, ConnectionError):
            self.left += 1
        finally:
            self.open -= 1
            writer.close()

    async def _respond(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can take another request."""
        self.asked.append(asked)
        path = asked.path.partition("?")[0]
        dialect = dialect_of(path)
        if asked.method != "POST" or dialect is None or path.endswith("/count-tokens:rawPredict"):
            answer = self._aside(asked, path)
            return await _Sending(answer, reader, writer).whole([answer.body or b""], asked.method == "HEAD")
        body = asked.body
        is_framed = bedrock.streams(path)
        streamed = bool(body.get("stream")) or path.endswith(":streamGenerateContent") or is_framed
        answer, usage = self._answer(asked, body, dialect)
        self.answers += answer.status == 200
        pieces = written(answer, dialect, streamed, self.answers, usage)
        if is_framed and answer.body is None:
            pieces, answer = (
                bedrock.framed(pieces, in_chunks=dialect == "anthropic"),
                answer._replace(headers=(*answer.headers, _FRAMED)),
            )
        sending = _Sending(answer, reader, writer)
        return await (sending.stream(pieces) if streamed and answer.status == 200 else sending.whole(list(pieces)))

    def _aside(self, asked: Asked, path: str) -> Answer:
        """What is not a conversation."""
        kind = (("content-type", "application/json"),)
        if asked.method == "HEAD":
            return Answer(headers=kind)
        if "upgrade" in asked.headers:
            return Answer(status=426, body=b"{}", headers=kind)
        if asked.method == "POST" and path.endswith(("/count_tokens", "/input_tokens", "/count-tokens:rawPredict")):
            count = self._till.count(asked.body) if self._till else len(asked.data) // 4
            return Answer(body=json.dumps({"input_tokens": count}).encode(), headers=kind)
        if asked.method == "POST" and path.endswith(":countTokens"):
            wrong = count_complaint(path, asked.body)
            if wrong:
                self.refused.append(wrong)
                return refusal("gemini", 400, wrong)
            counted = asked.body.get("generateContentRequest", asked.body)
            count = self._till.count(counted) if self._till else len(asked.data) // 4
            return Answer(body=json.dumps({"totalTokens": count}).encode(), headers=kind)
        if asked.method == "POST" and bedrock.counts(path):
            return self._counted_by_bedrock(asked)
        return Answer(status=404, body=b"{}", headers=kind)

    def _counted_by_bedrock(self, asked: Asked) -> Answer:
        wrong = bedrock.bedrock_complaint(*asked)
        dialect, body = ("converse", {}) if wrong else bedrock.counted(asked.body)
        wrong = wrong or complaint(body, dialect)
        if wrong:
            self.refused.append(wrong)
            return bedrock.refusal(wrong)
        count = self._till.count(body) if self._till else tokens_of(json.dumps(body).encode())
        return Answer(body=json.dumps({"inputTokens": count}).encode(), headers=(("content-type", "application/json"),))

    def _answer(self, asked: Asked, body: Json, dialect: Dialect) -> tuple[Answer, Json | None]:
        wrong = self._wrong(asked, body, dialect)
        if wrong:
            self.refused.append(wrong)
            return bedrock.refusal(wrong) if bedrock.is_bedrock(asked.path) else refusal(dialect, 400, wrong), None
        try:
            bill = self._till.bill(body) if self._till else None
        except Refused as why:
            self.refused.append(why.message)
            return refusal(dialect, 400, why.message, why.code, why.param), None
        answer = self._next(body, dialect)
        made = tokens_of(json.dumps(answer.said).encode())
        return answer, self._till.usage(bill, made) if self._till and bill else None

    def _wrong(self, asked: Asked, body: Json, dialect: Dialect) -> str:
        if bedrock.is_bedrock(asked.path):
            return bedrock.bedrock_complaint(*asked) or complaint(body, dialect)
        return cloud_complaint(asked.path, asked.headers, body) or complaint(body)

    def _next(self, body: Json, dialect: Dialect) -> Answer:
        try:
            line = self.model if callable(self.model) else self._script.pop(0)
            said = line(body) if callable(line) else line
        except Exception as error:
            self.failed.append(error)
            return refusal(dialect, 500, f"{type(error).__name__}: {error}")
        return said if isinstance(said, Answer) else Answer(said)


class _Sending:
    """One answer on its way."""

    def __init__(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._answer, self._reader, self._writer = answer, reader, writer
        self._room = answer.after

    async def whole(self, pieces: list[bytes], is_head: bool = False) -> bool:
        data = b"".join(pieces)
        await self._wait(self._answer.delay)
        self._head(("content-length", str(len(data))), "application/json")
        return is_head or await self._body(data)

    async def stream(self, pieces: Iterator[bytes]) -> bool:
        await self._wait(self._answer.delay)
        self._head(("transfer-encoding", "chunked"), "text/event-stream; charset=utf-8")
        for piece in filter(None, pieces):
            await self._wait(self._answer.pause)
            shown = piece if self._room is None else piece[: self._room]
            # A piece that is torn is announced whole, as a network tears them.
            self._writer.write(b"%x\r\n" % len(piece))
            if not await self._body(piece):
                return False
            self._writer.write(b"\r\n" if shown == piece else b"")
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    def _head(self, length: tuple[str, str], kind: str) -> None:
        answer = self._answer
        told = {"content-type": kind, "request-id": "req_1", **dict(answer.headers), length[0]: length[1]}
        if answer.packed:
            told["content-encoding"] = "gzip"
        lines = [f"HTTP/1.1 {answer.status} {_STATUSES.get(answer.status, 'Trouble')}"]
        lines += [f"{name}: {value}" for name, value in told.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())

    async def _body(self, data: bytes) -> bool:
        """Whether all of it was sent and nothing happened."""
        is_torn = self._room is not None and self._room < len(data)
        self._writer.write(data[: self._room] if is_torn else data)
        await self._writer.drain()
        if self._reader.at_eof():
            raise Left
        if self._room is not None:
            self._room -= min(self._room, len(data))
        if is_torn:
            await self._happen()
        return not is_torn

    async def _happen(self) -> None:
        if self._answer.then == "stall":
            await self._wait(3_600)
        elif self._answer.then == "reset":
            own: socket.socket = self._writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()

    async def _wait(self, seconds: float) -> None:
        """Wait, unless the client leaves."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0:
            if self._reader.at_eof():
                raise Left
            await asyncio.sleep(min(_TICK, left))


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    if headers.get("expect") == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding") == "chunked":
        data = b"".join([chunk async for chunk in _chunks(reader)])
    else:
        data = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, path, headers, gzip.decompress(data) if headers.get("content-encoding") == "gzip" else data)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


@contextmanager
def upstream(model: Model | Sequence[Line], till: Till | None = None) -> Iterator[Upstream]:
    """A provider that plays a script or asks a function, while it is needed."""
    served, started = Upstream(model, till), threading.Event()
    loop: Any = asyncio.new_event_loop()
    stop = asyncio.Event()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(served.run(started, stop))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert started.wait(10)
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
