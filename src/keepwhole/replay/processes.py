"""Work spread over forked processes, its results as they come.

Owns: the processes, the order in which they take work, and what happens when one dies.
Must not know: what the work is.

Forked, so that what was read once is shared and any function may be given. A pool would hold back the results of an
item until all of it is done; a log of a gigabyte must say something sooner.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias, TypeVar, cast

from keepwhole.errors import KeepwholeError

Item = TypeVar("Item")
Made = TypeVar("Made")
Process: TypeAlias = Any
_DONE = "done"


def cores() -> int:
    """Processors that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(make: Callable[[Item], Iterable[Made]], items: Sequence[Item], jobs: int) -> Iterator[Made]:
    """Everything that `make` gives for each item, in no order; items are begun in theirs."""
    if jobs < 2 or len(items) < 2:
        for item in items:
            yield from make(item)
        return
    ends: list[Connection] = []
    processes: list[Process] = []
    try:
        with _undisturbed():
            _start(make, items, min(jobs, len(items)), ends, processes)
        yield from _gathered(ends)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _start(
    make: Callable[[Any], Iterable[Any]],
    items: Sequence[Any],
    count: int,
    ends: list[Connection],
    processes: list[Process],
) -> None:
    context = multiprocessing.get_context("fork")
    turn = context.Value("q", 0)
    for _ in range(count):
        mine, theirs = context.Pipe(duplex=False)
        ends.append(mine)
        process = context.Process(target=_work, args=(make, items, turn, theirs, ends), daemon=True)
        process.start()
        theirs.close()
        processes.append(process)


@contextmanager
def _undisturbed() -> Generator[None]:
    """Hold back Ctrl-C while processes start: in the middle of a fork it would be lost, or interrupt the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _gathered(ends: list[Connection]) -> Iterator[Any]:
    open_ends = list(ends)
    while open_ends:
        for end in wait(open_ends):
            end = cast("Connection", end)
            try:
                kind, value = end.recv()
            except EOFError:
                raise KeepwholeError("A process was killed, most likely for want of memory. Try `--jobs 1`.") from None
            if kind == _DONE:
                open_ends.remove(end)
            elif kind == "error":
                raise value
            else:
                yield value


def _work(
    make: Callable[[Any], Iterable[Any]], items: Sequence[Any], turn: Any, end: Connection, others: Iterable[Connection]
) -> None:
    """Take the next item until there is none. Ctrl-C is for the parent, which ends us; if it dies, our pipe breaks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:  # inherited: as long as one of us holds it open, no pipe breaks
        other.close()
    try:
        while (at := _next(turn)) < len(items):
            for made in make(items[at]):
                end.send(("made", made))
        end.send((_DONE, None))
    except BrokenPipeError:
        pass
    except Exception as error:
        end.send(("error", error))


def _next(turn: Any) -> int:
    with turn.get_lock():
        turn.value += 1
        return turn.value - 1
