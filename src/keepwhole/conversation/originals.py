"""Originals of results that a client cut before it sent them: taken into the record, where the client saved them.

Theory of operation. A result in a request reads `<persisted-output> … saved to …/b1.txt … Preview: …`. Where Keepwhole
may read the client's files, `take_original` opens the file that the client saved for this session, stores it as a body,
and only then compares the stored bytes with the text of the client: the parts that it shows must be the beginning and
the end of the body. If they are, the body is the result, and what the client sent is recorded as how it is shown, by
the rule `client`. If not, the body is discarded, and the text of the client is the result, as it came.

What is sent does not change: the client's text stays in the request. But recall returns the original, and once the
result ages, the pointer tells the original's size.

A hook may have recorded the original before (`find_recorded`): then nothing is stored again.

Invariants
- A body is taken for the original only after its stored bytes were compared with the client's text.
- A text that imitates a notice of Keepwhole is never taken for a cut: it has to be marked as quoted.

Owns: this order. Must not know: where a client's files are (`logs.client_originals`), how a cut is read
(`truncation.client_cut`).
"""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from keepwhole.canonical.media import TEXT, media_type
from keepwhole.errors import StoreError
from keepwhole.logs.client_originals import LARGEST, FindOriginal
from keepwhole.record.journal import Journal
from keepwhole.record.known_result import KnownResult
from keepwhole.record.writer import SessionWriter, decision_draft
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft
from keepwhole.store.stored_text import StoredText
from keepwhole.store.wait_guard import check_may_wait
from keepwhole.truncation.client_cut import RULE, ClientCut, cut_of, readings
from keepwhole.truncation.cut import Cut
from keepwhole.truncation.notice import imitates


class ClientOriginal(NamedTuple):
    """What a client cut a text from, and how."""

    text: StoredText
    cut: Cut
    body: Body | None = None
    """The body that was stored for the result; None where it is the one of a result on record."""

    def decision(self, trace_id: str, at: int, came: str) -> Draft:
        """The entry that records that a result is shown as the client had cut it."""
        return decision_draft(trace_id, at, RULE, RULE, self.cut, came)


def take_original(writer: SessionWriter, call_id: str, came: str, find: FindOriginal) -> ClientOriginal | None:
    """Store what the client cut a text from; None where it did not cut it, or the original is not found."""
    for reading in _readings(came):
        check_may_wait()
        with find(call_id, reading) as found:
            taken = None if found is None else _take(writer, found.reading, found.output)
        if taken is not None:
            return taken
    return None


def _take(writer: SessionWriter, reading: ClientCut, output: object) -> ClientOriginal | None:
    store = writer.store
    try:
        taken = store.store_body(Feed(output), min(writer.room(), LARGEST))  # pyright: ignore[reportArgumentType]
    except StoreError:
        return None
    cut = None
    try:
        with taken.reader as reader:
            is_text = media_type(reader.read(0, 4_096)) == TEXT
            cut = cut_of(reading, reader) if is_text else None
    except StoreError:
        pass  # it cannot be read back, so it cannot be compared
    finally:
        if cut is None:
            store.discard(taken.body)
    if cut is None:
        return None
    return ClientOriginal(StoredText(taken.body.facts, partial(store.open, taken.body)), cut, taken.body)


def find_recorded(journal: Journal, call_id: str, came: str) -> tuple[KnownResult, ClientOriginal] | None:
    """The newest result of a call on record that a client cut a text from."""
    for reading in _readings(came):
        for known in reversed(journal.results_of_call(call_id)):
            text = journal.whole_text(known)
            try:
                with text.opened() as source:
                    cut = cut_of(reading, source)
            except StoreError:
                continue
            if cut is not None:
                return known, ClientOriginal(text, cut)
    return None


def _readings(came: str) -> Iterable[ClientCut]:
    return () if imitates(came) else readings(came)
