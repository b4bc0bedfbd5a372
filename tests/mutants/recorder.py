"""Records which test runs which statement, and how much of a processor it takes: a plugin of pytest.

The statements say by themselves that they run (`marks.py`); here what was said is noted under the test that runs and
forgotten before the next one begins. Each process that runs tests writes a part of the map.
Pytest imports this file before it could rewrite its assertions, hence: PYTEST_DONT_REWRITE.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.mutants.marks import FOLDER, HITS, MODULE

_folder = Path(os.environ[FOLDER])
_hits_file = _folder / f"hits-{os.getpid()}"
os.environ[HITS] = str(_hits_file)
_hits: Any = import_module(MODULE).hit
_is_passed = True
_began = 0.0


def _seconds() -> float:
    """Return how long this process and those that have ended have used a processor."""
    return sum(os.times()[:4])


def _note(test: str, seconds: float) -> None:
    said = _hits[:]
    _hits[:] = bytes(len(said))
    if any(said):  # nothing, where tests run in other processes
        row = {"test": test, "passed": _is_passed, "seconds": round(seconds, 4), "hits": _packed(said)}
        with open(_folder / f"part-{os.getpid()}", "a", encoding="utf-8") as part:
            part.write(json.dumps(row) + "\n")


def _packed(said: bytes) -> str:
    """Return one bit for every byte that may be set, in hexadecimal digits."""
    return f"{int(said.translate(bytes([48]) + bytes([49]) * 255)[::-1], 2):x}"


def pytest_runtest_logstart() -> None:
    """Note what ran between tests under no test."""
    global _is_passed, _began
    _is_passed = True
    _note("", 0)
    _began = _seconds()


def pytest_runtest_logreport(report: Any) -> None:
    """Remember whether the test has passed."""
    global _is_passed
    _is_passed = _is_passed and report.passed


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note what the test ran."""
    _note(nodeid, _seconds() - _began)
