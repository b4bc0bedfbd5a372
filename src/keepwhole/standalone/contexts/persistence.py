"""`ContextManager`: every tool output in a readable file, a pointer to it in memory, the relevant ones for an answer.

Owns: saving, loading, selecting and clearing. It works without a record and without a session; what must never be
lost belongs into a `Session`. Safe from threads; files of other processes in the same folder are never overwritten.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from keepwhole.errors import NotStored
from keepwhole.recall.selector import Candidate, Selector, choose_candidates
from keepwhole.standalone.contexts.arguments import (
    check_id,
    check_limit,
    check_mapping,
    check_paths,
    check_size,
    check_text,
)
from keepwhole.standalone.contexts.context import (
    OURS,
    SUFFIX,
    ContextManagerOptions,
    ContextPointer,
    Debug,
    StoredContext,
    TaskId,
    as_json,
    file_stem,
    get_tool_description,
    plain,
    read_back,
    size_of,
    written,
)
from keepwhole.standalone.contexts.file_system import FileSystem, RealFileSystem
from keepwhole.standalone.contexts.pointers import Pointers

_log = logging.getLogger("keepwhole.standalone.contexts")
_CACHED = 1_024
"""The memory for small results, as a multiple of the threshold; the oldest are dropped."""
_CANDIDATES = 100
"""Pointers that a selector chooses among."""


def _now() -> datetime:
    return datetime.now(UTC)


_Params = ParamSpec("_Params")
_Returned = TypeVar("_Returned")


class ContextManager:
    """Saves tool outputs and finds them again. As a context manager it clears everything at its end.

    The calls that touch files or ask a selector exist as coroutines too, on a worker thread: `asave_context`, ….
    """

    def __init__(
        self,
        context_dir: str | os.PathLike[str] | ContextManagerOptions | None = None,
        *,
        persist_threshold: int | None = None,
        file_system: FileSystem | None = None,
        on_debug: Debug | None = None,
        selector: Selector | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        options = context_dir if isinstance(context_dir, ContextManagerOptions) else ContextManagerOptions()
        if context_dir is not None and not isinstance(context_dir, ContextManagerOptions):
            (folder,) = check_paths("context_dir", [context_dir])
            options = options._replace(context_dir=folder)
        self.context_dir = os.path.abspath(os.path.expanduser(options.context_dir))
        self.persist_threshold = options.persist_threshold if persist_threshold is None else persist_threshold
        check_size("persist_threshold", self.persist_threshold)
        self._files = file_system or options.file_system or RealFileSystem()
        self._on_debug = on_debug or options.on_debug
        self._selector = selector
        self._clock = clock
        self._lock = threading.RLock()
        self._pointers = Pointers(self.context_dir)
        self._taken: dict[str, int] = {}
        self._cache: dict[str, bytes] = {}
        self._cached = 0

    def __enter__(self) -> "ContextManager":
        """Return the manager itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Clear pointers and files."""
        self.clear()

    def save_context(
        self,
        tool_name: str,
        args: Mapping[str, Any] | None,
        result: object,
        task_id: TaskId | None = None,
        query_id: str | None = None,
    ) -> str:
        """Write a tool's output to a file of its own, remember the pointer, and return the file's path."""
        check_text("tool_name", tool_name)
        check_id("task_id", task_id, (int, str))
        check_id("query_id", query_id)
        given: dict[str, Any] = plain(check_mapping("args", args))
        context = StoredContext(
            tool_name=tool_name,
            tool_description=get_tool_description(tool_name, given),
            args=given,
            timestamp=self._clock().isoformat().replace("+00:00", "Z"),
            task_id=task_id,
            query_id=query_id,
            result=result,
        )
        data = written(context)
        filename = self._write(file_stem(tool_name, given), data)
        filepath = os.path.join(self.context_dir, filename)
        with self._lock:
            self._pointers.add(filename, tool_name, as_json(given).decode(), task_id, query_id)
            if len(data) < self.persist_threshold or size_of(result) < self.persist_threshold:
                self._remember(filepath, data)
        self._debug("context saved", {"file": filename, "bytes": len(data)})
        return filepath

    def get_all_pointers(self) -> list[ContextPointer]:
        """Return copies of all pointers in the order of saving."""
        with self._lock:
            return self._pointers.all()

    def get_pointers_for_query(self, query_id: str | None) -> list[ContextPointer]:
        """Return the pointers saved under a query; with None those saved under none."""
        check_id("query_id", query_id)
        with self._lock:
            return self._pointers.for_query(query_id)

    def get_pointers_for_task(self, task_id: TaskId | None) -> list[ContextPointer]:
        """Return the pointers saved under a task; with None those saved under none."""
        check_id("task_id", task_id, (int, str))
        with self._lock:
            return self._pointers.for_task(task_id)

    def load_contexts(self, filepaths: Iterable[str]) -> list[StoredContext]:
        """Return the contexts in these files; one that is missing, malformed or elsewhere is skipped with a warning."""
        loaded = (self._load(filepath) for filepath in check_paths("filepaths", filepaths))
        return [context for context in loaded if context is not None]

    def select_relevant_contexts(
        self,
        query: str,
        available_pointers: Sequence[ContextPointer] | None = None,
        *,
        limit: int | None = None,
        selector: Selector | None = None,
    ) -> list[str]:
        """Return the files that a query is about, best first: by the words of their calls, or as a selector chooses.

        Chooses among all pointers where none are given. Where nothing matches, all of them are returned.
        """
        check_text("query", query)
        check_limit("limit", limit)
        with self._lock:
            if available_pointers is None:
                found = self._pointers.best(query) or self._pointers.paths()
            else:
                found = self._pointers.best_of(query, available_pointers)
                found = found or [pointer.filepath for pointer in available_pointers]
            who = selector or self._selector
            if who is None or not found:
                return found[:limit]
            found = found[:_CANDIDATES]
            candidates = self._candidates(found, available_pointers)
        return [found[at] for at in choose_candidates(who, query, candidates)][:limit]

    def clear_pointers(self) -> None:
        """Forget all pointers and cached results; the files stay."""
        with self._lock:
            self._pointers = Pointers(self.context_dir)
            self._forget_cached()
        self._debug("pointers cleared", None)

    def clear_context_dir(self) -> None:
        """Remove all files that were saved to the folder, by this manager or another; no other file is touched."""
        removed = 0
        for name in self._files.names(self.context_dir):
            if OURS.fullmatch(name):
                self._files.remove(os.path.join(self.context_dir, name))
                removed += 1
        with self._lock:
            self._taken.clear()
            self._forget_cached()  # its names are free again, and may soon be given to other results
        self._debug("context folder cleared", {"files": removed})

    def clear(self) -> None:
        """Clear both memory and disk, at the end of a session."""
        self.clear_pointers()
        self.clear_context_dir()

    async def asave_context(
        self,
        tool_name: str,
        args: Mapping[str, Any] | None,
        result: object,
        task_id: TaskId | None = None,
        query_id: str | None = None,
    ) -> str:
        """Run `save_context` on a worker thread."""
        return await _run_in_thread(self.save_context, tool_name, args, result, task_id, query_id)

    async def aload_contexts(self, filepaths: Iterable[str]) -> list[StoredContext]:
        """Run `load_contexts` on a worker thread."""
        return await _run_in_thread(self.load_contexts, filepaths)

    async def aselect_relevant_contexts(
        self,
        query: str,
        available_pointers: Sequence[ContextPointer] | None = None,
        *,
        limit: int | None = None,
        selector: Selector | None = None,
    ) -> list[str]:
        """Run `select_relevant_contexts` on a worker thread."""
        select = self.select_relevant_contexts
        return await _run_in_thread(select, query, available_pointers, limit=limit, selector=selector)

    async def aclear_context_dir(self) -> None:
        """Run `clear_context_dir` on a worker thread."""
        await _run_in_thread(self.clear_context_dir)

    async def aclear(self) -> None:
        """Run `clear` on a worker thread."""
        await _run_in_thread(self.clear)

    def _write(self, stem: str, data: bytes) -> str:
        """Write a new file under the first name that is free."""
        try:
            self._files.make_folder(self.context_dir)
            while True:
                name = self._next_name(stem)
                try:
                    self._files.write_new(os.path.join(self.context_dir, name), data)
                    return name
                except FileExistsError:
                    continue
        except OSError as error:
            raise NotStored(
                f"The context could not be written to `{self.context_dir}` ({error.strerror or error}). Free space or "
                "give another `context_dir`; the result itself is unchanged."
            ) from error

    def _next_name(self, stem: str) -> str:
        with self._lock:
            number = self._taken[stem] = self._taken.get(stem, 0) + 1
        return f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"

    def _remember(self, filepath: str, data: bytes) -> None:
        """Keep a small result in memory; the oldest are dropped where there are many."""
        self._cache[filepath] = data
        self._cached += len(data)
        while self._cached > _CACHED * self.persist_threshold:
            self._cached -= len(self._cache.pop(next(iter(self._cache))))

    def _forget_cached(self) -> None:
        self._cache.clear()
        self._cached = 0

    def _load(self, filepath: str) -> StoredContext | None:
        path = os.path.abspath(filepath)
        if os.path.dirname(path) != self.context_dir:
            return self._skip(filepath, "it is not in the context folder")
        try:
            with self._lock:
                data = self._cache.get(path)
            return read_back(self._files.read(path) if data is None else data)
        except OSError as error:
            return self._skip(filepath, error.strerror or str(error))
        except (ValueError, RecursionError):
            return self._skip(filepath, "there is no context in it")

    def _skip(self, filepath: str, why: str) -> None:
        _log.warning("context %s skipped: %s", ascii(os.path.basename(filepath)), why)
        self._debug("context skipped", {"file": filepath, "why": why})

    def _candidates(self, found: list[str], given: Sequence[ContextPointer] | None) -> list[Candidate]:
        known = {pointer.filepath: pointer for pointer in (given or self._pointers.of(found))}
        return [Candidate(known[path].tool_name, known[path].tool_description) for path in found]

    def _debug(self, message: str, data: object) -> None:
        if self._on_debug is not None:
            try:
                self._on_debug(message, data)
            except Exception:  # a failing listener must not break the manager
                _log.warning("on_debug raised", exc_info=True)


async def _run_in_thread(
    function: Callable[_Params, _Returned], *args: _Params.args, **kw: _Params.kwargs
) -> _Returned:
    import asyncio  # imported only for async callers

    return await asyncio.to_thread(function, *args, **kw)
