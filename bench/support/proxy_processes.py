"""Processes that are measured as proxies, the requests they get, and the CPU they use."""

import json
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.support.setup import ROOT, Setup

_TOOLS = [{"name": "Bash", "description": "Run a command.", "input_schema": {"type": "object"}}]
_LINE = "the quick brown fox jumps over the lazy dog, and again\n"


@contextmanager
def process(
    words: Sequence[str], setup: Setup, home: str = "proxy", **more: str
) -> Generator[tuple[subprocess.Popen[str], int]]:
    """Start a process that prints its port."""
    environ = {**setup.environment(setup.path(home)), "PYTHONPATH": f"{ROOT}/src:{ROOT}", **more}
    running = subprocess.Popen(words, env=environ, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    line = running.stdout.readline()
    try:
        yield running, int(line.split(",")[0].rpartition(":")[2])
    finally:
        running.terminate()
        running.wait(30)


def step(number: int, chars: int, session: str = "") -> list[dict[str, Any]]:
    """A call and its result. Providers draw the ids of calls at random: those of each `session` are its own."""
    call_id = f"toolu_{session}_{number}" if session else f"toolu_{number}"
    call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": f"make {number}"}}
    text = f"{number}\n" + _LINE * (chars // len(_LINE))
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def request(messages: Sequence[Any], most: int = 100) -> bytes:
    """A request of a client that has a tool."""
    first = {"max_tokens": most, "model": "claude-sonnet-5", "stream": True, "tools": _TOOLS}
    return json.dumps({**first, "messages": messages}).encode()


def cpu(process: int) -> float:
    """CPU seconds that a process has used: Linux counts them in a clock of its own, which `clock_getcpuclockid` names
    so."""
    return time.clock_gettime((~process << 3) | 2)
