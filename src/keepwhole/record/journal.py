"""The journal: what one session's record knows, held in memory and followed as it grows.

Theory of operation. A session's record is a chain of entries: results, decisions about them, requests and responses.
Several processes may append to it. The journal reads each entry once, in order, and answers three questions:

    match(call_id, text)   Is this text in a message a result on record, whole or as one of our views?
    origin_of(text)        Which entries produce exactly this text again? (for manifests of requests)
    bills                  Which requests were sent and billed, by any process?

Example. Entry 1 is the result `art_1` of call `c1`, entry 2 a decision that shows its first 2,000 characters.

    match("c1", <the whole text>)     -> (art_1, True)     the original came back
    match("c1", <what entry 2 shows>) -> (art_1, False)    our own view came back; it is not stored again
    match("c9", <what entry 2 shows>) -> (art_1, False)    known by the digest of the view, if a notice names the id

Invariants
- Entries are learned in the order of their numbers, and each at most once.
- A damaged entry is left out, so its result is stored again when it comes again.
- When the session was purged meanwhile, everything is forgotten and `generation` grows; holders of anything learned
  before must start anew.
- An append of this process is learned without reading it (`foresee`) only where nothing came between.

Owns: recognizing results, the decision that holds for each, where texts come from. One follower per session.
Must not know: messages, policies.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwhole.canonical.body import BLOCK, digest_of, measure
from keepwhole.canonical.entry import Decision, Entry, Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.utf8 import encode, showable
from keepwhole.errors import Damaged, StoreError
from keepwhole.record.bills import BillLog
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Body, Draft, Row, Store, body_of, entry_of
from keepwhole.store.requests import Requests
from keepwhole.truncation.cut import Cut, decode_cut


class KnownResult:
    """One result on record, with the decision that holds for it."""

    __slots__ = ("body", "decision", "digest", "result", "seq", "views")

    def __init__(self, result: Result, body: Body, seq: int = 0) -> None:
        self.result = result
        self.seq = seq
        self.body = body
        self.digest = body.facts.digest
        self.decision: tuple[Decision, Cut] | None = None
        self.views: set[str] = set()
        """Digests of all views that were shown of it."""


class ResultMatch(NamedTuple):
    """A text in a message that stands for a result on record."""

    known: KnownResult
    is_whole: bool
    """Whether the text is all of the result; else it is one of its views."""


class Origin(NamedTuple):
    """Which entries produce a text again: a result, whole or as a decision shows it."""

    trace_id: str
    decision: int = 0
    """The number of the decision; 0 for the whole result."""


class Journal:
    """What is known of one session's record. Callers hold `lock` while they use it."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session
        self._following = RecordFollower(store, session, "result", "decision", "request", "response")
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
        self._by_view: dict[str, KnownResult] = {}
        self._by_call: dict[str, list[KnownResult]] = {}
        self._by_trace: dict[str, KnownResult] = {}
        self._by_tool: dict[str, list[KnownResult]] = {}
        self._origins: dict[str, Origin] = {}
        self.decided: list[str] = []
        """Trace ids of the results that decisions were made about, in the order of the decisions."""
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
        for row in self._following.new():
            try:
                self._learn_row(row)
            except Damaged:
                continue

    def foresee(self, entries: Sequence[Entry], drafts: Sequence[Draft]) -> None:
        """Learn entries that were just appended without reading them, where nothing came between.

        They are read with the next entries, and whether the session is still the same is seen then.
        """
        self._is_foreseen = False
        numbers = list(range(self.seq + 1, self.seq + 1 + len(drafts)))
        if not drafts or not self._following.seq or [entry.seq for entry in entries] != numbers:
            return
        for entry, draft in zip(entries, drafts, strict=True):
            self._learn(entry, draft.body)
        self._foreseen, self._is_foreseen = entries[-1].seq, True

    def match(self, call_id: str, text: str) -> ResultMatch | None:
        """The result on record that a text in a message stands for; None where there is none."""
        candidates = self._by_call.get(call_id, ())
        if not candidates and not self._by_view:
            return None
        digest = digest_of_text(text)
        for known in reversed(candidates):
            if known.digest == digest or digest.hex() in known.views or self._is_made_showable(known, text):
                return ResultMatch(known, known.digest == digest)
        known = self._by_view.get(digest.hex())
        return None if known is None else ResultMatch(known, False)

    def is_foreign_cut(self, call_id: str, text: str) -> bool:
        """Whether the client cut a result that is on record: the text is shorter and has a known truncation mark."""
        candidates = self._by_call.get(call_id)
        if not candidates or len(text) >= max(known.body.facts.chars for known in candidates):
            return False
        return truncation_mark(encode(text)[0], b"") is not None

    def original_text(self, known: KnownResult) -> str | None:
        """Read the whole text of a result; None where it is damaged or gone."""
        try:
            row = self._store.find(self._session, known.result.trace_id)
            if row is None:
                return None
            with self._store.open(body_of(row)) as reader:
                return reader.text()
        except Damaged:
            return None

    def find(self, any_id: str) -> KnownResult | None:
        """The result with this trace id or artifact id."""
        known = self._by_trace.get(any_id)
        if known is not None:
            return known
        return next((each for each in self._by_trace.values() if each.result.artifact_id == any_id), None)

    def of_tool(self, tool: str) -> list[KnownResult]:
        """The results of one tool, the newest first."""
        return list(reversed(self._by_tool.get(tool, ())))

    def decisions_with(self, seq: int) -> list[str]:
        """Trace ids of the decisions that were appended together with the entry of this number."""
        found: list[str] = []
        while (trace_id := self._decision_at.get(seq := seq + 1)) is not None:
            found.append(trace_id)
        return found

    def origin_of(self, text: str) -> Origin | None:
        """Which entries produce exactly this text; None where none do."""
        return self._origins.get(digest_of_text(text).hex()) if self._origins else None

    def _learn_row(self, row: Row) -> None:
        entry = entry_of(row)
        self._learn(entry, Body(entry.facts, row.inline, row.blob))

    def _learn(self, entry: Entry, body: Body) -> None:
        header = entry.header
        if isinstance(header, Result):
            if entry.facts.encoding != "bytes":  # bytes that are no text produce no text again
                self._origins.setdefault(entry.facts.digest.hex(), Origin(header.trace_id))
            self._add_result(KnownResult(header, body, entry.seq))
        elif isinstance(header, Decision):
            self._origins.setdefault(header.shown_digest, Origin(header.trace_id, entry.seq))
            if entry.seq not in self._decision_at:
                with self._store.open(body) as reader:
                    self._add_decision(header, decode_cut(reader.read()))
                self._decision_at[entry.seq] = header.trace_id
        else:
            self.bills.learn(entry.seq, header)

    def _add_result(self, known: KnownResult) -> None:
        if known.result.trace_id in self._by_trace:
            return
        self._by_trace[known.result.trace_id] = known
        self._by_tool.setdefault(known.result.tool, []).append(known)
        if known.result.call_id is not None:
            self._by_call.setdefault(known.result.call_id, []).append(known)

    def _add_decision(self, decision: Decision, cut: Cut) -> None:
        known = self._by_trace.get(decision.trace_id)
        if known is None:
            return
        known.decision = (decision, cut)
        known.views.add(decision.shown_digest)
        notices = cut.above + cut.below
        if known.result.artifact_id in notices or known.result.trace_id in notices:
            self._by_view[decision.shown_digest] = known
        self.decided.append(decision.trace_id)

    def _is_made_showable(self, known: KnownResult, text: str) -> bool:
        """Whether a text is a result whose lone surrogates were replaced so that it can be shown."""
        if known.body.facts.encoding != "surrogates" or len(text) != known.body.facts.chars:
            return False
        try:
            original = self.original_text(known)
        except StoreError:
            return False
        return original is not None and showable(original) == text


def digest_of_text(text: str) -> bytes:
    """The digest under which a text is stored."""
    data, encoding = encode(text)
    if len(data) > BLOCK:
        return measure(data, encoding).digest
    return digest_of([hashlib.sha256(data).digest()] if data else [])
