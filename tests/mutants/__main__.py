"""`python -m tests.mutants --seed S --count N`: breaks N randomly drawn lines in turn and runs the closest tests.

Prints every mutant and the share that was caught; exits with 1 where that is below 95 %.
Mutants that change nothing anybody could notice stand in `equivalent.txt`, each with the reason, and are not counted.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants.closest import ROOT, closest_tests
from tests.mutants.mutate import Mutant, mutants

FLOOR = 0.95
_PATIENCE = 240
_LEFT_OUT = (".git", ".venv", ".browser", ".clients", "__pycache__", "node_modules", ".hypothesis", ".pytest_cache")


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


def draw(seed: str, count: int) -> list[Drawn]:
    """Return so many mutants, each of another line, drawn evenly from all lines that can be broken."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for mutant in mutants(path.read_bytes()):
            by_line.setdefault((path, mutant.line), []).append(mutant)
    chance = random.Random(seed)
    lines = chance.sample(sorted(by_line), min(count, len(by_line)))
    return [Drawn(path, chance.choice(by_line[path, line]), path.read_bytes()) for path, line in lines]


def equivalents() -> dict[str, str]:
    """Return the mutants that nobody could notice, with the reason."""
    text = (Path(__file__).parent / "equivalent.txt").read_text(encoding="utf-8")
    rows = (line.rsplit(" | ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {words: reason for words, reason in rows}


def copies(count: int) -> Iterator[Path]:
    """Yield copies of the tree in which mutants can be tried."""
    for number in range(count):
        folder = Path(tempfile.mkdtemp(prefix=f"mutants_{number}_"))
        shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
        yield folder / "tree"


def is_caught(drawn: Drawn, tree: Path) -> bool:
    """Return whether one of the closest tests fails with the mutant, or does not come to an end."""
    place = tree / drawn.path.relative_to(ROOT)
    place.write_bytes(drawn.mutant.apply(drawn.source))
    tests = [path.relative_to(ROOT).as_posix() for path in closest_tests(drawn.path)]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    try:
        done = subprocess.run(
            [*command, "-m", "not torture", "--timeout", "100", *tests],
            cwd=tree, env=environment, timeout=_PATIENCE, capture_output=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_bytes(drawn.source)
    return done.returncode != 0


def main() -> int:
    """Try the mutants and print what survived."""
    options = argparse.ArgumentParser(prog="python -m tests.mutants")
    options.add_argument("--seed", default="1")
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--jobs", type=int, default=2)
    args = options.parse_args()
    known = equivalents()
    drawn = [one for one in draw(args.seed, args.count) if one.words not in known]
    trees = list(copies(args.jobs))
    survived: list[str] = []
    with ThreadPoolExecutor(args.jobs) as pool:

        def try_all(number: int) -> None:
            for one in drawn[number :: args.jobs]:
                is_noticed = is_caught(one, trees[number])
                if not is_noticed:
                    survived.append(one.words)
                print(f"{'caught' if is_noticed else 'SURVIVED'}: {one.words}", flush=True)

        list(pool.map(try_all, range(args.jobs)))
    for tree in trees:
        shutil.rmtree(tree.parent)
    caught = len(drawn) - len(survived)
    print(f"seed {args.seed}: {caught} of {len(drawn)} caught ({caught / max(1, len(drawn)):.1%})")
    return int(caught < FLOOR * len(drawn))


if __name__ == "__main__":
    sys.exit(main())
