"""A process that has imported what tests need of others and runs pytest in copies of itself, each with an end in time.

Importing pytest and the providers' SDKs takes longer than the few tests of a mutant; only Keepwhole and its tests are
imported by the copy. `python -m tests.mutants.runner` reads a line of JSON for each run and answers with one.
"""

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path

from tests.mutants.copies import MARKS, environment_in

NO_END = -1_000
"""The exit code of a run that was ended."""
_IMPORTED = (
    "pytest",
    "hypothesis.strategies",
    "anthropic",
    "openai",
    "mcp",
    "aiohttp.web",
    "pydantic",
    "yaml",
    "msgspec",
)
_OPTIONS = ("-x", "-q", "--tb=no", "-p", "no:xdist", "-p", "no:cacheprovider", "--timeout=60", "-m", MARKS)
_MEMORY = 8 << 30
_WAITS = 8
"""A run that hardly uses a processor, since it waits or others use it, is ended after its patience times this."""


class Runner:
    """Runs tests in a copy of the tree."""

    def __init__(self, tree: Path, python: Path, *module: str) -> None:
        self._tree, self._command = tree, [str(python), "-m", *(module or ("tests.mutants.runner",))]

    @cached_property
    def _process(self) -> subprocess.Popen[str]:
        """Started with the first run: a runner that is never needed imports nothing."""
        pipe, environment = subprocess.PIPE, environment_in(self._tree)
        return subprocess.Popen(self._command, cwd=self._tree, env=environment, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        if "_process" in vars(self):
            self._process.communicate()

    def run(self, tests: Sequence[str], patience: float, place: tuple[str, int] = ("", 0)) -> tuple[int, str]:
        """Run tests up to the first that fails; return pytest's exit code and what it printed.

        `place` is the file and line that is changed, for a runner that has imported the file before.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([tests, patience, place]), file=self._process.stdin, flush=True)
        code, printed = json.loads(self._process.stdout.readline())
        return code, printed


def _serve() -> None:
    for name in _IMPORTED:
        with suppress(ImportError):  # an adapter's environment has not all of them
            import_module(name)
    gc.freeze()
    for line in sys.stdin:
        tests, patience, _ = json.loads(line)
        with tempfile.TemporaryFile("w+") as output:
            if (child := os.fork()) == 0:
                sys.exit(_run(tests, output.fileno()))
            code = wait_for(child, patience)
            output.seek(0)
            print(json.dumps([code, output.read()]), flush=True)


def limit_run(output: int) -> None:
    """Let a process that runs tests print to a file, and take no more than its share of memory."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))  # a mutant may never stop collecting
    with open(os.devnull) as nothing:
        for at, file in enumerate((nothing.fileno(), output, output)):
            os.dup2(file, at)


def _run(tests: Sequence[str], output: int) -> int:
    limit_run(output)
    import pytest

    # Plugins of what is imported already cannot have their assertions rewritten, nor need they.
    ignored = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    return int(pytest.main([*_OPTIONS, *ignored, *tests]))


def wait_for(child: int, patience: float) -> int:
    """Wait for a run and return its exit code; end it, with the processes it started, when its time is up.

    Its time is that of the processor: on a busy machine tests take many times as long by the clock.
    """
    began = checked = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if now - began >= patience and now - checked >= 0.5:
            checked = now
            if now - began >= _WAITS * patience or processor_seconds(child) >= patience:
                break
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return NO_END


def processor_seconds(session: int) -> float:
    """Return how long the processes of a session, and those they waited for, have used processors."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # of a process that has ended since
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    _serve()
