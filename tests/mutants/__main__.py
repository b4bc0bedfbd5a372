"""`python -m tests.mutants --seed S --count N`: breaks N randomly drawn lines in turn and runs the closest tests.

Prints every mutant, the test that caught it and the share that was caught; exits with 1 where that is below `--floor`.
Where tests do not end in time, neither with the mutant nor without it, nothing is known: such a mutant is not counted.
Mutants that change nothing anybody could notice are rows of `equivalent.txt`, each with the reason, and not counted.
What survived is written to `.mutants/survived-S.txt`; `--again` tries those alone.

The closest tests are found by a map of which test runs which line; `python -m tests.mutants --map` makes it, in
`.mutants/map`. Test files that have changed since are run whole; `--map FILES` records these, or single tests, anew and
leaves the rest of the map as it is. `--by-name` does without a map, and so does `--tests FILES`, which collects these
once and runs nothing else: with few fast ones a module takes seconds. `--only PATTERN` draws from the files alone whose
path has a match. `--unbroken` breaks nothing: what is caught then, a test has caught that fails by itself. `--unrun`
tries nothing and lists the lines that no test in the map ran: there every mutant survives.
"""

import argparse
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import NamedTuple

from tests.mutants.caught_before import CaughtBefore
from tests.mutants.closest import closest_files, closest_tests, nearest_first, unrun_lines
from tests.mutants.collected import CollectedRunner, QuickRunner, function_around
from tests.mutants.copies import ROOT, copy_of_tree
from tests.mutants.coverage_map import CoverageMap, make_map
from tests.mutants.mutate import Mutant, mutants
from tests.mutants.runner import NO_END, Runner

FOLDER = ROOT / ".mutants"
BATCHES = ((12, 3.0), (50, 12.0), (200, 30.0))
"""How many tests are tried at once, and how many seconds of a processor they took when the map was made. Most mutants
are caught by the first few tests; those that seem to survive are worth the time."""
ADAPTERS = {
    "agent_framework": "agent-framework-current",
    "claude_agent": "claude-agent-current",
    "google_adk": "adk-current",
    "langchain": "langchain-current",
    "litellm": "litellm-current",
    "openai_agents": "openai-agents-current",
    "pydantic_ai": "pydantic-ai-current",
    "strands": "strands",
}
"""Modules whose tests need a framework, with the environment in `.venvs` that has it."""
UNENDED, UNDECIDED = "no end in time", "no end in time, broken or not"
_PATIENCE, _SHORT_PATIENCE = 240, 30
_moments = count(1_000_000_000)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", re.MULTILINE)


class Drawn(NamedTuple):
    """A mutant and the file it is of."""

    path: Path
    mutant: Mutant
    source: bytes
    """The file as it was when the mutant was drawn."""

    @property
    def words(self) -> str:
        """File, line, and the line as it was and as it is."""
        before = self.source.splitlines()[self.mutant.line - 1].decode().strip()
        after = self.mutant.apply(self.source).splitlines()[self.mutant.line - 1].decode().strip()
        return f"{self.path.relative_to(ROOT).as_posix()} | {before} | {after}"


@cache
def all_mutants(only: str = "") -> tuple[Drawn, ...]:
    """Return every mutant of every file of the source, or of those with a match in their path."""
    paths = (
        path for path in sorted((ROOT / "src").rglob("*.py")) if re.search(only, path.relative_to(ROOT).as_posix())
    )
    sources = ((path, path.read_bytes()) for path in paths)
    return tuple(Drawn(path, mutant, source) for path, source in sources for mutant in mutants(source))


def draw(seed: str, count: int, only: str = "") -> list[Drawn]:
    """Return this many mutants, each of another line, drawn evenly from all lines that can be broken."""
    by_line: dict[tuple[Path, int], list[Drawn]] = {}
    for one in all_mutants(only):
        by_line.setdefault((one.path, one.mutant.line), []).append(one)
    chance = random.Random(seed)
    return [chance.choice(by_line[line]) for line in chance.sample(sorted(by_line), min(count, len(by_line)))]


def print_unrun(coverage: CoverageMap, only: str) -> None:
    """Print the lines that can be broken and that no test ran, with their files and numbers."""
    known = equivalents()
    lines = {(one.path, one.mutant.line): one for one in all_mutants() if one.words not in known}
    unrun = cache(partial(unrun_lines, coverage))
    for (path, line), one in sorted(lines.items()):
        name = path.relative_to(ROOT).as_posix()
        if re.search(only, name) and not is_adapter(path) and line in unrun(path):
            print(f"{name}:{line} | {one.words.split(' | ')[1]}")


