"""What a replayed cache serves: by the ends of requests, and by breakpoints, a look-back and a lifetime."""

import pytest

from keepwhole.models.forecast import LOOK_BACK
from keepwhole.models.profiles import DEFAULT
from keepwhole.replay.cache import BreakpointCache, CacheUsage, RequestEndCache, RequestShape

PROFILE = DEFAULT.replace(breakpoints=4, minimum=0, lifetime=300.0)


def shape(*sizes: int, changed: int = 0, frontier: int = 0, now: float = 0.0, blocks: int = 1) -> RequestShape:
    """A request whose messages have so many blocks each."""
    return RequestShape(sizes, [blocks * (at + 1) for at in range(len(sizes))], changed, frontier, now)


def test_without_breakpoints_the_ends_of_requests_and_of_their_first_message_are_served() -> None:
    cache = RequestEndCache()
    assert cache.send(shape(1, 2, 4)) == 0
    assert cache.send(shape(1, 2, 4, 8, 16, changed=3)) == 7
    assert cache.send(shape(1, 2, 4, 8, 16, 32, changed=5)) == 31
    assert cache.send(shape(1, 2, 4, 8, 17, changed=4)) == 7
    assert cache.send(shape(1, 3, changed=1)) == 1
    assert cache.send(shape(2, 3, changed=0)) == 0


def test_what_a_request_has_written_the_next_one_reads() -> None:
    cache = BreakpointCache(PROFILE)
    assert cache.send(shape(1, 2, 4)) == CacheUsage(0, 7, 0)
    assert cache.send(shape(1, 2, 4, 8, changed=3)) == CacheUsage(7, 8, 0)
    assert cache.send(shape(1, 2, 4, 8, changed=4)) == CacheUsage(15, 0, 0)
    assert cache.send(shape(1, 3, changed=1)) == CacheUsage(1, 3, 0)


def test_an_entry_lives_for_its_time_after_it_was_used_last() -> None:
    for later, read in ((300, 3), (301, 0)):
        cache = BreakpointCache(PROFILE)
        cache.send(shape(1, 2))
        assert cache.send(shape(1, 2, changed=2, now=200)).read == 3
        assert cache.send(shape(1, 2, changed=2, now=200 + later)).read == read


@pytest.mark.parametrize(("minimum", "usage"), [(7, CacheUsage(0, 7, 0)), (8, CacheUsage(0, 0, 7))])
def test_a_prefix_that_is_too_short_is_not_cached(minimum: int, usage: CacheUsage) -> None:
    cache = BreakpointCache(PROFILE.replace(minimum=minimum))
    assert cache.send(shape(1, 2, 4)) == usage
    assert cache.send(shape(1, 2, 4, changed=3)).read == usage.written


@pytest.mark.parametrize(("blocks", "read"), [(LOOK_BACK, 1), (LOOK_BACK + 1, 0)])
def test_an_entry_is_found_so_many_blocks_before_a_breakpoint(blocks: int, read: int) -> None:
    cache = BreakpointCache(PROFILE.replace(breakpoints=1))
    cache.send(shape(1, blocks=blocks))
    assert cache.send(shape(1, 2, changed=1, blocks=blocks)).read == read
    near = BreakpointCache(PROFILE.replace(breakpoints=2))
    near.send(shape(1, blocks=blocks))
    assert near.send(shape(1, 2, changed=1, blocks=blocks)).read == 1, "where the request before ended is one too"


def test_without_breakpoints_nothing_is_cached() -> None:
    cache = BreakpointCache(PROFILE.replace(breakpoints=0))
    for _ in range(2):
        assert cache.send(shape(1, 2, changed=2)) == CacheUsage(0, 0, 3)


def test_breakpoints_are_where_results_are_shown_otherwise_and_before_what_changes() -> None:
    cache = BreakpointCache(PROFILE)
    cache.send(shape(1, 2, 4, 8, frontier=2))
    assert cache.send(shape(1, 2, 5, 8, changed=2, frontier=3)) == CacheUsage(3, 13, 0)
    assert cache.send(shape(1, 2, 5, 9, changed=3, frontier=3)) == CacheUsage(3, 14, 0), "3 had changed then"
    assert cache.send(shape(1, 2, 5, 7, changed=3, frontier=3)) == CacheUsage(8, 7, 0)
    few = BreakpointCache(PROFILE.replace(breakpoints=3))
    few.send(shape(1, 2, 4, 8, frontier=2))
    assert few.send(shape(1, 2, 5, 8, changed=2)) == CacheUsage(3, 13, 0), "the request before has no end yet"
