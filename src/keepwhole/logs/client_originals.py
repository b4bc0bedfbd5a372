"""Originals of results that a client cut: found in the client's own files, on the machine where it runs.

Owns: which file may be opened for a request. What a result says is never trusted with a path: only the name of the file
is taken from it, and it is looked for in the one folder where this client saves the outputs of this session. Codex
saves none, but its log has the outputs by the ids of their calls. Only regular files of this user are opened, no link
is followed below the client's folder, and nothing over `LARGEST` is read.
Must not know: what a file is compared with in the end (`truncation.client_cut`), how it is stored.

    Claude Code   <config>/projects/*/<session>/tool-results/<name>     the session is the one of the request
    opencode      <data>/opencode/tool-output/<name>                    names are drawn at random, for all sessions
    Codex         <home>/sessions/*/*/*/rollout-*-<thread>.jsonl        the thread is the one of the request
"""

import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import PureWindowsPath
from typing import BinaryIO, NamedTuple, TypeAlias

import msgspec

from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.clients.codex import CODEX
from keepwhole.clients.opencode import OPENCODE
from keepwhole.logs.lines import DECODE_ERRORS
from keepwhole.store.feed import Output
from keepwhole.store.regular_file import open_own_below
from keepwhole.truncation.client_cut import ClientCut
from keepwhole.wire.content import fields_of, results_in, text_of

LARGEST = 256 * 1_048_576
"""Bytes of a file that is read."""
_LARGEST_JSON = 16 * 1_048_576
_NEWEST = 4 * 1_048_576
"""Bytes at the end of a log that are searched first."""
_LONGEST_LINE = 1_048_576
_WHOLE_BELOW = 65_536
"""Bytes of an output in Codex' log; one of this length is cut too, without a mark."""
_NAMED = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""A name of a session or thread that may be a part of a path."""


class FoundOriginal(NamedTuple):
    """What a client saved, open for reading, and the client's text read as parts of it."""

    output: Output
    reading: ClientCut


Opened: TypeAlias = AbstractContextManager[FoundOriginal | None]
FindOriginal: TypeAlias = Callable[[str, ClientCut], Opened]
"""Opens what a client saved of a call's result, given the text that it sent; None where there is nothing to open."""


class ClientFolders:
    """The folders of the clients of one user on this machine."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self._claude = CLAUDE_CODE.saved_outputs[0].folder.path(home, environ)
        self._opencode = OPENCODE.saved_outputs[0].folder.path(home, environ)
        self._codex = [logs.folder.path(home, environ) for logs in CODEX.logs]

    def finder(self, headers: Mapping[str, str]) -> FindOriginal | None:
        """How originals of the session of a request are found; None where its client saves none, or is not known."""
        if _NAMED.fullmatch(session := headers.get(CLAUDE_CODE.session_headers[0]) or ""):
            return partial(_find, CLAUDE_CODE.name, partial(_open_claude, self._claude, session))
        if _NAMED.fullmatch(thread := headers.get(CODEX.agent_header) or ""):
            return partial(_find, CODEX.name, partial(_open_codex, self._codex, thread))
        if headers.get(OPENCODE.agent_header):
            return partial(_find, OPENCODE.name, partial(_open_opencode, self._opencode))
        return None


@contextmanager
def _find(client: str, open_saved: FindOriginal, call_id: str, reading: ClientCut) -> Generator[FoundOriginal | None]:
    """What `open_saved` finds for a text in the form of this client; None where anything is wrong with the file."""
    if reading.client != client:
        yield None
        return
    with ExitStack() as stack:
        try:
            found = stack.enter_context(open_saved(call_id, reading))
        except (OSError, ValueError):
            found = None
        yield found


def _open_claude(projects: str, session: str, call_id: str, reading: ClientCut) -> Opened:
    name = _name_of(reading.path)
    with os.scandir(projects) as folders:
        names = sorted(folder.name for folder in folders)
    for project in names:
        if os.path.isdir(os.path.join(projects, project, session)):
            return _opened(open_own_below(projects, project, session, "tool-results", name), name, reading)
    return nullcontext(None)


def _open_opencode(data: str, call_id: str, reading: ClientCut) -> Opened:
    name = _name_of(reading.path)
    return _opened(open_own_below(data, "tool-output", name), name, reading)


def _name_of(path: str) -> str:
    """The name of the file that a text names by a path; the folders in it count for nothing."""
    return PureWindowsPath(path).name


@contextmanager
def _opened(file: BinaryIO, name: str, reading: ClientCut) -> Generator[FoundOriginal | None]:
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST or not _has_parts(file, size, reading):
            yield None
        elif name.endswith(".json"):
            yield _read_blocks(file, reading)
        else:
            yield FoundOriginal(file, reading)


def _has_parts(file: BinaryIO, size: int, reading: ClientCut) -> bool:
    """Whether a file begins and ends as the client's text says: checked again on what is stored."""
    head, tail = (part.encode("utf-8", "surrogatepass") for part in (reading.head, reading.tail))
    begins = os.pread(file.fileno(), len(head), 0) == head
    return begins and os.pread(file.fileno(), len(tail), max(0, size - len(tail))) == tail


def _read_blocks(file: BinaryIO, reading: ClientCut) -> FoundOriginal | None:
    """The texts of a file with content blocks; what the client showed of it is spelled as JSON, so it is no part."""
    data = file.read(_LARGEST_JSON + 1)
    try:
        returned, _ = results_in("", (), msgspec.json.decode(data)) if len(data) <= _LARGEST_JSON else ((), 0)
    except DECODE_ERRORS:
        return None
    text = "\n".join(one.text for one in returned)
    return FoundOriginal(text, reading.without_parts()) if text else None


def _open_codex(folders: list[str], thread: str, call_id: str, reading: ClientCut) -> Opened:
    for folder in folders:
        for names in _logs_of(folder, thread):
            with open_own_below(folder, *names) as file:
                output = _output_in(file, call_id)
            if output is not None:
                return nullcontext(FoundOriginal(output, reading))
    return nullcontext(None)


def _logs_of(folder: str, thread: str) -> Iterator[tuple[str, ...]]:
    """The names of the logs of a thread below a folder, the newest first, with the names of their folders."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        names = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, *names)) as found:
                entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
        except OSError:
            continue
        logs = (name for name, is_folder in entries if not is_folder and name.endswith(f"-{thread}.jsonl"))
        yield from ((*names, name) for name in sorted(logs, reverse=True))
        waiting += [(*names, name) for name, is_folder in entries if is_folder and len(names) < 4]


def _output_in(file: BinaryIO, call_id: str) -> str | None:
    """The whole output of a call in a log of Codex, from the newest lines or else from all; None where it is cut."""
    size = os.fstat(file.fileno()).st_size
    for start in sorted({max(0, size - _NEWEST), 0}, reverse=True):
        if size - start <= LARGEST:
            file.seek(start)
            for output in _outputs(file, call_id):
                return output if len(output.encode("utf-8", "surrogatepass")) < _WHOLE_BELOW else None
    return None


def _outputs(file: BinaryIO, call_id: str) -> Iterator[str]:
    wanted = msgspec.json.encode(call_id)
    while line := file.readline(_LONGEST_LINE):
        if b'"aggregated_output"' in line and wanted in line:
            try:
                item = fields_of(fields_of(fields_of(msgspec.json.decode(line)).get("payload")).get("item"))
            except DECODE_ERRORS:
                continue
            if item.get("id") == call_id:
                yield text_of(item.get("aggregated_output"))