def equivalents() -> dict[str, str]:
    """Return the mutants that nobody could notice, with the reason."""
    text = (Path(__file__).parent / "equivalent.txt").read_text(encoding="utf-8")
    rows = (line.rsplit(" | ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {words: reason for words, reason in rows}


def interpreter(path: Path) -> Path | None:
    """Return the Python that can run the tests of a module; an adapter's is there after `make adapters`."""
    if not is_adapter(path):
        return Path(sys.executable)
    python = ROOT / ".venvs" / ADAPTERS[path.stem] / "bin" / "python"
    return python if python.exists() else None


def is_adapter(path: Path) -> bool:
    """Return whether a module needs a framework that is in an environment of its own."""
    return path.parent.name == "integrations" and path.stem in ADAPTERS


def batches(
    coverage: CoverageMap | None, one: Drawn, passes: Callable[[str], bool], before: CaughtBefore
) -> Iterator[Sequence[str]]:
    """Yield the tests that are closest to a mutant, in the order in which they are worth trying.

    A test file that is not in the map as it is now is used only if it passes with nothing broken.
    """
    if is_adapter(one.path):
        yield [f"tests/integrations/test_{one.path.stem}.py"]
        return
    if coverage is None:
        yield closest_files(one.path, at_most=8)
        return
    changed = sorted(name for name in closest_files(one.path, at_most=14) if coverage.is_changed(name))
    yield from ([name] for name in changed if passes(name))
    tests = closest_tests(coverage, one.path, one.mutant.line)
    rest = before.first(one.path.name, [test for test in tests if not coverage.is_changed(test.partition("::")[0])])
    for at_most, seconds in BATCHES:
        batch: list[str] = []
        for test in rest:
            if len(batch) < at_most and coverage.seconds[test] <= seconds:
                batch.append(test)
                seconds -= coverage.seconds[test]
        if batch:
            yield batch
        rest = [test for test in rest if test not in set(batch)]


def caught_by(one: Drawn, tree: Path, runner: Runner, tests: Sequence[str], patience: float) -> str | None:
    """Return the test that fails with the mutant, or what happened instead of an end; None if all pass."""
    place = tree / one.path.relative_to(ROOT)
    write(place, one.mutant.apply(one.source))
    code, printed = runner.run(tests, patience, (one.path.relative_to(ROOT).as_posix(), one.mutant.line))
    write(place, one.source)
    if code == NO_END:  # on a busy machine tests may take as long with nothing broken
        return UNENDED if runner.run(tests, patience)[0] != NO_END else UNDECIDED
    if code in (0, 5):  # all passed, or none was chosen
        return None
    failed = _FAILED.findall(printed)
    return failed[0] if failed else printed.strip().rpartition("\n")[2]


def noticed_by(
    tests: Sequence[str], run: Callable[[Sequence[str]], str | None], passes: Callable[[str], bool]
) -> str | None:
    """Return the test that notices a mutant, as `run` says; one that fails with nothing broken has noticed nothing."""
    left = list(tests)
    while left:
        catcher = run(left)
        if catcher not in left or passes(catcher):
            return catcher
        left.remove(catcher)
    return None


def is_decided(catcher: str | None, *, by_name: bool) -> bool:
    """Return whether a result counts: files chosen by name may take too long whether a line is broken or not."""
    return catcher != UNDECIDED and not (by_name and catcher == UNENDED)


def check_unbroken(files: Sequence[str], run: Callable[[Sequence[str]], tuple[int, str]]) -> None:
    """End where one of the given test files fails with nothing broken: it would seem to catch whatever it runs."""
    code, printed = run(files)
    if code != 0:
        raise SystemExit(f"With nothing broken, this fails: {', '.join(_FAILED.findall(printed)) or printed.strip()}")


def runner_for(collected: Sequence[str], tree: Path, plain: Runner, stack: ExitStack) -> Runner:
    """Return the runner for a copy of the tree: where test files are collected once, one that has done so."""
    return QuickRunner(stack.enter_context(CollectedRunner(tree, collected)), plain) if collected else plain


def runs_in_tests_alone(coverage: CoverageMap | None, one: Drawn) -> bool:
    """Return whether a line has no effect before a test begins, when modules are imported and tests collected; without
    a map, whether it is in a function."""
    line, name = one.mutant.line, one.path.relative_to(ROOT).as_posix()
    if is_adapter(one.path) or function_around(one.source, line) is None:
        return False
    return coverage is None or line not in coverage.lines_between_tests(name)


def write(place: Path, content: bytes) -> None:
    """Write a file with a time of its own: Python would use the compiled file of a source of equal time and size."""
    place.write_bytes(content)
    moment = next(_moments)
    os.utime(place, (moment, moment))


def try_all(
    drawn: Sequence[Drawn], coverage: CoverageMap | None, jobs: int, files: Sequence[str] = ()
) -> list[tuple[Drawn, str | None]]:
    """Try mutants in several copies of the tree and print each with what caught it; with `files`, by these alone."""
    collected = coverage.unchanged_files() if coverage else files
    waiting: Queue[Drawn] = Queue()
    for one in drawn:
        waiting.put(one)
    before = CaughtBefore(FOLDER / "caught.json")
    tried: list[tuple[Drawn, str | None]] = []

    def work(tree: Path) -> None:
        with ExitStack() as stack, suppress(Empty):
            start = cache(lambda python: stack.enter_context(Runner(tree, python)))
            usual = cache(lambda: runner_for(collected, tree, start(Path(sys.executable)), stack))
            passes = cache(lambda name: usual().run([name], _PATIENCE)[0] == 0)
            if files:
                check_unbroken(files, partial(usual().run, patience=_PATIENCE))
            while True:
                one = waiting.get_nowait()
                is_quick = bool(collected) and runs_in_tests_alone(coverage, one)
                runner = usual() if is_quick else start(interpreter(one.path))
                patience = _PATIENCE if coverage else _SHORT_PATIENCE
                chosen = iter([nearest_first(one.path, files)]) if files else batches(coverage, one, passes, before)
                run = partial(caught_by, one, tree, runner, patience=patience)
                results = (noticed_by(tests, run, passes) for tests in chosen)
                catcher = next((result for result in results if result), None)
                tried.append((one, catcher))
                before.add(one.path.name, catcher)
                is_counted = is_decided(catcher, by_name=not collected)
                verdict = "SURVIVED" if not catcher else "caught" if is_counted else "undecided"
                print(f"{verdict}: {one.words} | {catcher or ''}", flush=True)

    with ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, [stack.enter_context(copy_of_tree()) for _ in range(jobs)]))
    return tried


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", default="1", help="draws the same lines every time")
    parser.add_argument("--count", type=int, default=200, help="how many lines are broken")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--floor", type=float, default=0.95, help="the share that has to be caught")
    parser.add_argument("--only", default="", metavar="PATTERN", help="draw from files with a match in their path")
    parser.add_argument("--map", nargs="*", metavar="FILE", help="record which tests run which line, and break nothing")
    parser.add_argument("--by-name", action="store_true", help="choose test files by names and imports, without a map")
    parser.add_argument(
        "--tests", nargs="+", default=(), metavar="FILE", help="run these test files alone, without a map"
    )
    parser.add_argument("--again", action="store_true", help="only try what survived with this seed")
    parser.add_argument("--unrun", action="store_true", help="list the lines that no test ran, and break nothing")
    parser.add_argument("--unbroken", action="store_true", help="break nothing, to see that nothing is caught then")
    return parser.parse_args()


