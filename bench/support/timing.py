"""Measures on a noisy machine: the CPU of every process of a pipeline, and rounds that alternate the subjects."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.support.setup import PYTHON, say

T = TypeVar("T")
_LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher.py")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class ProcessUsage:
    """The resources that one process used."""

    cpu: float
    peak: int
    code: int


@dataclass(frozen=True)
class Run:
    """The resources that a pipeline used, process by process."""

    wall: float
    processes: tuple[ProcessUsage, ...]

    @property
    def cpu(self) -> float:
        return sum(process.cpu for process in self.processes)

    @property
    def last(self) -> ProcessUsage:
        return self.processes[-1]


def pipeline(
    *commands: Sequence[str], env: Mapping[str, str], folder: str, output: str = os.devnull, codes: Sequence[int] = (0,)
) -> Run:
    """Run the commands as one pipeline; raise if one of them fails, since a failure must not become a figure."""
    words: list[str] = []
    for command in commands:
        words += ["|", *command] if words else command
    launch = [PYTHON, "-I", "-S", _LAUNCHER, output, *words]
    done = subprocess.run(launch, env=env, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {_last_error(done.stderr)}")
    wall, *lines = done.stdout.splitlines()
    run = Run(float(wall), tuple(_parse_usage(line) for line in lines))
    if any(process.code not in codes for process in run.processes):
        raise RuntimeError(f"{' '.join(words)}: {_last_error(done.stderr)}")
    return run


def _parse_usage(line: str) -> ProcessUsage:
    cpu, peak, code = line.split()
    return ProcessUsage(float(cpu), int(peak) * _RSS_UNIT, int(code))


def _last_error(errors: str) -> str:
    """Return the last line of errors that is not a broken pipe, which only follows from another error."""
    lines = [line for line in errors.strip().splitlines() if "Broken pipe" not in line]
    return lines[-1] if lines else "failed without an error message"


def run_interleaved(name: str, rounds: int, subjects: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Run every subject once per round, each round starting with another one, so that drift affects all alike."""
    results: dict[str, list[T]] = {subject: [] for subject in subjects}
    order = list(subjects)
    for number in range(rounds):
        say(f"{name}: round {number + 1} of {rounds}")
        for subject in order:
            results[subject].append(subjects[subject]())
        order = order[1:] + order[:1]
    return results


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of all values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]
