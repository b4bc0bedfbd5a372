"""`keepwhole proxy` at one address, for all agents of a machine: it can be killed and started again there."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StandingProxy:
    """One proxy; its record and its address stay when it is killed."""

    def __init__(self, folder: Path, upstreams: dict[str, str]) -> None:
        self.folder, self._upstreams = folder, upstreams
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "keepwhole.yaml").write_text(json.dumps({"proxy": {"tenants": "one"}}))
        command = [sys.executable, "-m", "keepwhole", "proxy", "--port", str(self.port), "--no-token"]
        for name, url in self._upstreams.items():
            command += ["--upstream", f"{name}={url}"]
        given = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWHOLE_")}
        given |= {"KEEPWHOLE_HOME": str(self.folder / ".keepwhole")}
        given |= {"KEEPWHOLE_CONFIG": str(self.folder / "keepwhole.yaml")}
        self._process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True, cwd=self.folder)
        assert self._process.stdout is not None
        assert any("http://127.0.0.1" in line for line in self._process.stdout), "the proxy does not listen"

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def standing_proxy(folder: Path, **upstreams: str) -> Iterator[StandingProxy]:
    """A proxy before these providers, while it is needed."""
    proxy = StandingProxy(folder, upstreams)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.kill()
