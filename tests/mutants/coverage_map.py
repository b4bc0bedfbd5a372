"""Which test runs which line, and how long it takes: recorded once by running the default suite with marked sources.

The folder of a map has `lines`, a database of the lines that each test ran in each file, `tests.json`, the seconds of
a processor that every test took that passed, and `files.json`, a digest of every test file, by which changed ones are
known. The map is made in a copy of the tree, as mutants are tried in one: a test that fails there for want of `.git` or
a browser is not in the map, so it cannot be taken for one that noticed.
"""

import hashlib
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import groupby
from pathlib import Path

from coverage.numbits import numbits_to_nums, nums_to_numbits

from tests.mutants.copies import MARKS, ROOT, SLOW, copy_of_tree, environment_in
from tests.mutants.marks import FOLDER, mark_sources


class CoverageMap:
    """A map that has been made."""

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(f"file:{folder / 'lines'}?mode=ro", uri=True, check_same_thread=False)
        self.seconds: dict[str, float] = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
        """Of every test that passed."""
        self._digests: dict[str, str] = json.loads((folder / "files.json").read_text(encoding="utf-8"))
        self.is_changed = cache(self._is_changed)

    def lines_by_test(self, path: str) -> dict[str, set[int]]:
        """Return the lines of a file, named from the root, that each test ran."""
        found: dict[str, set[int]] = {}
        for test, lines in self._database.execute("SELECT test, lines FROM ran WHERE path = ?", (path,)):
            if test in self.seconds:
                found.setdefault(test, set()).update(numbits_to_nums(lines))
        return found

    def unchanged_files(self) -> list[str]:
        """Return the test files that are as they were recorded."""
        return sorted(name for name in self._digests if not self.is_changed(name))

    def lines_between_tests(self, path: str) -> set[int]:
        """Return the lines of a file that ran under no test: when modules were imported and tests collected."""
        rows = self._database.execute("SELECT lines FROM ran WHERE path = ? AND test = ''", (path,))
        return {line for (lines,) in rows for line in numbits_to_nums(lines)}

    def _is_changed(self, name: str) -> bool:
        """Return whether a test file has been written, changed or deleted since it was recorded."""
        path = ROOT / name
        return not path.exists() or self._digests.get(name) != _digest(path)


def make_map(folder: Path, jobs: int, files: Sequence[str] = ()) -> None:
    """Run the default suite once and write which test runs which line; with files, run these and keep the rest."""
    ignored = [f"--ignore={path}" for path in SLOW]
    arguments = ("-n", str(jobs), "--dist=worksteal", "--timeout=300", "-m", MARKS, *ignored, *files)
    with copy_of_tree() as tree:
        if not files:
            record(tree, folder, *arguments)
            return
        with tempfile.TemporaryDirectory(prefix="mutants_") as part:
            record(tree, Path(part), *arguments)
            merge(folder, Path(part), set(files))


def merge(folder: Path, part: Path, files: Collection[str]) -> None:
    """Put what was recorded of some files, or single tests, in the place of what a map has of them."""
    with closing(sqlite3.connect(folder / "lines")) as joined:
        joined.execute("ATTACH ? AS part", (str(part / "lines"),))
        with joined:
            for name in files:
                joined.execute("DELETE FROM ran WHERE test = ? OR test LIKE ?", (name, f"{name}::%"))
            joined.execute("INSERT INTO main.ran SELECT * FROM part.ran")
    seconds = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
    kept = {test: its for test, its in seconds.items() if test not in files and test.partition("::")[0] not in files}
    digests = json.loads((folder / "files.json").read_text(encoding="utf-8"))
    for name, before in (("tests.json", kept), ("files.json", digests)):
        added = json.loads((part / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(before | added), encoding="utf-8")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record(tree: Path, folder: Path, *arguments: str) -> None:
    """Run the tests of a tree with arguments for pytest, and write which test runs which line below `src`."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    mark_sources(tree / "src", folder / "statements.json")
    environment = {**environment_in(tree), FOLDER: str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.recorder", "-p", "no:cacheprovider"]
    # A test that reads the sources may fail with marked ones: the map is without it.
    subprocess.run([*command, *arguments], cwd=tree, env=environment, check=False)
    tests = _join(folder)
    digests = {name: _digest(tree / name) for name in sorted({test.partition("::")[0] for test in tests})}
    for name, content in (("tests.json", tests), ("files.json", digests)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def _join(folder: Path) -> dict[str, float]:
    """Join what the processes noted; return the seconds of the tests that passed."""
    statements = json.loads((folder / "statements.json").read_text(encoding="utf-8"))
    files = [(path, list(its)) for path, its in groupby(enumerate(statements), key=lambda one: one[1][0])]

    @cache
    def lines(file: int, ran: int) -> bytes:
        listed = (statement for at, (_, statement) in enumerate(files[file][1]) if ran >> at & 1)
        return nums_to_numbits([line for _, first, last in listed for line in range(first, last + 1)])

    def rows(test: str, hits: int) -> Iterator[tuple[str, str, bytes]]:
        for number, (path, its) in enumerate(files):
            if ran := hits >> its[0][0] & ((1 << len(its)) - 1):
                yield path, test, lines(number, ran)

    seconds: dict[str, float] = {}
    between = 0
    with closing(sqlite3.connect(folder / "lines")) as joined, joined:
        joined.execute("CREATE TABLE ran (path TEXT, test TEXT, lines BLOB)")
        joined.execute("CREATE INDEX by_path ON ran (path)")
        for part in sorted(folder.glob("part-*")):
            for noted in map(json.loads, part.read_text(encoding="utf-8").splitlines()):
                if not noted["test"]:
                    between |= int(noted["hits"], 16)
                elif noted["passed"]:
                    seconds[noted["test"]] = noted["seconds"]
                    joined.executemany("INSERT INTO ran VALUES (?, ?, ?)", rows(noted["test"], int(noted["hits"], 16)))
        joined.executemany("INSERT INTO ran VALUES (?, ?, ?)", rows("", between))
    for part in (*folder.glob("part-*"), *folder.glob("hits-*")):
        part.unlink()
    return seconds
