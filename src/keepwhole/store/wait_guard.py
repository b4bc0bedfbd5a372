"""A thread that must not wait: what would wait there for a disk, a server or another thread raises `MustWait`.

The proxy relays all streams on one thread. A request that needs less than a millisecond of work is begun there too,
since handing it to another thread and back takes as long as the work. Whether it has to wait is only found out on the
way: where something is to be hidden, the results are recorded first. So the work is begun inside `without_waiting`, and
where it comes to a write, a file, a busy lock or much text, it ends with `MustWait`, and is begun anew on a thread that
may wait.

Owns: which thread must not wait. Must not know: what is waited for.
"""

import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, runtime_checkable

_AT_ONCE = 0.001
"""Seconds within which a lock is had at once: giving the work to another thread takes longer."""


class _Lock(Protocol):
    """A lock of `threading`, of either kind."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, within so many seconds; return whether that was possible."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class MustWait(BaseException):
    """Work was begun where it must not wait, and would have to. It is no failure: no handler of errors catches it."""


@runtime_checkable
class AnswersAtOnce(Protocol):
    """A back end on this machine that reads a few entries in less than a millisecond. Before it waits for anything
    else it calls `check_may_wait`, and it takes locks with `held`."""

    answers_at_once: bool


class _Hurry(threading.local):
    is_on = False


_hurry = _Hurry()


@contextmanager
def without_waiting() -> Generator[None]:
    """Run the block so that it raises `MustWait` instead of waiting."""
    _hurry.is_on = True
    try:
        yield
    finally:
        _hurry.is_on = False


def check_may_wait() -> None:
    """Raise `MustWait` on a thread that must not wait now; called before whatever takes long."""
    if _hurry.is_on:
        raise MustWait


@contextmanager
def held(lock: _Lock) -> Generator[None]:
    """Hold a lock; `MustWait` where another thread holds it and this one must not wait."""
    if not lock.acquire(timeout=_AT_ONCE if _hurry.is_on else -1):
        raise MustWait
    try:
        yield
    finally:
        lock.release()


def held_meanwhile(lock: _Lock) -> AbstractContextManager[None]:
    """Hold a lock during all of the work that must not wait; work that may wait takes it only when it needs it."""
    return held(lock) if _hurry.is_on else nullcontext()
