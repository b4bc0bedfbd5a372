"""The proxy as a process: quick to start, slow to drop a stream, and without a part in what it does not understand."""

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.apps.cli.cli import Cli
from tests.apps.proxy.proxy_server import (
    DIALECTS,
    PATHS,
    Process,
    Talk,
    ask,
    proxy,
    request,
    status_of,
    unchunked,
    until,
    written,
)
from tests.upstream.answer import Answer
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Part, Text, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def started(tmp_path: Path, served: Upstream, *more: str, command: Sequence[str] = ("proxy",)) -> Process:
    there = ("--upstream", f"openai={served.url}", "--upstream", f"anthropic={served.url}")
    return Process("--no-token", *there, *more, home=str(tmp_path), command=command)


def slow(pause: float) -> Callable[[object], Answer]:
    return lambda _: Answer([Text("hello there")], pause=pause)


def test_it_answers_within_a_second_of_its_start(tmp_path: Path) -> None:
    def seconds() -> float:
        with upstream([]) as served, started(tmp_path, served) as process:
            assert ask(process.port, "/healthz", method="GET").status == 200
            return time.monotonic() - process.started

    def bare() -> float:
        started = time.monotonic()
        subprocess.run([sys.executable, "-c", "import aiohttp.web"], check=True)
        return time.monotonic() - started

    assert min(seconds() for _ in range(3)) < max(1.0, 3 * min(bare() for _ in range(3)))  # a busy machine is slower


def stream_through(process: Process, got: list[bytes]) -> None:
    with Talk(process.port) as talk:
        body = json.dumps(request("anthropic", True)).encode()
        talk.say(written("POST", "/v1/messages", process.port, {"connection": "close"}, body))
        got.append(talk.hear(15))


