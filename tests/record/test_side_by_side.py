"""Large results of one request are stored side by side; where one cannot be stored, nothing is left of the others."""

import os
from pathlib import Path
from typing import Any

import pytest

from keepwhole import NotStored, Session, SqliteStore
from keepwhole.record.arrival import NewResult, add_results
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import StoredBody
from keepwhole.store.sqlite.store import SqliteStore as Record


class FailingStore(Record):
    """A record that cannot store a text with a certain beginning."""

    def store_body(self, feed: Feed, room: int) -> StoredBody:
        stored = super().store_body(feed, room)
        if stored.reader.read(0, 4) == b"FAIL":
            self.discard(stored.body)
            raise NotStored("no room")
        return stored


def files(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder / "blobs") for name in names]


def arriving(session: Session, texts: list[str]) -> list[NewResult]:
    return [NewResult(session.writer.new_result("t", {"n": number}), text) for number, text in enumerate(texts)]


def texts_of(*begins: str) -> list[Any]:
    return [begin + f"{number}\n" * 30_000 for number, begin in enumerate(begins)]


def test_several_large_results_are_recorded_in_their_order(tmp_path: Path) -> None:
    texts = [*texts_of("a", "b", "c"), "short"]
    session = Session("s", store=SqliteStore(str(tmp_path)))
    added = add_results(session.writer, arriving(session, texts))
    for result, text in zip(added.new, texts, strict=True):
        with session.open(result.trace_id) as reader:
            assert reader.text() == text
    assert len(files(tmp_path)) == 3


def test_where_one_cannot_be_stored_no_file_of_the_others_is_left(tmp_path: Path) -> None:
    session = Session("s", store=FailingStore(str(tmp_path)))
    with pytest.raises(NotStored):
        add_results(session.writer, arriving(session, texts_of("a", "FAIL", "c")))
    assert files(tmp_path) == []
    assert list(session.store.rows("s")) == []
