"""The power is cut under writers, as root: what was acknowledged is on the disk.

A disk image is shut down without its journal being flushed, and mounted again. The same test must catch a store
that leaves out its syncs; a durability test that never failed proves nothing. `KEEPWHOLE_ROUNDS` changes the number
of cuts.
"""

import gc
import os
import random
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from keepwhole import KeepwholeError
from tests.torture import checks, mounts, nursery

ROUNDS = int(os.environ.get("KEEPWHOLE_ROUNDS", "20"))
CONTROL_ROUNDS = 25
KINDS = ("ext4", "xfs")

pytestmark = pytest.mark.root


def cut_and_check(disk: mounts.Disk, folder: Path, number: int, *, broken: str = "") -> checks.Census:
    """One round: write, cut the power, start again, check.

    Only what was acknowledged before the cut counts. Our writers live on for a moment after it, as no process does
    on a machine without power, and a sync that the cut overtakes may still tell them that all is well.
    """
    outside = folder / f"round-{number}"
    outside.mkdir()
    here = nursery.Place(str(outside), store=os.path.join(disk.path, f"store-{number}"))
    writers = nursery.start(here, "crowd", broken=broken, writers=4, seed=number)
    try:
        _wait_for_acks(here)
        time.sleep(random.uniform(0.3, 1.2))
        promised = os.path.getsize(here.oracle)
        disk.cut()
    finally:
        os.killpg(writers.pid, signal.SIGKILL)
        writers.communicate()
        disk.restart()
    census = here.check(promised)
    shutil.rmtree(here.store)
    return census


def _wait_for_acks(here: nursery.Place) -> None:
    deadline = time.monotonic() + 60
    while not os.path.exists(here.oracle) or os.path.getsize(here.oracle) < 1_000:
        assert time.monotonic() < deadline, here.errors()
        time.sleep(0.01)


def cut_many_times(folder: Path, kind: str, rounds: int) -> None:
    acked = 0
    with mounts.disk(str(folder), kind) as disk:
        for number in range(rounds):
            acked += cut_and_check(disk, folder, number).acked
    print(f"\n{kind}: {rounds} power cuts, {acked:,} acknowledged, 0 lost")
    assert acked > rounds


def test_nothing_acknowledged_is_lost_when_the_power_is_cut(tmp_path: Path) -> None:
    cut_many_times(tmp_path, "ext4", 1)


@pytest.mark.torture
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_acknowledged_is_lost_in_many_power_cuts(tmp_path: Path, kind: str) -> None:
    cut_many_times(tmp_path, kind, ROUNDS)


def rounds_until_caught(folder: Path, kind: str, broken: str) -> int:
    with mounts.disk(str(folder), kind) as disk:
        for number in range(1, CONTROL_ROUNDS + 1):
            found = what_is_wrong(disk, folder, number, broken)
            if found:
                print(f"\n{kind} {broken}: caught in round {number}: {found[:100]}")
                return number
    pytest.fail(f"`{broken}` was never caught in {CONTROL_ROUNDS} power cuts")


def what_is_wrong(disk: mounts.Disk, folder: Path, number: int, broken: str) -> str:
    """What the check of one round found."""
    try:
        cut_and_check(disk, folder, number, broken=broken)
    except (AssertionError, KeepwholeError, sqlite3.Error, FileNotFoundError) as error:
        return str(error)
    finally:
        gc.collect()  # a connection that could not be opened must not keep the disk busy
    return ""


def test_a_store_that_does_not_sync_its_files_is_caught(tmp_path: Path) -> None:
    assert rounds_until_caught(tmp_path, "ext4", "unsynced")


@pytest.mark.torture
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", ["normal", "off", "unsynced"])
def test_every_way_of_not_syncing_is_caught(tmp_path: Path, kind: str, broken: str) -> None:
    assert rounds_until_caught(tmp_path, kind, broken)
