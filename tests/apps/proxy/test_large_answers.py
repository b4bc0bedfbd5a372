"""Answers without an end, packed or not: the client gets its bytes, and the proxy does not grow with them."""

import gzip
import http.client
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from keepwhole.apps.proxy import answer_buffer
from keepwhole.apps.proxy.answer_buffer import AnswerBuffer, AnswerTooLarge, Unpacker
from tests.apps.proxy.proxy_server import Process, ask, proxy, request
from tests.upstream.answer import Answer
from tests.upstream.server import upstream

MB = 1024 * 1024
EVENT = b"event: ping\ndata: {}" + b" " * 1_000 + b"\n\n"


class Large(NamedTuple):
    """An answer of 200 MB, which is made when it is needed."""

    status: int
    kind: str
    first: bytes
    repeated: bytes
    last: bytes = b""

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces()))

    def pieces(self) -> Iterator[bytes]:
        piece = self.repeated * (MB // len(self.repeated))
        yield from (self.first, *[piece] * 200, self.last)

    def packed(self) -> bytes:
        packing = zlib.compressobj(1, wbits=31)
        return b"".join(map(packing.compress, self.pieces())) + packing.flush()


ANSWERS = {
    "whole": Large(200, "application/json", b'{"type": "message", "content": [', b" ", b"]}"),
    "an error": Large(500, "application/json", b'{"type": "message", "content": [', b" ", b"]}"),
    "a stream": Large(200, "text/event-stream", b"", EVENT),
    "a stream of one event": Large(200, "text/event-stream", b"data: ", b" "),
}


def peak(process: Process) -> int:
    """The most memory that a process has had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


def received(port: int, path: str, body: bytes) -> tuple[str, int]:
    """How an answer is packed, and how many bytes come of it; they are not held."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, body)
    response = connection.getresponse()
    size = 0
    while piece := response.read(MB):
        size += len(piece)
    connection.close()
    return response.headers.get("content-encoding", ""), size


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    def model(body: dict[str, object]) -> Answer:
        name, _, packing = str(body["model"]).partition(", ")
        large = ANSWERS[name]
        headers = (("content-type", large.kind), *([("content-encoding", "gzip")] if packing else []))
        data = large.packed() if packing else b"".join(large.pieces())
        return Answer(status=large.status, body=data, headers=headers)

    with upstream(model) as served:  # pyright: ignore[reportArgumentType]
        options = ("--upstream", f"anthropic={served.url}")
        with Process(*options, home=str(tmp_path_factory.mktemp("home"))) as process:
            yield process


@pytest.mark.parametrize("packing", [pytest.param("", marks=pytest.mark.torture), ", packed"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_proxy_does_not_grow_with_an_answer(running: Process, name: str, packing: str) -> None:
    is_stream = "stream" in name
    body = json.dumps(request("anthropic", is_stream, model=name + packing)).encode()
    encoding, size = received(running.port, running.prefix + "/v1/messages", body)
    assert size == ANSWERS[name].size or encoding == "gzip", "the client misses something"
    assert peak(running) < 350 * MB


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("form", [{}, {"output_config": {"format": {"type": "json_schema", "schema": {}}}}])
@pytest.mark.usefixtures("recall_from_start")
def test_the_client_gets_all_of_an_answer_that_is_too_large_to_be_read(
    packed: bool, kind: str, status: int, form: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_buffer, "MOST_HELD", 100_000)
    data = EVENT * 1_000 + b"data: the end\n\n"
    headers = (("content-type", kind), *([("content-encoding", "gzip")] if packed else []))
    answer = Answer(status=status, body=gzip.compress(data) if packed else data, headers=headers)
    with upstream(lambda _: answer) as served, proxy(served.url) as running:
        heard = ask(running.port, "/v1/messages", request("anthropic", kind == "text/event-stream", **form))
    assert heard.status == status
    assert (gzip.decompress(heard.data) if heard.headers.get("content-encoding") == "gzip" else heard.data) == data


@pytest.mark.parametrize("ratio", [1, 50, 900])
def test_what_is_unpacked_is_limited_by_size_and_by_ratio(ratio: int) -> None:
    data = (b"%d" % ratio * 10_000)[:10_000] * (300 if ratio > 1 else 1)
    packed = gzip.compress(data)
    buffer = AnswerBuffer("gzip")
    buffer.add(packed)
    if len(data) > max(MB, 100 * len(packed)):
        with pytest.raises(AnswerTooLarge):
            buffer.unpacked()
        assert buffer.data() == b""
    else:
        assert buffer.unpacked() == data
    pieces = list(Unpacker("gzip").feed(packed))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= 256 * 1024
