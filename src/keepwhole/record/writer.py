"""Writes the entries of one session.

Owns: opening the session when it is first needed, drawing ids, the session's quota, appending all or nothing, and the
one way in which a decision becomes an entry.
Must not know: why a result is shown as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwhole import events
from keepwhole.canonical import ids
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Entry, Header, Result, arguments_text
from keepwhole.canonical.media import TEXT, image_size
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import NotFound, Overtaken, QuotaExceeded
from keepwhole.metrics import Metrics
from keepwhole.recall.links import RecallLinks
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, Row, SessionInfo, Store
from keepwhole.truncation.cut import Cut, encode_cut
from keepwhole.version import VERSION

if TYPE_CHECKING:
    from keepwhole.policies.transcript import Name


_LONG_DECISION = 4_096
"""Bytes of a decision from which on the store decides whether they are in its row; only images make one so long."""


class Appended(NamedTuple):
    """What an append returned."""

    entries: list[Entry]
    session_existed: bool
    """Whether the session was there; if not, another process had purged it and it was opened again."""


class SessionWriter:
    """The writing side of one session. Safe from threads."""

    def __init__(
        self,
        store: Store,
        wanted: SessionInfo,
        *,
        quota: int,
        links: RecallLinks,
        metrics: Metrics,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
    ) -> None:
        self.store, self.name = store, wanted.name
        self.links = links
        """How results are read back, for notices."""
        self._wanted, self._quota, self.metrics = wanted, quota, metrics
        self._clock, self._random = clock, random
        self._info: SessionInfo | None = None
        self._stored = 0

    @property
    def is_open(self) -> bool:
        """Whether this process has opened the session."""
        return self._info is not None

    def open(self) -> SessionInfo:
        """Open the session, or make it."""
        if self._info is None:
            info = self.store.open_session(self._wanted)
            if info.ephemeral:
                self.store.hold(self.name)
            self._info = info
        return self._info

    def end(self) -> None:
        """End the session: purge an ephemeral one, which the next write opens again; mark any other as ended."""
        at = self.now()
        if not self.open().ephemeral:
            self.store.end(self.name, at)
            return
        stone = self.store.purge(self.name, at)
        self._info = None
        events.log_purged(self.name, stone.entries, stone.stored)

    def forget(self, row: Row) -> int:
        """Remove a result for good, and what rests on it; return how many entries went."""
        from keepwhole.record.forget import carry_out, plan_by_result  # rarely needed

        return carry_out(self.store, plan_by_result(self.store, self.name, row))

    def room(self) -> int:
        """Bytes that may still be stored, as far as this process knows; the store checks again at each append."""
        if self._info is None:
            self.open()
            self._stored = self.store.stored(self.name)
        return self._quota - self._stored

    def now(self) -> int:
        """Unix milliseconds."""
        return int(self._clock() * 1000)

    def draw_trace_id(self) -> str:
        """Draw a new trace id."""
        return ids.trace_id(self._random(ids.RANDOM_BYTES))

    def draw_name(self, media_type: str = TEXT) -> "Name":
        """Draw the ids of a new result."""
        at, trace_id = self.now(), self.draw_trace_id()
        return self.name_of(trace_id, ids.artifact_id(at // 1000, trace_id), media_type)

    def name_of(self, trace_id: str, artifact_id: str, media_type: str = TEXT) -> "Name":
        """How notices name a result of this session."""
        from keepwhole.policies.transcript import Name  # only conversations need it

        return Name(trace_id, artifact_id, self.links.of(trace_id, artifact_id, media_type))

    def new_result(self, tool: str, arguments: object, **fields: Any) -> Result:
        """A result with new ids."""
        at, trace_id = self.now(), self.draw_trace_id()
        return Result(
            at=at,
            trace_id=trace_id,
            artifact_id=ids.artifact_id(at // 1000, trace_id),
            tool=tool,
            arguments=arguments_text(arguments),
            **fields,
        )

    def append(self, drafts: Sequence[Draft], *, once: bool = False, after: int | None = None) -> Appended:
        """Append entries, all or none; open the session again where another process purged it meanwhile.

        `once` and `after` are the terms of `Store.append`.
        """
        stored: list[Body] = []
        try:
            drafts = [self._with_stored_image(draft, stored) for draft in drafts]
            appended = self._append_again(drafts, once, after)
        except (QuotaExceeded, NotFound, Overtaken):
            self.discard(stored)
            raise
        used = {entry.facts.digest for entry in appended.entries} if stored else ()
        self.discard(body for body in stored if body.facts.digest not in used)
        return appended

    def _append_again(self, drafts: Sequence[Draft], once: bool, after: int | None) -> Appended:
        try:
            return Appended(self._append(drafts, once, after), session_existed=True)
        except NotFound:
            self.store.open_session(self._wanted)
            return Appended(self._append(drafts, once, after), session_existed=False)

    def _with_stored_image(self, draft: Draft, stored: list[Body]) -> Draft:
        """The entry, where it is a decision that has an image with that in a file, if it is too large for its row."""
        data = draft.body.inline
        if not isinstance(draft.header, Decision) or data is None or len(data) < _LONG_DECISION:
            return draft
        taken = self.store.store_body(Feed(data), self.room())
        taken.reader.close()
        stored.append(taken.body)
        return Draft(draft.header, taken.body)

    def append_made(self, *made: tuple[Callable[[int, str], Header], bytes]) -> Entry:
        """Append entries of Keepwhole's own, each made from the time and one new id; return the first."""
        trace_id, at = self.draw_trace_id(), self.now()
        return self.append_notes([(make(at, trace_id), data) for make, data in made])[0]

    def append_notes(self, notes: Sequence[tuple[Header, str | bytes]]) -> list[Entry]:
        """Append entries of Keepwhole's own, with nothing decided about them."""
        drafts: list[Draft] = []
        try:
            for header, output in notes:
                taken = self.store.store_body(Feed(output), self.room())
                taken.reader.close()
                drafts.append(Draft(header, taken.body))
            entries = self.append(drafts).entries
        except (QuotaExceeded, NotFound):
            self.discard(draft.body for draft in drafts)
            raise
        self.count(entries)
        return entries

    def append_copies(self, drafts: Sequence[Draft], after: int) -> list[Entry]:
        """Append entries of another session, unless this one has got results or decisions `after` a number.

        They count against the quota, and not in the metrics: nothing has happened again.
        """
        entries = self.append(drafts, after=after).entries
        self._stored += sum(entry.facts.size for entry in entries)
        return entries

    def count(self, entries: Sequence[Entry]) -> None:
        """Count entries that were added: in the metrics, and against the quota."""
        for entry in entries:
            self.metrics.observe(entry)
            self._stored += entry.facts.size

    def discard(self, bodies: Iterable[Body]) -> None:
        """Give back bodies that were taken and will not be appended."""
        for body in bodies:
            self.store.discard(body)

    def _append(self, drafts: Sequence[Draft], once: bool, after: int | None) -> list[Entry]:
        return self.store.append(self.name, drafts, once=once, quota=self._quota, after=after)


def decision_draft(trace_id: str, at: int, rule: str, strategy: str, cut: Cut, shown: str, reason: str = "") -> Draft:
    """The entry that records how a result is shown from now on: the cut itself, not the recipe."""
    data = encode_cut(cut)
    facts = measure(encode(shown)[0] if cut.image is None else cut.image.data)
    pixels = (None, None) if cut.image is None else image_size(cut.image.data)
    decision = Decision(
        at=at,
        trace_id=trace_id,
        rule=rule,
        strategy=strategy,
        version=VERSION,
        shown_digest=facts.digest.hex(),
        shown_chars=len(shown) if cut.image is None else facts.chars,
        width=pixels[0],
        height=pixels[1],
        reason=reason or None,
    )
    return Draft(decision, Body(measure(data), inline=data))
