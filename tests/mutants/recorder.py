"""Records which test runs which line: a plugin of pytest and of coverage.py, loaded by `coverage_map.py`.

Lines are recorded under the id of the test that runs. A process that a test starts is named after it from the
beginning, by the configuration. One that is forked, as the command line's fork server does, may get the environment of
its test later: it records under a name of its own and writes down, when it ends, for which test it ran.
Coverage.py imports this file before pytest could rewrite its assertions, hence: PYTEST_DONT_REWRITE.
"""

import atexit
import json
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from coverage import Coverage

FOLDER = "MUTANTS_FOLDER"
FORKED = "process-"
_seconds: dict[str, float] = defaultdict(float)
_not_passed: set[str] = set()


def coverage_init(_registry: Any, _options: Any) -> None:
    """Follow the forks of this process."""
    os.register_at_fork(after_in_child=_begin_fork)


def _begin_fork() -> None:
    name = f"{FORKED}{os.getpid()}-{time.monotonic_ns()}"
    _switch(name)
    atexit.register(_name_test, os.getpid(), name)


def _name_test(process: int, name: str) -> None:
    folder, test = os.environ.get(FOLDER), os.environ.get("PYTEST_CURRENT_TEST")  # pytest's own variable
    if process == os.getpid() and folder and test:
        Path(folder, name).write_text(test, encoding="utf-8")


def _switch(context: str) -> None:
    if (running := Coverage.current()) is not None:
        running.switch_context(context)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record under the test that begins."""
    _switch(nodeid)


def pytest_runtest_logfinish() -> None:
    """Record what runs between tests under no test."""
    _switch("")


def pytest_runtest_logreport(report: Any) -> None:
    """Count the time of a test, less what it waited on a busy machine, and remember whether it passed."""
    _seconds[report.nodeid] += report.duration / max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    if not report.passed:
        _not_passed.add(report.nodeid)


def pytest_sessionfinish(session: Any) -> None:
    """Save what was recorded; where tests run in several processes, only the first knows all times."""
    if (running := Coverage.current()) is not None:
        running.stop()
        running.save()
    if not hasattr(session.config, "workerinput"):
        passed = {test: round(seconds, 4) for test, seconds in _seconds.items() if test not in _not_passed}
        Path(os.environ[FOLDER], "tests.json").write_text(json.dumps(passed), encoding="utf-8")
