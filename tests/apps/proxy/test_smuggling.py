"""What is no HTTP, or is two requests in one, over raw sockets: refused, and never a request that nobody sent."""

import json
import re

import pytest

from tests.apps.proxy.proxy_server import Talk, proxy, request, status_of, written
from tests.upstream.answer import Answer
from tests.upstream.server import upstream
from tests.upstream.spelling import Text

HIDDEN = b"GET /smuggled HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
CORPUS: dict[str, bytes] = {
    "length and chunks": b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and length": b"transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": b"content-length: 2\r\ncontent-length: 40\r\n\r\n{}" + HIDDEN,
    "two lengths in one": b"content-length: 2, 40\r\n\r\n{}" + HIDDEN,
    "two equal lengths": b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a negative length": b"content-length: -1\r\n\r\n{}" + HIDDEN,
    "a length with a plus": b"content-length: +2\r\n\r\n{}" + HIDDEN,
    "a length in other digits": "content-length: ２\r\n\r\n{}".encode() + HIDDEN,
    "a length with a space before the colon": b"content-length : 2\r\n\r\n{}" + HIDDEN,
    "a length with an underscore": b"content-length: 1_0\r\n\r\n{}" + HIDDEN,
    "unknown framing": b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "framing twice": b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "framing in the wrong order": b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "framing behind a tab": b"transfer-encoding:\x0bchunked\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "bare line feeds": b"x-one: 1\ncontent-length: 2\n\n{}" + HIDDEN,
    "a bare carriage return": b"x-one: 1\rcontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a folded line": b"x-one: 1\r\n content-length: 40\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a zero byte": b"x-one: a\x00b\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a chunk that is no number": b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a chunk of less than nothing": b"transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a chunk with a prefix": b"transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a chunk that is longer than it says": b"transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a chunk with a bare line feed": b"transfer-encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a huge chunk": b"transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a header without a name": b": value\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a header without a colon": b"nonsense\r\ncontent-length: 2\r\n\r\n{}" + HIDDEN,
    "a header of 70 kB": b"x-long: " + b"a" * 70_000 + b"\r\ncontent-length: 2\r\n\r\n{}",
}
LINES = {
    "no version": b"POST /v1/messages\r\n",
    "a strange version": b"POST /v1/messages HTTP/9.9\r\n",
    "a tab in the path": b"POST /v1/mess\tages HTTP/1.1\r\n",
    "a line feed in the path": b"POST /v1/mess\nages HTTP/1.1\r\n",
    "a zero byte in the path": b"POST /v1/mess\x00ages HTTP/1.1\r\n",
    "a path of 70 kB": b"POST /" + b"a" * 70_000 + b" HTTP/1.1\r\n",
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"])
def test_nothing_is_smuggled_past_a_request(path: str) -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running:
        # The hidden request has a host that is served, so that nothing but the framing keeps it out.
        own = f"host: 127.0.0.1:{running.port}\r\n".encode()
        for name, rest in CORPUS.items():
            with Talk(running.port) as talk:
                behind = rest.replace(b"host: 127.0.0.1\r\n", own)
                heard = talk.say(f"POST {path} HTTP/1.1\r\n".encode() + own + behind).hear(0.5)
            assert re.findall(rb"HTTP/1\.[01] (\d{3})", heard) == [b"400"], f"{name}: {heard[:300]!r}"
            assert not served.asked, name
        running.rest()


def test_a_first_line_that_is_none_is_refused() -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running:
        for name, line in LINES.items():
            with Talk(running.port) as talk:
                rest = f"host: 127.0.0.1:{running.port}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode()
                heard = talk.say(line + rest).hear(0.5)
            assert status_of(heard) == 400, f"{name}: {heard[:200]!r}"
        assert not served.asked


def test_chunks_with_extensions_and_trailers_are_one_body() -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running:
        data = b'2;a="b";c\r\n{"\r\ne\r\nmessages": []}\r\n0\r\nx-trailer: 1\r\n\r\n'
        headers = {"transfer-encoding": "chunked", "connection": "close"}
        with Talk(running.port) as talk:
            message = written("POST", "/v1/messages", running.port, headers, data, length=False)
            assert status_of(talk.say(message).hear()) == 200
        assert served.asked[0].data == b'{"messages": []}'
        assert "x-trailer" not in served.asked[0].headers


def test_requests_in_a_row_are_answered_in_order() -> None:
    def model(body: dict[str, object]) -> list[Text]:
        return [Text(f"answer to {body['model']}")]

    with upstream(model) as served, proxy(served.url) as running:  # pyright: ignore
        bodies = [json.dumps(request("anthropic", model=f"m{n}")).encode() for n in range(5)]
        with Talk(running.port) as talk:
            talk.say(b"".join(written("POST", "/v1/messages", running.port, {}, body) for body in bodies))
            heard = b""
            while heard.count(b"answer to") < 5:
                heard += talk.hear_until(b"answer to")
        places = [heard.index(f"answer to m{n}".encode()) for n in range(5)]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("value", "sent"), [("日本".encode(), "日本"), ("Café".encode("latin-1"), "Café"), (b"\xff\xfe", "ÿþ")]
)
def test_headers_that_are_not_ascii_are_not_lost(value: bytes, sent: str) -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running:
        for path in ("/v1/messages", "/v1/files"):
            with Talk(running.port) as talk:
                head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\nconnection: close\r\n".encode()
                heard = talk.say(head + b"x-title: " + value + b'\r\ncontent-length: 16\r\n\r\n{"messages": []}').hear()
            assert 200 <= status_of(heard) < 500, heard[:300]
        assert all(asked.headers["x-title"].encode("latin-1").decode() == sent for asked in served.asked)


@pytest.mark.parametrize("path", [b"/v1/caf\xc3\xa9", b"/v1/\xff\xfe", b"/v1/%ff%00%2e%2e", b"/v1/a%20b?q=%26&r=+"])
def test_bytes_that_are_no_text_in_a_path_are_no_trouble(path: bytes) -> None:
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url) as running:
        with Talk(running.port) as talk:
            head = b"GET " + path + f" HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\nconnection: close\r\n\r\n".encode()
            heard = talk.say(head).hear()
        assert 200 < status_of(heard) < 500, heard[:300]
        if path.isascii():
            assert served.asked[0].path.encode() == path


def test_headers_of_an_upstream_that_are_no_text_pass() -> None:
    odd = (("x-odd", "Café"), ("set-cookie", "a=b"))
    said = [Text("hello")]
    with upstream(lambda _: Answer(said, headers=odd)) as served, proxy(served.url) as running:
        body = b'{"messages": []}'
        with Talk(running.port) as talk:
            headers = {"connection": "close"}
            heard = talk.say(written("POST", "/v1/messages", running.port, headers, body)).hear()
        assert status_of(heard) == 200
        assert b"Caf\xc3\xa9" in heard
