"""Maps a function over items in forked processes, and yields the results as they arrive.

Owns: the processes, the order in which they take items, and what happens when one of them dies.
Must not know: what the function does.

Processes are forked, so that they share what was read once and any function can be used. A pool would return the
results of an item only when all of it is done; a log of a gigabyte must give results sooner.
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
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_processes(make: Callable[[Item], Iterable[Made]], items: Sequence[Item], jobs: int) -> Iterator[Made]:
    """Yield everything that `make` yields for each item, in no particular order; items are started in order."""
    if jobs < 2 or len(items) < 2:
        for item in items:
            yield from make(item)
        return
    ends: list[Connection] = []
    processes: list[Process] = []
    try:
        with _interrupts_blocked():
            _start(make, items, min(jobs, len(items)), ends, processes)
        yield from _receive(ends)
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
def _interrupts_blocked() -> Generator[None]:
    """Delay Ctrl-C while processes start: in the middle of a fork it would be lost, or interrupt the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive(ends: list[Connection]) -> Iterator[Any]:
    open_ends = list(ends)
    while open_ends:
        for end in wait(open_ends):
            end = cast("Connection", end)
            try:
                kind, value = end.recv()
            except EOFError:
                raise KeepwholeError("A process was killed, probably because memory ran out. Try `--jobs 1`.") from None
            if kind == _DONE:
                open_ends.remove(end)
            elif kind == "error":
                raise value
            else:
                yield value


def _work(
    make: Callable[[Any], Iterable[Any]], items: Sequence[Any], turn: Any, end: Connection, others: Iterable[Connection]
) -> None:
    """Take the next item until there is none.

    Ctrl-C is ignored: the parent handles it and ends its children. If the parent dies, the pipe of the child breaks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:  # inherited: no pipe breaks as long as one of the children has it open
        other.close()
    try:
        while (at := _take_number(turn)) < len(items):
            for made in make(items[at]):
                end.send(("made", made))
        end.send((_DONE, None))
    except BrokenPipeError:
        pass
    except Exception as error:
        end.send(("error", error))


def _take_number(turn: Any) -> int:
    with turn.get_lock():
        turn.value += 1
        return turn.value - 1
