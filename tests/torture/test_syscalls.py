"""Killed, or given an error, at every single system call that writes: before it, after it, and never in between.

`strace` injects a SIGKILL or an error at the n-th call of each kind. All sites are counted first, so none is skipped.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepwhole import Session
from tests.torture import bodies, checks, migration, nursery, oracle, straced

pytestmark = pytest.mark.torture

Fresh = Callable[[], nursery.Place]


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Fresh]:
    """Makes a new place each time, with a copy of what is in `tmp_path / "before"` if there is anything."""
    straced.need_strace()
    folder, before = tmp_path / "round", tmp_path / "before"

    def make() -> nursery.Place:
        shutil.rmtree(folder, ignore_errors=True)
        if before.exists():
            shutil.copytree(before, folder)
        else:
            folder.mkdir()
        return nursery.Place(str(folder))

    yield make
    shutil.rmtree(folder, ignore_errors=True)


def sites_of(fresh: Fresh, name: str, kinds: list[str]) -> list[straced.Site]:
    """All sites of a scenario; each kind of call is among them, or the test tests nothing."""
    calls = tuple(call for kind in kinds for call in straced.WRITES[kind])
    found = straced.sites(fresh(), name, calls)
    for kind in kinds:
        assert any(site.call in straced.WRITES[kind] for site in found), f"{name} makes no call of kind {kind}"
    print(f"\n{name}: {len(found)} sites")
    return found


def goes_on(here: nursery.Place) -> None:
    """Whatever happened, the next process can keep and prove."""
    with checks.opened(here.store) as store:
        session = Session("after", store=store)
        assert session.keep("tool", {"seed": 5}, bodies.make(5).output).problem is None
        assert session.verify().whole


def prepare(tmp_path: Path) -> None:
    """A store with data, closed, as the state before each round."""
    before = tmp_path / "before"
    before.mkdir()
    here = nursery.Place(str(before))
    straced.run(here, "keep_two", "-o", os.devnull, "-e", "trace=none")
    assert here.check().acked == 2


def test_a_kill_at_any_call_loses_nothing_acknowledged(fresh: Fresh) -> None:
    for site in sites_of(fresh, "keep_and_purge", list(straced.WRITES)):
        here = fresh()
        straced.run(here, "keep_and_purge", "-o", os.devnull, "-e", site.inject("signal=SIGKILL"))
        try:
            here.check()
            goes_on(here)
        except Exception as error:
            raise AssertionError(f"killed at {site}: {error}") from error


def test_a_store_that_acknowledges_before_it_commits_is_caught(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_BREAK", "late")
    for site in reversed(sites_of(fresh, "keep_two", ["pwrite"])):
        here = fresh()
        straced.run(here, "keep_two", "-o", os.devnull, "-e", site.inject("signal=SIGKILL"))
        if broken(here):
            return
    pytest.fail("a store that acknowledges too early was killed at every call, and nothing was found wrong")


@pytest.mark.parametrize("and_after", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", ["EIO", "ENOSPC"])
def test_an_error_at_any_call_loses_nothing_and_gives_the_original_back(
    fresh: Fresh, fault: str, and_after: bool
) -> None:
    failures: list[str] = []
    for site in sites_of(fresh, "keep_two", ["pwrite", "sync", "rename", "mkdir", "truncate"]):
        here = fresh()
        inject = site.inject(f"error={fault}", and_after=and_after)
        outcome = straced.run(here, "keep_two", "-o", os.devnull, "-e", inject)
        failures += [f"{fault} at {site}: {found}" for found in what_is_wrong(here, outcome)]
    assert not failures, "\n".join(failures)


def what_is_wrong(here: nursery.Place, outcome: straced.Outcome) -> list[str]:
    """Everything that an error led to and must not."""
    found: list[str] = []
    if outcome.raised:
        found.append(outcome.raised["what"])
    if not all(record["whole"] for record in outcome.kept_apart):
        found.append("an original did not come back whole")
    if outcome.begun and len(outcome.kept_apart) + acknowledged(here) < 2:
        found.append("a result was neither acknowledged nor given back")
    return found + broken(here)


def acknowledged(here: nursery.Place) -> int:
    return len(oracle.read(here.oracle).acks)


def test_an_error_at_any_call_of_a_purge_is_an_error_of_ours_and_leaves_all_or_nothing(
    fresh: Fresh, tmp_path: Path
) -> None:
    prepare(tmp_path)
    failures: list[str] = []
    for site in sites_of(fresh, "purge_it", ["pwrite", "sync", "unlink", "truncate"]):
        here = fresh()
        outcome = straced.run(here, "purge_it", "-o", os.devnull, "-e", site.inject("error=EIO"))
        failures += [f"EIO at {site}: {found}" for found in foreign(outcome) + broken(here)]
    assert not failures, "\n".join(failures)


def foreign(outcome: straced.Outcome) -> list[str]:
    """An error that is not one of Keepwhole's."""
    raised = outcome.raised
    return [raised["what"]] if raised and "KeepwholeError" not in raised["raised"] else []


def broken(here: nursery.Place) -> list[str]:
    """What the next process finds wrong."""
    try:
        here.check()
        goes_on(here)
    except Exception as error:
        return [repr(error)]
    return []


def test_an_error_at_any_read_is_an_error_of_ours_and_never_wrong_bytes(fresh: Fresh, tmp_path: Path) -> None:
    prepare(tmp_path)
    failures: list[str] = []
    reads = straced.sites(fresh(), "read_back", ("pread64",))
    print(f"\nread_back: {len(reads)} sites")
    for site in reads:
        outcome = straced.run(fresh(), "read_back", "-o", os.devnull, "-e", site.inject("error=EIO"))
        failures += [f"EIO at {site}: {found}" for found in foreign(outcome)]
    assert not failures, "\n".join(failures)


def test_a_migration_killed_at_any_call_leaves_the_old_or_the_new_schema(fresh: Fresh, tmp_path: Path) -> None:
    prepare(tmp_path)
    before = migration.state(fresh().store + "/record.db")
    seen: set[int] = set()
    for site in sites_of(fresh, "bring_up_to_date", ["pwrite", "sync", "rename", "truncate"]):
        here = fresh()
        straced.run(here, "bring_up_to_date", "-o", os.devnull, "-e", site.inject("signal=SIGKILL"))
        seen.add(migration.check(here.store + "/record.db", before))
    assert seen == {migration.OLD, migration.NEW}
