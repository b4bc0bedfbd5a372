"""A provider that plays a script in the spelling of whoever asks, whole or streamed, and keeps what it was sent.

What it streams has the shapes of the SDKs' own types; what it is sent must be what a provider takes: every call with
its result, no id twice, no tool called that is not offered.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.upstream.complaint import complaint
from tests.upstream.spelling import SPELLINGS, Json, Part, Text, Tool, dialect_of

__all__ = ["Part", "Provider", "Text", "Tool", "httpx2"]
httpx2 = pytest.importorskip("httpx2", reason="httpx2 is not installed, with which the SDKs send")
Line = list[Part] | httpx2.Response | Callable[[Json], "list[Part] | httpx2.Response"]
"""What the provider does next: parts of an answer, a response as it is, or a function of the request that gives one."""


class Provider:
    """An upstream of four dialects."""

    def __init__(self, script: list[Line], packed: bool = False) -> None:
        self.script = list(script)
        self.requests: list[Json] = []
        self.bodies: list[bytes] = []
        self.headers: list[httpx2.Headers] = []
        self.calls = 0
        self.closed = 0
        self._packed = packed

    @property
    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.handle)

    @property
    def async_transport(self) -> httpx2.MockTransport:
        async def handle(request: httpx2.Request) -> httpx2.Response:
            return self.handle(request)

        return httpx2.MockTransport(handle)

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        self.bodies.append(request.content)
        self.headers.append(request.headers)
        path = request.url.path
        if path.endswith("count_tokens"):
            return httpx2.Response(200, json={"input_tokens": len(request.content) // 4})
        if path.endswith(":countTokens"):
            return httpx2.Response(200, json={"totalTokens": len(request.content) // 4})
        wrong = complaint(body)
        if wrong:
            return httpx2.Response(400, json={"type": "error", "error": {"type": "invalid", "message": wrong}})
        line = self.script.pop(0)
        said = line(body) if callable(line) else line
        if isinstance(said, httpx2.Response):
            return said
        self.calls += 1
        whole, events = SPELLINGS[dialect_of(path) or "anthropic"]
        if body.get("stream") or path.endswith(":streamGenerateContent"):
            return httpx2.Response(
                200, headers={"content-type": "text/event-stream"}, stream=_Body(events(said, self.calls, None), self)
            )
        data = json.dumps(whole(said, self.calls, None)).encode()
        headers = {"content-type": "application/json", "x-request-id": f"req_{self.calls}"}
        if self._packed:
            return httpx2.Response(
                200, headers={**headers, "content-encoding": "gzip"}, stream=_Body([gzip.compress(data)], self)
            )
        return httpx2.Response(200, headers=headers, stream=_Body([data], self))


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, pieces: Any, provider: Provider) -> None:
        self._pieces, self._provider = pieces, provider

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            # In pieces that no event ends with, as a network gives them.
            yield piece[: len(piece) // 2]
            yield piece[len(piece) // 2 :]

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece

    def close(self) -> None:
        self._provider.closed += 1

    async def aclose(self) -> None:
        self.close()
