"""The journal: what one session's record knows, held in memory and followed as it grows.

Theory of operation. A session's record is a chain of entries: results, decisions about them, requests and responses.
Several processes may append to it. What a session has when it is first read is its past: of that, only the entries that
are asked for are looked up (`past`), where the store can do so. Each later entry is read once, in order. The journal
answers these questions:

    match_all(texts)       Which of these texts in messages are results on record, whole or as one of our views?
    origins_of(texts)      Which entries produce exactly these texts again? (for manifests of requests)
    bills                  Which requests were sent and billed, by any process?

Example. Entry 1 is the result `art_1` of call `c1`, entry 2 a decision that shows its first 2,000 characters.

    match("c1", <the whole text>)     -> (art_1, True)     the original came back
    match("c1", <what entry 2 shows>) -> (art_1, False)    our own view came back; it is not stored again
    match("c9", <what entry 2 shows>) -> (art_1, False)    known by the digest of the view, if a notice names the id
    match("c2", …, <a digest>)        -> (art_2, True)     an image came back, which has no text

Where entry 2 is by the rule `client`, the view is the client's own, and the match says so (`is_client_cut`).

Invariants
- Entries after the past are learned in the order of their numbers, and each at most once.
- Whether a result is of the past or came later makes no difference to any answer; but of the past only the newest
  requests are learned, and `decided` has none of its decisions: no branch had begun when they were made.
- `match` and `of_tool` answer from memory; `match_all` reads first what they need.
- A damaged entry is left out, so its result is stored again when it comes again.
- When the session was purged meanwhile, everything is forgotten, `generation` grows, and the session is read from its
  beginning; holders of anything learned before must start anew.
- An append of this process is learned without reading it (`foresee`) only where nothing came between.

Owns: recognizing results, the decision that holds for each, where texts come from. One follower per session.
Must not know: messages, policies.
"""

import hashlib
import threading
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

from keepwhole.canonical.body import BLOCK, digest_of, digest_of_bytes, measure
from keepwhole.canonical.entry import OWN_TOOLS, Decision, Entry, Result
from keepwhole.canonical.guard import is_cleared, truncation_mark
from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Identity
from keepwhole.canonical.utf8 import encode, showable
from keepwhole.errors import Damaged, NotFound, StoreError
from keepwhole.recall.names import is_recall
from keepwhole.record.bills import BillLog
from keepwhole.record.fork_note import TOOL as FORK
from keepwhole.record.fork_note import ForkNote, read_fork
from keepwhole.record.known_result import KnownResult, Origin, origin_of_entry, read_cut
from keepwhole.record.past import Past
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Body, Draft, HasLookups, Row, Store, body_of, entry_of
from keepwhole.store.reader import BodyReader
from keepwhole.store.requests import Requests
from keepwhole.store.stored_text import StoredText
from keepwhole.store.wait_guard import check_may_wait
from keepwhole.truncation.cut import Cut

_T = TypeVar("_T")


class ResultMatch(NamedTuple):
    """A text in a message that stands for a result on record."""

    known: KnownResult
    is_whole: bool
    """Whether the text is all of the result; else it is one of its views."""
    is_client_cut: bool = False
    """Whether the text is what the client itself cut from the result."""


