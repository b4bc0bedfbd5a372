"""The command `keepwhole proxy` as a process, for as long as a test needs it.

Owns: its settings, its record, its end. Must not know: what is asked of it.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class Running(NamedTuple):
    """A proxy that listens."""

    url: str
    pid: int
    home: Path
    """The folder of its record."""
    log: Path
    """What it wrote to stderr."""


@contextmanager
def proxy(folder: Path, upstream: str, environ: Mapping[str, str] = {}, **settings: Any) -> Iterator[Running]:
    """A proxy before one upstream, with a record of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keepwhole.yaml").write_text(json.dumps({"policy": "auto", **settings}))
    command = [sys.executable, "-m", "keepwhole", "proxy", "--port", "0", "--no-token"]
    for provider in ("anthropic", "openai", "gemini"):
        command += ["--upstream", f"{provider}={upstream}"]
    given = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWHOLE_")}
    given |= {"KEEPWHOLE_HOME": str(folder / "home"), "KEEPWHOLE_CONFIG": str(folder / "keepwhole.yaml"), **environ}
    log = folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=errors, cwd=folder)
        assert process.stdout is not None
        try:
            yield Running(_address(process, log), process.pid, folder / "home", log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            finally:
                process.kill()
                process.stdout.close()
                process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := _ADDRESS.search(line.decode()):
            return found[0]
    raise AssertionError(f"the proxy does not listen: {log.read_text()[-2_000:]}")


def forbid_growth(pid: int, is_forbidden: bool) -> None:
    """Let no file of a process grow, as a full disk does; or let them grow again."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0 if is_forbidden else hard, hard))
