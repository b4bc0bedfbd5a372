"""Storage trouble costs tokens, never data: what is not stored is shown in full and said to be."""

import errno
import io
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, NotStored, Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.errors import QuotaExceeded, StoreRefused
from keepwhole.store.blobs import folder
from tests.build import numbered_lines, run_python

LARGE = numbered_lines(9_000)


def piped() -> Any:
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "w") as file:
            file.write(LARGE)

    threading.Thread(target=write).start()
    return open(reading, "rb", buffering=0)


OUTPUTS: dict[str, Callable[[], Any]] = {
    "str": lambda: LARGE,
    "bytes": lambda: LARGE.encode(),
    "bytearray": lambda: bytearray(LARGE.encode()),
    "generator": lambda: (LARGE[at : at + 7_000] for at in range(0, len(LARGE), 7_000)),
    "file": lambda: io.BytesIO(LARGE.encode()),
    "pipe": piped,
}


@contextmanager
def output_of(kind: str) -> Iterator[Any]:
    """An output of this kind, closed afterwards."""
    output = OUTPUTS[kind]()
    try:
        yield output
    finally:
        getattr(output, "close", lambda: None)()


def assert_whole(shown: Any, text: str, problem: type[Exception]) -> None:
    """Nothing is missing, and nothing is promised that is not there."""
    assert shown.content == shown.body == text
    assert isinstance(shown.problem, problem)
    assert shown.metadata.stored is False
    assert shown.metadata.was_truncated is False
    assert (shown.trace_id, shown.artifact_id, shown.artifact_reference) == (None, None, None)
    assert shown.metadata.original_size == shown.metadata.truncated_size == len(text)


def assert_stored_or_whole(session: Session, shown: Any, text: str) -> None:
    """The result is stored, or it is shown in full."""
    if shown.problem is None:
        assert session.recall(shown.trace_id) == text
    else:
        assert shown.content == text


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("place", ["a file in the way", "/proc/keepwhole"])
def test_where_no_store_can_be_every_output_comes_back_whole(tmp_path: Path, place: str, kind: str) -> None:
    (tmp_path / "file").write_text("in the way")
    session = Session("s", store=place if place.startswith("/") else str(tmp_path / "file"))
    with output_of(kind) as output:
        assert_whole(session.keep("t", None, output, call_id="c"), LARGE, StoreRefused)
    assert session.metrics.unstored_total == 1
    assert session.metrics.tool_result_missing_rate == 1.0


def test_what_is_shown_whole_is_still_a_block_and_an_error_stays_one() -> None:
    session = Session("s", store="/proc/keepwhole")
    shown = session.keep("run", None, iter([LARGE]), call_id="c", exit_code=lambda: 2)
    assert shown.block("anthropic") == {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": LARGE,
        "is_error": True,
    }


def test_what_is_shown_whole_can_always_be_sent() -> None:
    session = Session("s", store="/proc/keepwhole")
    for output in (b"\xff\xfe", "\ud800 alone", iter(["\ud800", b"\xff"])):
        session.keep("t", None, output).content.encode()


def test_the_problem_says_what_to_do_and_not_what_was_kept() -> None:
    shown = Session("s", store="/proc/keepwhole").keep("t", None, "canary-7c1f9e" * 1_000)
    assert "KEEPWHOLE_HOME" in str(shown.problem)
    assert "canary" not in str(shown.problem)


def test_trouble_can_be_raised_instead(tmp_path: Path) -> None:
    session = Session("s", store=MemoryStore(), settings=Settings(home="unused", session_quota=10))
    with pytest.raises(QuotaExceeded) as refused:
        session.keep("t", None, iter([LARGE]), on_trouble="raise")
    assert refused.value.rescue is not None
    assert b"".join(refused.value.rescue.chunks()) == LARGE.encode()
    with pytest.raises(StoreRefused):
        Session("s", store="/proc/keepwhole").keep("t", None, LARGE, on_trouble="raise")


# The quota


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("back_end", ["memory", "sqlite"])
def test_over_the_quota_the_original_comes_back_and_nothing_is_half_written(
    tmp_path: Path, back_end: str, kind: str
) -> None:
    store = MemoryStore() if back_end == "memory" else SqliteStore(str(tmp_path))
    session = Session("s", store=store, settings=Settings(home="unused", session_quota=len(LARGE) - 1))
    small = session.keep("t", None, "small")
    with output_of(kind) as output:
        assert_whole(session.keep("t", None, output), LARGE, QuotaExceeded)
    assert session.recall(str(small.trace_id)) == "small"
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    assert session.verify().entries == 1
    assert session.keep("t", None, "small again").problem is None
    store.close()


def test_the_quota_is_that_of_the_session_and_counts_what_it_stored() -> None:
    store, settings = MemoryStore(), Settings(home="unused", session_quota=1_000)
    one, two = (Session(name, store=store, settings=settings) for name in ("one", "two"))
    assert [one.keep("t", None, "x" * 400).problem is None for _ in range(4)] == [True, True, False, False]
    assert two.keep("t", None, "x" * 1_000).problem is None
    assert one.keep("t", None, "x" * 200).problem is None


