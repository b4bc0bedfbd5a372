"""A real client between a recording relay and a strict provider: what both sides saw, and the record it leaves."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import keepwhole
from tests.clients.drive import Start, start_claude, start_codex, start_opencode
from tests.clients.edits import is_turn
from tests.clients.plan import Plan
from tests.clients.player import Player, prompt_for
from tests.clients.relay import Relay, relay
from tests.upstream.prompt_cache import TILLS, Breakpoints, Clock, Prefixes
from tests.upstream.server import Asked, Upstream, upstream
from tests.upstream.spelling import Dialect

CLAUDE_TOOLS = "Bash,Read,Write,Edit,Agent"
DIALECTS: dict[str, Dialect] = {"claude": "anthropic", "codex": "openai_responses", "opencode": "openai_chat"}
WINDOWS = {"claude": 200_000, "codex": 272_000, "opencode": 200_000}
_ENVIRON = {"PYTHONPATH": str(Path(str(keepwhole.__file__)).parent.parent)}


class Mark(NamedTuple):
    """How much both sides had seen at some moment."""

    sent: int
    received: int


class Stage:
    """One client in a home of its own. `wrap` runs it once; what it does is in its prompt."""

    def __init__(self, client: str, home: Path, served: Upstream, between: Relay, player: Player) -> None:
        self.client, self.home, self.served, self.between, self.player = client, home, served, between, player
        self.window = WINDOWS[client]
        """What opencode is told of its model."""
        self.work = home / "work"
        self.work.mkdir(parents=True, exist_ok=True)

    @property
    def sent(self) -> list[Asked]:
        """What the client sent."""
        return list(self.between.asked)

    @property
    def received(self) -> list[Asked]:
        """What the provider received."""
        return [asked for asked in self.served.asked if asked.method == "POST"]

    def mark(self) -> Mark:
        return Mark(len(self.sent), len(self.received))

    def wrap(
        self, plan: str, *more: str, mode: str = "on", timeout: float = 400, **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run the client under `wrap`, behind the relay."""
        start = self.start(plan, *more, port=self.served.port, **environ)
        return self.behind_relay(start).run(self.home, wrap(mode), timeout)

    def behind_relay(self, start: Start) -> Start:
        """The client with the relay between it and `wrap`."""
        path = self.between.stand_in(self.client, self.home / "bin", os.environ["PATH"])
        return start._replace(environ={**start.environ, "PATH": path})

    def start(self, plan: str, *more: str, port: int, base: str = "", **environ: str) -> Start:
        """The client with its prompt, at a provider on this port."""
        environ = {**_ENVIRON, **environ}
        words = plan if plan.startswith("/") else prompt_for(plan)
        if self.client == "claude":
            return start_claude(port, words, *more, tools=CLAUDE_TOOLS, base=base, **environ)
        if self.client == "codex":
            return start_codex(self.home, port, words, *more, base=base, **environ)
        options = ["run", "--format", "json", *more, words]
        return start_opencode(self.home, port, *options, outside="ask", base=base, window=self.window, **environ)


def wrap(mode: str = "on") -> list[str]:
    """The words before a client's command."""
    return [sys.executable, "-m", "keepwhole", "wrap", *(["--mode", mode] if mode != "on" else [])]


def conversations(received: list[Asked]) -> Iterator[list[Asked]]:
    """The requests of each conversation, in order: a sub-agent has one of its own."""
    found: dict[str, list[Asked]] = {}
    for asked in received:
        if is_turn(asked) and asked.body.get("tools"):
            agent = asked.headers.get("x-claude-code-agent-id", "")
            session = asked.headers.get("x-claude-code-session-id") or asked.headers.get("x-session-id") or ""
            found.setdefault(f"{session} {agent}", []).append(asked)
    yield from found.values()


@contextmanager
def stage(client: str, home: Path, plans: Mapping[str, Plan]) -> Iterator[tuple[Stage, Breakpoints | Prefixes]]:
    """A client, its relay and its provider, while they are needed."""
    if shutil.which(client) is None:
        pytest.skip(f"`{client}` is not installed; `make clients` installs it")
    player = Player(plans)
    till = TILLS[DIALECTS[client]](Clock(), window=WINDOWS[client])
    with upstream(player, till) as served, relay() as between:
        yield Stage(client, home, served, between, player), till
