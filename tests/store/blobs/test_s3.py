"""Large bodies in a bucket: durable before their entry, read in parts, and trouble that costs tokens, never data."""

import http.server
import logging
import os
import threading
import time
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import main
from keepwhole.errors import Damaged, NotStored, StoreError, StoreRefused
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, body_of, entry_of
from keepwhole.store.verify import verify
from tests.build import NOON, ROOM, draft, numbered_lines, opened, run_python, stored_bytes, taken
from tests.objects import BUCKET, KEY, SECRET, fresh_bucket, own_weed, use_keys

pytest.importorskip("obstore", reason="needs the extra `s3`")

import obstore
from obstore.store import S3Store

from keepwhole.store.blobs import s3
from keepwhole.store.blobs.bucket_address import bucket_of
from keepwhole.store.blobs.s3 import S3Blobs

MB = 1_048_576
NOWHERE = f"s3://{BUCKET}/x?endpoint=http://127.0.0.1:1"
LARGE = numbered_lines(9_000)


@pytest.fixture
def blobs(monkeypatch: pytest.MonkeyPatch) -> str:
    """A place for bodies where there is nothing yet."""
    return fresh_bucket()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys to a bucket, whether there is one or not."""
    use_keys(monkeypatch)


@pytest.fixture
def store(blobs: str, tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "record"), blobs=blobs)
    opened(store)
    yield store
    store.close()


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in the bucket is old."""
    monkeypatch.setattr(s3, "ORPHAN_SECONDS", -10)


def there(blobs: str) -> dict[str, int]:
    """All objects at an address, with their sizes."""
    client = raw(blobs)
    return {found["path"]: found["size"] for batch in obstore.list(client) for found in batch}


def raw(blobs: str) -> S3Store:
    bucket = bucket_of(blobs)
    keys: Any = {**bucket.options, "access_key_id": KEY, "secret_access_key": SECRET}
    return S3Store(bucket.name, prefix=bucket.prefix, config=keys, client_options={"allow_http": True})


