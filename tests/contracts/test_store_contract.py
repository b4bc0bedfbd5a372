"""Every back end keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import MemoryStore, SqliteStore
from holdfast.store.protocol import Store
from tests.contracts.archive_contract import ArchiveContract
from tests.contracts.store_contract import StoreContract
from tests.postgres import fresh_url


def made(kind: str, folder: Path) -> Store:
    if kind == "postgres":
        url = fresh_url()  # first, since it skips where there is no server
        from holdfast.store.postgres.store import PostgresStore

        return PostgresStore(url, str(folder))
    return MemoryStore() if kind == "memory" else SqliteStore(str(folder))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = made(request.param, tmp_path / "one")
    yield store
    store.close()


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.torture), "sqlite", "postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = made(request.param, tmp_path / "other")
    yield store
    store.close()


class TestStore(StoreContract):
    """The contract, once for each back end."""


class TestArchive(ArchiveContract):
    """Archives, from each back end to each."""
