"""A command that has the terminal to itself.

Owns: what the command inherits, which signals it handles itself, its exit code, and that it does not outlive Keepwhole:
a command whose proxy is gone could only fail. On Linux the kernel tells it even where Keepwhole is killed by SIGKILL;
other systems have no such signal, so there it stays.
Must not know: what the command is.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import NamedTuple

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Sent to every process of the terminal; the command handles them."""
_OURS = (signal.SIGTERM, signal.SIGHUP)
"""Sent to Keepwhole alone: passed on, so that the command ends first."""

_PARENT_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of Linux."""
_LIBC = ctypes.CDLL(None)
"""Loaded before any fork: a child that loads a library may wait for ever for a lock that another thread held."""


class InheritedState(NamedTuple):
    """What a command inherits as it was before Keepwhole changed it for itself."""

    umask: int
    core: tuple[int, int]

    @classmethod
    def now(cls) -> "InheritedState":
        """The current state."""
        umask = os.umask(0o077)
        os.umask(umask)
        return cls(umask, resource.getrlimit(resource.RLIMIT_CORE))


class Child:
    """A running command."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], inherited: InheritedState) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        begin = partial(end_with_parent, os.getpid()) if sys.platform == "linux" else None
        self._process = subprocess.Popen(argv, env=environ, umask=inherited.umask, preexec_fn=begin)
        if sys.platform == "linux":
            resource.prlimit(self._process.pid, resource.RLIMIT_CORE, inherited.core)
        for number in _OURS:
            _handle(number, self._pass_on)

    def wait(self) -> int:
        """The exit code of the command, as a shell reports it."""
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self._process.send_signal(number)


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process with SIGTERM when its parent's main thread ends; at once where it has ended."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def leave_signals_to_the_child() -> None:
    """Let the terminal's signals end only the command. Uses a handler: ignored signals would be inherited."""
    for number in _FROM_TERMINAL:
        _handle(number, _do_nothing)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass


def _handle(number: signal.Signals, act: Callable[[int, FrameType | None], None]) -> None:
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, act)
