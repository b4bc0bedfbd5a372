"""A session with 50,000 results opens in Chromium: what a server that was just started computes until there is
something to see, and that the page then comes to the step that was asked for."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.inspector.long_record import write_results

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
RESULTS = 50_000
SECONDS = 0.6
"""Of CPU time, until a step is drawn: twice what it takes. All 50,000 results are read in three times as much."""


@pytest.fixture(
    scope="module", params=[pytest.param(0, id="results"), pytest.param(25, id="requests", marks=pytest.mark.torture)]
)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Any) -> str:
    """A long record; where there is no browser to look at it, none is written."""
    folder = str(tmp_path_factory.mktemp("long"))
    store = SqliteStore(folder)
    write_results(store, "long", RESULTS, per_request=request.param)
    store.close()
    return folder


class Server:
    """`keepwhole inspect` as users start it."""

    def __init__(self, home: str) -> None:
        words = [sys.executable, "-m", "keepwhole", "inspect", "--no-open", "--port", "0"]
        environ = {**os.environ, "KEEPWHOLE_HOME": home}
        self.process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found is not None
        self.address = found[0]

    @property
    def cpu(self) -> float:
        """Seconds that the process has computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def server(home: str) -> Iterator[Server]:
    if not Path("/proc/self/stat").exists():
        pytest.skip("the CPU time of another process is read from /proc, which only Linux has")
    one = Server(home)
    with one.process:
        yield one
        one.process.terminate()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def settle(server: Server) -> float:
    """Wait until the server has started; gives its CPU time then."""
    before = -1.0
    while server.cpu != before:
        before = server.cpu
        time.sleep(0.2)
    return before


def test_it_is_there_to_be_seen_long_before_it_is_read(server: Server, tab: Any) -> None:
    begun = settle(server)
    tab.goto(f"{server.address}&session=long")
    tab.locator(".detail h2", has_text="Step").wait_for()
    assert server.cpu - begun < SECONDS
    tab.locator(".note[role=status]").wait_for(state="detached")
    total = tab.locator(".detail h2").inner_text().rpartition(" ")[2]
    tab.locator(".detail h2", has_text=f"Step {total} of {total}").wait_for()
    begun = settle(server)
    tab.reload()
    tab.locator(".detail h2", has_text=f"Step {total} of {total}").wait_for()
    assert server.cpu - begun < SECONDS / 2


def test_a_list_with_it_is_there_too(server: Server, tab: Any) -> None:
    begun = settle(server)
    tab.goto(server.address)
    tab.locator("table.sessions tbody tr").wait_for()
    assert server.cpu - begun < SECONDS
    tab.get_by_text("not counted yet").wait_for(state="detached")
    assert f"{RESULTS:,}" in tab.locator("table.sessions tbody tr").inner_text()


def test_an_address_of_a_late_step_leads_there_once_it_is_read(server: Server, tab: Any) -> None:
    tab.goto(server.address)
    tab.locator("table.sessions tbody tr").wait_for()
    tab.goto("about:blank")
    tab.goto(f"{server.address.partition('#')[0]}#/session/long/step/1990")
    tab.locator(".detail h2", has_text="Step 1,990 of").wait_for()
    assert tab.evaluate("location.hash") == "#/session/long/step/1990"
