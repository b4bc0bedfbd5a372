"""The disk gives an error and nobody knows what it did: a commit that may be there, a file that cannot be read."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keepwhole import KeepwholeError, NotStored, Session, SqliteStore
from keepwhole.canonical.entry import Entry
from keepwhole.store.protocol import Draft
from tests.faults.outputs import BLOB, INLINE, KINDS, Keeper
from tests.torture.checks import opened


class Unsure(SqliteStore):
    """A store whose commits get to the disk, and whose disk then says that they did not."""

    def append(self, session: str, drafts: Sequence[Draft], **options: Any) -> list[Entry]:
        super().append(session, drafts, **options)
        raise NotStored("The record could not be written (disk I/O error).")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [INLINE, BLOB])
def test_a_commit_that_failed_and_is_found_later_is_whole(tmp_path: Path, kind: str, size: int) -> None:
    """When the sync of a commit fails, its rows may still turn up; the file they refer to must not be gone."""
    folder = str(tmp_path / "store")
    store = Unsure(folder)
    assert not Keeper(Session("unsure", store=store)).keep(kind, size)
    store.close()
    with opened(folder) as store:
        assert Session("unsure", store=store).verify().findings == ()


def test_a_file_that_cannot_be_read_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(fd: int, length: int, offset: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(str(tmp_path / "store")) as store:
        keeper = Keeper(Session("failing", store=store))
        assert keeper.keep("iterator", BLOB)
        (trace_id,) = keeper.acked
        monkeypatch.setattr(os, "pread", failing)
        for ask in (keeper.session.recall, keeper.session.recall_bytes, keeper.session.shown):
            with pytest.raises(KeepwholeError):
                ask(trace_id)
        assert keeper.session.call_tool("get_artifact", {"id": trace_id}).is_error
        assert not keeper.session.verify().whole
