"""A search ends when its time is up, and says how far it got; until then windows hide nothing."""

from collections.abc import Callable
from itertools import count

import pytest

from keepwhole.recall import scan
from keepwhole.recall.patterns import finder
from keepwhole.recall.scan import Scan
from keepwhole.store.reader import bytes_reader

LINE = b"a line of thirty-two characters\n"
DATA = LINE * 40_000


def clock(step: float) -> Callable[[], float]:
    times = count()
    return lambda: next(times) * step


def matches(data: bytes, pattern: str, regex: bool, step: float = 0.0, seconds: float = 1.0) -> tuple[list[int], Scan]:
    reader = bytes_reader(data)
    found: list[int] = []
    search = Scan(reader, finder(pattern, regex), len(data), seconds, clock(step))
    start = 0
    while (match := search.find(start)) is not None:
        found.append(match[0])
        start = match[1]
    return found, search


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.02])
def test_matches_are_found_wherever_windows_end(regex: bool, step: float) -> None:
    places = [at * len(LINE) for at in (0, 511, 512, 8_191, 8_192, 20_000, 39_999)]
    data = bytearray(DATA)
    for at in places:
        data[at : at + 6] = b"needle"
    found, search = matches(bytes(data), "needle", regex, step, seconds=100.0)
    assert found == places
    assert (search.reached, search.is_over) == (len(data), False)
    assert Scan(bytes_reader(bytes(data)), finder("needle", regex), len(data), 100.0, clock(step)).count(0) == 7
    assert Scan(bytes_reader(bytes(data)), finder("needle", regex), len(data), 100.0, clock(step)).count(1) == 6


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("data", [b"a", b"aa", b"ba", b"\na", b"a\n", b"ab\na", b"\n\na\na"])
def test_from_every_byte_of_a_short_body_the_next_match_is_found(data: bytes, regex: bool) -> None:
    for start in range(len(data) + 1):
        at = data.find(b"a", start)
        made = [Scan(bytes_reader(data), finder("a", regex), len(data), 1.0, clock(0.0)) for _ in range(2)]
        assert made[0].find(start) == (None if at < 0 else (at, at + 1)), start
        assert made[1].count(start) == data.count(b"a", start), start


@pytest.mark.parametrize("regex", [False, True])
def test_a_search_whose_time_is_up_says_how_far_it_got(regex: bool) -> None:
    found, search = matches(DATA, "needle", regex, step=0.3)
    assert not found
    assert search.is_over
    assert 0 < search.reached < len(DATA)
    assert search.find(search.reached) is None
    assert search.count(search.reached) == 0


def test_a_match_before_the_time_is_up_is_found() -> None:
    found, search = matches(b"needle" + DATA, "needle", regex=False, step=0.3)
    assert found == [0]
    assert search.is_over


def test_windows_of_a_quick_search_grow_and_those_of_a_slow_one_do_not() -> None:
    sizes: list[int] = []
    for step in (0.0, 2 * scan._QUICK):
        reader = bytes_reader(DATA)
        peek, reads = reader.peek, []
        reader.peek = lambda start, into, peek=peek, reads=reads: reads.append(start) or peek(start, into)  # type: ignore[method-assign]
        Scan(reader, finder("needle", True), len(DATA), 1e9, clock(step)).find(0)
        sizes.append(len(reads))
    assert sizes[0] < sizes[1]
