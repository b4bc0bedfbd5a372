"""Many files in, each run once.

Owns: knowing a copy. A client that resumes or forks a session may write its history again into another file; a run
that is nothing but the beginning of another one, at the same times, is a copy. One without times is never taken for it.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from keepwhole.logs.lines import Unread
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run

Marks: TypeAlias = "array[int]"
"""For each message of a run a digest of all up to there."""


def read_all(paths: Iterable[Path]) -> Iterator[Run | Unread]:
    """The runs of all these files, without copies, and what could not be read; the largest file first.

    What holds a copy is larger than what was copied, so nothing has to be held back.
    """
    seen: set[int] = set()
    for path in sorted(paths, key=_size, reverse=True):
        for found in read_runs(path):
            if isinstance(found, Unread) or not found.times:
                yield found
                continue
            own = marks(found)
            if own[-1] not in seen:
                yield found
            seen.update(own)


def marks(run: Run) -> Marks:
    """The marks of a run, good for one process and its forks; none without times."""
    found = array("q")
    mark = hash(run.source)
    for message, at in zip(run.messages, run.times, strict=False):
        mark = hash((mark, at, message))
        found.append(mark)
    return found


def originals(marked: Sequence[Marks]) -> list[int]:
    """The numbers of the runs with these marks that are no copies, in order."""
    alike: dict[int, list[int]] = {}
    for number, own in enumerate(marked):
        if own:
            alike.setdefault(own[0], []).append(number)
    copies: set[int] = set()
    for group in alike.values():
        seen: set[int] = set()
        for number in sorted(group, key=lambda number: -len(marked[number])) if len(group) > 1 else ():
            copies.update([number] if marked[number][-1] in seen else [])
            seen.update(marked[number])
    return [number for number in range(len(marked)) if number not in copies]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
