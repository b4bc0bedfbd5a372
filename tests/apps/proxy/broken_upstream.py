"""Streams on record, and an upstream that plays them up to some byte and then does something bad.

Owns: the recordings of three dialects, their bytes on the wire, and the ways in which they end.
Must not know: the proxy.
"""

import contextlib
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

from tests.upstream.answer import Answer, written
from tests.upstream.spelling import Dialect, Part, Text, Thinking, Tool

How: TypeAlias = Literal["close", "reset", "garbage", "quiet", "stall"]
"""The other side closes, resets, writes what is no HTTP, ends as if that were all, or says nothing more."""
HOWS: tuple[How, ...] = ("close", "reset", "garbage", "quiet", "stall")
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
SEARCH = Tool("search_artifacts", {"query": "needle"})
THEIRS = Tool("work", {"n": 7})
WORDS = Text("Grüße, nobody: data: [DONE] event: message_stop")
JSON = Text('{"answer": "forty\\ntwo"}')
_SAID: dict[str, list[list[Part]]] = {
    "text": [[WORDS]],
    "thinking": [[Thinking("hm"), WORDS]],
    "theirs": [[Thinking("hm"), WORDS, THEIRS]],
    "ours before theirs": [[OURS, Text("a"), THEIRS]],
    "theirs before ours": [[THEIRS, SEARCH, OURS]],
    "one round": [[OURS], [WORDS]],
    "two rounds": [[Thinking("hm"), Text("let me look"), OURS], [SEARCH, OURS], [Thinking("so"), WORDS, THEIRS]],
    "structured output": [[OURS], [JSON]],
}


class Recording(NamedTuple):
    """The streams of one answer, round by round."""

    name: str
    dialect: Dialect
    rounds: list[list[bytes]]
    """The events of each."""


def recordings() -> list[Recording]:
    """Every kind of answer in every dialect."""
    found: list[Recording] = []
    dialects: tuple[Dialect, ...] = ("anthropic", "openai_chat", "openai_responses")
    for dialect in dialects:
        for name, rounds in _SAID.items():
            events = [list(written(Answer(said), dialect, True, at + 1, None)) for at, said in enumerate(rounds)]
            found.append(Recording(f"{dialect}: {name}", dialect, events))
        broken = list(written(Answer([WORDS], breaks_off=4), dialect, True, 1, None))
        found.append(Recording(f"{dialect}: an error event", dialect, [broken]))
    return found


class Torn:
    """An upstream that plays what it is given."""

    def __init__(self) -> None:
        self.play: dict[str, list[tuple[list[bytes], int | None, How]]] = {}
        """By the key that a client shows: the streams of its rounds, where they end before their end, and how."""
        self.port = 0
        self.open = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Handler(socketserver.BaseRequestHandler):
    """One connection."""

    def handle(self) -> None:
        torn: Torn = self.server.torn  # pyright: ignore
        with torn.lock:
            torn.open += 1
        try:
            with contextlib.suppress(OSError):
                while self._one(torn):
                    pass
        finally:
            with torn.lock:
                torn.open -= 1

    def _one(self, torn: Torn) -> bool:
        asked = self._read()
        if not asked:
            return False
        key = asked.partition(b"x-api-key: ")[2].partition(b"\r\n")[0].decode()
        events, after, how = torn.play[key].pop(0)
        framing = b"connection: close" if how == "quiet" else b"transfer-encoding: chunked"
        self.request.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + framing + b"\r\n\r\n")
        for event in events:
            shown = event if after is None else event[:after]
            is_torn = shown != event
            length = len(shown if how == "garbage" else event)
            size = b"" if how == "quiet" or not length else b"%x\r\n" % length
            self.request.sendall(size + shown + (b"\r\n" if not is_torn and size else b""))
            if is_torn:
                return self._break(how)
            after = None if after is None else after - len(shown)
        self.request.sendall(b"" if how == "quiet" else b"0\r\n\r\n")
        return how != "quiet"

    def _read(self) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.request.recv(65_536)
            if not piece:
                return b""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        while len(body) < length:
            body += self.request.recv(65_536)
        return head.lower() + b"\r\n"

    def _break(self, how: How) -> bool:
        if how == "garbage":
            self.request.sendall(b"\r\n\xff\xfenot a chunk\r\nHTTP/1.1 200 OK\r\n\r\n" * 20)
        elif how == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how == "stall":
            self.request.settimeout(30)
            self.request.recv(1)
        return False


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, torn: Torn) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.torn = torn

    def handle_error(self, *_: Any) -> None:
        """A connection that ended badly is what this is for."""


@contextmanager
def torn() -> Iterator[Torn]:
    """Such an upstream, while it is needed."""
    made = Torn()
    server = _Server(made)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