@pytest.mark.parametrize(
    "words",
    [("proxy", "--port"), ("serve", "--inspect-port", "0", "--port"), ("serve", "--port", "0", "--inspect-port")],
    ids=["proxy", "serve, the proxy's", "serve, the page's"],
)
def test_a_port_that_is_taken_is_said_to_be_so(tmp_path: Path, words: Sequence[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = Cli(tmp_path)(*words, str(port))
    assert done.returncode == 2
    assert f"Port {port} is in use. Choose another with `--" in done.stderr.decode()
    assert f"`{words[-1]}`".encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_stream_that_runs_ends_before_the_proxy_does(tmp_path: Path) -> None:
    got: list[bytes] = []
    with upstream(slow(0.15)) as served, started(tmp_path, served) as process:
        client = threading.Thread(target=stream_through, args=(process, got))
        client.start()
        until(lambda: bool(served.asked))
        process.send(signal.SIGTERM)
        assert process.wait(9) == 0
        client.join(5)
        body, is_whole = unchunked(got[0])
        assert is_whole
        assert b"message_stop" in body
        assert b"Traceback" not in process.output


@pytest.mark.parametrize("command", [("proxy",), ("serve", "--inspect-port", "0", "--sample")], ids=["proxy", "serve"])
def test_who_asks_it_twice_to_stop_need_not_wait(tmp_path: Path, command: Sequence[str]) -> None:
    with upstream(slow(30)) as served, started(tmp_path, served, command=command) as process:
        client = threading.Thread(target=stream_through, args=(process, []))
        client.start()
        until(lambda: bool(served.asked))
        process.send(signal.SIGTERM)
        until(lambda: b"stopping" in process.output)
        process.send(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(5) == 0
        assert time.monotonic() - began < 3
        client.join(5)
        assert b"Traceback" not in process.output


@pytest.mark.torture
def test_a_stream_that_never_ends_is_cut_after_ten_seconds(tmp_path: Path) -> None:
    with upstream(slow(60)) as served, started(tmp_path, served) as process:
        client = threading.Thread(target=stream_through, args=(process, []))
        client.start()
        until(lambda: bool(served.asked))
        process.send(signal.SIGTERM)
        assert process.wait(14) == 0
        client.join(5)


def test_settings_are_read_again_while_a_stream_runs(tmp_path: Path) -> None:
    settings, got = tmp_path / "keepwhole.yaml", list[bytes]()
    settings.write_text("proxy:\n  max_body: 100000\n")
    with upstream(slow(0.2)) as served, started(tmp_path, served, "--config", str(settings)) as process:
        client = threading.Thread(target=stream_through, args=(process, got))
        client.start()
        until(lambda: bool(served.asked))
        settings.write_text("proxy:\n  max_body: 10\n")
        process.send(signal.SIGHUP)
        until(lambda: b"settings reloaded" in process.output)
        assert ask(process.port, "/v1/messages", request("anthropic")).status == 413
        for broken in ("proxy: [", "proxy:\n  max_body: none\n", "proxy:\n  tenants: nobody\n", "\x00", "- a\n- b\n"):
            before = process.output.count(b"kept the old settings")
            settings.write_text(broken)
            process.send(signal.SIGHUP)
            until(lambda before=before: process.output.count(b"kept the old settings") > before)
        settings.unlink()
        process.send(signal.SIGHUP)
        until(lambda: process.output.count(b"kept the old settings") > 5)
        assert ask(process.port, "/v1/messages", request("anthropic")).status == 413
        client.join(15)
        assert unchunked(got[0])[1]
        assert b"Traceback" not in process.output


def test_what_was_counted_before_the_settings_were_read_again_is_counted_on(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "it is"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    with upstream(lambda _: [Text("hello")]) as served, started(tmp_path, served) as process:
        assert ask(process.port, "/v1/messages", request("anthropic", messages=said)).status == 200
        counted = lambda: b"keepwhole_results_total 1\n" in ask(process.port, "/metrics", method="GET").data  # noqa: E731
        until(counted)
        process.send(signal.SIGHUP)
        until(lambda: b"settings reloaded" in process.output)
        assert counted()


def test_a_connection_serves_one_request_after_another() -> None:
    script: list[list[Part]] = [[Text("one")], [OURS], [Text("two")], [Text("three")]]
    with upstream(script) as served, proxy(served.url, max_body=10_000) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        for streamed, word in ((False, b"one"), (True, b"two"), (False, b"three")):
            connection.request("POST", "/v1/messages", json.dumps(request("anthropic", streamed)))
            own = connection.sock
            assert word[:3] in connection.getresponse().read()
            assert connection.sock is own
        connection.request("POST", "/v1/messages", b"x" * 10_001)
        assert connection.getresponse().status == 413
        connection.close()


def error_of(dialect: Dialect, body: dict[str, object]) -> str:
    """The message of an error that is of this dialect's own shape."""
    assert (body.get("type") == "error") == (dialect == "anthropic")
    error = body["error"]
    assert isinstance(error, dict)
    assert isinstance(error["type"], str)
    assert set(error) == ({"type", "message"} if dialect == "anthropic" else {"type", "message", "param", "code"})
    return str(error["message"])


@every_dialect
def test_what_is_refused_is_said_in_the_dialects_own_words(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.apps.proxy.connection.BODY_WITHIN", 0.2)
    with upstream([]) as served, proxy(served.url, max_body=100) as running:
        path = PATHS[dialect]
        answer = ask(running.port, path, b"x" * 101)
        assert (answer.status, "`proxy.max_body`" in error_of(dialect, answer.body)) == (413, True)
        with Talk(running.port) as talk:
            heard = talk.say(written("POST", path, running.port, {"content-length": "5"}, b"x")).hear_until(b"}}")
        assert status_of(heard) == 408
        assert "in time" in error_of(dialect, json.loads(heard.partition(b"\r\n\r\n")[2]))
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        answer = ask(running.port, path, b"{}", upgrade)
        assert (answer.status, "over HTTP" in error_of(dialect, answer.body)) == (426, True)
        assert not served.asked
    with proxy("http://127.0.0.1:9") as running:
        for streamed in (False, True):
            answer = ask(running.port, path, request(dialect, streamed))
            assert (answer.status, "127.0.0.1" in error_of(dialect, answer.body)) == (502, True)


@every_dialect
def test_a_body_at_the_limit_passes_and_one_over_it_does_not(dialect: Dialect) -> None:
    plain = json.dumps(request(dialect)).encode()
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url, max_body=len(plain)) as running:
        assert ask(running.port, PATHS[dialect], plain).status == 200
        assert ask(running.port, PATHS[dialect], plain + b" ").status == 413
        for size, status in ((len(plain), 200), (len(plain) + 1, 413)):
            chunks = b"".join(b"1\r\n%c\r\n" % sign for sign in plain.ljust(size)) + b"0\r\n\r\n"
            headers = {"transfer-encoding": "chunked", "connection": "close"}
            with Talk(running.port) as talk:
                message = written("POST", PATHS[dialect], running.port, headers, chunks, length=False)
                assert status_of(talk.say(message).hear_until(b"}")) == status


ODD = {
    "no json": b"{no json",
    "messages twice": b'{"messages": [], "messages": [], "input": []}',
    "a list": b"[1, 2]",
    "nothing": b"",
    "bytes": b"\xff\xfe\x00",
    "deep": b'{"messages": ' + b"[" * 20_000,
}


@every_dialect
@pytest.mark.parametrize("name", [*ODD, "packed"])
def test_a_request_that_is_not_understood_passes_byte_for_byte(dialect: Dialect, name: str) -> None:
    body = ODD.get(name) if name != "packed" else gzip.compress(json.dumps(request(dialect)).encode(), mtime=0)
    assert body is not None
    headers = {"content-encoding": "gzip"} if name == "packed" else {}
    with raw_upstream() as (port, asked), proxy(f"http://127.0.0.1:{port}") as running:
        answer = ask(running.port, PATHS[dialect], body, headers)
        assert (answer.status, answer.data) == (200, b"{}")
        assert asked == [body]


@every_dialect
@pytest.mark.parametrize("way", ["bypass", "off", "shadow"])
@pytest.mark.parametrize("streamed", [False, True])
def test_who_wants_no_part_of_it_has_none(dialect: Dialect, way: str, streamed: bool) -> None:
    body = b" " + json.dumps(request(dialect, streamed), indent=1).encode() + b"\n"
    headers = {"x-keepwhole-bypass": "1"} if way == "bypass" else {}
    mode = "on" if way == "bypass" else way
    said = Answer([Text("hello"), OURS], headers=(("x-own", "1"),))
    with upstream(lambda _: said) as served, proxy(served.url, mode=mode) as running:
        answer = ask(running.port, PATHS[dialect], body, headers)
        served.answers = 0
        assert answer.data == ask(served.port, PATHS[dialect], body).data
        assert served.asked[0].data == body
        assert b"get_artifact" in answer.data
        assert answer.headers["x-own"] == "1"


def raw_upstream():
    """An upstream that keeps the bytes of every body, and reads them before it answers."""
    from contextlib import contextmanager
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    asked: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if self.headers.get("transfer-encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked.append(body)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    @contextmanager
    def serving():
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            server.server_close()

    return serving()


def test_files_larger_than_any_request_stream_through() -> None:
    data = os.urandom(1_000_000)
    with raw_upstream() as (port, asked), proxy(f"http://127.0.0.1:{port}", max_body=1_000) as running:
        assert ask(running.port, "/v1/files", data).status == 200
        chunks = b"".join(b"%x\r\n" % 50_000 + data[at : at + 50_000] + b"\r\n" for at in range(0, len(data), 50_000))
        headers = {"transfer-encoding": "chunked", "connection": "close"}
        with Talk(running.port) as talk:
            message = written("POST", "/v1/files", running.port, headers, chunks + b"0\r\n\r\n", length=False)
            assert status_of(talk.say(message).hear()) == 200
        assert asked == [data, data]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"])
def test_a_client_that_asks_first_is_told_to_go_on(path: str) -> None:
    with raw_upstream() as (port, asked), proxy(f"http://127.0.0.1:{port}", max_body=100) as running:
        for size in (50, 101):
            headers = {"expect": "100-continue", "content-length": str(size), "connection": "close"}
            with Talk(running.port) as talk:
                talk.say(written("POST", path, running.port, headers))
                first = talk.hear_until(b"\r\n\r\n")
                if size > 100 and path == "/v1/messages":
                    assert status_of(first) == 413
                    continue
                assert status_of(first) == 100
                assert status_of(talk.say(b"x" * size).hear()) == 200
        assert [len(one) for one in asked] == ([50] if path == "/v1/messages" else [50, 101])


def test_an_answer_does_not_depend_on_who_reads_along() -> None:
    def nobody(_: object) -> None:
        raise BrokenPipeError

    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url, reporter=nobody) as running:
        for streamed in (False, True):
            answer = ask(running.port, "/v1/messages", request("anthropic", streamed))
            assert (answer.status, answer.is_cut) == (200, False)


def test_other_methods_and_paths_pass() -> None:
    with upstream([]) as served, proxy(served.url) as running:
        assert ask(running.port, "/", method="HEAD").status == 200
        assert ask(running.port, "/v1/models?limit=1", method="GET").status == 404
        assert ask(running.port, "/v1/responses/resp_1", method="DELETE").status == 404
        assert ask(running.port, "/v1/responses/resp_1", method="GET").status == 404
        sent = [(asked.method, asked.path) for asked in served.asked]
        assert sent[:2] == [("HEAD", "/"), ("GET", "/v1/models?limit=1")]


def rss(pid: int) -> float:
    """Megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.timeout(120)
def test_hundreds_of_requests_leave_nothing_behind(tmp_path: Path) -> None:
    with upstream(lambda _: [Text("hello there")]) as served, started(tmp_path, served) as process:

        def many(count: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=10)
            for number in range(count):
                dialect = DIALECTS[number % 3]
                connection.request("POST", PATHS[dialect], json.dumps(request(dialect, number % 2 == 0)))
                response = connection.getresponse()
                assert response.status == 200
                assert response.read()
            connection.close()

        many(100)
        memory, held = rss(process.pid), files(process.pid)
        many(400)
        assert rss(process.pid) < memory + 10
        assert files(process.pid) <= held + 2


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_sixty_four_streams_at_a_time_for_five_minutes(tmp_path: Path) -> None:
    said = Answer([Text("word " * 200)], piece=400, pause=0.02)
    with upstream(lambda _: said) as served, started(tmp_path, served) as process:
        until_when = time.monotonic() + 300
        largest: list[float] = []

        def one(number: int) -> int:
            done = 0
            while time.monotonic() < until_when:
                dialect = DIALECTS[number % 3]
                answer = ask(process.port, PATHS[dialect], request(dialect, True))
                assert answer.status == 200
                assert not answer.is_cut
                largest.append(rss(process.pid))
                done += 1
            return done

        with ThreadPoolExecutor(64) as crowd:
            counts = list(crowd.map(one, range(64)))
        assert min(counts) > 10
        assert max(largest) < 150
        assert files(process.pid) < 200
