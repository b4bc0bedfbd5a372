"""A scenario under `strace`: which system calls it makes, and what becomes of it when one of them goes wrong."""

import collections
import json
import os
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from tests.torture import nursery

WRITES = {
    "write": ("write",),
    "pwrite": ("pwrite64",),
    "sync": ("fsync", "fdatasync"),
    "rename": ("rename", "renameat", "renameat2"),
    "mkdir": ("mkdir", "mkdirat"),
    "unlink": ("unlink", "unlinkat"),
    "truncate": ("ftruncate",),
}
"""What changes a disk, by what it does; which spelling is used differs between machines."""


class Site(NamedTuple):
    """The n-th call of one kind."""

    call: str
    number: int

    def inject(self, fault: str, *, and_after: bool = False) -> str:
        """The option that makes this call go wrong."""
        return f"inject={self.call}:{fault}:when={self.number}{'+' if and_after else ''}"


class Outcome(NamedTuple):
    """What a scenario said on its way, as far as it came."""

    said: list[dict[str, Any]]

    @property
    def begun(self) -> bool:
        """Whether the interpreter got as far as our code."""
        return any("begun" in record for record in self.said)

    @property
    def kept_apart(self) -> list[dict[str, Any]]:
        """Results that came back with a problem."""
        return [record for record in self.said if "problem" in record]

    @property
    def raised(self) -> dict[str, Any] | None:
        """What was raised, unless the oracle itself was hit."""
        found = next((record for record in self.said if "raised" in record), None)
        return None if found is None or "oracle.py" in found["trace"] else found


def need_strace() -> None:
    """Skip where `strace` is missing or may not trace."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()}")


def run(here: nursery.Place, scenario: str, *options: str) -> Outcome:
    """Run a scenario with these options of `strace`."""
    program = (sys.executable, "-B", "-m", "tests.torture.scenario")
    done = subprocess.run(
        ["strace", "-f", "-qq", *options, *program, scenario, here.store, here.oracle],
        env=nursery.environment(),
        cwd=os.path.dirname(here.oracle),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    return Outcome([json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")])


def sites(here: nursery.Place, scenario: str, calls: tuple[str, ...]) -> list[Site]:
    """Every call of these kinds that the scenario makes, from the start of the process."""
    log = here.oracle + ".calls"
    named = ",".join("?" + call for call in calls)
    outcome = run(here, scenario, "-o", log, "-e", f"trace={named}")
    assert outcome.begun
    assert outcome.raised is None, outcome.raised
    counts: collections.Counter[str] = collections.Counter()
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            call = line.split(maxsplit=1)[1].partition("(")[0]
            counts[call] += call in calls
    return [Site(call, number) for call in calls for number in range(1, counts[call] + 1)]
