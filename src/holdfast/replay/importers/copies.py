"""Many files in, each run once.

Owns: knowing a copy. A client that resumes or forks a session may write its history again into another file; a run
that is nothing but the beginning of another one, at the same times, is a copy. One without times is never taken for it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.replay.importers.lines import Unread
from holdfast.replay.importers.read import read_runs
from holdfast.replay.run import Run


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
            marks = _marks(found)
            if marks[-1] not in seen:
                yield found
            seen.update(marks)


def _marks(run: Run) -> list[int]:
    """For each message, a digest of the run up to there."""
    marks: list[int] = []
    mark = hash(run.source)
    for message, at in zip(run.messages, run.times, strict=True):
        mark = hash((mark, at, message))
        marks.append(mark)
    return marks


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
