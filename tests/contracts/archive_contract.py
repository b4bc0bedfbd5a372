"""The contract of an archive: from any back end to any other with the same head, and never with a changed line."""

import json
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.errors import KeepwholeError
from keepwhole.store.protocol import Store
from keepwhole.store.verify import verify
from keepwhole.transfer.archive import export_session, import_session
from tests.build import NOON
from tests.contracts.store_contract import filled


def archive_of(store: Store, name: str = "work") -> list[bytes]:
    """The lines of a session's archive."""
    return list(export_session(store, next(info for info in store.sessions() if info.name == name)))


def changed(line: bytes, **fields: Any) -> bytes:
    """An archive's line with some of its fields replaced."""
    record = json.loads(line)
    kind = next(iter(record))
    record[kind] = {**record[kind], **fields}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


class ArchiveContract:
    """What `keepwhole.transfer.archive` promises between two back ends, a test for each sentence."""

    def test_an_archive_brings_a_session_to_another_back_end_with_the_same_head(
        self, store: Store, other: Store
    ) -> None:
        filled(store)
        seen: list[int] = []
        info = import_session(other, archive_of(store), on_entry=lambda entry: seen.append(entry.seq))
        assert info.name == "work"
        assert verify(other, "work") == verify(store, "work")
        assert seen == [row.seq for row in store.rows("work")]
        assert archive_of(other) == archive_of(store)

    def test_an_archive_comes_back_under_another_name_beside_the_original(self, store: Store) -> None:
        session = filled(store)
        import_session(store, archive_of(store), "copy")
        assert verify(store, "copy").head == verify(store, "work").head
        copy = Session("copy", store=store)
        for row in store.rows("work", kind="result"):
            assert copy.recall_bytes(row.trace_id) == session.recall_bytes(row.trace_id)

    def test_an_archive_brings_a_purged_session_back_under_its_own_name(self, store: Store) -> None:
        filled(store)
        before, lines = verify(store, "work"), archive_of(store)
        store.purge("work", NOON)
        import_session(store, lines)
        assert verify(store, "work") == before

    def test_a_session_that_began_after_a_purge_can_be_carried_away(self, store: Store, other: Store) -> None:
        filled(store)
        store.purge("work", NOON)
        filled(store)
        import_session(other, archive_of(store))
        assert verify(other, "work") == verify(store, "work")

    def test_an_archive_is_refused_where_the_session_exists_already(self, store: Store) -> None:
        filled(store)
        before = verify(store, "work")
        with pytest.raises(KeepwholeError, match="another name"):
            import_session(store, archive_of(store))
        assert verify(store, "work") == before

    @pytest.mark.parametrize("what", ["body", "header", "chain"])
    def test_an_archive_with_a_changed_line_is_refused(self, store: Store, other: Store, what: str) -> None:
        filled(store)
        lines = archive_of(store)
        at = next(number for number, line in enumerate(lines) if line.startswith(b'{"body"'))
        if what == "body":
            lines[at] = b'{"body":"c2hvclQ="}\n'
        else:
            entry = json.loads(lines[at - 1])["entry"]
            new = entry["header"].replace("note", "nota") if what == "header" else entry["chain"][::-1]
            lines[at - 1] = changed(lines[at - 1], **{what: new})
        with pytest.raises(KeepwholeError):
            import_session(other, lines)

    def test_no_line_of_an_archive_can_be_left_out(self, store: Store, other: Store) -> None:
        filled(store)
        lines = archive_of(store)
        for missing in range(len(lines)):
            with pytest.raises(KeepwholeError):
                import_session(other, lines[:missing] + lines[missing + 1 :], f"copy-{missing}")

    def test_an_archive_that_ends_too_early_is_refused(self, store: Store, other: Store) -> None:
        filled(store)
        with pytest.raises(KeepwholeError):
            import_session(other, archive_of(store)[:-1])

    def test_an_archive_cannot_lose_its_last_entries_unseen(self, store: Store, other: Store) -> None:
        filled(store)
        lines = archive_of(store)
        last = max(number for number, line in enumerate(lines) if line.startswith(b'{"entry"'))
        with pytest.raises(KeepwholeError):
            import_session(other, [*lines[:last], lines[-1]])

    @pytest.mark.parametrize("what", [{"entries": 1}, {"head": "00" * 32}])
    def test_an_archive_whose_end_does_not_fit_is_refused(
        self, store: Store, other: Store, what: dict[str, Any]
    ) -> None:
        filled(store)
        lines = archive_of(store)
        with pytest.raises(KeepwholeError):
            import_session(other, [*lines[:-1], changed(lines[-1], **what)])

    @pytest.mark.parametrize("name", ["../up", "a\nb", "-x"])
    def test_an_archive_cannot_bring_a_name_that_no_session_can_have(self, store: Store, name: str) -> None:
        filled(store)
        first, *rest = archive_of(store)
        renamed = json.loads(first)
        renamed["session"]["name"] = name
        with pytest.raises(KeepwholeError):
            import_session(store, [json.dumps(renamed).encode(), *rest])
        with pytest.raises(KeepwholeError):
            import_session(store, [first, *rest], name)
        assert [info.name for info in store.sessions()] == ["work"]

    def test_a_refused_archive_brings_in_nothing_that_was_not_exported(self, store: Store, other: Store) -> None:
        filled(store)
        lines = archive_of(store)
        exported = {row.chain for row in store.rows("work")}
        at = next(number for number, line in enumerate(lines) if line.startswith(b'{"body"'))
        lines[at] = b'{"body":"c2hvclQ="}\n'
        with pytest.raises(KeepwholeError):
            import_session(other, lines)
        assert {row.chain for row in other.rows("work")} <= exported

    def test_a_refused_archive_leaves_no_session_behind(self, store: Store, other: Store) -> None:
        filled(store)
        with pytest.raises(KeepwholeError):
            import_session(other, archive_of(store)[:-1])
        assert other.sessions() == []
        assert list(other.rows("work")) == []

    def test_a_refused_archive_leaves_the_tombstone_of_an_earlier_session(self, store: Store) -> None:
        filled(store)
        lines = archive_of(store)
        stone = store.purge("work", NOON)
        with pytest.raises(KeepwholeError):
            import_session(store, [*lines[:3], lines[-1]])
        assert [(left.name, left.seq, left.chain) for left in store.tombstones()] == [("work", stone.seq, stone.chain)]

    @pytest.mark.parametrize(
        "lines",
        [
            [],
            [b""],
            [b"\n"],
            [b"not json"],
            [b"5\n"],
            [b"[]\n"],
            [b'{"session":{"name":"s"}}\n'],
            [b'{"keepwhole":2,"session":{"name":"s"}}\n'],
            [b'{"keepwhole":1,"session":[]}\n'],
            [b'{"keepwhole":1,"session":{}}\n'],
            [b'{"keepwhole":1,"session":{"name":"../up"}}\n', b'{"end":{"entries":0,"head":""}}\n'],
            [b'{"keepwhole":1,"session":{"name":"s"}}\n', b'{"entry":{}}\n'],
            [b'{"keepwhole":1,"session":{"name":"s"}}\n', b'{"entry":{"header":"{}","chain":"00"}}\n'],
            [b'{"keepwhole":1,"session":{"name":"s"}}\n', b"\xff\n"],
        ],
    )
    def test_what_is_no_archive_is_refused_with_an_error_of_ours(self, store: Store, lines: list[bytes]) -> None:
        with pytest.raises(KeepwholeError):
            import_session(store, lines)
