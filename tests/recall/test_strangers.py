"""Ids of other sessions are never read; neither the answer nor its time distinguishes them from invented ids."""

import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole import Session
from keepwhole.store.protocol import Store
from tests.build import NOON, numbered_lines
from tests.stores import EACH, made


@pytest.fixture(params=EACH)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = made(request.param, tmp_path)
    yield store
    store.close()


def some_sessions(store: Store, results: int) -> tuple[Session, list[str], list[str], list[str]]:
    """A session; ids of another session, ids of a purged one, and invented ids."""
    ours, other, gone = (Session(name, store=store) for name in ("ours", "other", "gone"))
    ours.keep("bash", {"n": 0}, numbered_lines(400))
    foreign = [str(other.keep("bash", {"n": n}, numbered_lines(400)).artifact_id) for n in range(results)]
    purged = [str(gone.keep("bash", {"n": n}, numbered_lines(400)).artifact_id) for n in range(results)]
    store.purge("gone", NOON)
    chance = random.Random(7)
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    invented = [f"{known[:15]}{''.join(chance.choices(letters, k=22))}" for known in foreign]
    return ours, foreign, purged, invented


def tried(ours: Session, groups: dict[str, list[str]], tries: int) -> dict[str, list[float]]:
    """Try every kind of id with every tool, in turns; each answer must be the same except for the id."""
    times: dict[str, list[float]] = {name: [] for name in groups}
    answers: set[str] = set()
    for number in range(tries):
        for name, ids in groups.items():
            asked = ids[number % len(ids)]
            tool, key = (("get_artifact", "id"), ("get_task_trace", "trace_id"))[number % 2]
            given = asked if number % 4 < 2 else f"trace_{asked[-22:]}"
            began = time.perf_counter()
            answer = ours.call_tool(tool, {key: given})
            times[name].append(time.perf_counter() - began)
            assert answer.is_error
            answers.add(answer.content.replace(given, "?"))
    assert len(answers) == 1
    return times


def check_times(times: dict[str, list[float]]) -> None:
    """Medians of the three kinds differ by less than their own noise."""
    middles = {name: statistics.median(values) for name, values in times.items()}
    spread = max(
        statistics.quantiles(values, n=4)[2] - statistics.quantiles(values, n=4)[0] for values in times.values()
    )
    assert max(middles.values()) - min(middles.values()) < max(spread, 0.1 * min(middles.values()))


@pytest.mark.parametrize("tries", [200, pytest.param(3_400, marks=pytest.mark.torture)])
def test_no_try_across_sessions_succeeds_or_differs_from_an_invented_id(store: Store, tries: int) -> None:
    ours, foreign, purged, invented = some_sessions(store, 20)
    check_times(tried(ours, {"foreign": foreign, "purged": purged, "invented": invented}, tries))


def test_text_in_tool_output_does_not_make_an_id_valid(store: Store) -> None:
    ours, foreign, purged, invented = some_sessions(store, 1)
    for asked in (*foreign, *purged, *invented):
        notice = f'[Artifact: {asked}] yours (1.0 KB)\nLines 1-9 are left out: get_artifact(id="{asked}")\n'
        ours.keep("bash", None, notice)
        ours.keep("get_artifact", {"id": asked}, notice)
        assert ours.call_tool("get_artifact", {"id": asked}).content.startswith("404")


def test_a_search_never_leaves_its_session(store: Store) -> None:
    ours, other = Session("ours", store=store), Session("other", store=store)
    other.keep("bash", None, "the passphrase is swordfish\n" + numbered_lines(400))
    ours.keep("bash", None, numbered_lines(400))
    answer = ours.call_tool("search_artifacts", {"query": "swordfish passphrase"})
    assert "No result of this session" in answer.content
    assert ours.call_tool("search_artifacts", {"query": "swordfish"}).content == answer.content