def random_text(size: int) -> bytes:
    return os.urandom(size // 2).hex().encode()


def assert_whole(shown: Any, text: str) -> None:
    assert shown.content == text
    assert isinstance(shown.problem, NotStored)
    assert shown.metadata.stored is False


def test_a_large_body_is_one_object_named_by_chance_and_a_small_one_is_none(store: SqliteStore, blobs: str) -> None:
    store.append("s", [draft(store, b"small"), draft(store, b"x" * 100_000)])
    ((path, size),) = there(blobs).items()
    record, _, name = path.partition("/")
    assert (len(record), len(name), size) == (32, 32, 100_000)
    assert [row.blob for row in store.rows("s")] == [None, f"@{name}"]
    assert not os.path.exists(os.path.join(store.folder, "blobs"))


def test_a_body_of_many_parts_comes_back_whole_and_in_parts_in_few_requests(
    store: SqliteStore, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_text(20 * MB)
    store.append("s", [draft(store, (data[at : at + 300_000] for at in range(0, len(data), 300_000)))])
    assert list(there(blobs).values()) == [len(data)]
    asked: list[int] = []
    real = obstore.get_range
    monkeypatch.setattr(obstore, "get_range", lambda *a, **k: (asked.append(k["length"]), real(*a, **k))[1])
    with store.open(body_of(next(store.rows("s")))) as reader:
        assert reader.read(10 * MB - 3, 10 * MB + 5) == data[10 * MB - 3 : 10 * MB + 5]
        assert sum(asked) < MB
        asked.clear()
        assert b"".join(reader.stream()) == data
    assert len(asked) < 12
    assert verify(store, "s").whole


def test_a_body_that_is_refused_for_its_size_is_given_back_and_leaves_nothing(
    store: SqliteStore, blobs: str, tmp_path: Path
) -> None:
    data = random_text(10 * MB)
    with pytest.raises(NotStored, match="quota") as refused:
        store.store_body(Feed(iter([data])), len(data) - 1)
    assert refused.value.rescue is not None
    assert b"".join(refused.value.rescue.chunks()) == data
    refused.value.rescue.close()
    assert there(blobs) == {}
    assert list((tmp_path / "record" / "spool").iterdir()) == []


def test_an_object_that_was_changed_is_not_served(store: SqliteStore, blobs: str) -> None:
    store.append("s", [draft(store, b"x" * 100_000)])
    (path,) = there(blobs)
    obstore.put(raw(blobs), path, b"x" * 99_999 + b"y")
    with pytest.raises(Damaged, match="damaged"):
        stored_bytes(store, next(store.rows("s")))
    for shorter in (b"x" * 70_000, b""):
        obstore.put(raw(blobs), path, shorter)
        with pytest.raises(Damaged, match="damaged"):
            stored_bytes(store, next(store.rows("s")))
    obstore.delete(raw(blobs), path)
    with pytest.raises(Damaged, match="not in"):
        stored_bytes(store, next(store.rows("s")))
    assert not verify(store, "s").whole


@pytest.mark.parametrize("size", [100_000, 9 * MB])
@pytest.mark.usefixtures("keys")
def test_while_the_store_is_down_the_original_is_passed_on_and_nothing_is_hidden(tmp_path: Path, size: int) -> None:
    store = SqliteStore(str(tmp_path), blobs=NOWHERE, patience=0.3)
    session = Session("s", store=store)
    text = random_text(size).decode()
    assert_whole(session.keep("t", None, iter([text])), text)
    assert session.keep("t", None, "small").problem is None
    assert [entry_of(row).facts.size for row in store.rows("s") if row.kind == "result"] == [5]
    store.close()


@pytest.mark.usefixtures("keys")
def test_a_store_that_was_down_a_moment_ago_is_not_waited_for_again(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path), blobs=NOWHERE, patience=1.5)
    opened(store)
    waited: list[float] = []
    for _ in range(3):
        started = time.monotonic()
        with pytest.raises(NotStored, match="cannot be reached"):
            store.store_body(Feed(b"x" * 100_000), ROOM)
        waited.append(time.monotonic() - started)
    assert max(waited[1:]) < waited[0]
    store.close()


class Answering(http.server.BaseHTTPRequestHandler):
    """A store that takes everything and keeps nothing, or does not answer at all."""

    is_silent = False

    def do_PUT(self) -> None:
        if self.is_silent:
            time.sleep(20)
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("etag", '"0123456789abcdef0123456789abcdef"')
        self.send_header("content-length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def answering(is_silent: bool) -> Generator[str]:
    """The address of such a store."""
    handler = type("Handler", (Answering,), {"is_silent": is_silent})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"s3://{BUCKET}/x?endpoint=http://127.0.0.1:{server.server_port}&region=us-east-1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.usefixtures("keys")
def test_a_store_that_does_not_answer_is_waited_for_once(tmp_path: Path) -> None:
    with answering(is_silent=True) as blobs:
        store = SqliteStore(str(tmp_path), blobs=blobs, patience=1.0)
        session = Session("s", store=store)
        took: list[float] = []
        for _ in range(6):
            began = time.monotonic()
            assert_whole(session.keep("t", None, LARGE), LARGE)
            took.append(time.monotonic() - began)
        store.close()
    assert took[0] < 2.0
    assert sum(took[1:]) < 2.5


@pytest.mark.usefixtures("keys")
def test_a_store_that_takes_everything_and_keeps_nothing_is_not_believed(tmp_path: Path) -> None:
    with answering(is_silent=False) as blobs:
        store = SqliteStore(str(tmp_path), blobs=blobs, patience=1.0)
        session = Session("s", store=store)
        for _ in range(3):
            assert_whole(session.keep("t", None, LARGE), LARGE)
        store.close()


def test_the_size_is_asked_for_once_and_again_after_trouble(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real, put = obstore.head, obstore.put
    monkeypatch.setattr(obstore, "head", lambda *a: (asked.append(a[1]), real(*a))[1])
    for _ in range(3):
        taken(store, b"x" * 100_000)
    assert len(asked) == 1

    def fail(*_: object, **__: object) -> None:
        raise OSError("lost")

    monkeypatch.setattr(obstore, "put", fail)
    with pytest.raises(NotStored):
        taken(store, b"x" * 100_000)
    monkeypatch.setattr(obstore, "put", put)
    time.sleep(0.2)
    asked.clear()
    taken(store, b"x" * 100_000)
    taken(store, b"x" * 100_000)
    assert len(asked) == 1


def test_what_could_not_be_read_when_an_index_was_made_is_found_later(store: SqliteStore) -> None:
    Session("s", store=store).keep("t", None, LARGE + " zebra")
    away = SqliteStore(store.folder, blobs=NOWHERE, patience=0.3)
    assert away.search("s", "zebra") == []
    assert not away.passages("s").is_all
    assert [match.text.split()[-1] for match in store.search("s", "zebra")] == ["zebra"]
    assert store.passages("s").is_all
    with pytest.raises(StoreError, match="could not be read"):
        away.purge("s", NOON)  # its words cannot be taken out of the index
    assert verify(store, "s").whole
    away.close()


def test_bodies_elsewhere_are_not_forgotten_where_nobody_says_where_that_is(store: SqliteStore, blobs: str) -> None:
    store.append("s", [draft(store, b"x" * 80_000)])
    without = SqliteStore(store.folder)
    with pytest.raises(StoreError, match="Set `blobs`"):
        without.purge("s", NOON)
    assert verify(store, "s").whole
    without.close()


def test_what_cannot_be_read_now_is_said_to_be_there_still(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append("s", [draft(store, b"x" * 100_000)])
    away = SqliteStore(store.folder, blobs=NOWHERE, patience=0.3)
    with pytest.raises(StoreError, match="Nothing is lost") as trouble:
        stored_bytes(away, next(away.rows("s")))
    assert not isinstance(trouble.value, Damaged)
    away.close()


@pytest.mark.torture
def test_a_store_that_is_killed_while_a_body_is_sent_costs_no_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keys(monkeypatch)
    (tmp_path / "weed").mkdir()
    weed = own_weed(str(tmp_path / "weed"))
    blobs = weed.address()
    first, text = random_text(MB).decode(), random_text(30 * MB).decode()
    patient = SqliteStore(str(tmp_path / "record"), blobs=blobs)
    kept = Session("s", store=patient).keep("t", None, first)
    patient.close()
    store = SqliteStore(str(tmp_path / "record"), blobs=blobs, patience=0.5)
    session = Session("s", store=store)
    real = obstore.put

    def put(client: Any, name: str, parts: Any, **options: Any) -> Any:
        return real(client, name, killing(parts), **options)

    def killing(parts: Iterator[bytes]) -> Iterator[bytes]:
        for number, part in enumerate(parts):
            if number == 2:
                weed.kill()
            yield part

    monkeypatch.setattr(obstore, "put", put)
    assert_whole(session.keep("t", None, iter([text])), text)
    weed.start()
    assert session.recall_bytes(kept.trace_id) == first.encode()
    assert session.verify().whole
    assert list(there(blobs).values()) == [MB]
    store.close()
    weed.kill()


def test_a_name_that_is_taken_is_left_as_it_is_and_another_is_used(
    store: SqliteStore, blobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = taken(store, b"mine" * 20_000).blob or ""
    real, drawn = s3.new_name, iter([first[1:]])
    monkeypatch.setattr(s3, "new_name", lambda: next(drawn, None) or real())
    second = taken(store, b"other" * 20_000)
    assert second.blob != first
    assert sorted(there(blobs).values()) == [80_000, 100_000]
    monkeypatch.setattr(s3, "new_name", lambda: first[1:])
    with pytest.raises(NotStored, match="taken") as refused:
        store.store_body(Feed(b"third" * 20_000), ROOM)
    assert refused.value.rescue is not None
    assert b"".join(refused.value.rescue.chunks()) == b"third" * 20_000


@pytest.mark.usefixtures("old")
def test_bodies_that_no_entry_has_are_collected_and_never_another(
    store: SqliteStore, blobs: str, tmp_path: Path
) -> None:
    other = SqliteStore(str(tmp_path / "other"), blobs=blobs)
    opened(other)
    other.append("s", [draft(other, b"z" * 70_000)])
    taken(other, b"on its way elsewhere" * 5_000)
    store.append("s", [draft(store, b"x" * 80_000)])
    taken(store, b"y" * 90_000)
    obstore.put(raw(blobs), "stranger", b"somebody's")
    assert store.collect_orphans() == 1
    assert sorted(there(blobs).values()) == [10, 70_000, 80_000, 100_000]
    assert verify(store, "s").whole
    assert verify(other, "s").whole
    other.close()


def test_a_body_is_given_an_hour(store: SqliteStore, blobs: str) -> None:
    taken(store, b"y" * 90_000)
    assert store.collect_orphans() == 0
    assert len(there(blobs)) == 1


@pytest.mark.usefixtures("old")
def test_a_body_that_was_collected_gets_no_entry_any_more(store: SqliteStore) -> None:
    late = draft(store, b"y" * 90_000)
    assert store.collect_orphans() == 1
    with pytest.raises(NotStored, match="given up"):
        store.append("s", [late])
    assert list(store.rows("s")) == []


def test_a_purge_deletes_the_objects_of_its_session_alone(store: SqliteStore, blobs: str) -> None:
    opened(store, "other")
    store.append("s", [draft(store, b"x" * 80_000)])
    store.append("other", [draft(store, b"x" * 90_000)])
    store.discard(taken(store, b"y" * 70_000))
    store.purge("s", NOON)
    assert list(there(blobs).values()) == [90_000]


@pytest.mark.usefixtures("old")
def test_what_a_purge_could_not_delete_is_collected_later(store: SqliteStore, blobs: str) -> None:
    store.append("s", [draft(store, b"x" * 80_000)])
    away = SqliteStore(store.folder, blobs=NOWHERE, patience=0.3)
    away.purge("s", NOON)
    away.close()
    assert len(there(blobs)) == 1
    assert store.collect_orphans() == 1
    assert there(blobs) == {}


@pytest.mark.parametrize("wrong", ["key", "secret"])
def test_wrong_keys_are_said_to_be_and_are_in_no_error_log_or_repr(
    blobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    key, secret = ("WRONGKEY", SECRET) if wrong == "key" else (KEY, "wrong-secret")
    keys = f"&access_key_id={key}&secret_access_key={secret}"
    use_keys(monkeypatch, "OTHERKEY", "other-secret")
    caplog.set_level(logging.DEBUG)
    store = SqliteStore(str(tmp_path), blobs=blobs + keys, patience=0.5)
    session = Session("s", store=store)
    shown = session.keep("t", None, LARGE)
    assert_whole(shown, LARGE)
    assert "403" in str(shown.problem)
    outside = store.blobs.outside()
    with pytest.raises(StoreRefused, match="AWS_SECRET_ACCESS_KEY") as refused:
        outside.check()
    said = caplog.text + repr(outside) + str(vars(outside)) + str(vars(store))
    for error in (shown.problem, refused.value):
        said += "".join(chain(error))
    for hidden in (KEY, SECRET, "WRONGKEY", "wrong-secret", "OTHERKEY", "other-secret"):
        assert hidden not in said
    store.close()


def chain(error: BaseException | None) -> Iterator[str]:
    """Everything that an error carries along, shown or not."""
    while error is not None:
        yield str(error) + repr(error) + "".join(traceback.format_exception(error))
        error = error.__cause__ or error.__context__


def test_where_there_are_no_keys_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://169.254.169.254:1")  # nobody's, also on a machine with a role
    with pytest.raises(NotStored, match="no keys were found"):
        S3Blobs(bucket_of(NOWHERE), "r", str(tmp_path), patience=0.5).write(Feed(b"x"), b"", ROOM)


def test_making_an_object_where_there_is_one_is_refused_by_the_store(blobs: str, tmp_path: Path) -> None:
    assert S3Blobs(bucket_of(blobs), "r", str(tmp_path)).check() == []
    assert there(blobs) == {}


def test_the_doctor_tries_the_place_of_large_bodies(
    blobs: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPWHOLE_BLOBS", blobs)
    Session("s").keep("t", None, "x")
    assert main(["doctor"]) == 0
    assert f"large bodies are in {blobs}" in capfd.readouterr().out
    use_keys(monkeypatch, secret="wrong")
    assert main(["doctor"]) == 1
    out = capfd.readouterr().out
    assert "cannot be used (403" in out
    assert "AWS_ACCESS_KEY_ID" in out
    assert there(blobs) == {}


def test_bodies_from_before_and_after_the_setting_are_found_wherever_they_are(blobs: str, tmp_path: Path) -> None:
    with_it, without = SqliteStore(str(tmp_path), blobs=blobs), SqliteStore(str(tmp_path))
    opened(without)
    without.append("s", [draft(without, b"in the folder" * 9_000)])
    with_it.append("s", [draft(with_it, b"in the bucket" * 9_000)])
    assert [stored_bytes(with_it, row)[:13] for row in with_it.rows("s")] == [b"in the folder", b"in the bucket"]
    first, second = without.rows("s")
    assert stored_bytes(without, first)[:13] == b"in the folder"
    with pytest.raises(StoreError, match="Set `blobs`"):
        stored_bytes(without, second)
    with_it.close()
    without.close()


def test_a_row_that_names_anything_but_an_object_of_ours_is_damage(store: SqliteStore) -> None:
    facts = taken(store, b"x" * 80_000).facts
    for odd in ("@../../other", "@", "@" + "A" * 32, "@" + "0" * 31 + "/"):
        with pytest.raises(Damaged):
            store.open(Body(facts, blob=odd))


def test_many_threads_keep_large_bodies_at_once(store: SqliteStore, blobs: str) -> None:
    def work(number: int) -> None:
        store.append("s", [draft(store, b"%d" % number * 50_000)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(there(blobs)) == 8
    assert verify(store, "s").whole


FORKED = """
import os, sys
from keepwhole import Session, SqliteStore

session = Session("s", store=SqliteStore(sys.argv[1], blobs=sys.argv[2]))
kept = session.keep("t", None, "x" * 100_000)
child = os.fork()
if child == 0:
    shown = session.keep("t", None, "y" * 100_000)
    whole = shown.content == "y" * 100_000 and "spawn" in str(shown.problem)
    os._exit(0 if whole or session.recall_bytes(shown.trace_id) == b"y" * 100_000 else 1)
assert os.waitpid(child, 0)[1] == 0
assert session.recall_bytes(kept.trace_id) == b"x" * 100_000
assert session.keep("t", None, "z" * 100_000).problem is None
print("ok")
"""


def test_a_forked_child_loses_nothing_and_does_not_disturb_its_parent(blobs: str, tmp_path: Path) -> None:
    started = time.monotonic()
    assert run_python(FORKED, str(tmp_path), blobs).strip() == "ok"
    assert time.monotonic() - started < 30


def test_a_body_larger_than_any_row_takes_is_written_whatever_goes_into_rows(blobs: str, tmp_path: Path) -> None:
    for place in ("", blobs):
        store = SqliteStore(str(tmp_path / (place and "s3")), blobs=place, inline_body=3 * MB)
        opened(store)
        data = random_text(5 * MB)
        store.append("s", [draft(store, iter([data]))])
        assert stored_bytes(store, next(store.rows("s"))) == data
        store.close()


def test_without_the_client_the_extra_to_install_is_named(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['obstore'] = None\n"
        "from keepwhole import SqliteStore\n"
        f"try: SqliteStore({str(tmp_path)!r}, blobs='s3://bucket/x')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    assert "StoreRefused" in (said := run_python(script))
    assert "pip install 'obstore" in said or "pip install obstore" in said
