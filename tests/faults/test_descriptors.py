"""Descriptors run out: what cannot be stored comes back whole, and all is well once there are some again."""

from pathlib import Path

from tests.faults import isolated


def test_nothing_is_lost_when_descriptors_run_out(tmp_path: Path) -> None:
    isolated.run(isolated.descriptors_run_out, str(tmp_path / "store"))


def test_a_store_that_could_not_be_opened_for_want_of_descriptors_opens_later(tmp_path: Path) -> None:
    isolated.run(isolated.descriptors_run_out_before_the_store_is_open, str(tmp_path / "store"))


def test_the_first_trouble_of_a_process_needs_no_descriptor_to_be_reported(tmp_path: Path) -> None:
    isolated.run(isolated.the_first_trouble_has_no_descriptor, str(tmp_path / "store"))
