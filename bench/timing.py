"""Measuring on a noisy machine: CPU of every process of a pipeline, and rounds that alternate what is compared."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.setup import PYTHON, say

T = TypeVar("T")
_LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher.py")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Spent:
    """What one process used."""

    cpu: float
    peak: int
    code: int


@dataclass(frozen=True)
class Run:
    """What a pipeline used, process by process."""

    wall: float
    processes: tuple[Spent, ...]

    @property
    def cpu(self) -> float:
        return sum(process.cpu for process in self.processes)

    @property
    def last(self) -> Spent:
        return self.processes[-1]


def pipeline(
    *commands: Sequence[str], env: Mapping[str, str], folder: str, output: str = os.devnull, codes: Sequence[int] = (0,)
) -> Run:
    """Run the commands as one pipeline. Raises if one of them fails: a figure of a failure is none."""
    words: list[str] = []
    for command in commands:
        words += ["|", *command] if words else command
    launch = [PYTHON, "-I", "-S", _LAUNCHER, output, *words]
    done = subprocess.run(launch, env=env, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {_said(done.stderr)}")
    wall, *lines = done.stdout.splitlines()
    run = Run(float(wall), tuple(_spent(line) for line in lines))
    if any(process.code not in codes for process in run.processes):
        raise RuntimeError(f"{' '.join(words)}: {_said(done.stderr)}")
    return run


def _spent(line: str) -> Spent:
    cpu, peak, code = line.split()
    return Spent(float(cpu), int(peak) * _RSS_UNIT, int(code))


def _said(errors: str) -> str:
    """The last line that is not only the upstream's complaint about what happened downstream."""
    lines = [line for line in errors.strip().splitlines() if "Broken pipe" not in line]
    return lines[-1] if lines else "failed without a word"


def interleaved(name: str, rounds: int, subjects: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Every subject once a round, each round beginning with another one, so that drift hits all alike."""
    results: dict[str, list[T]] = {subject: [] for subject in subjects}
    order = list(subjects)
    for number in range(rounds):
        say(f"{name}: round {number + 1} of {rounds}")
        for subject in order:
            results[subject].append(subjects[subject]())
        order = order[1:] + order[:1]
    return results


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]
