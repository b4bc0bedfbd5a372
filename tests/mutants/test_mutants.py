"""The mutants are changes of behavior of one line each, drawn alike for the same seed, and meet the closest tests."""

import ast
import json
import os
import re
import shlex
import signal
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from coverage.numbits import nums_to_numbits

from tests.mutants.__main__ import (
    ADAPTERS,
    UNDECIDED,
    UNENDED,
    Drawn,
    all_mutants,
    caught_by,
    check_unbroken,
    draw,
    equivalents,
    noticed_by,
)
from tests.mutants.caught_before import CaughtBefore
from tests.mutants.closest import closest_files, closest_tests, nearest_first, unrun_lines
from tests.mutants.collected import CollectedRunner, QuickRunner, function_around
from tests.mutants.copies import ROOT
from tests.mutants.coverage_map import CoverageMap, merge, record
from tests.mutants.mutate import Mutant, mutants
from tests.mutants.runner import NO_END, Runner, processor_seconds, wait_for

SOURCE = b'''
"""A docstring with 1 < 2."""
LIMIT: int = 3

def is_short(text: str) -> bool:
    """Return it."""
    if len(text) < LIMIT and text:
        raise ValueError(f"too short by {1 + 1}")
    return len(text) + 1 == 4 or not text
'''


def test_every_mutant_parses_and_differs() -> None:
    found = [mutant.apply(SOURCE) for mutant in mutants(SOURCE)]
    assert len(found) == len(set(found)) >= 9
    assert all(ast.dump(ast.parse(one)) != ast.dump(ast.parse(SOURCE)) for one in found)


def test_texts_hints_and_docstrings_stay_as_they_are() -> None:
    assert {mutant.line for mutant in mutants(SOURCE)} == {3, 7, 9}
    assert not list(mutants(b"class Options(TypedDict, total=False):\n    name: str\n"))


def test_what_a_protocol_declares_stays_as_it_is() -> None:
    assert not list(mutants(b"class Index(Protocol):\n    def newest(self, above: int = 0) -> list[int]: ...\n"))
    assert not list(mutants(b'def newest(above: int = 0) -> list[int]:\n    """Return them."""\n    ...\n'))


def test_a_returned_constant_becomes_another_one_and_not_none() -> None:
    source = b"def a():\n    return False\n\n\ndef b():\n    return 0\n\n\ndef c():\n    return name\n"
    found = [mutant.apply(source).splitlines()[mutant.line - 1].strip() for mutant in mutants(source)]
    assert found == [b"return True", b"return 1", b"return None"]


def test_a_small_number_becomes_the_next_one_and_a_large_one_is_doubled() -> None:
    source = b"a = 0\nb = 63\nc = 64\nd = 262_144\n"
    found = [mutant.apply(source).splitlines()[mutant.line - 1] for mutant in mutants(source)]
    assert found == [b"a = 1", b"b = 64", b"c = 128", b"d = 524288"]


def test_what_is_asserted_stays_as_it_is() -> None:
    assert not list(mutants(b"light = rows(light=True)\n"))
    assert not list(mutants(b"assert 1 < 2\nfor one, two in zip(a, b, strict=True):\n    print\n"))


def test_a_comparison_and_its_limit_are_broken() -> None:
    lines = [mutant.apply(SOURCE).splitlines()[6].strip() for mutant in mutants(SOURCE) if mutant.line == 7]
    assert b"if ((len(text)) <= (LIMIT)) and text:" in lines
    assert b"if ((len(text) < LIMIT) or (text)):" in lines


def test_an_order_that_a_clock_decides_is_reversed() -> None:
    source = b"late = time.monotonic() - began >= 0.1\nmany = count >= least\n"
    found = [mutant.apply(source).splitlines()[mutant.line - 1] for mutant in mutants(source)]
    assert b"late = ((time.monotonic() - began) < (0.1))" in found
    assert b"many = ((count) > (least))" in found


