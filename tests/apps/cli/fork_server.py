"""A process that has imported the command line and runs every command in a copy of itself.

Starting Python and importing takes longer than most commands. Each command still has a process of its own,
with its own environment, folder, standard streams and exit code. `python -m tests.apps.cli.fork_server FD` serves the
process at the other end of the socket FD, until that ends.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from keepwhole.apps.cli.main import COMMANDS, GROUPS, main
from keepwhole.apps.cli.parser import parser_for

_SECONDS = 60
_NUMBER = 4
"""Bytes of a length, and of an exit code."""


class ForkServer:
    """The test's end of it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=Path(__file__).parents[3],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(
        self, words: Sequence[str], input: bytes, environ: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input)
            given.seek(0)
            asked = json.dumps([words, dict(environ), str(folder)]).encode()
            files = [given.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(self._socket, [len(asked).to_bytes(_NUMBER, "big")], files)
            self._socket.sendall(asked)
            try:
                code = int.from_bytes(_read(self._socket, _NUMBER), "big", signed=True)
            except OSError:  # no end in time; a late answer would be taken for the next one's
                os.killpg(self._process.pid, signal.SIGKILL)
                fork_server.cache_clear()
                raise
            return subprocess.CompletedProcess([*words], code, *(_content(file) for file in (out, err)))


@cache
def fork_server() -> ForkServer:
    """The one of this process, started when it is first needed."""
    return ForkServer()


def _content(file: Any) -> bytes:
    file.seek(0)
    return file.read()


def _read(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = channel.recv(size - len(data))
        if not piece:
            raise ConnectionError("the other process has ended")
        data += piece
    return data


def _serve(channel: socket.socket) -> None:
    for name in COMMANDS:
        parser_for(name, GROUPS)
    with suppress(ImportError):  # without the extra `proxy`
        import_module("keepwhole.apps.proxy.server")
    gc.freeze()
    while True:
        head, files, _, _ = socket.recv_fds(channel, _NUMBER, 3)
        if not head:
            break
        words, environ, folder = json.loads(_read(channel, int.from_bytes(head, "big")))
        if (child := os.fork()) == 0:
            channel.close()
            _become(files, environ, folder)
            sys.exit(main(words))
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        channel.sendall(os.waitstatus_to_exitcode(status).to_bytes(_NUMBER, "big", signed=True))


def _become(files: Sequence[int], environ: Mapping[str, str], folder: str) -> None:
    """Make this process what `python -m keepwhole` would be in that folder."""
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path[:1] = [folder, *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
