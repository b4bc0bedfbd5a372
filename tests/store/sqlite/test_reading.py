"""Reading the record while something is written to it."""

import threading
from pathlib import Path

from keepwhole.store.protocol import SessionInfo
from keepwhole.store.sqlite.store import SqliteStore


def test_reading_does_not_wait_for_a_write_of_another_thread(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    store.open_session(SessionInfo(name="s"))
    found: list[str] = []

    def read() -> None:
        found.extend(info.name for info in store.sessions())

    with store.database.writing():
        reader = threading.Thread(target=read)
        reader.start()
        reader.join(20)
        assert found == ["s"]
    reader.join()
    store.close()


def test_readers_go_on_while_the_file_is_closed_and_opened_again(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    store.open_session(SessionInfo(name="s"))
    failures: list[BaseException] = []
    is_over = threading.Event()

    def read() -> None:
        try:
            while not is_over.is_set():
                assert [info.name for info in store.sessions()] == ["s"]
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(50):
        store.database.close()
        store.database.open()
    is_over.set()
    for reader in readers:
        reader.join()
    store.close()
    assert failures == []