def test_an_order_with_a_large_constant_is_reversed() -> None:
    source = b"_MOST = 4 * 1_024\n_FEW, _LONG = 63, 1 << 20\n_NAME = str(4_096)\n"
    lines = (b"a = size > _MOST", b"b = _LONG <= size", b"c = size > _FEW", b"d = status >= 500", b"e = name > _NAME")
    source += b"\n".join(lines)
    found = [mutant.apply(source).splitlines()[mutant.line - 1] for mutant in mutants(source) if mutant.line > 3]
    assert b"a = ((size) < (_MOST))" in found
    assert b"b = ((_LONG) > (size))" in found
    assert b"c = ((size) >= (_FEW))" in found
    assert b"d = ((status) > (500))" in found
    assert b"e = ((name) >= (_NAME))" in found


def test_a_number_that_stands_for_nothing_stays_as_it_is() -> None:
    assert not list(mutants(b"fd = -1\n"))
    assert len(list(mutants(b"last = found[-1]\n"))) == 1


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    first = draw("a", 30, "/store/")
    assert draw("a", 30, "/store/") == first != draw("b", 30, "/store/")
    assert len({(one.path, one.mutant.line) for one in first}) == 30
    assert {one.path.name for one in draw("a", 30, "store/.*reader")} == {"reader.py"}


def test_a_modules_own_tests_come_first() -> None:
    (first, *_) = closest_files(ROOT / "src" / "keepwhole" / "policies" / "rolling.py", at_most=3)
    assert first == "tests/policies/test_rolling.py"
    modules = [path for path in (ROOT / "src" / "keepwhole").rglob("*.py") if path.stem != "__init__"]
    assert all(closest_files(path, at_most=3) for path in modules)


def test_of_given_test_files_those_of_the_module_come_first() -> None:
    table = ROOT / "src" / "keepwhole" / "recall" / "table.py"
    mirror, imports, other = "tests/recall/test_table.py", "tests/truncation/test_two_columns.py", "tests/recall"
    given = [other, "tests/test_words.py", mirror]
    assert nearest_first(table, given) == [mirror, other, "tests/test_words.py"]
    sniff = ROOT / "src" / "keepwhole" / "truncation" / "sniff.py"
    assert nearest_first(sniff, [other, imports]) == [imports, other]


def test_every_equivalent_mutant_has_a_reason_and_still_exists() -> None:
    known = equivalents()
    paths = {ROOT / words.split(" | ")[0] for words in known}
    now = {one.words for path in paths for one in all_mutants(f"^{re.escape(path.relative_to(ROOT).as_posix())}$")}
    assert not [words for words, reason in known.items() if len(reason) <= 10]
    assert not known.keys() - now, "gone, delete the rows"


class Ran:
    """A map of one file, with the lines that each test ran."""

    def __init__(self, **lines: set[int]) -> None:
        self.lines = {f"tests/{name.replace('__', '.py::')}": its for name, its in lines.items()}
        self.seconds = {test: float(number) for number, test in enumerate(self.lines)}

    def lines_by_test(self, name: str) -> dict[str, set[int]]:
        return self.lines if name == "tests/mutants/mutate.py" else {}


def _closest(text: str, **ran: str) -> list[str]:
    """Return the tests closest to the line that begins with `text`, of tests that ran such lines."""
    path = ROOT / "tests" / "mutants" / "mutate.py"
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]

    def number(text: str) -> int:
        return next(at for at, line in enumerate(lines, 1) if line.startswith(text))

    return closest_tests(Ran(**{name: {number(its)} for name, its in ran.items()}), path, number(text))


def test_the_tests_that_ran_a_line_are_the_closest_and_those_of_its_module_come_first() -> None:
    ran = {"test_other__one": "tree = ast.parse", "test_mutate__two": "tree = ast.parse", "test_a__no": "starts ="}
    assert _closest("tree = ast.parse", **ran) == ["tests/test_mutate.py::two", "tests/test_other.py::one"]


