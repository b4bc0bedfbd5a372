"""What a large session costs: looking something up takes as many steps of SQLite's as in a small one."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.canonical.entry import Result
from keepwhole.record.writer import decision_draft
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Draft, SessionInfo
from keepwhole.truncation.cut import whole

TEXT = "a result"


def filled(folder: Path, results: int) -> SqliteStore:
    """A store with a session in which every second result was decided about, three times."""
    store = SqliteStore(str(folder))
    store.open_session(SessionInfo(name="s"))
    body = store.store_body(Feed(TEXT), 1_000).body
    drafts: list[Draft] = []
    for number in range(results):
        trace_id = f"trace_{number:022}"
        header = Result(1, trace_id, f"art_1_{number:022}", "tool", call_id=f"call-{number}")
        decision = decision_draft(trace_id, 1, "rule", "strategy", whole(len(TEXT)), TEXT)
        drafts += [Draft(header, body), *[decision] * (3 if number % 2 else 0)]
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


def conversation() -> list[dict[str, Any]]:
    """A short conversation: some results of the session, one of them under another call, and one that is new."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "go on"}]
    for call_id, text in [("call-1", TEXT), ("call-8", TEXT), ("call-x", TEXT), ("call-y", "new")]:
        call = {"id": call_id, "type": "function", "function": {"name": "tool", "arguments": "{}"}}
        found.append({"role": "assistant", "content": None, "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": call_id, "content": text})
    return found


def first_view(folder: Path) -> float:
    """Seconds of CPU that a first view takes in a process that has not seen the session; the best of several."""
    found: list[float] = []
    for _ in range(5):
        store = SqliteStore(str(folder))
        store.database.open()
        session = Session("s", store=store)
        begun = time.thread_time()
        session.view(conversation())
        found.append(time.thread_time() - begun)
        store.close()
    return min(found)


LOOKUPS: dict[str, Callable[[Session], object]] = {
    "an unknown artifact": lambda session: session.call_tool("get_artifact", {"id": "art_1_x"}),
    "an unknown result": lambda session: session.call_tool("get_task_trace", {"id": "trace_x"}),
    "the newest artifacts": lambda session: session.artifacts(newest=20),
    "the session itself": lambda session: session.store.session("s"),
    "a first view": lambda session: session.view(conversation()),
    "a request that is put together": lambda session: session.conversations.journal.origin_of(TEXT),
    "a stranger's artifact": lambda session: session.store.find("s", "art_5_" + "9" * 22),
}
GROWING: Callable[[Session], object] = lambda session: session.artifacts(newest=None)  # noqa: E731


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
    assert session.artifacts(newest=7) == session.artifacts(newest=None)[-7:]
    assert session.artifacts() == session.artifacts(newest=None)
    assert session.artifacts(newest=0) == []
    store.close()


def test_all_artifacts_are_listed_however_many_there_are(tmp_path: Path) -> None:
    store = filled(tmp_path, 5_000)
    session = Session("s", store=store)
    listed = session.artifacts(newest=None)
    assert len(listed) == 2_500
    assert session.artifacts() == listed[-1_000:]
    assert session.artifacts(newest=2_400) == listed[-2_400:]
    store.close()


def test_a_first_view_takes_no_longer_in_a_session_of_ten_times_the_results(tmp_path: Path) -> None:
    filled(tmp_path / "small", 400).close()
    filled(tmp_path / "large", 4_000).close()
    first_view(tmp_path / "small")  # what is imported at the first view is no part of it
    assert first_view(tmp_path / "large") <= 1.5 * first_view(tmp_path / "small")


@pytest.mark.torture
def test_a_session_of_50_000_results_is_viewed_and_listed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, 50_000).close()
    assert first_view(tmp_path) <= 0.5
    store = SqliteStore(str(tmp_path))
    session = Session("s", store=store)
    begun = time.thread_time()
    assert len(session.artifacts()) == 1_000
    assert time.thread_time() - begun <= 0.05
    begun = time.thread_time()
    assert session.call_tool("get_artifact", {"id": "art_1_x"}).is_error
    assert time.thread_time() - begun <= 0.005
    store.close()
    monkeypatch.setenv("KEEPWHOLE_HOME", str(tmp_path))
    begun = time.thread_time()
    assert main(["artifacts", "list", "--session", "s", "--json"]) == 0
    assert time.thread_time() - begun <= 0.05
    assert capsys.readouterr().out.count("art_1_") == 200
