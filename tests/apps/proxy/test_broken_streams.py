"""A provider whose answer breaks off, at any byte and in any way: nothing is invented, and nothing taken for whole."""

import itertools
import json
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.apps.proxy.broken_upstream import HOWS, How, Recording, Torn, recordings, torn
from tests.apps.proxy.proxy_server import PATHS, Served, Talk, proxy, request, status_of, unchunked, until, written

RECORDINGS = recordings()
every_recording = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.name)
ENDS = {
    "anthropic": b'event: error\ndata: {"type":"error","error":{',
    "openai_chat": b'data: {"error":{',
    "openai_responses": b'event: error\ndata: {"type":"error",',
}
_number = itertools.count()


class World(NamedTuple):
    """An upstream that breaks off, and the proxy in front of it."""

    upstream: Torn
    proxy: Served


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch, torn() as upstream:
        patch.setenv("KEEPWHOLE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("KEEPWHOLE_RECALL_FROM", "start")
        with proxy(upstream.url, patience=1) as served:
            yield World(upstream, served)


def heard(world: World, recording: Recording, at: int = -1, after: int | None = None, how: How = "close") -> bytes:
    """What a client hears of a recording of which round `at` breaks off after so many bytes."""
    key = f"k{next(_number)}"
    rounds = [(events, None, "close") for events in recording.rounds]
    rounds[at] = recording.rounds[at], after, how
    world.upstream.play[key] = rounds  # pyright: ignore
    body = json.dumps(request(recording.dialect, True)).encode()
    headers = {"x-api-key": key, "connection": "close"}
    with Talk(world.proxy.port) as talk:
        talk.say(written("POST", PATHS[recording.dialect], world.proxy.port, headers, body))
        return talk.hear(10)


def whole(world: World, recording: Recording) -> bytes:
    body, is_whole = unchunked(heard(world, recording))
    assert is_whole
    return body


def check(world: World, recording: Recording, all_of_it: bytes, at: int, after: int, how: How) -> bool:
    """What a client has is the beginning of what it would have got, and perhaps one error in the wire's own words.

    Whether it has less than all: a round that nobody sees may miss its last words, and be gone on with.
    """
    answer = heard(world, recording, at, after, how)
    if status_of(answer) == 502:
        assert not at
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"].startswith("keepwhole: ")
        return True
    body, is_ended = unchunked(answer)
    told, mark, error = body.rpartition(ENDS[recording.dialect])
    is_told = bool(mark) and b"keepwhole: The upstream's answer was cut off." in error
    shown = told if is_told else body
    assert all_of_it.startswith(shown), f"{shown[-200:]!r} is no beginning of what there was"
    if is_told:
        assert not told or told.endswith(b"\n\n"), "an error in the middle of an event"
        assert error.endswith(b"}\n\n")
        assert error.count(b"\n") == 2
        json.loads((mark + error).partition(b"data: ")[2])
    elif how != "quiet":
        assert not is_ended, "cut off, and told as if that were all"
    return body != all_of_it or at == len(recording.rounds) - 1


def cuts(recording: Recording, step: int, shift: int) -> Iterator[tuple[int, int]]:
    for at, events in enumerate(recording.rounds):
        length = sum(map(len, events))
        yield from ((at, after) for after in range(shift % step, length - 2, step))
        if step > 1:
            yield at, length - 3


def all_incomplete(world: World, since: int, count: int, short: int) -> None:
    world.proxy.rest()
    became = Counter(world.proxy.outcomes[since:])
    assert became["incomplete"] + became["refused"] == short, f"{short} of {count} were cut short: {became}"


@every_recording
@pytest.mark.parametrize("how", HOWS[:-1])
def test_a_stream_that_is_cut_is_a_beginning_and_never_complete(world: World, recording: Recording, how: How) -> None:
    all_of_it = whole(world, recording)
    world.proxy.rest()
    since = len(world.proxy.outcomes)
    places = list(cuts(recording, 661, hash(recording.name + how)))
    short = sum(check(world, recording, all_of_it, at, after, how) for at, after in places)
    all_incomplete(world, since, len(places), short)


def test_a_stream_that_stalls_is_given_up_in_time(world: World) -> None:
    places = [(one, whole(world, one), at, after) for one in RECORDINGS for at, after in [*cuts(one, 1_999, 777)][:2]]
    world.proxy.rest()
    since = len(world.proxy.outcomes)
    with ThreadPoolExecutor(32) as crowd:
        short = sum(crowd.map(lambda place: check(world, *place, "stall"), places))
    all_incomplete(world, since, len(places), short)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@every_recording
@pytest.mark.parametrize("how", HOWS)
def test_a_stream_is_cut_at_every_byte(world: World, recording: Recording, how: How) -> None:
    all_of_it = whole(world, recording)
    world.proxy.rest()
    since = len(world.proxy.outcomes)
    places = list(cuts(recording, 7 if how == "stall" else 1, 0))
    with ThreadPoolExecutor(96 if how == "stall" else 4) as crowd:
        short = sum(crowd.map(lambda place: check(world, recording, all_of_it, *place, how), places))
    all_incomplete(world, since, len(places), short)


def test_two_hundred_cuts_leave_no_task_and_no_socket_behind(world: World) -> None:
    def held() -> int:
        return len(os.listdir("/proc/self/fd"))

    recording = RECORDINGS[6]
    all_of_it = whole(world, recording)
    world.proxy.rest()
    files, tasks = held(), world.proxy.tasks()
    with ThreadPoolExecutor(4) as crowd:
        list(crowd.map(lambda n: check(world, recording, all_of_it, 1, n % 300, HOWS[n % 4]), range(200)))
    until(lambda: held() <= files + 8 and world.proxy.tasks() <= tasks)