def test_where_few_ran_a_line_the_others_of_their_files_come_next() -> None:
    ran = {"test_a__one": "starts =", "test_a__two": "tree = ast.parse", "test_b__three": "starts ="}
    assert _closest("tree = ast.parse", **ran) == ["tests/test_a.py::two", "tests/test_a.py::one"]


def test_to_a_constant_the_tests_that_ran_lines_with_its_name_are_the_closest() -> None:
    ran = {"test_a__one": "compared = _REVERSED", "test_b__two": "tree = ast.parse"}
    assert _closest("_COMPARED =", **ran) == ["tests/test_a.py::one"]


def test_to_a_parameter_the_tests_that_ran_its_function_are_the_closest() -> None:
    ran = {"test_a__one": "assert node.end_lineno", "test_b__two": "tree = ast.parse"}
    assert _closest("def _span", **ran) == ["tests/test_a.py::one"]


def test_lines_of_functions_that_no_test_ran_are_known() -> None:
    path = ROOT / "tests" / "mutants" / "mutate.py"
    texts = path.read_text(encoding="utf-8").splitlines()
    ran = {number for number, text in enumerate(texts, 1) if "start, stop = _span(part, starts)" not in text}
    (unrun,) = unrun_lines(Ran(test_a__one=ran), path)
    assert "start, stop = _span(part, starts)" in texts[unrun - 1]


SMALL = """
import os, sys
LIMIT = 3

def double(number, by=2):
    return number * by

def is_large(number):
    return number > LIMIT

if __name__ == "__main__":
    is_large(1)
    if not (child := os.fork()):
        double(4)
        sys.exit()
    os.waitpid(child, 0)
"""
TESTS = """
import subprocess, sys
from small import double, is_large

def test_double():
    assert double(2) == 4

def test_large():
    assert is_large(4)

def test_child():
    subprocess.run([sys.executable, "src/small.py"], check=True)

def test_that_fails():
    assert double(1) == 1
"""


def _write_small(tree: Path) -> None:
    for path, text in {"src/small.py": SMALL, "small_tests/test_small.py": TESTS}.items():
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_text(text)


def test_a_map_knows_which_test_ran_a_line_also_in_other_processes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    _write_small(tree)
    os.symlink(ROOT / "tests", tree / "tests")  # for the plugin that records
    record(tree, tmp_path / "map", "small_tests")
    recorded = CoverageMap(tmp_path / "map")
    ran = recorded.lines_by_test("src/small.py")
    large, double, child = (f"small_tests/test_small.py::test_{name}" for name in ("large", "double", "child"))
    assert _ran(ran, "    return number > LIMIT") == {large, child}
    assert _ran(ran, "    return number * by") == {double, child}
    assert {*recorded.seconds} == {large, double, child}


def test_a_file_that_is_recorded_anew_takes_the_place_of_what_the_map_had_of_it(tmp_path: Path) -> None:
    rows = {
        "map": {"tests/test_a.py::old": {1}, "tests/test_b.py::kept": {2}},
        "part": {"tests/test_a.py::new": {3}},
    }
    for name, ran in rows.items():
        _write_map(tmp_path / name, ran, digest=name)
    merge(tmp_path / "map", tmp_path / "part", {"tests/test_a.py"})
    merged = CoverageMap(tmp_path / "map")
    assert merged.lines_by_test("src/a.py") == {"tests/test_a.py::new": {3}, "tests/test_b.py::kept": {2}}
    digests = json.loads((tmp_path / "map" / "files.json").read_text())
    assert digests == {"tests/test_a.py": "part", "tests/test_b.py": "map"}
    assert merged.is_changed("tests/test_a.py")


def _write_map(folder: Path, ran: Mapping[str, set[int]], digest: str) -> None:
    folder.mkdir()
    with closing(sqlite3.connect(folder / "lines")) as lines, lines:
        lines.execute("CREATE TABLE ran (path TEXT, test TEXT, lines BLOB)")
        lines.executemany(
            "INSERT INTO ran VALUES ('src/a.py', ?, ?)", ((t, nums_to_numbits(n)) for t, n in ran.items())
        )
    (folder / "tests.json").write_text(json.dumps(dict.fromkeys(ran, 1.0)))
    (folder / "files.json").write_text(json.dumps({test.partition("::")[0]: digest for test in ran}))


