"""Running `tests.torture.writers` in a process of its own, and reading what came of it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.torture import checks, oracle

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Place:
    """A store, and outside it the oracle and the writers' reports."""

    def __init__(self, folder: str, store: str | None = None) -> None:
        self.store = store or os.path.join(folder, "store")
        self.oracle = os.path.join(folder, "oracle")
        self.report = os.path.join(folder, "report")

    def check(self, up_to: int | None = None) -> checks.Census:
        """Everything that must hold after a crash; of the oracle only the first `up_to` bytes count."""
        return checks.check_store(self.store, oracle.read(self.oracle, up_to))

    def reports(self) -> list[dict[str, Any]]:
        """What the writers that ended by themselves had to say."""
        if not os.path.exists(self.report):
            return []
        with open(self.report, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def errors(self) -> list[str]:
        """The trouble that writers had."""
        return [report["error"] for report in self.reports() if "error" in report]


@contextmanager
def place(folder: object) -> Iterator[Place]:
    """A place in `folder`; the store, which may be large, is gone afterwards."""
    here = Place(str(folder))
    try:
        yield here
    finally:
        shutil.rmtree(here.store, ignore_errors=True)


def start(here: Place, mode: str, *, broken: str = "", **options: float) -> "subprocess.Popen[str]":
    """Start writers in a process group of their own."""
    arguments = [f"--{name}={value}" for name, value in options.items()]
    return subprocess.Popen(
        [sys.executable, "-B", "-m", "tests.torture.writers", mode, here.store, here.oracle, here.report, *arguments],
        env=environment(KEEPWHOLE_BREAK=broken),
        cwd=os.path.dirname(here.oracle),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(here: Place, mode: str, timeout: float, *, broken: str = "", **options: float) -> dict[str, Any]:
    """Run writers to their end; what the nursery printed."""
    process = start(here, mode, broken=broken, **options)
    out, _ = process.communicate(timeout=timeout)
    assert process.returncode == 0
    return json.loads(out)


def environment(**more: str) -> dict[str, str]:
    """Our environment, in which `tests` can be imported."""
    path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **more}
