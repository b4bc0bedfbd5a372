"""Killed, or given an error, at every single system call that writes: before it, after it, and never in between.

`strace` injects a SIGKILL or an error at the n-th call of each kind. All sites are counted first, so none is skipped.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
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


LOST = r"acknowledged results are lost|was stored, and is missing|went back in time"
"""Which of the checks is the first to notice depends on what the failed commit was about."""
Judge = Callable[[nursery.Place, straced.Outcome], list[str]]
KEEPING = ["pwrite", "sync", "rename", "mkdir", "truncate"]
PURGING = ["pwrite", "sync", "unlink", "truncate"]
MIGRATING = ["pwrite", "sync", "rename", "truncate"]


def try_errors(
    fresh: Fresh, name: str, sites: Iterable[straced.Site], judge: Judge, fault: str = "EIO", and_after: bool = False
) -> Iterator[str]:
    """Everything that an error at each of these calls led to and must not."""
    for site in sites:
        here = fresh()
        inject = site.inject(f"error={fault}", and_after=and_after)
        outcome = straced.run(here, name, "-o", os.devnull, "-e", inject)
        yield from (f"{fault} at {site}: {found}" for found in judge(here, outcome))


@pytest.mark.parametrize("and_after", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", ["EIO", "ENOSPC"])
def test_an_error_at_any_call_loses_nothing_and_gives_the_original_back(
    fresh: Fresh, fault: str, and_after: bool
) -> None:
    sites = sites_of(fresh, "keep_two", KEEPING)
    failures = list(try_errors(fresh, "keep_two", sites, judge_keeping, fault, and_after))
    assert not failures, "\n".join(failures)


def test_a_store_that_acknowledges_a_commit_that_failed_is_caught(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWHOLE_BREAK", "swallowed")
    sites = reversed(sites_of(fresh, "keep_two", ["pwrite"]))
    found = next(try_errors(fresh, "keep_two", sites, judge_keeping), "nothing was found wrong")
    assert re.search(LOST, found)


def judge_keeping(here: nursery.Place, outcome: straced.Outcome) -> list[str]:
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
    sites = sites_of(fresh, "purge_it", PURGING)
    failures = list(try_errors(fresh, "purge_it", sites, judge_purging))
    assert not failures, "\n".join(failures)


def judge_purging(here: nursery.Place, outcome: straced.Outcome) -> list[str]:
    return foreign(outcome) + broken(here)


def judge_reading(here: nursery.Place, outcome: straced.Outcome) -> list[str]:
    return foreign(outcome)


@pytest.mark.parametrize(
    ("name", "call", "judge"), [("purge_it", "pwrite64", judge_purging), ("read_back", "pread64", judge_reading)]
)
def test_a_store_that_lets_errors_of_others_through_is_caught(
    fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str, judge: Judge
) -> None:
    prepare(tmp_path)
    monkeypatch.setenv("KEEPWHOLE_BREAK", "leaking")
    sites = straced.sites(fresh(), name, (call,))
    assert any("OperationalError" in found for found in try_errors(fresh, name, reversed(sites), judge))


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
    sites = straced.sites(fresh(), "read_back", ("pread64",))
    print(f"\nread_back: {len(sites)} sites")
    failures = list(try_errors(fresh, "read_back", sites, judge_reading))
    assert not failures, "\n".join(failures)


def test_a_reader_that_serves_zeros_where_it_cannot_read_is_caught(
    fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.setenv("KEEPWHOLE_BREAK", "guessing")
    sites = reversed(straced.sites(fresh(), "read_back", ("pread64",)))
    assert any("wrong bytes were served" in found for found in try_errors(fresh, "read_back", sites, judge_reading))


def kill_migrations(fresh: Fresh) -> set[int]:
    """The schemas that are left by a migration that is killed at each of its calls."""
    before = migration.state(fresh().store + "/record.db")
    seen: set[int] = set()
    for site in sites_of(fresh, "bring_up_to_date", MIGRATING):
        here = fresh()
        straced.run(here, "bring_up_to_date", "-o", os.devnull, "-e", site.inject("signal=SIGKILL"))
        seen.add(migration.check(here.store + "/record.db", before))
    return seen


def test_a_migration_killed_at_any_call_leaves_the_old_or_the_new_schema(fresh: Fresh, tmp_path: Path) -> None:
    prepare(tmp_path)
    assert kill_migrations(fresh) == {migration.OLD, migration.NEW}


def test_a_migration_without_a_transaction_is_caught(
    fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.setenv("KEEPWHOLE_BREAK", "piecemeal")
    with pytest.raises(AssertionError, match="half of a migration"):
        kill_migrations(fresh)