def _ran(ran: Mapping[str, set[int]], text: str) -> set[str]:
    line = SMALL.splitlines().index(text) + 1
    return {test for test, lines in ran.items() if line in lines}


def test_a_mutant_is_caught_by_the_test_that_fails_and_taken_back(tmp_path: Path) -> None:
    _write_small(tmp_path)
    source, file = SMALL.encode(), "small_tests/test_small.py"
    at = source.index(b"> LIMIT")
    one = Drawn(ROOT / "src" / "small.py", Mutant(9, at, at + 1, "<"), source)
    os.symlink(ROOT / "tests", tmp_path / "tests")  # for the runner
    with Runner(tmp_path, Path(sys.executable)) as runner:
        assert caught_by(one, tmp_path, runner, [f"{file}::test_double"], patience=60) is None
        assert caught_by(one, tmp_path, runner, [file], patience=60) == f"{file}::test_large"
        run = partial(caught_by, one, tmp_path, runner, patience=60)
        passes = [f"{file}::test_large", f"{file}::test_double"].__contains__
        assert noticed_by([f"{file}::test_that_fails", f"{file}::test_large"], run, passes) == f"{file}::test_large"
        assert noticed_by([f"{file}::test_that_fails", f"{file}::test_double"], run, passes) is None
    assert (tmp_path / "src" / "small.py").read_bytes() == source


def test_given_tests_that_fail_with_nothing_broken_are_named(tmp_path: Path) -> None:
    _write_small(tmp_path)
    file = "small_tests/test_small.py"
    os.symlink(ROOT / "tests", tmp_path / "tests")
    with Runner(tmp_path, Path(sys.executable)) as runner:
        run = partial(runner.run, patience=60)
        check_unbroken([f"{file}::test_double"], run)
        with pytest.raises(SystemExit, match=f"^With nothing broken, this fails: {file}::test_that_fails$"):
            check_unbroken([f"{file}::test_that_fails"], run)


def test_a_runner_that_is_not_needed_starts_nothing(tmp_path: Path) -> None:
    with Runner(tmp_path, tmp_path / "no_python") as runner:
        pass
    with pytest.raises(FileNotFoundError):
        runner.run([], patience=1)


ONCE = """
import gc
import pytest
from small import double, is_large

IS_LARGE = is_large(4)

class Table:
    def row(self, number):
        return [number + part for part in (1, 2)]

def test_double():
    assert double(2) == 4

@pytest.mark.parametrize("number", [4, 5])
def test_large(number):
    assert is_large(number)

gc.freeze()
"""


def test_where_tests_are_collected_once_a_mutant_takes_the_place_of_the_function_it_is_in(tmp_path: Path) -> None:
    _write_small(tmp_path)
    (tmp_path / "small_tests" / "test_small.py").write_text(ONCE)
    os.symlink(ROOT / "tests", tmp_path / "tests")  # for the runner
    source, file = SMALL.encode(), "small_tests/test_small.py"

    def broken(text: str, other: str) -> Drawn:
        at = source.index(text.encode())
        mutant = Mutant(source[:at].count(b"\n") + 1, at, at + len(text), other)
        return Drawn(ROOT / "src" / "small.py", mutant, source)

    with CollectedRunner(tmp_path, [file]) as collected, Runner(tmp_path, Path(sys.executable)) as plain:
        quick, several = QuickRunner(collected, plain), [f"{file}::test_double", f"{file}::test_large[5]"]
        for one, catcher in (
            (broken("> LIMIT", "< LIMIT"), several[1]),
            (broken("number * by", "number // by"), several[0]),
            (broken("number * by", "by * number"), None),
            (broken("LIMIT = 3", "LIMIT = 9"), several[1]),
            (broken("by=2", "by=3"), several[0]),
        ):
            assert caught_by(one, tmp_path, quick, several, patience=60) == catcher
        assert collected.run([f"{file}::test_that_is_nowhere"], 60)[0] == 5
        assert caught_by(broken("> LIMIT", "< LIMIT"), tmp_path, quick, [file], 60) == f"{file}::test_large[4]"
        assert caught_by(broken("number * by", "by * number"), tmp_path, quick, [file], 60) is None
        alone = [
            caught_by(one, tmp_path, collected, several, patience=60)
            for one in (broken("> LIMIT", "< LIMIT"), broken("LIMIT = 3", "LIMIT = 9"))
        ]
        assert alone == [several[1], "not possible"]
    assert (tmp_path / "src" / "small.py").read_bytes() == source


