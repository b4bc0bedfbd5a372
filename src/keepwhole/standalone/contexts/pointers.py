"""The pointers of a `ContextManager`: kept small, found by query, task or words, returned as copies.

Owns: the index over descriptions. Must not know: files.
"""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

from keepwhole.recall.rank import rank_postings
from keepwhole.recall.scorer import rank, terms
from keepwhole.standalone.contexts.context import ContextPointer, TaskId, get_tool_description
from keepwhole.store.word_index import WordIndex
from keepwhole.truncation.words import words

_DESCRIBED = 600
_MOST = 1_000
"""The most pointers that a selection returns, where some match."""
_DIRECT = 2_000
"""Up to this many given pointers are scored one by one."""


class _Kept(NamedTuple):
    """A pointer without derived fields; arguments are text, so that nobody can change them."""

    filename: str
    tool_name: str
    args: str
    task_id: TaskId | None
    query_id: str | None


class Pointers:
    """Pointers in the order in which they were saved."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept: list[_Kept] = []
        self._numbers: dict[str, int] = {}
        self._by_query: dict[str | None, list[int]] = {}
        self._by_task: dict[TaskId | None, list[int]] = {}
        self._index = WordIndex()

    def add(self, filename: str, tool_name: str, args: str, task_id: TaskId | None, query_id: str | None) -> None:
        """Remember a saved context."""
        number = len(self._kept)
        self._kept.append(_Kept(filename, tool_name, args, task_id, query_id))
        self._numbers[filename] = number
        self._by_query.setdefault(query_id, []).append(number)
        self._by_task.setdefault(task_id, []).append(number)
        self._index.add(number + 1, words(_described(tool_name, args)))

    def all(self) -> list[ContextPointer]:
        """Return copies of all pointers."""
        return [self._pointer(kept) for kept in self._kept]

    def for_query(self, query_id: str | None) -> list[ContextPointer]:
        """Return copies of the pointers of one query; None for those without one."""
        return [self._pointer(self._kept[number]) for number in self._by_query.get(query_id, ())]

    def for_task(self, task_id: TaskId | None) -> list[ContextPointer]:
        """Return copies of the pointers of one task; None for those without one."""
        return [self._pointer(self._kept[number]) for number in self._by_task.get(task_id, ())]

    def best(self, query: str, most: int = _MOST) -> list[str]:
        """Return the files whose calls share words with a query, best first; none where nothing is shared."""
        found = rank_postings(self._index, len(self._kept), terms(query), most, each=1)
        return [self._path(self._kept[number - 1].filename) for number, _ in found.scores]

    def best_of(self, query: str, pointers: Sequence[ContextPointer], most: int = _MOST) -> list[str]:
        """Return the same for some pointers, which another manager may have made."""
        if len(pointers) <= _DIRECT or not all(pointer.filename in self._numbers for pointer in pointers):
            wanted = rank(query, [description(pointer) for pointer in pointers])
            return [pointers[at].filepath for at, _ in wanted[:most]]
        given = {pointer.filepath for pointer in pointers}
        return [path for path in self.best(query, most) if path in given]

    def of(self, paths: Sequence[str]) -> list[ContextPointer]:
        """Return copies of the pointers to these files, which this manager saved."""
        return [self._pointer(self._kept[self._numbers[os.path.basename(path)]]) for path in paths]

    def paths(self) -> list[str]:
        """Return the files of all pointers."""
        folder = os.path.join(self._folder, "")
        return [folder + kept.filename for kept in self._kept]

    def _path(self, filename: str) -> str:
        return os.path.join(self._folder, filename)

    def _pointer(self, kept: _Kept) -> ContextPointer:
        args = json.loads(kept.args)
        return ContextPointer(
            filepath=self._path(kept.filename),
            filename=kept.filename,
            tool_name=kept.tool_name,
            tool_description=get_tool_description(kept.tool_name, args),
            args=args,
            task_id=kept.task_id,
            query_id=kept.query_id,
        )


def description(pointer: ContextPointer) -> str:
    """Return the text that a pointer is found by."""
    return f"{pointer.tool_description} {_described(pointer.tool_name, json.dumps(pointer.args, default=str))}"


def _described(tool_name: str, args: str) -> str:
    return f"{tool_name} {args[:_DESCRIBED]}"
