"""Every back end keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import MemoryStore, SqliteStore
from holdfast.store.protocol import Store
from tests.contracts.archive_contract import ArchiveContract
from tests.contracts.store_contract import StoreContract
from tests.objects import fresh_bucket
from tests.postgres import fresh_url

SELDOM = [pytest.param(kind, marks=pytest.mark.torture) for kind in ("sqlite+s3", "postgres+folder")]


def made(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    rows, _, bodies = kind.partition("+")
    blobs = fresh_bucket(monkeypatch) if bodies == "s3" else str(folder / "elsewhere") if bodies else ""
    if rows == "postgres":
        url = fresh_url()  # first, since it skips where there is no server
        from holdfast.store.postgres.store import PostgresStore

        return PostgresStore(url, str(folder), blobs=blobs)
    return MemoryStore() if rows == "memory" else SqliteStore(str(folder), blobs=blobs)


@pytest.fixture(params=["memory", "sqlite", "postgres", "postgres+s3", *SELDOM])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    store = made(request.param, tmp_path / "one", monkeypatch)
    yield store
    store.close()


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.torture), "sqlite", "postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    store = made(request.param, tmp_path / "other", monkeypatch)
    yield store
    store.close()


class TestStore(StoreContract):
    """The contract, once for each back end."""


class TestArchive(ArchiveContract):
    """Archives, from each back end to each."""
