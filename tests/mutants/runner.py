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


class Runner:
    """Runs tests in a copy of the tree."""

    def __init__(self, tree: Path, python: Path) -> None:
        command = [str(python), "-m", "tests.mutants.runner"]
        self._process = subprocess.Popen(
            command, cwd=tree, env=environment_in(tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, tests: Sequence[str], patience: float) -> tuple[int, str]:
        """Run tests up to the first that fails; return pytest's exit code and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([tests, patience]), file=self._process.stdin, flush=True)
        code, printed = json.loads(self._process.stdout.readline())
        return code, printed


def _serve() -> None:
    for name in _IMPORTED:
        with suppress(ImportError):  # an adapter's environment has not all of them
            import_module(name)
    gc.freeze()
    for line in sys.stdin:
        tests, patience = json.loads(line)
        with tempfile.TemporaryFile("w+") as output:
            if (child := os.fork()) == 0:
                sys.exit(_run(tests, output.fileno()))
            code = _wait(child, patience)
            output.seek(0)
            print(json.dumps([code, output.read()]), flush=True)


def _run(tests: Sequence[str], output: int) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))  # a mutant may never stop collecting
    with open(os.devnull) as nothing:
        for at, file in enumerate((nothing.fileno(), output, output)):
            os.dup2(file, at)
    import pytest

    # Plugins of what is imported already cannot have their assertions rewritten, nor need they.
    ignored = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    return int(pytest.main([*_OPTIONS, *ignored, *tests]))


def _wait(child: int, patience: float) -> int:
    """Wait for a run and return its exit code; end it, with the processes it started, when the time is up."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return NO_END


if __name__ == "__main__":
    _serve()
