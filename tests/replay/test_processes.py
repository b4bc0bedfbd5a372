"""Work spread over processes."""

import os
import signal
from collections.abc import Iterator

import pytest

from keepwhole.errors import KeepwholeError, UsageError
from keepwhole.replay.processes import map_in_processes


def thrice(number: int) -> Iterator[tuple[int, int]]:
    return ((number, again) for again in range(3))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_everything_comes_back_once_whatever_the_number_of_processes(jobs: int) -> None:
    assert sorted(map_in_processes(thrice, range(7), jobs)) == [
        (number, again) for number in range(7) for again in range(3)
    ]


def test_results_come_before_an_item_is_done() -> None:
    reading, writing = os.pipe()

    def waits(number: int) -> Iterator[int]:
        yield number
        os.read(reading, 1)
        yield number

    found = map_in_processes(waits, range(2), 2)
    assert {next(found), next(found)} == {0, 1}
    os.write(writing, b"go")
    assert sorted(found) == [0, 1]


def test_an_error_in_a_process_is_raised_here() -> None:
    def fails(number: int) -> Iterator[int]:
        raise UsageError("no such thing")
        yield number

    with pytest.raises(UsageError, match="no such thing"):
        list(map_in_processes(fails, range(2), 2))


def test_a_process_that_is_killed_is_reported() -> None:
    def dies(number: int) -> Iterator[int]:
        yield number
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(KeepwholeError, match="--jobs 1"):
        list(map_in_processes(dies, range(2), 2))


def test_no_process_is_left_when_the_caller_stops_reading() -> None:
    def forever(number: int) -> Iterator[int]:
        while True:
            yield os.getpid()

    found = map_in_processes(forever, range(2), 2)
    process = next(found)
    found.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
