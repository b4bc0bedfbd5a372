"""Which tests are closest to a line: those that ran it, by a map, or those whose names and imports are nearest.

With a map, the tests that ran the line are ordered: those that mirror its module or folder and recordings of all that
comes out first, then the fast ones, spread over files and functions. A line that runs when its module is imported,
such as a constant or a default, is run by no test in particular: there the tests count that ran lines which mention the
name it defines.

Without a map, which takes longer to make than the default suite takes, whole test files are chosen.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.mutants.copies import ROOT, SLOW
from tests.mutants.coverage_map import CoverageMap

_IMPORT = re.compile(r"^\s*(?:from|import) (keepwhole[\w.]*)(?: import ([^\n]*))?", re.MULTILINE)
_FEW = 20
"""With fewer tests than this, others count too: of modules that mention a constant, of the same files as those few."""
_RECORDINGS = "tests/golden/"
"""Tests that compare whatever comes out with what is recorded: they notice most, wherever a line is."""
_AT_ONCE = 4
"""As many tests of a file that mirrors the module come before the first of another file comes a second time."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def closest_tests(coverage: CoverageMap, path: Path, line: int) -> list[str]:
    """Return the tests that ran a line of the source, or what depends on it, the closest first."""
    tree = ast.parse(path.read_bytes())
    ran = coverage.lines_by_test(_name(path))
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in _span(node)]
    functions = [node for node in around if isinstance(node, _Function)]
    inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    if isinstance(inner, _Function):  # a default of a parameter
        found = _ran_any(ran, _body(inner))
    elif functions:
        found = _ran_any(ran, {line}) or _ran_any(ran, _span(inner)) or _ran_any(ran, _body(functions[-1]))
    else:
        found = _mentions(coverage, path, inner)
    if len(found) >= _FEW:
        return _in_turn(coverage, path, found)
    if found:  # what one test made may be remembered for the others of its file
        files = {test.partition("::")[0] for test in found}
        beside = {test for test in coverage.seconds if test.partition("::")[0] in files} - found
        return _in_turn(coverage, path, found) + _in_turn(coverage, path, beside)
    return sorted(ran, key=lambda test: (-len(ran[test]), coverage.seconds[test]))


def unrun_lines(coverage: CoverageMap, path: Path) -> set[int]:
    """Return the lines of functions of the source whose statements no test ran: whatever breaks them is not noticed."""
    ran = set[int]().union(*coverage.lines_by_test(_name(path)).values())
    statements = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.stmt)]
    starts = {line: max(node.lineno for node in statements if line in _span(node)) for line in _function_lines(path)}
    return {line for line, start in starts.items() if ran.isdisjoint(range(start, line + 1))}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _body(function: _Function) -> range:
    return range(function.body[0].lineno, _span(function).stop)


def _ran_any(ran: dict[str, set[int]], lines: Iterable[int]) -> set[str]:
    wanted = set(lines)
    return {test for test, its in ran.items() if its & wanted}


def _mentions(coverage: CoverageMap, path: Path, statement: ast.stmt) -> set[str]:
    """Return the tests that ran lines of functions which mention a name that a statement defines."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]
    found: set[str] = set()
    if names:
        for other in (path, *_sources()):
            if len(found) < _FEW and (lines := set(_lines_with(other, names[0], statement.col_offset > 0))):
                found |= _ran_any(coverage.lines_by_test(_name(other)), lines)
    return found


def _lines_with(path: Path, name: str, is_field: bool) -> Iterator[int]:
    pattern = re.compile(rf"\.{name}\b" if is_field else rf"\b{name}\b")
    texts = path.read_text(encoding="utf-8").splitlines()
    return (line for line in _function_lines(path) if pattern.search(texts[line - 1]))


@cache
def _function_lines(path: Path) -> tuple[int, ...]:
    functions = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, _Function))
    return tuple(sorted({line for function in functions for line in _body(function)}))


@cache
def _sources() -> tuple[Path, ...]:
    return tuple(sorted((ROOT / "src").rglob("*.py")))


def _in_turn(coverage: CoverageMap, path: Path, tests: Iterable[str]) -> list[str]:
    """Order tests: a fast one of every file, some more of those that mirror the module, then the next of every file."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests, key=coverage.seconds.__getitem__):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    ranked: list[tuple[int, bool, float, str]] = []
    for file, its in by_file.items():
        is_other = not (_is_near(path, Path(file)) or file.startswith(_RECORDINGS))
        for number, test in enumerate(_functions_in_turn(its)):
            turn = number if is_other else number // _AT_ONCE
            ranked.append((turn, is_other, coverage.seconds[test], test))
    return [test for *_, test in sorted(ranked)]


def _is_near(path: Path, test_file: Path) -> bool:
    """Return whether a test file mirrors a module, or is in the folder that mirrors the module's."""
    folder = path.relative_to(ROOT).parent.parts[2:]
    return path.stem.removesuffix("s") in test_file.stem or (bool(folder) and test_file.parent.parts[1:] == folder)


def _functions_in_turn(tests: Sequence[str]) -> list[str]:
    """Order the tests of a file: the first case of every function, then the second ones."""
    cases = Counter[str]()
    ranked: list[tuple[int, int, str]] = []
    for number, test in enumerate(tests):
        function = test.partition("[")[0]
        ranked.append((cases[function], number, test))
        cases[function] += 1
    return [test for *_, test in sorted(ranked)]


@cache
def _imported(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, by their dotted names."""
    found: set[str] = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        found.add(module)
        found.update(f"{module}.{name.strip()}" for name in names.strip("()").split(","))
    return frozenset(found)


@cache
def _test_files() -> tuple[Path, ...]:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return tuple(path for path in files if not _name(path).startswith(SLOW))


@cache
def _users(module: str) -> frozenset[str]:
    """Return the modules of the source that import a module."""
    source = ROOT / "src"
    return frozenset(
        ".".join(path.relative_to(source).with_suffix("").parts) for path in _sources() if module in _imported(path)
    )


def nearest_first(module_file: Path, names: Iterable[str]) -> list[str]:
    """Order test files: those named like a module of the source, those that import it, the others."""
    parts = module_file.relative_to(ROOT / "src").with_suffix("").parts

    def distance(name: str) -> int:
        path = ROOT / name
        if parts[-1].removesuffix("s") in path.stem:
            return 0
        return 1 if path.is_file() and ".".join(parts) in _imported(path) else 2

    return sorted(names, key=distance)


def closest_files(module_file: Path, at_most: int) -> list[str]:
    """Return the test files that are closest to a module of the source by names and imports, the closest first."""
    parts = module_file.relative_to(ROOT / "src").with_suffix("").parts
    module, folder, stem = ".".join(parts), parts[1:-1], parts[-1].removesuffix("s")
    users = _users(module)

    def distance(path: Path) -> tuple[int, int, str] | None:
        is_beside = path.relative_to(ROOT / "tests").parts[:-1] == folder
        if stem in path.stem:
            return (0 if is_beside else 1), 0, path.name
        imported = _imported(path)
        if module in imported:
            return 2, len(imported), path.name
        if users & imported:
            return 3, -len(users & imported), path.name
        if is_beside:
            return 4, 0, path.name
        is_near = path.relative_to(ROOT / "tests").parts[: len(folder) - 1] == folder[:-1]
        return (5, len(imported), path.name) if is_near else None

    ranked = sorted((found, path) for path in _test_files() if (found := distance(path)) is not None)
    return [_name(path) for _, path in ranked][:at_most]
