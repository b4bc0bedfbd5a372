"""Proxies of two releases over one record: one after the other is replaced while agents work.

The older release is built from the newest commit before the schema of records changed last, the newer one from this
tree.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.store.protocol import result_of
from keepwhole.store.verify import verify
from release.build import ROOT
from tests.upgrades.record_of_release import conversation

pytestmark = pytest.mark.torture
SCRIPTS = "src/keepwhole/store/sqlite/sql"
MESSAGES = conversation()


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def install(folder: Path, commit: str | None) -> Path:
    """Build a release from a commit, or from the tree as it is, and unpack its wheel into a folder."""
    source, into = folder / "source", folder / "installed"
    if commit is None:
        source = ROOT
    else:
        source.mkdir(parents=True)
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=source, capture_output=True, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(into)], check=True)
    return into


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    changed = git("log", "-1", "--format=%H", "--", SCRIPTS)
    if not changed or not git("rev-parse", "--verify", "--quiet", f"{changed}~1"):
        pytest.skip("needs the history of the repository")
    folder = tmp_path_factory.mktemp("releases")
    return {"old": install(folder / "old", f"{changed}~1"), "new": install(folder / "new", None)}


class Provider(BaseHTTPRequestHandler):
    """Answers every request with a few words, and remembers what it was asked."""

    asked: list[list[Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body["messages"])
        said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
        data = json.dumps({"id": "x", "object": "chat.completion", "choices": [said], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def provider() -> Iterator[tuple[str, list[list[Any]]]]:
    asked: list[list[Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Provider,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


class Running:
    """A proxy of one release, as a process."""

    def __init__(self, release: Path, home: Path, upstream: str) -> None:
        environ = {**os.environ, "PYTHONPATH": str(release), "KEEPWHOLE_HOME": str(home), "HOME": str(home.parent)}
        environ["KEEPWHOLE_POLICY"] = "truncation"  # both releases cut results of this size on arrival
        command = [sys.executable, "-m", "keepwhole", "proxy", "--port", "0", "--no-token", "--upstream"]
        self._errors = (home.parent / f"errors-{id(self)}").open("w+")
        self._process = subprocess.Popen(
            [*command, f"openai={upstream}"],
            env=environ,
            cwd=home.parent,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self._process.stdout is not None
        said = ""
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", said)):
            line = self._process.stdout.readline()
            assert line, f"it did not start: {said} {self.errors()}"
            said += line
        self.port = int(found[1])

    def ask(self, messages: list[Any], name: str = "talk") -> int:
        tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
        body = json.dumps({"model": "gpt-5", "tools": [tool], "messages": messages}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer k", "x-keepwhole-session": name}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def health(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/healthz")
        said = connection.getresponse().read().decode()
        connection.close()
        return said

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def stop(self) -> None:
        if self._process.poll() is not None:
            return
        self._process.terminate()
        self._process.communicate(timeout=30)
        self._errors.close()


def test_proxies_are_replaced_one_by_one_while_an_agent_works(releases: dict[str, Path], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with ExitStack() as stack:
        url, asked = stack.enter_context(provider())

        def start(release: str) -> Running:
            proxy = Running(releases[release], home, url)
            stack.callback(proxy.stop)
            return proxy

        first, second = start("old"), start("old")
        turns = iter(range(1, len(MESSAGES) + 1, 2))

        def work(ways: list[Running], steps: int) -> None:
            for number in range(steps):
                assert ways[number % len(ways)].ask(MESSAGES[: next(turns)]) == 200

        work([first, second], 10)
        second.stop()
        second = start("new")  # brings the record to the new schema
        work([first, second], 10)
        first.stop()
        late = start("old")  # started from the older release by mistake
        assert late.ask(MESSAGES[:3], "other") == 200
        assert asked[-1] == MESSAGES[:3], "sent as it came"
        assert "newer than" in late.health()
        assert "damaged" not in late.health().replace("nothing is damaged", "")
        late.stop()
        first = start("new")
        work([first, second], 20)
    talk = [messages for messages in asked if messages != MESSAGES[:3] or messages is asked[1]]
    assert all(after[: len(before)] == before for before, after in pairwise(talk)), "what was sent once is sent again"
    assert sum(message["content"] != came["content"] for message, came in zip(talk[-1], MESSAGES, strict=False)) > 10
    check_record(home)


def check_record(home: Path) -> None:
    """Every result that the agent got is on record as it came."""
    store = SqliteStore(str(home))
    (name,) = [info.name for info in store.sessions() if info.name.startswith("talk")]
    assert verify(store, name).whole
    session = Session(name, store=store)
    kept = {
        result.call_id: session.recall(result.trace_id) for result in map(result_of, store.rows(name, kind="result"))
    }
    store.close()
    came = {message["tool_call_id"]: message["content"] for message in MESSAGES if message["role"] == "tool"}
    assert {call: came.get(call) for call in kept if call} == {call: text for call, text in kept.items() if call}
    assert len(kept) >= 39
