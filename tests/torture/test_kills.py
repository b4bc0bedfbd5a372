"""Writers killed with SIGKILL at random: nothing that was acknowledged is lost.

`KEEPWHOLE_KILLS` changes the number of kills of the long run.
"""

import os
import time
from pathlib import Path

import pytest

from tests.torture import nursery

KILLS = int(os.environ.get("KEEPWHOLE_KILLS", "1000"))


def kill_and_check(folder: Path, kills: int, writers: int) -> None:
    seed = time.time_ns() % 1_000_000
    with nursery.place(folder) as here:
        done = nursery.run(here, "kills", timeout=60 + kills, kills=kills, writers=writers, seed=seed)
        assert not here.errors(), here.errors()[0]
        census = here.check()
    print(f"\nseed {seed}: {done['kills']:,} kills in {done['seconds']} s; {census}")
    assert done["kills"] >= kills
    assert census.acked > kills // 4


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    kill_and_check(tmp_path, kills=80, writers=8)


CAUGHT = r"acknowledged results are lost|was stored, and is missing|went back in time"
"""Which of the checks is the first to notice depends on where the last kill fell."""


def kill_late_writers(folder: Path) -> None:
    """Several times, since on a busy machine a writer may be killed before it has acknowledged anything."""
    with nursery.place(folder) as here:
        for seed in range(10):
            nursery.run(here, "kills", timeout=60, broken="late", kills=30, writers=1, seed=seed)
            here.check()


def test_a_store_that_acknowledges_before_it_commits_is_caught(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=CAUGHT):
        kill_late_writers(tmp_path)


@pytest.mark.torture
@pytest.mark.parametrize("writers", [2, 8, 32])
def test_nothing_acknowledged_is_lost_in_a_thousand_kills(tmp_path: Path, writers: int) -> None:
    kill_and_check(tmp_path, kills=KILLS, writers=writers)
