"""Many processes write to one store at once: nobody is refused, nobody starves, no number is skipped or used twice."""

from pathlib import Path

import pytest

from tests.torture import nursery

WORST_SECONDS = 2.0


def write_together(folder: Path, writers: int, seconds: float, broken: str = "") -> float:
    """Let writers work and check the store; the longest that anyone waited for a `keep`."""
    with nursery.place(folder) as here:
        nursery.run(here, "crowd", timeout=120 + seconds, broken=broken, writers=writers, seconds=seconds)
        assert not here.errors(), here.errors()[0]
        reports = here.reports()
        assert len(reports) == writers
        assert all(report["kept"] for report in reports), "a writer starved"
        census = here.check()
    assert census.unacked == 0
    worst = max(report["worst"] for report in reports)
    print(f"\n{writers} writers, {seconds} s: worst keep {worst:.3f} s; {census}")
    return worst


def test_eight_writers_share_a_store_they_all_make(tmp_path: Path) -> None:
    write_together(tmp_path, writers=8, seconds=2)


@pytest.mark.torture
def test_no_writer_of_thirty_two_waits_longer_than_two_seconds(tmp_path: Path) -> None:
    assert write_together(tmp_path, writers=32, seconds=10) <= WORST_SECONDS


def test_writers_that_do_not_queue_are_caught(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"database is locked|table sessions already exists"):
        write_together(tmp_path, writers=8, seconds=1, broken="unordered")


@pytest.mark.torture
def test_a_writer_that_keeps_the_others_waiting_is_caught(tmp_path: Path) -> None:
    assert write_together(tmp_path, writers=2, seconds=0.1, broken="greedy") > WORST_SECONDS
