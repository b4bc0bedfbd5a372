"""The commands people run on a damaged record: they say what is wrong or work on, end, and destroy nothing.

Every file of a record in every state that a file can be in, under every command that looks. A body whose row is lost is
the only copy there is.
"""

import itertools
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import main
from tests.build import numbered_lines
from tests.long_run import one_in

COMMANDS = (
    ("doctor",),
    ("sessions", "list"),
    ("sessions", "verify", "--all"),
    ("artifacts", "collect", "--all"),
    ("sessions", "show", "one"),
)
FILES = ("record.db", "record.db-wal", "record.db-shm", "record.marks", "record.lock", "blobs", "blobs/?", "blobs/?/*")


def _flipped(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes()) or bytearray(1)
    for _ in range(20):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _replaced(path: Path, make: Callable[[Path], object]) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    make(path)


DAMAGES: dict[str, Callable[[Path, random.Random], object]] = {
    "flipped": _flipped,
    "cut": lambda path, chance: path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size + 1)]),
    "empty": lambda path, chance: path.write_bytes(b""),
    "zeros": lambda path, chance: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path, chance: path.write_bytes(chance.randbytes(path.stat().st_size or 9)),
    "longer": lambda path, chance: path.write_bytes(path.read_bytes() + chance.randbytes(5_000)),
    "gone": lambda path, chance: _replaced(path, lambda path: None),
    "a pipe": lambda path, chance: _replaced(path, os.mkfifo),
    "a folder": lambda path, chance: _replaced(path, Path.mkdir),
    "a file": lambda path, chance: _replaced(path, Path.touch),
    "a link to nowhere": lambda path, chance: _replaced(path, lambda path: path.symlink_to("/nowhere/at/all")),
    "a link to itself": lambda path, chance: _replaced(path, lambda path: path.symlink_to(path)),
}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record in use, with a log that is not yet in its database."""
    folder = tmp_path_factory.mktemp("image")
    store = SqliteStore(str(folder / "open"))
    for number in range(3):
        assert Session("one", store=store).keep("t", None, f"{number}\n{numbered_lines(9_000)}").problem is None
        assert Session("two", store=store).keep("t", None, f"{number} short").problem is None
    shutil.copytree(folder / "open", folder / "home")
    store.close()
    for path in (folder / "home").rglob("*"):
        os.utime(path, (time.time() - 9_000, time.time() - 9_000))
    return folder / "home"


def bodies(home: Path) -> dict[str, int]:
    return {path.name: path.lstat().st_size for path in sorted((home / "blobs").rglob("*/*")) if path.is_file()}


def cases() -> Iterator[tuple[str, str]]:
    for file, damage in itertools.product(FILES, DAMAGES):
        is_folder = file in ("blobs", "blobs/?")
        if not is_folder or (damage.startswith(("gone", "a ")) and damage != "a folder"):
            yield file, damage


def look(image: Path, home: Path, file: str, damage: str, seed: int) -> None:
    """Damage a copy of the record, run every command on it, and compare the bodies."""
    for command in COMMANDS:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(image, home)
        path = next(iter(sorted(home.glob(file))))
        DAMAGES[damage](path, random.Random(seed))
        before = bodies(home)
        status = main([*command])
        assert status in (0, 1, 4), f"`{' '.join(command)}` ended with {status}"
        assert bodies(home) == before, f"`{' '.join(command)}` took bodies of a record whose {file} is {damage}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("file", "damage"), one_in(7, cases()))
def test_a_command_on_a_damaged_record_ends_and_destroys_nothing(
    image: Path, home: Path, file: str, damage: str
) -> None:
    look(image, home, file, damage, 0)


def test_a_command_that_takes_bodies_is_caught(image: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def take(argv: list[str]) -> int:
        shutil.rmtree(home / "blobs")
        return 0

    monkeypatch.setattr(sys.modules[__name__], "main", take)
    with pytest.raises(AssertionError, match="took bodies"):
        look(image, home, "record.db", "empty", 0)
