"""A process that has imported Keepwhole and collected all tests once, and runs some of them in copies of itself.

A copy gets a mutant without importing anything anew: the code of the one function that it is in takes the place of the
code of the functions that were imported. Processes that tests start read the changed file, which is written as well.
So a mutant costs little more than the tests that try it. What cannot be done that way has to be tried by
`runner.py`: a line that runs when modules are imported or tests collected, such as a constant or a default, has had its
effect by then.

`python -m tests.mutants.collected FILE` collects the test files that FILE lists, then reads a line of JSON for each run
and answers with one.
"""

import ast
import gc
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutants.copies import MARKS
from tests.mutants.runner import NO_END, Runner, limit_run, wait_for

NOT_POSSIBLE = -2_000
"""The code that says that a mutant cannot take its place here; nothing was run."""
_OPTIONS = (
    "-x",
    "-q",
    "--tb=no",
    "-p",
    "no:xdist",
    "-p",
    "no:cacheprovider",
    "--timeout=60",
    "--capture=no",
    "-m",
    MARKS,
)
_TO_COLLECT = 3_600
_ENDS = (0, 1, NO_END)
"""All tests passed, some failed, or there was no end. Of anything else, such as an error of pytest, nothing follows."""
_Key = tuple[str, str, int]


class CollectedRunner(Runner):
    """Runs tests in a copy of the tree, of files that are collected once."""

    def __init__(self, tree: Path, files: Sequence[str]) -> None:
        listed = tree / "collected_files.txt"
        listed.write_text("\n".join(files), encoding="utf-8")
        super().__init__(tree, Path(sys.executable), "tests.mutants.collected", str(listed))
        self.run([], _TO_COLLECT)  # nothing may be changed before everything is imported


class QuickRunner(Runner):
    """Runs tests where they are collected already and, where that is not possible, in a process that imports anew."""

    def __init__(self, collected: Runner, plain: Runner) -> None:
        self._collected, self._plain = collected, plain

    def run(self, tests: Sequence[str], patience: float, place: tuple[str, int] = ("", 0)) -> tuple[int, str]:
        """Run tests up to the first that fails; return pytest's exit code and what it printed."""
        code, printed = self._collected.run(tests, patience, place)
        return (code, printed) if code in _ENDS else self._plain.run(tests, patience)


def function_around(source: bytes, line: int) -> tuple[str, int] | None:
    """Return the qualified name and first line of the outermost function whose body has a line, if there is one."""

    def search(node: ast.AST, prefix: str) -> tuple[str, int] | None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                if child.body[0].lineno <= line <= (child.end_lineno or 0):
                    first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                    return prefix + child.name, first
            elif isinstance(child, ast.ClassDef):
                if found := search(child, f"{prefix}{child.name}."):
                    return found
            elif isinstance(child, ast.stmt) and (found := search(child, prefix)):
                return found
        return None

    return search(ast.parse(source), "")


class Imported:
    """The functions of the source that were imported, with the files they came from."""

    def __init__(self, tree: Path) -> None:
        source = tree / "src"
        self.sources = {str(path): path.read_bytes() for path in source.rglob("*.py")}
        self._functions: dict[_Key, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # what is frozen is not listed
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename in self.sources:
                self._functions[_key(one.__code__)].append(one)
        self._files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}

    def take(self, path: str, line: int) -> bool:
        """Give the function around a line the code that its file has now; return whether that was possible."""
        if path not in self._files:
            return True  # whoever imports it reads the file as it is now
        before, now = self.sources[path], Path(path).read_bytes()
        around = function_around(before, line)
        if around is None:
            return False
        old, new = (_code_of(compile(text, path, "exec"), *around) for text in (before, now))
        if old is None or new is None or not self._functions[_key(old)]:
            return False
        return all([self._replace(*pair) for pair in _pairs(old, new)])

    def _replace(self, old: CodeType, new: CodeType) -> bool:
        for function in self._functions.get(_key(old), ()):
            if len(function.__code__.co_freevars) != len(new.co_freevars):
                return False
            function.__code__ = new
        return True


def _key(code: CodeType) -> _Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _code_of(code: CodeType, name: str, first: int) -> CodeType | None:
    if (code.co_qualname, code.co_firstlineno) == (name, first):
        return code
    found = (_code_of(one, name, first) for one in _inner(code))
    return next((one for one in found if one is not None), None)


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of a function, and of those inside it, with the new one; those inside may be imported as well."""
    yield old, new
    named: dict[tuple[str, int], CodeType] = {}
    counted: dict[str, int] = defaultdict(int)
    for one in _inner(new):
        named[one.co_qualname, counted[one.co_qualname]] = one
        counted[one.co_qualname] += 1
    counted.clear()
    for one in _inner(old):
        if other := named.get((one.co_qualname, counted[one.co_qualname])):
            yield from _pairs(one, other)
        counted[one.co_qualname] += 1


class Server:
    """A plugin of pytest that runs some of what it has collected, as often as it is asked to."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._asked, self._answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
        self._failed: list[str] = []
        self.is_copy = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember what failed."""
        if report.failed:
            self._failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer until nobody asks any more."""
        imported = Imported(self._tree)
        named: dict[str, list[pytest.Item]] = defaultdict(list)  # by their own names, and by those of their files
        for item in session.items:
            named[item.nodeid].append(item)
            named[item.nodeid.partition("::")[0]].append(item)
        gc.collect()
        gc.freeze()
        for line in self._asked:
            tests, patience, (path, number) = json.loads(line)
            with tempfile.TemporaryFile("w+") as output:
                if (child := os.fork()) == 0:
                    self.is_copy = True
                    limit_run(output.fileno())
                    if path and not imported.take(str(self._tree / path), number):
                        output.write("not possible")
                        output.flush()
                        os._exit(0)
                    self._run(session, [item for test in tests for item in named.get(test, ())])
                    print("", *(f"FAILED {test}" for test in self._failed), sep="\n", flush=True)
                    return True
                code = wait_for(child, patience)
                output.seek(0)
                said = output.read()
                code = NOT_POSSIBLE if said == "not possible" else code
                print(json.dumps([code, said]), file=self._answers, flush=True)
        return True

    def _run(self, session: pytest.Session, items: Sequence[pytest.Item]) -> None:
        session.testscollected = len(items)
        for at, item in enumerate(items, 1):
            following = items[at] if at < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                break


def _serve(listed: str) -> int:
    server = Server(Path.cwd())
    ignored = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    files = Path(listed).read_text(encoding="utf-8").splitlines()
    return int(pytest.main([*_OPTIONS, *ignored, *files], plugins=[server]))


if __name__ == "__main__":
    sys.exit(_serve(sys.argv[1]))
