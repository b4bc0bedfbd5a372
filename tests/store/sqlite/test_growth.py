"""What a large session costs: looking something up takes as many steps of SQLite's as in a small one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.canonical.entry import Decision, Result
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Draft, SessionInfo


def filled(folder: Path, results: int) -> SqliteStore:
    """A store with a session in which every second result was decided about, three times."""
    store = SqliteStore(str(folder))
    store.open_session(SessionInfo(name="s"))
    body = store.store_body(Feed("a result"), 1_000).body
    drafts: list[Draft] = []
    for number in range(results):
        trace_id = f"trace_{number:022}"
        header = Result(1, trace_id, f"art_1_{number:022}", "tool", call_id=f"call-{number}")
        decision = Decision(1, trace_id, "rule", "strategy", "1", "00", 1)
        drafts += [Draft(header, body), *[Draft(decision, body)] * (3 if number % 2 else 0)]
    store.append("s", drafts)
    return store


def steps(store: SqliteStore, act: Callable[[Session], object]) -> int:
    """How many hundreds of steps of SQLite's machine something takes."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    store.database.open()
    database: Any = store.database
    database._reader.set_progress_handler(step, 100)
    act(Session("s", store=store))
    store.close()
    return count


LOOKUPS: dict[str, Callable[[Session], object]] = {
    "an unknown artifact": lambda session: session.call_tool("get_artifact", {"id": "art_1_x"}),
    "an unknown result": lambda session: session.call_tool("get_task_trace", {"id": "trace_x"}),
    "the newest artifacts": lambda session: session.artifacts(newest=20),
    "a stranger's artifact": lambda session: session.store.find("s", "art_5_" + "9" * 22),
}
GROWING: Callable[[Session], object] = Session.artifacts


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_takes_no_longer_in_a_large_session(tmp_path: Path, name: str) -> None:
    small = steps(filled(tmp_path / "small", 100), LOOKUPS[name])
    large = steps(filled(tmp_path / "large", 2_000), LOOKUPS[name])
    assert large <= small + 5


def test_what_reads_everything_is_seen_to_grow(tmp_path: Path) -> None:
    small = steps(filled(tmp_path / "small", 100), GROWING)
    assert steps(filled(tmp_path / "large", 2_000), GROWING) > 10 * small


def test_the_newest_artifacts_are_the_last_of_all(tmp_path: Path) -> None:
    store = filled(tmp_path, 100)
    session = Session("s", store=store)
    assert session.artifacts(newest=7) == session.artifacts()[-7:]
    assert session.artifacts(newest=1_000) == session.artifacts()
    assert session.artifacts(newest=0) == []
    store.close()
