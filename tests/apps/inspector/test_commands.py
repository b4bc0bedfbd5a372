"""`keepwhole inspect` and `keepwhole serve` as processes: one line with an address, and a clean end when asked."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from keepwhole import Session, config
from tests.apps.cli.cli import Cli
from tests.build import numbered_lines
from tests.stores import everywhere, place


class Running:
    """A command that serves."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.line = process.stdout.readline()
        self.url = urlsplit(self.line.split()[-1])
        self.token = self.url.fragment.removeprefix("token=").partition("&")[0]
        self.cookie = self._entered()

    def ask(self, method: str, path: str, given: Any = None, **headers: str) -> tuple[int, Any, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.url.port or 0, timeout=20)
        own = {"x-keepwhole-inspector": "1", **headers}
        connection.request(method, path, json.dumps(given) if given is not None else None, own)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body) if body.startswith(b"{") else body, answer.headers.get("Set-Cookie", "")

    def _entered(self) -> str:
        status, _, cookie = self.ask("POST", "/api/enter", {"token": self.token})
        assert status == 204
        return cookie.partition(";")[0]

    def get(self, path: str) -> Any:
        status, told, _ = self.ask("GET", path, cookie=self.cookie)
        assert status == 200, told
        return told

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextmanager
def running(folder: Path, *words: str, **more: str) -> Generator[Running]:
    environ = {**Cli(folder).environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", **more}
    command = [sys.executable, "-m", "keepwhole", *words]
    process = subprocess.Popen(
        command, env=environ, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()


def test_inspect_prints_one_address_and_stops_when_it_is_told_to(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("run", "--session", "mine", "--", "echo", "hello")
    with running(tmp_path, "inspect") as page:
        assert page.line.startswith("keepwhole inspect: http://127.0.0.1:")
        assert [row["name"] for row in page.get("/api/sessions")["sessions"]] == ["mine"]
        assert page.stop() == 0
        assert page.process.stdout is not None
        assert page.process.stderr is not None
        assert page.process.stdout.read() == ""
        assert page.token not in page.process.stderr.read()
    assert (tmp_path / "home" / "inspector.token").stat().st_mode & 0o777 == 0o600


WRITER = """
import sys, time
from keepwhole import Session
session = Session("s", store=sys.argv[1])
for line in sys.stdin:
    session.keep("t", None, line)
    print(time.time(), flush=True)
"""


@everywhere
def test_inspect_shows_a_record_wherever_it_is_and_what_another_process_adds_to_it(tmp_path: Path, kind: str) -> None:
    where = place(kind, tmp_path / "home")
    store = where.open()
    session = Session("s", store=store, settings=config.load(home=where.folder))
    trace = session.keep("execute_command", {"command": "make"}, numbered_lines(9_000) + "needle\n").trace_id
    store.close()
    command = [sys.executable, "-c", WRITER, where.name]
    environ = {**os.environ, **where.environ}
    writer = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with writer, running(tmp_path, "inspect", **where.environ) as page:
        assert [row["name"] for row in page.get("/api/sessions")["sessions"]] == ["s"]
        assert [result["tool"] for result in page.get("/api/sessions/s/steps")["steps"][0]["results"]]
        assert "needle" in json.dumps(page.get("/api/sessions/s/search?query=needle"))
        assert page.get(f"/api/sessions/s/results/{trace}/raw").endswith(b"needle\n")
        assert page.ask("POST", "/api/sessions/s/verify", {}, cookie=page.cookie)[1]["ok"]
        assert min(lags(page, writer)) < (0.1 if kind != "sqlite" else 0.5)
        assert page.stop() == 0
        assert page.process.stderr is not None
        assert "Traceback" not in page.process.stderr.read()


def lags(page: Running, writer: "subprocess.Popen[str]") -> Iterator[float]:
    """Seconds from a write by another process until the page has it."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    seq = page.get("/api/sessions/s")["seq"]
    connection = http.client.HTTPConnection("127.0.0.1", page.url.port or 0, timeout=20)
    connection.request("GET", f"/api/live?session=s&after={seq}", headers={"cookie": page.cookie})
    events = connection.getresponse()
    for number in range(3):
        time.sleep(0.3)  # so that a page which still polls often does not make it look fast
        print(f"line {number}", file=writer.stdin, flush=True)
        while events.readline() != b"event: step\n":
            pass
        yield time.time() - float(writer.stdout.readline())
    events.close()
    connection.close()
    writer.stdin.close()


def test_inspect_opens_at_a_session_and_refuses_one_that_is_not_there(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("run", "--session", "mine", "--", "echo", "hello")
    with running(tmp_path, "inspect", "--session", "mine", "--no-open") as page:
        assert page.url.fragment.endswith("&session=mine")
        assert page.stop() == 0
    assert cli("inspect", "--session", "nobody").returncode == 3


def test_a_port_that_is_in_use_is_reported(tmp_path: Path) -> None:
    with running(tmp_path, "inspect") as page:
        done = Cli(tmp_path)("inspect", "--port", str(page.url.port))
        assert done.returncode == 2
        assert b"--port" in done.stderr
        assert b"Traceback" not in done.stderr
        page.stop()


def test_serve_with_the_sample_shows_a_session_without_key_upstream_or_browser(tmp_path: Path) -> None:
    began = time.monotonic()
    with running(tmp_path, "serve", "--sample", "--port", "0", "--inspect-port", "0") as page:
        while not (found := page.get("/api/sessions")["sessions"]) or not found[0]["requests"]:
            assert time.monotonic() - began < 20
            time.sleep(0.05)
        assert found[0]["name"] == "sample-harbour"
        assert page.process.stdout is not None
        assert "keepwhole proxy: http://127.0.0.1:" in page.process.stdout.readline()
        home = page.get("/api/sessions")["home"]
        assert os.path.exists(home)
        assert page.stop() == 0
        assert page.process.stderr is not None
        assert "Traceback" not in page.process.stderr.read()
    assert not os.path.exists(home)
    assert not (tmp_path / "home" / "record.db").exists()


@pytest.mark.parametrize("words", [("--inspect-port", "-1"), ("--port", "70000"), ("--inspect-port", "nonsense")])
def test_a_port_that_is_none_is_refused(tmp_path: Path, words: tuple[str, str]) -> None:
    done = Cli(tmp_path)("serve", *words)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@everywhere
def test_what_goes_through_the_proxy_shows_up_on_the_page_while_it_is_open(tmp_path: Path, kind: str) -> None:
    from tests.upstream.server import upstream
    from tests.upstream.spelling import Text

    tool = {"name": "Bash", "description": "Run a command.", "input_schema": {"type": "object"}}
    asked = [{"role": "user", "content": "Hello."}]
    request = {"model": "claude-sonnet-5", "max_tokens": 900, "tools": [tool], "messages": asked}
    with upstream([[Text("Hello there.")], [Text("Hello again.")]]) as provider:
        words = ("serve", "--port", "0", "--inspect-port", "0", "--no-token", "--upstream", f"anthropic={provider.url}")
        with running(tmp_path, *words, **place(kind, tmp_path / "home").environ) as page:
            assert page.process.stdout is not None
            proxy = urlsplit(page.process.stdout.readline().split()[2].rstrip(","))
            send(proxy.port or 0, request)
            name = wait_for_session(page)
            seq = page.get(f"/api/sessions/{name}")["seq"]
            connection = http.client.HTTPConnection("127.0.0.1", page.url.port or 0, timeout=20)
            connection.request("GET", f"/api/live?session={name}&after={seq}", headers={"cookie": page.cookie})
            events = connection.getresponse()
            said = {"role": "assistant", "content": "Hello there."}
            send(proxy.port or 0, {**request, "messages": [*asked, said, {"role": "user", "content": "?"}]})
            while events.readline() != b"event: step\n":
                pass
            step = json.loads(events.readline().removeprefix(b"data: "))["step"]
            assert (step["index"], step["outcome"]) == (1, "complete")
            events.close()
            connection.close()
            assert page.stop() == 0


def send(port: int, body: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"x-api-key": "k", "x-claude-code-session-id": "abc", "content-type": "application/json"}
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()
    connection.close()


def wait_for_session(page: Running) -> str:
    for _ in range(200):
        found = page.get("/api/sessions")["sessions"]
        if found and found[0]["requests"]:
            return found[0]["name"]
        time.sleep(0.05)
    raise AssertionError("nothing was put on record")