class Journal:
    """What is known of one session's record. Callers hold `lock` while they use it."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session
        self._following = RecordFollower(store, session, "result", "decision", "request", "response")
        self._past: Past | None = None
        """What the session had when it was first read, where the store can look it up."""
        self._has_begun = False
        self.lock = threading.RLock()
        self.generation = 0
        """How often the session was found purged."""
        self._forget()

    def request_reader(self) -> Callable[[int], bytes | None]:
        """A function that reads the bytes of a request on record by its number; None where they cannot be read."""
        store, session = self._store, self._session
        requests = Requests(store, session)

        def read(seq: int) -> bytes | None:
            try:
                row = store.entry(session, seq)
                return None if row is None else requests.body(row)
            except StoreError:
                return None

        return read

    def _forget(self) -> None:
        self._past = None
        self._by_view: dict[str, tuple[int, KnownResult]] = {}
        """Results by the digest of a view that names them, each with the number of the decision."""
        self._calls_read: set[str] = set()
        """Calls whose results of the past are known."""
        self._by_call: dict[str, list[KnownResult]] = {}
        self._by_trace: dict[str, KnownResult] = {}
        self._by_tool: dict[str, list[KnownResult]] = {}
        self._origins: dict[str, Origin] = {}
        self._learned: list[Entry] = []
        """Entries that are not among the origins yet: most views never ask for any."""
        self.decided: list[str] = []
        """Trace ids of the results that decisions were made about since the past, in the order of the decisions."""
        self._decision_at: dict[int, str] = {}
        """The same trace ids by the numbers of the decisions."""
        self.bills = BillLog()
        """Requests that were sent and billed."""
        self._foreseen = 0
        self._is_foreseen = False
        """Whether the last append is known without having been read."""

    @property
    def seq(self) -> int:
        """The number of the last entry that is known."""
        return max(self._following.seq, self._foreseen)

    def catch_up(self, own: bool = False) -> None:
        """Read what was appended since; with `own`, nothing is read where the only append was foreseen."""
        is_foreseen, self._is_foreseen = self._is_foreseen, False
        if own and is_foreseen:
            return
        if not self._following.look():
            self.generation += 1
            self._forget()
        if not self._has_begun:
            self._begin()
        for row in self._following.new():
            try:
                self._learn_row(row)
            except Damaged:
                continue

    def _begin(self) -> None:
        """Count what the session has as its past, and read of it what every view needs.

        This is done once: what is appended to a session without entries, or after a purge, may be this process's own.
        """
        upto = self._following.last_seq
        if upto:
            check_may_wait()
        if upto and isinstance(self._store, HasLookups):
            past = Past(self._store, self._store.lookups, self._session, upto)
            notes, bills = past.notes(), past.bills()
            self._past = past
            self._add_results(notes)
            for entry in bills:
                self.bills.learn(entry.seq, entry.header)
            self._following.skip()
        self._has_begun = True

    def foresee(self, entries: Sequence[Entry], drafts: Sequence[Draft]) -> None:
        """Learn entries that were just appended without reading them, where nothing came between.

        They are read with the next entries, and whether the session is still the same is seen then.
        """
        self._is_foreseen = False
        own = [(number, draft.header.trace_id) for number, draft in enumerate(drafts, self.seq + 1)]
        if not drafts or not self._following.seq or [(entry.seq, entry.header.trace_id) for entry in entries] != own:
            return  # others appended something, or one of these results, before
        made = {draft.header.trace_id for draft in drafts if isinstance(draft.header, Result)}
        if any(draft.header.trace_id not in self._by_trace.keys() | made for draft in drafts if _is_decision(draft)):
            return  # it is about a result of the past that nobody has asked for
        for entry, draft in zip(entries, drafts, strict=True):
            self._learn(entry, draft.body)
        self._foreseen, self._is_foreseen = entries[-1].seq, True

    def match_all(self, texts: Sequence[Identity], tools: Sequence[str] = ()) -> list[ResultMatch | None]:
        """What `match` answers for each of them and its tool, after reading what the record has of them."""
        asked = [(*text, tool) for text, tool in zip(texts, tools or [""] * len(texts), strict=True)]
        if self._past is None:
            return [self.match(*one) for one in asked]
        call_ids = {call_id for call_id, *_ in texts} - self._calls_read
        if call_ids:
            self._add_results(self._past.results_of_calls(call_ids))
            self._calls_read |= call_ids
        found = [self.match(*one) for one in asked]
        pairs = zip(texts, found, strict=True)
        unknown = {text for (_, text, digest), match in pairs if match is None and digest is None}
        if unknown:
            self._add_results(self._past.results_showing(map(digest_of_text, unknown)))
        return [match or self.match(*one) for one, match in zip(asked, found, strict=True)]

    def match(self, call_id: str, text: str, digest: bytes | None = None, tool: str = "") -> ResultMatch | None:
        """The result on record that a text in a message stands for, as far as it is known; None where there is none.

        An image or a document is recognized by the `digest` of its bytes, or of those that were sent in their place.
        Some servers number the calls of each answer anew. So where the `tool` that was called is known, what a recall
        tool reads back is not taken for the result of another tool, whose call had the same id.
        """
        candidates = self._by_call.get(call_id, ())
        if tool and candidates:
            own = is_recall(tool)
            candidates = [known for known in candidates if is_recall(known.result.tool or tool) == own]
        if digest is not None:
            found = (known for known in reversed(candidates) if known.digest == digest or digest.hex() in known.views)
            drawn = (known for known in reversed(candidates) if known.has_drawn(digest))
            return next((ResultMatch(known, known.digest == digest) for known in chain(found, drawn)), None)
        if not candidates and not self._by_view:
            return None
        digest = digest_of_text(text)
        for known in reversed(candidates):
            if known.digest == digest or digest.hex() in known.views or self._is_made_showable(known, text):
                return ResultMatch(known, known.digest == digest, digest.hex() in known.client_views)
        shown = self._by_view.get(digest.hex())
        return None if shown is None else ResultMatch(shown[1], False)

    def results_of_call(self, call_id: str) -> Sequence[KnownResult]:
        """The results of a call, in order, after reading what the record has of them."""
        if self._past is not None and call_id not in self._calls_read:
            self._add_results(self._past.results_of_calls({call_id}))
            self._calls_read.add(call_id)
        return self._by_call.get(call_id, ())

    def is_foreign_cut(self, call_id: str, text: str) -> bool:
        """Whether the client cut or cleared a result that is on record: the text is shorter and has a known mark."""
        candidates = self._by_call.get(call_id)
        if not candidates or len(text) >= max(known.body.facts.chars for known in candidates):
            return False
        is_text = any(known.media is None for known in candidates)
        return is_cleared(text) or (is_text and truncation_mark(encode(text)[0], b"") is not None)

    def original_text(self, known: KnownResult) -> str | None:
        """Read the whole text of a result; None where it is damaged or gone."""
        return self._read(known, lambda reader: reader.text())

    def original(self, known: KnownResult, is_part: bool = False) -> str | MediaBytes | None:
        """Read the whole of a result, text or not; None where it is damaged or gone. With `is_part` it is bytes, also
        where their type does not tell."""
        if known.media is None and not is_part:
            return self.original_text(known)
        data = self._read(known, lambda reader: reader.read())
        return None if data is None else MediaBytes(known.result.media_type, data)

    def _read(self, known: KnownResult, read: Callable[[BodyReader], _T]) -> _T | None:
        try:
            with self._open(known) as reader:
                return read(reader)
        except (Damaged, NotFound):
            return None

    def whole_text(self, known: KnownResult) -> StoredText:
        """The whole text of a result, to be read when it is needed."""
        return StoredText(known.body.facts, partial(self._open, known))

    def _open(self, known: KnownResult) -> BodyReader:
        row = self._store.find(self._session, known.result.trace_id)
        if row is None:
            raise NotFound(f"Result `{known.result.trace_id}` of session `{self._session}` was removed meanwhile.")
        return self._store.open(body_of(row))

    def find(self, any_id: str) -> KnownResult | None:
        """The result with this trace id or artifact id."""
        try:
            row = self._store.find(self._session, any_id)
        except Damaged:
            return None
        return None if row is None else self._find_trace(row.trace_id)

    def _find_trace(self, trace_id: str) -> KnownResult | None:
        if trace_id not in self._by_trace and self._past is not None:
            self._add_results(self._past.results([trace_id]))
        return self._by_trace.get(trace_id)

    def of_tool(self, tool: str) -> list[KnownResult]:
        """The results of one of Keepwhole's own tools, the newest first."""
        return list(reversed(self._by_tool.get(tool, ())))

    @property
    def fork(self) -> ForkNote | None:
        """Which session this one goes on from; None where it comes from no other."""
        return read_fork(reversed(self._by_tool.get(FORK, ())))

    def decisions_with(self, seq: int) -> list[str]:
        """Trace ids of the decisions that were appended together with the entry of this number."""
        found: list[str] = []
        if self._past is not None and seq < self._past.upto:
            with suppress(StoreError):  # it only says what changed
                found = self._past.decisions_after(seq)
            seq += len(found)
        while (trace_id := self._decision_at.get(seq := seq + 1)) is not None:
            found.append(trace_id)
        return found

    def origins_of(self, texts: Collection[str | bytes]) -> dict[str | bytes, Origin]:
        """Which entries produce exactly these texts or bytes; what no entry produces is left out."""
        for entry in self._learned:
            if (produced := origin_of_entry(entry)) is not None:
                self._origins.setdefault(*produced)
        self._learned.clear()
        if self._past is None and not self._origins:
            return {}
        digests = {text: digest_of_text(text) if isinstance(text, str) else digest_of_bytes(text) for text in texts}
        past: Mapping[str, Origin | None] = {}
        if self._past is not None:
            past = self._past.origins_of(set(digests.values()))
        found = ((text, past.get(digest.hex()) or self._origins.get(digest.hex())) for text, digest in digests.items())
        return {
            text: origin for text, origin in found if origin is not None and (origin.is_text or isinstance(text, bytes))
        }

    def _learn_row(self, row: Row) -> None:
        entry = entry_of(row)
        self._learn(entry, Body(entry.facts, row.inline, row.blob))

    def _learn(self, entry: Entry, body: Body) -> None:
        header = entry.header
        self._learned.append(entry)
        if isinstance(header, Result):
            self._add_results([KnownResult(header, body, entry.seq)])
        elif isinstance(header, Decision):
            if entry.seq not in self._decision_at:
                self._add_decision(entry.seq, header, read_cut(self._store, body))
                self._decision_at[entry.seq] = header.trace_id
        else:
            self.bills.learn(entry.seq, header)

    def _add_results(self, found: Iterable[KnownResult]) -> None:
        """Learn results with the decisions about them; those that are known stay as they are."""
        for known in found:
            result = known.result
            if result.trace_id in self._by_trace:
                continue
            self._by_trace[result.trace_id] = known
            if result.tool.startswith(OWN_TOOLS):
                self._by_tool.setdefault(result.tool, []).append(known)
            if result.call_id is not None:
                insort(self._by_call.setdefault(result.call_id, []), known, key=lambda known: known.seq)
            self._add_views(known, known.named)

    def _add_decision(self, seq: int, decision: Decision, cut: Cut) -> None:
        known = self._find_trace(decision.trace_id)
        if known is not None:
            known.decide(seq, decision, cut)
            self._add_views(known, [decision.shown_digest])
            self.decided.append(decision.trace_id)

    def _add_views(self, known: KnownResult, digests: Iterable[str]) -> None:
        """Let a result be known by its views that name it; where several have the same text, by the newest."""
        for digest in digests:
            seq = known.named.get(digest, 0)
            if seq > self._by_view.get(digest, (0,))[0]:
                self._by_view[digest] = seq, known

    def _is_made_showable(self, known: KnownResult, text: str) -> bool:
        """Whether a text is a result whose lone surrogates were replaced so that it can be shown."""
        if known.body.facts.encoding != "surrogates" or len(text) != known.body.facts.chars:
            return False
        try:
            original = self.original_text(known)
        except StoreError:
            return False
        return original is not None and showable(original) == text


def origin_of(store: Store, session: str) -> str | None:
    """The name of the session that a session was forked from; None where it comes from no other."""
    journal = Journal(store, session)
    journal.catch_up()
    return None if journal.fork is None else journal.fork.origin


def _is_decision(draft: Draft) -> bool:
    return isinstance(draft.header, Decision)


def digest_of_text(text: str) -> bytes:
    """The digest under which a text is stored."""
    data, encoding = encode(text)
    if len(data) > BLOCK:
        return measure(data, encoding).digest
    return digest_of([hashlib.sha256(data).digest()] if data else [])
