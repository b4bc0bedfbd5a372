"""Reads recorded runs from files."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from holdfast.errors import UsageError
from holdfast.replay.run import Run, run_of


def files(paths: Iterable[Path]) -> list[Path]:
    """The files among `paths`, and those in its folders."""
    found = [one for path in paths for one in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])]
    if not found:
        raise UsageError("There are no runs here. Give a `.jsonl` or `.jsonl.gz` file, or a folder of them.")
    return found


def read_runs(path: Path) -> Iterator[Run]:
    """The runs in a file of one JSON record a line, packed or not."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield run_of(msgspec.json.decode(line))
            except msgspec.DecodeError as error:
                raise UsageError(f"{path}, line {number}: no JSON ({error}).") from error
