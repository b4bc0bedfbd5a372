"""A terminal for the clients' own screens: tmux, in which keys are typed and the screen is read."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_PATIENCE = 120.0


class Terminal:
    """One screen."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    @property
    def screen(self) -> str:
        """What is on it, and what has left it at the top."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-2000")

    def type(self, text: str, *keys: str) -> None:
        """Type a text, then press keys."""
        self._tmux("send-keys", "-l", text)
        time.sleep(0.5)  # pasted text and the key after it are told apart by time
        self.press(*(keys or ("Enter",)))

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def wait_for(self, *words: str, seconds: float = _PATIENCE) -> str:
        """Wait until one of these is on the screen, and return it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            screen = self.screen
            for word in words:
                if word in screen:
                    return word
            time.sleep(0.2)
        raise AssertionError(f"none of {words} on the screen:\n{self.screen}")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", str(self._socket), *words], capture_output=True, text=True, check=False)
        return done.stdout


@contextmanager
def terminal(folder: Path, command: Sequence[str], environ: dict[str, str]) -> Iterator[Terminal]:
    """A command in a terminal of its own, in this folder. It stays until the screen was read."""
    if shutil.which("tmux") is None:
        pytest.skip("`tmux` is not installed; `make clients` says how")
    # A socket's path may have 107 characters, and those of pytest's folders are longer.
    socket = Path("/tmp") / f"tmux-{os.getpid()}-{time.monotonic_ns()}"
    told = [f"{name}={value}" for name, value in environ.items()]
    line = shlex.join(["env", "-i", *told, "TERM=screen-256color", "LANG=C.UTF-8", *command]) + "; echo [ended $?]; cat"
    start = ["tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d", "-x", "140", "-y", "50"]
    subprocess.run([*start, "-c", str(folder), line], check=True, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
    try:
        yield Terminal(socket)
    finally:
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True)
        socket.unlink(missing_ok=True)