def test_the_outermost_function_around_a_line_is_found_where_the_line_is_in_its_body() -> None:
    source = b"class A:\n    @cache\n    def b(self, c=1):\n        def d():\n            return 1\n        return d\n"
    assert [function_around(source, line) for line in range(1, 7)] == [None, None, None, *[("A.b", 2)] * 3]


def test_what_caught_others_of_a_file_comes_first(tmp_path: Path) -> None:
    before = CaughtBefore(tmp_path / "caught.json")
    for name, test in (("a.py", "f::x"), ("a.py", "f::y"), ("a.py", "f::y"), ("b.py", "f::z"), ("a.py", UNENDED)):
        before.add(name, test)
    assert CaughtBefore(tmp_path / "caught.json").first("a.py", ["f::w", "f::x", "f::y", "f::z"]) == [
        "f::y",
        "f::x",
        "f::w",
        "f::z",
    ]


class Busy(Runner):
    """Runs nothing; each run ends with the next of these codes."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def run(self, tests: Sequence[str], patience: float, place: tuple[str, int] = ("", 0)) -> tuple[int, str]:
        return self.codes.pop(0), ""


def test_tests_that_do_not_end_with_nothing_broken_either_have_noticed_nothing(tmp_path: Path) -> None:
    one = Drawn(ROOT / "file.py", Mutant(1, 4, 5, "2"), b"a = 1\n")
    assert caught_by(one, tmp_path, Busy(NO_END, 0), ["test"], 1) == UNENDED
    assert caught_by(one, tmp_path, Busy(NO_END, NO_END), ["test"], 1) == UNDECIDED
    assert (tmp_path / "file.py").read_bytes() == one.source


def _started(*command: str) -> int:
    return os.posix_spawnp(command[0], command, os.environ, setsid=True)


def test_a_run_that_computes_without_end_is_ended_and_one_that_waits_has_more_time() -> None:
    assert wait_for(_started(sys.executable, "-c", "while True: pass"), 0.3) == NO_END
    assert wait_for(_started("sleep", "1"), 0.3) == 0
    assert wait_for(_started("sleep", "600"), 0.1) == NO_END


def test_the_time_of_a_run_is_that_of_the_processes_it_started_too() -> None:
    run = _started("sh", "-c", f"{shlex.quote(sys.executable)} -c 'while True: pass' & wait")
    try:
        until = time.monotonic() + 60
        while processor_seconds(run) < 0.5:
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        os.killpg(run, signal.SIGKILL)
        os.waitpid(run, 0)


def test_a_module_whose_tests_need_a_framework_is_tried_where_the_framework_is() -> None:
    requirements, integrations = ROOT / "requirements", ROOT / "tests" / "integrations"
    assert all((requirements / f"adapters-{environment}.in").exists() for environment in ADAPTERS.values())
    tests = {path.stem.removeprefix("test_"): path.read_text(encoding="utf-8") for path in integrations.glob("test_*")}
    needing = {name for name, text in tests.items() if "mark.adapters" in text and "importorskip(" in text}
    modules = {path.stem for path in (ROOT / "src" / "keepwhole" / "integrations").glob("*.py")}
    assert set(ADAPTERS) == needing & modules
