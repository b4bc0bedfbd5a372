"""Which store an address opens, one of another package among them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import keepwhole
from keepwhole import MemoryStore, plugins
from keepwhole.errors import ConfigError, UsageError
from keepwhole.store.factory import is_address, open_store
from tests.build import numbered_lines

PACKAGE = """
from keepwhole import MemoryStore

opened = {}

def open_toy(address):
    return opened.setdefault(address, MemoryStore())
"""


@pytest.fixture
def toy_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that offers a store for `toy://…`, installed as any other is: a module and its metadata."""
    info = tmp_path / "toy_store-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-store\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[keepwhole.stores]\ntoy = toy_store:open_toy\n")
    (tmp_path / "toy_store.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._offered.cache_clear()
    yield
    plugins._offered.cache_clear()
    sys.modules.pop("toy_store", None)


@pytest.mark.usefixtures("toy_store")
def test_a_session_uses_the_store_of_another_package() -> None:
    session = keepwhole.Session("s", store="toy://x")
    shown = session.keep("bash", None, numbered_lines(9_000))
    assert isinstance(session.store, MemoryStore)
    assert keepwhole.Session("s", store="toy://x").recall(shown.trace_id) == numbered_lines(9_000)
    assert open_store("toy://y", "", inline_body=1) is not session.store


@pytest.mark.usefixtures("toy_store")
def test_an_address_is_one_of_a_server_or_of_an_installed_package() -> None:
    assert [is_address(text) for text in ("postgresql://h/d", "toy://x", "other://x", "/home/me", "toy", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.usefixtures("toy_store")
def test_an_unknown_address_is_refused_with_those_that_are_known_and_without_its_secret() -> None:
    with pytest.raises(UsageError, match=r"`other://…`.*`postgresql://`, `toy://`") as refused:
        open_store("other://me:secret@host", "", inline_body=1)
    assert "secret" not in str(refused.value)
    with pytest.raises(ConfigError, match="is not an address"):
        keepwhole.config.load(store="other://x")