def main() -> int:
    """Try the mutants and print what survived."""
    args = options()
    if args.map is not None:
        make_map(FOLDER / "map", args.jobs, args.map)
        return 0
    coverage = None if args.by_name or args.tests else CoverageMap(FOLDER / "map")
    if args.unrun:
        print_unrun(CoverageMap(FOLDER / "map"), args.only)
        return 0
    known, survived_before = equivalents(), FOLDER / f"survived-{args.seed}.txt"
    drawn = [one for one in draw(args.seed, args.count, args.only) if one.words not in known]
    if args.again:
        before = survived_before.read_text(encoding="utf-8").splitlines()
        drawn = [one for one in all_mutants() if one.words in before and one.words not in known]
    if untried := [one for one in drawn if interpreter(one.path) is None]:
        print(f"{len(untried)} lines are of adapters whose frameworks `make adapters` installs: not tried.")
        drawn = [one for one in drawn if one not in untried]
    if args.unbroken:
        drawn = [one._replace(mutant=one.mutant._replace(start=0, stop=0, text="")) for one in drawn]
    tried = try_all(drawn, coverage, args.jobs, args.tests)
    decided = [(one, catcher) for one, catcher in tried if is_decided(catcher, by_name=args.by_name)]
    survived = [one.words for one, catcher in decided if not catcher]
    FOLDER.mkdir(exist_ok=True)
    survived_before.write_text("".join(f"{words}\n" for words in survived), encoding="utf-8")
    caught = len(decided) - len(survived)
    print(f"seed {args.seed}: {caught} of {len(decided)} caught ({caught / max(1, len(decided)):.1%})")
    return int(caught < args.floor * len(decided))


if __name__ == "__main__":
    sys.exit(main())
