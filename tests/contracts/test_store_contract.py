"""Every back end keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.store.protocol import Store
from tests.contracts.archive_contract import ArchiveContract
from tests.contracts.store_contract import BodyContract, StoreContract
from tests.stores import EACH, KINDS, SELDOM, made


@pytest.fixture(params=["memory", *EACH, *SELDOM])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = made(request.param, tmp_path / "one")
    yield store
    store.close()


OTHER = {"sqlite": "postgres"}


@pytest.fixture(params=["another", *(pytest.param(kind, marks=pytest.mark.torture) for kind in KINDS)])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of another kind, or of each."""
    one: str = request.node.callspec.params["store"]
    store = made(OTHER.get(one, "sqlite") if request.param == "another" else request.param, tmp_path / "other")
    yield store
    store.close()


class TestStore(StoreContract):
    """The contract, once for each back end."""


class TestBodiesInABucket(BodyContract):
    """The part that depends on where large bodies are."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = made("postgres+s3", tmp_path / "one")
        yield store
        store.close()


class TestArchive(ArchiveContract):
    """Archives, from each back end to each."""

    @pytest.fixture(params=["memory", *EACH])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
        store = made(request.param, tmp_path / "one")
        yield store
        store.close()
