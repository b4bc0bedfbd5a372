"""A session with 50,000 results opens in Chromium: how much a server that was just started reads until there is
something to see, and that the page then comes to the step that was asked for.

What is counted is work, which is the same on a busy machine; `python -m bench inspector` prints the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from keepwhole import config
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.inspector.inspector_server import TOKEN, served
from tests.apps.inspector.long_record import write_results

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
RESULTS = 50_000
ENTRIES = 5 * 500
"""The most that is read until a step is drawn: a piece for each of the answers that the page asks for."""
SUMMARY = "**/api/sessions/long"


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


class Opened(NamedTuple):
    """An inspector that has not read anything yet."""

    services: InspectorServices
    address: str

    @property
    def read(self) -> int:
        """How many entries of the session are read."""
        return self.services.record.timeline("long", until=lambda _: True).seq

    def at(self, route: str) -> str:
        return f"{self.address}/#{route}"


@pytest.fixture
def server(home: str) -> Iterator[Opened]:
    settings = config.load(home=home, environ={})
    store = SqliteStore(settings.home)
    services = InspectorServices(settings, store)
    with served(services) as one:
        yield Opened(services, f"http://127.0.0.1:{one.port}")
    services.close()
    store.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@contextmanager
def asked_once(tab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each answer reads as little as it can, and the page does not ask for the session again until this ends."""
    held: list[Any] = []

    def answer(route: Any) -> None:
        if not held:
            route.continue_()
        held.append(route)

    with monkeypatch.context() as patch:
        for module in ("answers", "sessions"):
            patch.setattr(f"keepwhole.apps.inspector.{module}.PATIENCE", 0.0)
        tab.route(SUMMARY, answer)
        yield
    for route in held[1:]:
        route.continue_()
    tab.unroute(SUMMARY)


def wait_for_rows(tab: Any) -> None:
    tab.locator(".row:not(.unknown)").first.wait_for()
    tab.locator(".detail h2", has_text="Step").wait_for()


def test_it_is_there_to_be_seen_long_before_it_is_read(
    server: Opened, tab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.goto(server.at(f"token={quote(TOKEN)}&session=long"))
    with asked_once(tab, monkeypatch):
        wait_for_rows(tab)
        assert server.read <= ENTRIES
    tab.locator(".note[role=status]").wait_for(state="detached")
    total = tab.locator(".detail h2").inner_text().rpartition(" ")[2]
    tab.locator(".detail h2", has_text=f"Step {total} of {total}").wait_for()
    tab.reload()
    tab.locator(".detail h2", has_text=f"Step {total} of {total}").wait_for()


def test_a_click_on_it_in_the_list_shows_it_too(server: Opened, tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with asked_once(tab, monkeypatch):
        monkeypatch.setattr("keepwhole.apps.inspector.sessions._BUDGET", 0.0)
        tab.goto(server.at(f"token={quote(TOKEN)}"))
        tab.locator("table.sessions tbody tr a").first.click()
        wait_for_rows(tab)
        assert server.read <= ENTRIES


def test_a_list_with_it_counts_it_meanwhile(server: Opened, tab: Any) -> None:
    tab.goto(server.at(f"token={quote(TOKEN)}"))
    tab.locator("table.sessions tbody tr").wait_for()
    tab.get_by_text("not counted yet").wait_for(state="detached")
    assert f"{RESULTS:,}" in tab.locator("table.sessions tbody tr").inner_text()


def test_steps_that_a_first_request_takes_in_are_one_step_once_it_is_read(
    tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that are kept within minutes before the first request belong to it."""
    for module in ("answers", "sessions"):
        monkeypatch.setattr(f"keepwhole.apps.inspector.{module}.PATIENCE", 0.0)
    store = SqliteStore(str(tmp_path))
    write_results(store, "long", 1_500, per_request=1_500, seconds=0)
    services = InspectorServices(config.load(home=str(tmp_path), environ={}), store)
    with served(services) as one:
        tab.goto(f"http://127.0.0.1:{one.port}/#token={quote(TOKEN)}&session=long")
        tab.locator(".detail h2", has_text="Step 1 of 1").wait_for()
        assert tab.locator(".row").count() == 1
        assert "claude-sonnet-4-5" in tab.locator(".detail").inner_text()
    services.close()
    store.close()


def test_an_address_of_a_late_step_leads_there_once_it_is_read(server: Opened, tab: Any) -> None:
    tab.goto(server.at(f"token={quote(TOKEN)}"))
    tab.locator("table.sessions tbody tr").wait_for()
    tab.goto("about:blank")
    tab.goto(server.at("/session/long/step/1990"))
    tab.locator(".detail h2", has_text="Step 1,990 of").wait_for()
    assert tab.evaluate("location.hash") == "#/session/long/step/1990"
