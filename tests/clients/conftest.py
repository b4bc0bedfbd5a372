"""The clients' long sessions, and at the end of `make clients` the versions that ran and what the sessions came to."""

from collections.abc import Iterator

import pytest

from tests.clients.drive import versions
from tests.clients.long_run import LongRun, Ran, running
from tests.clients.stage import DIALECTS
from tests.clients.test_versions import SEEN
from tests.clients.totals import lines


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """The long session of a client in a mode, run once for all tests."""
    with running(tmp_path_factory) as once:
        yield once


@pytest.fixture(params=DIALECTS)
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def run(client: str, ran: Ran) -> LongRun:
    """The long session of each client, as users have it."""
    return ran(client, "on")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not (found := lines()):
        return
    terminalreporter.section("real clients")
    for name, version in versions().items():
        unseen = "" if version in SEEN[name] else ", which `src/keepwhole/clients` does not list as seen"
        terminalreporter.write_line(f"{name} {version}{unseen}")
    for line in found:
        terminalreporter.write_line(line)
