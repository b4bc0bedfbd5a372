"""Records for the inspector to show."""

from collections.abc import Generator
from pathlib import Path

import pytest

from keepwhole import config
from keepwhole.apps.inspector.sample import play
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.session import Session
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.inspector.browser_tab import fake, look
from tests.apps.inspector.inspector_server import Served, served
from tests.browser import browser
from tests.build import NOON, numbered_lines
from tests.stores import EACH, place

__all__ = ["browser", "fake", "look"]

_EVERYWHERE = ("test_answers", "test_live")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests on every back end, unless a test names its own."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    is_one = metafunc.module.__name__.rpartition(".")[2] in _EVERYWHERE
    if is_one and "services" in metafunc.fixturenames and "services" not in named:
        metafunc.parametrize("services", EACH, indirect=True)


@pytest.fixture
def services(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[InspectorServices]:
    """A new, empty record; in a folder unless a test names other back ends."""
    where = place(getattr(request, "param", "sqlite"), tmp_path / "home")
    settings = config.load(home=where.folder, store=where.address, environ={})
    store = where.open()
    made = InspectorServices(settings, store)
    yield made
    made.close()
    store.close()


@pytest.fixture
def session(services: InspectorServices) -> Session:
    """A session of the record, to keep results in."""
    return Session("s", store=services.record.store, settings=services.record.settings, agent="tests")


@pytest.fixture
def kept(session: Session) -> str:
    """The artifact id of a long result in that session."""
    found = session.keep("execute_command", {"command": "make"}, numbered_lines(5_000)).artifact_id
    assert found is not None
    return found


@pytest.fixture
def played(services: InspectorServices) -> str:
    """A short, complete session as the proxy records it."""
    return play(services.record.settings, services.record.store, float(NOON), bugs=3)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """An empty record, served to many tests whose requests are refused."""
    settings = config.load(home=str(tmp_path_factory.mktemp("door")), environ={})
    store = SqliteStore(settings.home)
    with served(InspectorServices(settings, store)) as found:
        yield found
    store.close()


@pytest.fixture
def page(services: InspectorServices) -> Generator[Served]:
    """The record, served."""
    with served(services) as found:
        yield found
