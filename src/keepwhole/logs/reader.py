"""A file in, its runs out, whatever wrote it.

Owns: finding logs in folders, and telling formats apart by what is in them, never by a name alone.
Must not know: what a format says; that is its own file's. Nothing here raises for what a file holds.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from keepwhole.errors import UsageError
from keepwhole.logs import claude_code, codex, gemini_cli, opencode, opencode_database, own_format, provider, swe_agent
from keepwhole.logs.lines import BAD, TROUBLE, Lines, Piece, Unread, decode, lines_of, opened, trouble
from keepwhole.logs.run import Run
from keepwhole.wire.content import parts_of

Importer: TypeAlias = Callable[[Lines], Iterator[Run]]
_FORMATS: tuple[ModuleType, ...] = (own_format, gemini_cli, claude_code, codex, swe_agent, opencode, provider)
"""Asked in this order, since the last ones also know what others wrap."""
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".db")
_ASIDE = frozenset(("tool-results", "tool-outputs", "tool-output", "node_modules", ".git"))
"""Folders that hold no logs."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_TRIED = 1_000
"""Lines that are looked at before a file counts as unknown."""
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(object)
_PARTS = msgspec.json.Decoder(list[msgspec.Raw])


class _Found(NamedTuple):
    """Who reads a file, and the pieces of it where it is not to be read line by line."""

    importer: Importer
    pieces: list[Piece] | None = None


def files(paths: Iterable[Path]) -> list[Path]:
    """The files among `paths` and in their folders, each once, in a stable order."""
    found = [one for path in paths for one in (_within(path, set()) if os.path.isdir(path) else [path])]
    if not found:
        known = ", ".join(f"`{suffix}`" for suffix in _SUFFIXES)
        raise UsageError(
            f"There are no logs here. Give a file that an agent wrote, or a folder that has some ({known})."
        )
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def read_runs(path: Path) -> Iterator[Run | Unread]:
    """The runs in a file, and then what could not be read of it."""
    try:
        found = _recognised(path)
    except TROUBLE as error:
        yield Unread(path, trouble(error))
        return
    if isinstance(found, _Found):
        lines = Lines(path, found.pieces)
        yield from found.importer(lines)
        yield from lines.unread()
    elif found:
        yield found


def _within(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """The logs in a folder; one that a link leads to is searched too, but none twice."""
    try:
        status = folder.stat()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.is_dir():
            yield from _within(Path(entry.path), seen) if entry.name not in _ASIDE else ()
        elif is_log(entry.name):
            yield Path(entry.path)


def is_log(name: str) -> bool:
    """Whether a file in a folder may be a log."""
    return name.removesuffix(".gz").endswith(_SUFFIXES) and not name.endswith(".meta.json")


def _recognised(path: Path) -> _Found | Unread | None:
    """Who reads it; None where there is nothing to read."""
    with opened(path) as file:
        first = file.read(len(opencode_database.MAGIC))
    if first == opencode_database.MAGIC:
        return _Found(opencode_database.runs)
    if first.startswith(_ZSTD):
        return Unread(path, "packed with zstd: unpack it with `zstd -d`")
    return _by_line(path)


def _by_line(path: Path) -> _Found | Unread | None:
    """By the first line that any format knows. A file whose first line is no object may be one document."""
    is_blank = True
    for number, line in enumerate(lines_of(path)):
        is_blank = is_blank and not line.strip()
        value = _value(line)
        if importer := _importer(value):
            return _Found(importer)
        if number == 0 and not isinstance(value, dict) and (found := _document(path)):
            return found
        if number == _TRIED:
            break
    return None if is_blank else Unread(path, "no log that is known here")


def _document(path: Path) -> _Found | None:
    """The file as one document; one that is a list of runs is read part by part."""
    with opened(path) as file:
        whole = file.read()
    value = _value(whole)
    if importer := _importer(value):
        return _Found(importer, [whole])
    importer = next(filter(None, map(_importer, parts_of(value))), None)
    return _Found(importer, list(decode(whole, _PARTS))) if importer else None


def _importer(value: object) -> Importer | None:
    return next((format.runs for format in _FORMATS if format.knows(value)), None)


def _value(line: bytes) -> object:
    try:
        return decode(line, _ANY)
    except BAD:
        return None
