"""Running the command line as a user does: a process of its own, in a folder and a record of its own."""

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.cli.main import main
from tests.apps.cli.fork_server import fork_server


class Cli:
    """`keepwhole` in `folder`, with the record in `folder/home`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("KEEPWHOLE_")},
            "KEEPWHOLE_HOME": str(folder / "home"),
            "HOME": str(folder),
        }

    def __call__(self, *words: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return fork_server().run(words, input, self.environ, self.folder)

    def said(self, *words: str, input: bytes = b"") -> str:
        """What a command that did its work prints."""
        done = self(*words, input=input)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *words: str, input: bytes = b"", code: int = 0) -> Any:
        at = 1 if words[0] == "run" else len(words)
        done = self(*words[:at], "--json", *words[at:], input=input)
        assert done.returncode == code, done.stderr.decode()
        return json.loads(done.stdout)

    def on_a_terminal(self, *words: str, typed: bytes = b"") -> bytes:
        """What a terminal would receive."""
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "keepwhole", *words]
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=self.environ, cwd=self.folder)
        os.close(slave)
        os.write(master, typed)
        received = b""
        try:
            while chunk := os.read(master, 65_536):
                received += chunk
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(master)
            process.wait(timeout=60)
        return received


class Quick(Cli):
    """The same without a process for each command, since starting one takes most of the time."""

    def __call__(self, *words: str, input: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        if input:
            return super().__call__(*words, input=input)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            for name in ("KEEPWHOLE_HOME", "KEEPWHOLE_STORE", "HOME"):
                patch.delenv(name, raising=False)
                if name in self.environ:
                    patch.setenv(name, self.environ[name])
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.StringIO())
            with redirect_stdout(out), redirect_stderr(err):
                code = main(list(words))
        return subprocess.CompletedProcess(words, code, out.buffer.getvalue(), err.buffer.getvalue())  # type: ignore[attr-defined]
