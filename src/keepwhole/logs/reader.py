"""The way in: reads the runs of a file, whatever client wrote it.

Owns: finding logs in folders, and recognizing the format of a file by its content, never by its name alone.
Must not know: how a format is read; each has its own file. No content of a file raises an exception here.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from keepwhole.errors import UsageError
from keepwhole.logs import claude_code, codex, gemini_cli, opencode, own_format, provider, swe_agent
from keepwhole.logs.folders import files_below, why_not_searched
from keepwhole.logs.lines import (
    DECODE_ERRORS,
    LONGEST_DOCUMENT,
    READ_ERRORS,
    TOO_LONG,
    LogFile,
    LogLines,
    Piece,
    UnreadPart,
    decode,
    read_error,
    read_lines,
)
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import UNREAD_OUTPUTS
from keepwhole.wire.content import parts_of

ReadLog: TypeAlias = Callable[[LogLines], Iterator[Run]]
_FORMATS: tuple[ModuleType, ...] = (own_format, gemini_cli, claude_code, codex, swe_agent, opencode, provider)
"""In this order, since the last ones also recognize lines that the first ones wrap."""
UNKNOWN_LOG = "not a log of Claude Code, Codex, Gemini CLI, opencode or SWE-agent"
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".db")
_SKIPPED_FOLDERS = frozenset(("tool-results", "tool-outputs", "tool-output", "node_modules", ".git"))
"""Folders without logs."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_LINES_TRIED = 1_000
"""Lines that are tried before the format of a file counts as unknown."""
_ANY_VALUE: msgspec.json.Decoder[Any] = msgspec.json.Decoder(object)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])


class _Format(NamedTuple):
    """The function that reads a file, and the pieces of the file if it is not read line by line."""

    read_log: ReadLog
    pieces: list[Piece] | None = None


def find_logs(paths: Iterable[Path]) -> list[Path]:
    """Return the files among `paths` and the logs in their folders, each once, in a stable order.

    Folders that are not searched are among them: `read_runs` says why.
    """
    found = [one for path in paths for one in (_logs_in(path) if os.path.isdir(path) else [path])]
    if not found:
        known = ", ".join(f"`{suffix}`" for suffix in _SUFFIXES)
        raise UsageError(
            f"There are no logs here. Give a file that an agent wrote, or a folder that has some ({known})."
        )
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def read_runs(path: Path) -> Iterator[Run | UnreadPart]:
    """Yield the runs in a file, and then what could not be read of it."""
    try:
        format = _recognize(path)
    except IsADirectoryError:
        yield UnreadPart(path, why_not_searched(path))
        return
    except READ_ERRORS as error:
        yield UnreadPart(path, read_error(error))
        return
    if isinstance(format, _Format):
        lines = LogLines(path, format.pieces)
        for run in format.read_log(lines):
            yield run
            yield from _unread_outputs(path, run)
        yield from lines.unread()
    elif format:
        yield format


def _unread_outputs(path: Path, run: Run) -> Iterator[UnreadPart]:
    """Yield what a run's log names as saved whole and could not be read."""
    reasons: Sequence[str] = run.meta.get(UNREAD_OUTPUTS, ())
    for why, count in Counter(reasons).items():
        yield UnreadPart(path, f"an output saved beside it: {why}", count)


def _logs_in(folder: Path) -> Iterator[Path]:
    """Yield the logs in a folder, and the folders in it that are not searched."""
    return files_below(folder, is_log, _SKIPPED_FOLDERS)


def is_log(name: str) -> bool:
    """Return whether a file in a folder may be a log, by its name."""
    return name.removesuffix(".gz").endswith(_SUFFIXES) and not name.endswith(".meta.json")


def _recognize(path: Path) -> _Format | UnreadPart | None:
    """Return the format of a file; None if the file is empty."""
    with LogFile(path) as file:
        first = file.read(len(opencode.DATABASE_MAGIC))
        file.refuse_bomb()
    if first == opencode.DATABASE_MAGIC:
        return _Format(opencode.read_database)
    if first.startswith(_ZSTD):
        return UnreadPart(path, "compressed with zstd: decompress it with `zstd -d`")
    return _recognize_lines(path)


def _recognize_lines(path: Path) -> _Format | UnreadPart | None:
    """Return the format of the first recognized line. A file whose first line is no object may be one document."""
    is_blank, is_long = True, False
    for number, line in enumerate(read_lines(path)):
        is_blank, is_long = is_blank and line is not None and not line.strip(), is_long or line is None
        value = None if line is None else _decode(line)
        if read_log := _reader_for(value):
            return _Format(read_log)
        if number == 0 and not isinstance(value, dict) and (format := _recognize_document(path)):
            return format
        if number == _LINES_TRIED:
            break
    return None if is_blank else UnreadPart(path, f"a line {TOO_LONG}" if is_long else UNKNOWN_LOG)


def _recognize_document(path: Path) -> _Format | None:
    """Return the format of a file that is one document; a list of runs is read element by element."""
    with LogFile(path) as file:
        whole = file.read(LONGEST_DOCUMENT + 1)
    if len(whole) > LONGEST_DOCUMENT:
        return None
    value = _decode(whole)
    if read_log := _reader_for(value):
        return _Format(read_log, [whole])
    read_log = next(filter(None, map(_reader_for, parts_of(value))), None)
    return _Format(read_log, list(decode(whole, _LIST))) if read_log else None


def _reader_for(value: object) -> ReadLog | None:
    return next((format.read_log for format in _FORMATS if format.recognizes(value)), None)


def _decode(line: bytes) -> object:
    try:
        return decode(line, _ANY_VALUE)
    except DECODE_ERRORS:
        return None
