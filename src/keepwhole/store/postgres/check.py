"""What the hashes of a session do not cover in PostgreSQL: schema, columns, descriptions, missing entries and bodies.

Owns: comparing the record with what the scripts make (`postgres.catalog`), with what this machine stored
(`postgres.marks`), and with the places of large bodies.
Must not know: the bytes of bodies and the chain, which `store.verify` checks for every back end.
"""

from collections.abc import Iterator
from typing import Any

from keepwhole.store.blobs.stores import BlobStores
from keepwhole.store.postgres.catalog import strange_objects
from keepwhole.store.postgres.marks import MachineMarks, Mark
from keepwhole.store.postgres.schema import scripts
from keepwhole.store.postgres.server import Server
from keepwhole.store.row_check import COLUMNS, LOST_OUTSIDE, NAMED, compare_columns, describe, name_owners

_COLUMNS = COLUMNS.replace("?", "%s")
_SESSION = """
SELECT d.at, s.name, s.agent, s.workspace, s.created_at, s.ephemeral
FROM sessions s LEFT JOIN endings d ON d.session = s.id WHERE s.name = %s
"""
_VERSION = "SELECT max(version) FROM migrations"
_CHAIN = "SELECT e.chain FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = %s AND e.seq = %s"
_MINUTES = "SELECT seq FROM entries WHERE session = %s AND minute IS NOT NULL AND minute <> at / 60000 ORDER BY seq"
_WITHOUT_PIECES = """
SELECT e.blob FROM entries e WHERE e.blob IS NOT NULL AND left(e.blob, 1) <> '@'
AND NOT EXISTS (SELECT 1 FROM pieces p WHERE p.blob = e.blob AND p.piece = 0)
"""
_OUTSIDE = "SELECT blob FROM entries WHERE blob IS NOT NULL AND left(blob, 1) = '@'"
_ENTRY_WITH = "SELECT s.name, e.seq FROM entries e JOIN sessions s ON s.id = e.session WHERE e.blob = %s"


class RecordCheck:
    """The checks of one record."""

    def __init__(self, server: Server, marks: MachineMarks, blobs: BlobStores) -> None:
        self._server, self._marks, self._blobs = server, marks, blobs

    def record_findings(self) -> Iterator[str]:
        """Yield in what the record as a whole is not as it was left, without reading its entries."""
        yield from self.changes()
        yield from self._missing_bodies()

    def changes(self) -> Iterator[str]:
        """Yield the same but for missing bodies."""
        problem = self._schema_problem()
        if problem is not None:
            yield problem
        if self._is_open_for_deleting():
            yield "The record is open for deleting: somebody put a row into the table `purging`. Delete that row."
        yield from self._changed_sessions()

    def session_findings(self, session: str) -> Iterator[tuple[int, str]]:
        """Yield the numbers of entries that are not as they were written, and in what; 0 for the session itself."""
        problem = self._schema_problem()
        if problem is not None:
            yield 0, problem
        mark = self._marks.find(session)
        if mark is not None:
            yield from self._compare_with_mark(mark)
        for (number,) in self._server.select("SELECT id FROM sessions WHERE name = %s", (session,)):
            yield from compare_columns(lambda after: self._server.select(_COLUMNS, (number, after)))  # noqa: B023
            for (seq,) in self._server.select(_MINUTES, (number,)):
                yield seq, "these of its columns were changed: minute"

    def accept(self) -> None:
        """Take the record as it is now for what it should be."""
        for mark in list(self._marks.all()):
            if any(self._compare_with_mark(mark)):
                self._marks.drop(mark.session)

    def _schema_problem(self) -> str | None:
        strange = list(strange_objects(self._server.select))
        if not strange or self._is_newer():
            return None
        address = self._server.address
        return (
            f"The schema `{address.schema}` at `{address.shown}` is not Keepwhole's own: {_some(strange)}. Find out "
            "who changed it; then copy the record into a new schema with `keepwhole store copy`, which checks every "
            "entry."
        )

    def _is_newer(self) -> bool:
        """Return whether a newer Keepwhole has migrated the record since this process opened it.

        What the schema should be then is known to the newer one alone. A process that opens it now is refused.
        """
        return self._server.select(_VERSION) > [(len(scripts()),)]

    def _is_open_for_deleting(self) -> bool:
        """Return whether the triggers let anybody delete; only the owner can tell."""
        may_look = self._server.select("SELECT has_table_privilege('purging', 'SELECT')")
        return may_look == [(True,)] and bool(self._server.select("SELECT 1 FROM purging"))

    def _changed_sessions(self) -> Iterator[str]:
        """Yield which sessions lack entries that this machine stored, and which were changed."""
        behind: list[str] = []
        for mark in self._marks.all():
            for seq, what in self._compare_with_mark(mark):
                if seq:
                    behind.append(f"session `{mark.session}`: {what}")
                else:
                    yield f"Session `{mark.session}`: {what}. Find out who changed it, or restore a backup."
        if behind:
            yield (
                f"`{self._server.address.shown}` went back in time, as when it is restored from an older dump: "
                f"{_some(behind)}. Restore a newer dump, or a backup with `keepwhole store restore`. To go on without "
                "what is missing, run `keepwhole doctor --accept`."
            )

    def _compare_with_mark(self, mark: Mark) -> Iterator[tuple[int, str]]:
        select, name = self._server.select, mark.session
        is_there = not mark.seq or select(_CHAIN, (name, mark.seq)) == [(mark.chain,)]
        found: list[Any] = select(_SESSION, (name,))
        ((removed_up_to,),) = select("SELECT removed_up_to(%s)", (name,))
        if not is_there and (removed_up_to is None or removed_up_to < mark.seq):
            yield mark.seq, f"entry {mark.seq:,} was stored from this machine, and is missing or another one now"
        if removed_up_to is not None:
            return  # this may be another session of that name
        for ended_at, *about in found:
            if mark.description and describe(about) != mark.description:
                yield 0, "its name, agent, folder, time or kind was changed"
            if mark.ended_at and ended_at != mark.ended_at:
                yield 0, "it had ended, and is open again or ended at another time"

    def _missing_bodies(self) -> Iterator[str]:
        """Yield which bodies that an entry has are in none of their places."""
        lost = [blob for (blob,) in self._server.select(_WITHOUT_PIECES)]
        if lost:
            yield f"{self._owners(lost)} in the table `pieces`. Restore a backup."
        outside = [blob for (blob,) in self._server.select(_OUTSIDE)]
        lost = list(self._blobs.missing(outside))
        if lost:
            yield f"{self._owners(lost)} {LOST_OUTSIDE}"

    def _owners(self, blobs: list[str]) -> str:
        return name_owners(blobs, lambda blob: self._server.select(_ENTRY_WITH, (blob,)))


def _some(findings: list[str]) -> str:
    more = len(findings) - NAMED
    return "; ".join(findings[:NAMED]) + (f"; and {more:,} more" if more > 0 else "")
