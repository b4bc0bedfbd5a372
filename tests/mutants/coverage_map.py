"""Which test runs which line, and how long it takes: recorded once by running the default suite under coverage.py.

The folder of a map has `lines`, a database of the lines that each test ran in each file, `tests.json`, the seconds of
every test that passed, and `files.json`, a digest of every test file, by which changed ones are known. The map is made
in a copy of the tree, as mutants are tried in one: a test that fails there for want of `.git` or a browser is not in
the map, so it cannot be taken for one that noticed.
"""

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from coverage.numbits import numbits_to_nums

from tests.mutants.copies import MARKS, ROOT, SLOW, copy_of_tree, environment_in
from tests.mutants.recorder import FOLDER, FORKED

_CONFIGURATION = """[run]
source = {tree}/src
data_file = {folder}/part
parallel = true
plugins = tests.mutants.recorder
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = no-data-collected, module-not-imported, module-not-measured, trace-changed, already-imported
"""
_RECORDED = """SELECT file.path, context.context, numbits FROM line_bits
JOIN context ON context.id = context_id JOIN file ON file.id = file_id"""


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
    configuration = folder / "coverage.ini"
    configuration.write_text(_CONFIGURATION.format(tree=tree, folder=folder), encoding="utf-8")
    environment = {**environment_in(tree), "COVERAGE_PROCESS_START": str(configuration), FOLDER: str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.recorder", "-p", "no:cacheprovider"]
    # Some tests fail only under coverage.py, which imports much and takes time: the map is without them.
    subprocess.run([*command, *arguments], cwd=tree, env=environment, check=False)
    _join(tree, folder)
    tests = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
    digests = {name: _digest(tree / name) for name in sorted({test.partition("::")[0] for test in tests})}
    (folder / "files.json").write_text(json.dumps(digests), encoding="utf-8")


def _join(tree: Path, folder: Path) -> None:
    """Join what the processes recorded, under the names of tests and files."""
    with closing(sqlite3.connect(folder / "lines")) as joined, joined:
        joined.execute("CREATE TABLE ran (path TEXT, test TEXT, lines BLOB)")
        joined.execute("CREATE INDEX by_path ON ran (path)")
        for part in folder.glob("part.*"):
            with closing(sqlite3.connect(part)) as recorded:
                try:
                    rows = recorded.execute(_RECORDED).fetchall()
                except sqlite3.DatabaseError:  # of a process that was killed while it wrote
                    continue
            found = ((os.path.relpath(path, tree), _test(folder, context), lines) for path, context, lines in rows)
            joined.executemany("INSERT INTO ran VALUES (?, ?, ?)", (row for row in found if row[1]))
    for part in (*folder.glob("part.*"), *folder.glob(f"{FORKED}*")):
        part.unlink()


def _test(folder: Path, context: str) -> str:
    """Return the test for which a process recorded, which wrote down its name if it was forked."""
    first, _, last = context.rpartition("|")
    if last.startswith(FORKED):
        named = folder / last
        context = named.read_text(encoding="utf-8") if named.exists() else first
    return re.sub(r" \((?:setup|call|teardown)\)$", "", context)
