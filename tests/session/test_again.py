"""A result that arrives again is known by its call and keeps its ids; nothing is stored twice."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.store.protocol import Store
from tests.build import in_memory, numbered_lines, run_python

TEXT = numbered_lines(1_000)
LARGE = numbered_lines(9_000)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "home"))
    yield store
    store.close()


def results(store: Store, name: str = "s") -> int:
    return len(list(store.rows(name, kind="result")))


@pytest.mark.parametrize("text", ["short", TEXT, LARGE, ""])
def test_the_same_bytes_of_the_same_call_are_one_result(store: Store, text: str) -> None:
    session = Session("s", store=store)
    first = session.keep("fetch", None, text, call_id="c")
    entries = len(list(store.rows("s")))
    again = session.keep("fetch", None, text, call_id="c")
    assert (again.trace_id, again.artifact_id, again.content) == (first.trace_id, first.artifact_id, first.content)
    assert len(list(store.rows("s"))) == entries


@pytest.mark.parametrize("text", [TEXT, LARGE])
def test_our_own_view_that_comes_back_stands_for_the_whole(store: Store, text: str) -> None:
    session = Session("s", store=store)
    first = session.keep("fetch", None, text, call_id="c")
    again = session.keep("fetch", None, first.content, call_id="c")
    assert (again.trace_id, again.content) == (first.trace_id, first.content)
    assert session.recall(str(again.trace_id)) == text
    assert results(store) == 1


def test_what_arrives_again_is_shown_exactly_as_before(store: Store) -> None:
    session = Session("s", store=store)
    for text in ("short", TEXT, LARGE):
        first = session.keep("fetch", {"n": len(text)}, text, call_id=f"c{len(text)}")
        again = session.keep("fetch", {"n": len(text)}, text, call_id=f"c{len(text)}")
        assert again.metadata == first.metadata
        assert again.artifact_reference == first.artifact_reference
        assert again.block("anthropic") == first.block("anthropic")


def test_what_arrives_again_has_the_same_body_without_notices(store: Store) -> None:
    session = Session("s", store=store)
    for text in (TEXT, LARGE):
        first = session.keep("fetch", None, text, call_id=f"c{len(text)}")
        assert session.keep("fetch", None, text, call_id=f"c{len(text)}").body == first.body


def test_a_stream_that_arrives_again_is_known_too(store: Store) -> None:
    session = Session("s", store=store)
    first = session.keep("fetch", None, LARGE, call_id="c")
    again = session.keep("fetch", None, iter([LARGE[:500].encode(), LARGE[500:]]), call_id="c")
    assert again.trace_id == first.trace_id


def test_other_bytes_of_the_same_call_are_another_result(store: Store) -> None:
    session = Session("s", store=store)
    first = session.keep("fetch", None, TEXT, call_id="c")
    other = session.keep("fetch", None, TEXT + "more", call_id="c")
    assert other.trace_id != first.trace_id
    assert results(store) == 2
    assert session.keep("fetch", None, TEXT, call_id="c").trace_id == first.trace_id


def test_the_same_bytes_of_another_call_are_another_result(store: Store) -> None:
    session = Session("s", store=store)
    traces = {session.keep("fetch", None, TEXT, call_id=call_id).trace_id for call_id in ("c1", "c2", None)}
    traces.add(session.keep("fetch", None, TEXT).trace_id)
    assert len(traces) == 4


def test_the_same_call_in_another_session_is_another_result(store: Store) -> None:
    one, two = Session("s", store=store), Session("t", store=store)
    assert one.keep("t", None, TEXT, call_id="c").trace_id != two.keep("t", None, TEXT, call_id="c").trace_id


def test_what_arrives_again_is_not_counted_again() -> None:
    session = in_memory()
    session.keep("fetch", None, TEXT, call_id="c")
    before = session.metrics.as_dict()
    session.keep("fetch", None, TEXT, call_id="c")
    assert session.metrics.as_dict() == before


def test_what_arrives_again_leaves_no_file_behind(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path))
    for _ in range(3):
        session.keep("fetch", None, LARGE, call_id="c")
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 1
    session.close()


KEEP = """
import sys
from keepwhole import Session
from tests.build import numbered_lines
session = Session("s", store=sys.argv[1])
text = numbered_lines(1_000)
shown = session.keep("fetch", None, text, call_id="c")
again = session.keep("fetch", None, shown.content, call_id="c")
assert shown.trace_id == again.trace_id
print(shown.trace_id, shown.artifact_id, len(list(session.store.rows("s", kind="result"))))
"""


def test_what_arrives_again_in_another_process_is_known_there_too(tmp_path: Path) -> None:
    first = run_python(KEEP, str(tmp_path))
    assert run_python(KEEP, str(tmp_path)) == first
    assert first.endswith(" 1\n")


def test_a_call_that_arrives_from_many_threads_at_once_is_one_result(store: Store) -> None:
    session = Session("s", store=store)
    together, traces = threading.Barrier(6), list[Any]()

    def work() -> None:
        together.wait()
        traces.append(session.keep("fetch", None, TEXT, call_id="c").trace_id)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(traces)) == 1
    assert results(store) == 1