# A disk that is full or failing

FULL = """
import resource, sys
from keepwhole import Session
session = Session("s", store=sys.argv[1])
kept = [session.keep("t", None, f"{number} " + "x" * 20_000) for number in range(3)]
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limit[1]))
stored, whole = [], 0
for number in range(40):
    text = f"{number} " + "y" * int(sys.argv[2])
    shown = session.keep("t", None, iter([text[:5000], text[5000:]]))
    if shown.problem is None:
        stored.append((shown, text))
    else:
        assert shown.content == text and not shown.metadata.stored
        whole += 1
assert whole > 0
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
after = session.keep("t", None, "z" * 200_000)
assert after.problem is None, after.problem
stored.append((after, "z" * 200_000))
assert all(session.recall(shown.trace_id) == text for shown, text in stored)
assert all(session.recall(shown.trace_id).startswith(str(number)) for number, shown in enumerate(kept))
proof = session.verify()
assert proof.whole, proof.findings
print(whole)
"""


@pytest.mark.parametrize("size", [25_000, 500_000])
def test_a_full_disk_costs_no_result_and_is_forgotten_when_there_is_room_again(tmp_path: Path, size: int) -> None:
    assert int(run_python(FULL, str(tmp_path), str(size))) > 0


FEW_FILES = """
import os, resource, sys
from keepwhole import Session
session = Session("s", store=sys.argv[1])
first = session.keep("t", None, "x" * 100_000)
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
for room in range(4):
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1 + room, limit[1]))
    for text in ("small", "y" * 200_000):
        shown = session.keep("t", None, iter([text]))
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        assert (session.recall(shown.trace_id) if shown.problem is None else shown.content) == text, (room, shown)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1 + room, limit[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)
assert session.keep("t", None, "y" * 200_000).problem is None
assert session.verify().whole
print("ok")
"""


def test_a_process_without_file_descriptors_loses_no_result(tmp_path: Path) -> None:
    assert run_python(FEW_FILES, str(tmp_path)).strip() == "ok"


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_disk_that_fails_while_syncing_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    real, count = folder.sync, 0

    def sync(fd: int) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise OSError(errno.EIO, "Input/output error")
        real(fd)

    session = Session("s", store=str(tmp_path))
    session.keep("t", None, "small")
    monkeypatch.setattr(folder, "sync", sync)
    assert_whole(session.keep("t", None, iter([LARGE])), LARGE, NotStored)
    assert session.verify().whole
    session.close()


def test_after_a_disk_failed_no_large_body_is_trusted_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("s", store=str(tmp_path))
    session.keep("t", None, LARGE)

    def sync(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(folder, "sync", sync)
        assert_whole(session.keep("t", None, iter([LARGE])), LARGE, NotStored)
    shown = session.keep("t", None, iter([LARGE]))
    assert_whole(shown, LARGE, NotStored)
    assert "doctor" in str(shown.problem)
    session.close()


# What others do to the record meanwhile


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_session_that_was_purged_elsewhere_loses_no_result(tmp_path: Path, kind: str) -> None:
    session = Session("s", store=str(tmp_path))
    session.keep("t", None, "before")
    other = SqliteStore(str(tmp_path))
    other.purge("s", 1)
    other.close()
    with output_of(kind) as output:
        assert_stored_or_whole(session, session.keep("t", None, output, call_id="c"), LARGE)
    session.close()


def damage(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / "record.db")
    connection.execute("DROP TRIGGER entries_never_change")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("seq", [1, 2])
def test_damage_to_an_earlier_result_of_the_call_loses_no_new_one(tmp_path: Path, seq: int, kind: str) -> None:
    session = Session("s", store=str(tmp_path))
    session.keep("t", None, numbered_lines(500), call_id="c")
    damage(tmp_path, f"UPDATE entries SET header = x'00' WHERE seq = {seq}")
    with output_of(kind) as output:
        assert_stored_or_whole(session, session.keep("t", None, output, call_id="c"), LARGE)
    session.close()


def test_a_record_that_vanished_under_a_session_loses_no_result(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path / "home"))
    session.keep("t", None, LARGE)
    shutil.rmtree(tmp_path / "home")
    shown = session.keep("t", None, iter([LARGE, LARGE]))
    assert shown.content == LARGE * 2 or shown.problem is None
    session.close()


# A source that fails


@pytest.mark.parametrize("good", ["", "x" * 100, LARGE, LARGE * 20])
@pytest.mark.parametrize("error", [ConnectionResetError, TimeoutError, ValueError])
def test_an_error_of_the_tool_reaches_the_caller_and_nothing_is_recorded(
    tmp_path: Path, good: str, error: type[Exception]
) -> None:
    def broken() -> Iterator[str]:
        yield good
        raise error("the line went dead")

    session = Session("s", store=str(tmp_path))
    with pytest.raises(error):
        session.keep("t", None, broken())
    assert list(session.store.rows("s")) == []
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    session.close()
