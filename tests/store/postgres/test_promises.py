"""What Holdfast promises of a record holds on a server too: the same bytes, heads and views as anywhere else."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import MemoryStore, Session, SqliteStore
from holdfast.canonical.utf8 import showable
from holdfast.store.archive import export_session, import_session
from holdfast.store.protocol import Store, result_of
from holdfast.store.verify import verify
from tests.build import draft, opened, run_python
from tests.postgres import fresh_url
from tests.promises.real import NAMES, real, work
from tests.promises.test_lossless import any_text, in_pieces, large, rebuilt, seeds

pytest.importorskip("psycopg_pool", reason="needs the extra `postgres`")

from holdfast.store.postgres.store import PostgresStore

_few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture
def url() -> str:
    return fresh_url()


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(url, str(tmp_path))
    yield store
    store.close()


def test_a_server_holds_and_shows_what_memory_does(store: PostgresStore) -> None:
    one, shown = work(MemoryStore())
    two, again = work(store)
    assert shown == again
    assert one.verify() == two.verify()


@_few
@given(data=st.binary(max_size=100_000) | st.builds(large, seeds, st.integers(0, 3_000_000)), seed=seeds)
def test_any_bytes_come_back_as_they_were(store: PostgresStore, data: bytes, seed: int) -> None:
    session = Session("bytes", store=store)
    shown = session.keep("tool", None, in_pieces(data, seed))
    assert session.recall_bytes(str(shown.trace_id)) == data


@_few
@given(text=any_text)
def test_any_text_comes_back_as_it_was_and_any_call_is_known_again(store: PostgresStore, text: str) -> None:
    session = Session("text", store=store)
    shown = session.keep("tool", {"text": text}, text, call_id=text or None)
    assert session.recall(str(shown.trace_id)) == text
    if text:
        assert [row.trace_id for row in store.find_call("text", text)] == [shown.trace_id]
    assert isinstance(store.search("text", text), list)


@pytest.mark.parametrize("name", NAMES[:6])
def test_what_was_shown_and_what_is_recalled_make_the_original(store: PostgresStore, name: str) -> None:
    session = Session("s", store=store)
    shown = session.keep(name, None, real(name))
    assert session.recall_bytes(str(shown.trace_id)) == real(name)
    assert shown.cut is None or rebuilt(session, shown) == showable(session.recall(str(shown.trace_id)))


def test_archives_of_real_output_go_there_and_back_with_the_same_head(store: PostgresStore, tmp_path: Path) -> None:
    here, back = SqliteStore(str(tmp_path / "here")), SqliteStore(str(tmp_path / "back"))
    work(here)
    name = here.sessions()[0].name
    carry(here, store)
    carry(store, back)
    assert verify(back, name) == verify(store, name) == verify(here, name)
    for each in (here, back):
        each.close()


def carry(source: Store, target: Store) -> None:
    import_session(target, export_session(source, source.sessions()[0]))


CHILD = """
import sys
from holdfast.store.postgres.store import PostgresStore
from tests.build import draft
store = PostgresStore(sys.argv[1], sys.argv[2])
for number in range(20):
    store.append("s", [draft(store, b"%d" % number, call_id=str(number))], once=True)
store.close()
"""


def test_processes_that_append_the_same_calls_add_each_once_and_in_one_chain(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    opened(store)
    threads = [threading.Thread(target=run_python, args=(CHILD, url, str(tmp_path / str(n)))) for n in range(3)]
    for thread in threads:
        thread.start()
    for number in range(20):
        store.append("s", [draft(store, b"%d" % number, call_id=str(number))], once=True)
    for thread in threads:
        thread.join()
    assert sorted(int(result_of(row).call_id or "") for row in store.rows("s")) == list(range(20))
    assert verify(store, "s").whole


HELD = """
import sys
from holdfast.store.postgres.store import PostgresStore
store = PostgresStore(sys.argv[1], sys.argv[2])
store.hold("s")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_is_in_use_as_long_as_another_process_has_it_open(
    url: str, store: PostgresStore, tmp_path: Path
) -> None:
    import subprocess

    opened(store, ephemeral=True)
    command = [sys.executable, "-c", HELD, url, str(tmp_path / "other")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert store.in_use("s")
        other.kill()
        other.wait()
    for _ in range(100):
        if not store.in_use("s"):
            break
        threading.Event().wait(0.05)
    assert not store.in_use("s")
