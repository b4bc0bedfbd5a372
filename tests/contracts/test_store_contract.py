"""Every back end keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import MemoryStore
from keepwhole.store.protocol import Store
from tests.contracts import broken_stores
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


CAUGHT = [
    (broken_stores.Forgetful, "test_entries_come_back_in_the_order_they_were_appended"),
    (broken_stores.OneByOne, "test_entries_are_appended_all_or_none"),
    (broken_stores.Careless, "test_an_entry_that_belongs_after_another_is_not_added_anywhere_else"),
    (broken_stores.Unended, "test_a_session_ends_once"),
    (broken_stores.Cutting, "test_a_body_over_the_room_is_refused_and_given_back_whole"),
    (broken_stores.Blind, "test_a_body_comes_back_byte_for_byte"),
    (broken_stores.Nosy, "test_a_result_is_found_only_in_its_own_session"),
    (broken_stores.Stubborn, "test_the_newest_decision_holds"),
    (broken_stores.Backwards, "test_entries_come_back_in_the_order_they_were_appended"),
    (broken_stores.Literal, "test_a_search_does_not_mind_capitals"),
    (broken_stores.Haunted, "test_a_purge_leaves_a_tombstone_and_nothing_else"),
    (broken_stores.Traceless, "test_a_purged_name_can_be_used_again_and_its_chain_goes_on"),
    (broken_stores.Unlocked, "test_a_held_session_is_in_use_until_the_store_is_closed"),
]
SIZED = ("test_a_body_comes_back_byte_for_byte", "test_a_body_over_the_room_is_refused_and_given_back_whole")


@pytest.mark.parametrize(("broken", "check"), CAUGHT)
def test_a_store_that_breaks_a_promise_is_caught(broken: type[MemoryStore], check: str) -> None:
    given = {"size": 400} if check in SIZED else {}
    getattr(StoreContract(), check)(MemoryStore(), **given)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(StoreContract(), check)(broken(), **given)
