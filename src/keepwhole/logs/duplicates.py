"""The runs of many files, each of them once.

Owns: recognizing a copy. A client that resumes or forks a session may write the history again into another file. A run
is a copy if it is the beginning of another run, with the same times. A run without times is never a copy.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from keepwhole.logs.lines import UnreadPart, file_size
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run

PrefixDigests: TypeAlias = "array[int]"
"""For each message of a run the digest of all messages up to it."""


def read_all(paths: Iterable[Path]) -> Iterator[Run | UnreadPart]:
    """Yield the runs of all these files without copies, and what could not be read; the largest file first.

    A file that repeats another one and goes on is larger than it, so a run can be yielded as soon as it is read.
    """
    seen: set[int] = set()
    for path in sorted(paths, key=file_size, reverse=True):
        for found in read_runs(path):
            if isinstance(found, UnreadPart) or not found.times:
                yield found
                continue
            digests = prefix_digests(found)
            if digests[-1] not in seen:
                yield found
            seen.update(digests)


def prefix_digests(run: Run) -> PrefixDigests:
    """Return the digests of a run, comparable within one process and its forks; none for a run without times."""
    digests = array("q")
    digest = hash(run.source)
    for message, at in zip(run.messages, run.times, strict=False):
        digest = hash((digest, at, message))
        digests.append(digest)
    return digests


def numbers_without_copies(runs: Sequence[PrefixDigests]) -> list[int]:
    """Return the numbers of the runs with these digests that are not copies, in order."""
    alike: dict[int, list[int]] = {}
    for number, digests in enumerate(runs):
        if digests:
            alike.setdefault(digests[0], []).append(number)
    copies: set[int] = set()
    for group in alike.values():
        seen: set[int] = set()
        for number in sorted(group, key=lambda number: -len(runs[number])) if len(group) > 1 else ():
            copies.update([number] if runs[number][-1] in seen else [])
            seen.update(runs[number])
    return [number for number in range(len(runs)) if number not in copies]
