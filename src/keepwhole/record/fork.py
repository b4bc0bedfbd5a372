"""A session that goes on from another one begins with copies of what its conversation shows.

Owns: copying results, the decisions about them and Keepwhole's own notes into a session that has none of them.
Must not know: messages, how the origin is found (`exchange.fork`).

Theory of operation. A fork is a session of its own: it can be purged, exported and verified without the other, and what
either decides later never changes the other. The copies have the ids, the order and the times of the origin, and a
note comes last (`fork_note`):

    origin   1 result art_1   2 decision about it   3 request   4 response   5 keepwhole_round   6 result art_2, later
    fork     1 result art_1   2 decision about it                            3 keepwhole_round   4 keepwhole_fork

All of it is one append, so a process that begins the same fork at the same moment either is first or finds it there.
"""

from collections.abc import Collection
from contextlib import suppress

from keepwhole.canonical.entry import Entry
from keepwhole.errors import Damaged, NotFound, Overtaken, QuotaExceeded, StoreError
from keepwhole.record.fork_note import TOOL, ForkNote
from keepwhole.record.journal import Journal
from keepwhole.record.writer import SessionWriter
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, HasLookups, HasResultFiles, Row, Store, Tombstone, body_of, entry_of

_ALL = 1 << 62


def begin_fork(writer: SessionWriter, note: ForkNote, trace_ids: Collection[str], after: int) -> int:
    """Copy these results of the origin, with all decisions about them, and add the note; return how many entries.

    Nothing is added where a result or a decision came `after` the entry of this number: another process was first.
    """
    drafts: list[Draft] = []
    try:
        copied: set[str] = set()
        for row in _rows(writer.store, note.origin, trace_ids):
            if row.kind == "decision" and row.trace_id not in copied:
                continue  # its result is damaged
            if (draft := _copied(writer, row)) is not None:
                drafts.append(draft)
                copied.add(row.trace_id)
        drafts.append(_note_draft(writer, note))
        return len(writer.append_copies(drafts, after))
    except (QuotaExceeded, NotFound, Overtaken):
        writer.discard(draft.body for draft in drafts)
        raise


def purge_with_files(store: Store, session: str, at: int) -> Tombstone:
    """Purge a session, and with it the files that it wrote in place of its origins', where these were purged before."""
    journal = Journal(store, session)
    with suppress(StoreError):  # a record that is damaged can be purged all the same
        journal.catch_up()
    fork = journal.fork
    stone = store.purge(session, at)
    for origin in fork.origins if fork is not None else ():
        if isinstance(store, HasResultFiles) and store.session(origin) is None:
            store.files.remove(origin)
    return stone


def _rows(store: Store, session: str, trace_ids: Collection[str]) -> list[Row]:
    """The results and the decisions about them, in order."""
    found = [row for trace_id in trace_ids if (row := store.find(session, trace_id)) is not None]
    if isinstance(store, HasLookups):
        found += store.lookups.decisions_about(session, _ALL, trace_ids)
    else:
        found += [row for row in store.rows(session, kind="decision") if row.trace_id in trace_ids]
    return sorted(found, key=lambda row: row.seq)


def _copied(writer: SessionWriter, row: Row) -> Draft | None:
    """An entry for the fork; None for one that is damaged."""
    try:
        entry = entry_of(row)
        return Draft(entry.header, _copied_body(writer, entry, body_of(row)))
    except Damaged:
        return None


def _copied_body(writer: SessionWriter, entry: Entry, body: Body) -> Body:
    if body.inline is not None:
        return Body(entry.facts, inline=body.inline)
    with writer.store.open(body) as reader:
        feed = Feed(reader.stream())
        feed.encoding = "surrogates" if entry.facts.encoding == "surrogates" else "utf-8"
        taken = writer.store.store_body(feed, writer.room())
    taken.reader.close()
    return taken.body


def _note_draft(writer: SessionWriter, note: ForkNote) -> Draft:
    taken = writer.store.store_body(Feed(""), writer.room())
    taken.reader.close()
    return Draft(writer.new_result(TOOL, note.as_arguments()), taken.body)
