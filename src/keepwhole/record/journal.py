"""What the record knows of a session's results, at hand: by call, by digest, with the decision that holds.

Owns: recognising a result that comes back, whole or as one of our views.
Must not know: messages, policies.
"""

import hashlib
from collections.abc import Sequence

from keepwhole.canonical.body import BLOCK, digest_of, measure
from keepwhole.canonical.entry import Decision, Entry, Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.utf8 import encode, showable
from keepwhole.errors import Damaged, StoreError
from keepwhole.record.bill_log import Past
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Body, Draft, Row, Store, body_of, entry_of
from keepwhole.truncation.cut import Cut, decode_cut


class Known:
    """One result on record."""

    __slots__ = ("body", "decision", "digest", "result", "seq", "views")

    def __init__(self, result: Result, body: Body, seq: int = 0) -> None:
        self.result = result
        self.seq = seq
        self.body = body
        self.digest = body.facts.digest
        self.decision: tuple[Decision, Cut] | None = None
        self.views: set[str] = set()
        """Digests of all views that were shown of it."""


class Ledger:
    """The results of one session, caught up with the record whenever it is asked to."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session
        self._following = RecordFollower(store, session, "result", "decision", "request", "response")
        self.generation = 0
        """How often the session was found purged; what was known of it before no longer holds."""
        self._forget()

    def original(self, known: Known) -> str | None:
        """The text that a result has on record; None where it is damaged or gone."""
        try:
            row = self._store.find(self._session, known.result.trace_id)
            if row is None:
                return None
            with self._store.open(body_of(row)) as reader:
                return reader.text()
        except Damaged:
            return None

    def _forget(self) -> None:
        self._by_view: dict[str, Known] = {}
        self._by_call: dict[str, list[Known]] = {}
        self._by_trace: dict[str, Known] = {}
        self._by_tool: dict[str, list[Known]] = {}
        self.decided: list[str] = []
        """The results that decisions were made about, in the order they were made."""
        self._decision_at: dict[int, str] = {}
        """The same by the numbers of the decisions."""
        self.past = Past()
        """What was sent and billed."""

        self._foreseen = 0
        self._is_foreseen = False
        """Whether the last append is known without having been read."""

    @property
    def seq(self) -> int:
        """The number of the last entry that is known."""
        return max(self._following.seq, self._foreseen)

    def foresee(self, entries: Sequence[Entry], drafts: Sequence[Draft]) -> None:
        """Learn what was just appended without reading it, where nothing came between it and what is known; it is read
        with what comes next, and whether the session is still the same is seen then."""
        self._is_foreseen = False
        numbers = list(range(self.seq + 1, self.seq + 1 + len(drafts)))
        if not self._following.seq or [entry.seq for entry in entries] != numbers:
            return
        for entry, draft in zip(entries, drafts, strict=True):
            self._learn(entry, draft.body)
        self._foreseen, self._is_foreseen = entries[-1].seq, True

    def decided_with(self, seq: int) -> list[str]:
        """The results that were decided about in one go with what has this number."""
        found: list[str] = []
        while (trace_id := self._decision_at.get(seq := seq + 1)) is not None:
            found.append(trace_id)
        return found

    def catch_up(self, own: bool = False) -> None:
        """Learn what was written since; what is damaged is left out, and so is kept again when it comes.

        After something of our `own` was appended, that is known already where nothing else came.
        """
        is_foreseen, self._is_foreseen = self._is_foreseen, False
        if own and is_foreseen:
            return
        if not self._following.look():
            self.generation += 1
            self._forget()
        for row in self._following.new():
            try:
                self.learn(row)
            except Damaged:
                pass

    def learn(self, row: Row) -> None:
        """Add one entry."""
        entry = entry_of(row)
        self._learn(entry, Body(entry.facts, row.inline, row.blob))

    def _learn(self, entry: Entry, body: Body) -> None:
        if isinstance(entry.header, Result):
            self.add(Known(entry.header, body, entry.seq))
        elif isinstance(entry.header, Decision):
            if entry.seq not in self._decision_at:
                with self._store.open(body) as reader:
                    self.decide(entry.header, decode_cut(reader.read()))
                self._decision_at[entry.seq] = entry.header.trace_id
        else:
            self.past.learn(entry.seq, entry.header)

    def add(self, known: Known) -> None:
        """Add a result."""
        if known.result.trace_id in self._by_trace:
            return
        self._by_trace[known.result.trace_id] = known
        self._by_tool.setdefault(known.result.tool, []).append(known)
        if known.result.call_id is not None:
            self._by_call.setdefault(known.result.call_id, []).append(known)

    def decide(self, decision: Decision, cut: Cut) -> None:
        """Let a decision hold."""
        known = self._by_trace.get(decision.trace_id)
        if known is not None:
            known.decision = (decision, cut)
            known.views.add(decision.shown_digest)
            notices = cut.above + cut.below
            if known.result.artifact_id in notices or known.result.trace_id in notices:
                self._by_view[decision.shown_digest] = known
            self.decided.append(decision.trace_id)

    def of_tool(self, tool: str) -> list[Known]:
        """The results of one tool, the newest first."""
        return list(reversed(self._by_tool.get(tool, ())))

    def find(self, any_id: str) -> Known | None:
        """The result with this trace id or artifact id."""
        known = self._by_trace.get(any_id)
        if known is not None:
            return known
        return next((each for each in self._by_trace.values() if each.result.artifact_id == any_id), None)

    def match(self, call_id: str, text: str) -> tuple[Known, bool] | None:
        """The result that a message with this text stands for, and whether it is all of it or a view of ours."""
        candidates = self._by_call.get(call_id, ())
        if not candidates and not self._by_view:
            return None
        digest = digest_of_text(text)
        for known in reversed(candidates):
            if known.digest == digest or digest.hex() in known.views or self._is_shown(known, text):
                return known, known.digest == digest
        known = self._by_view.get(digest.hex())
        return None if known is None else (known, False)

    def _is_shown(self, known: Known, text: str) -> bool:
        """Whether a text is a result whose half surrogate pairs were made showable."""
        if known.body.facts.encoding != "surrogates" or len(text) != known.body.facts.chars:
            return False
        try:
            row = self._store.find(self._session, known.result.trace_id)
            if row is None:
                return False
            with self._store.open(body_of(row)) as reader:
                return showable(reader.text()) == text
        except StoreError:
            return False

    def is_foreign(self, call_id: str, text: str) -> bool:
        """Whether somebody else cut a result that we have: its text is shorter and bears a known mark."""
        candidates = self._by_call.get(call_id)
        if not candidates or len(text) >= max(known.body.facts.chars for known in candidates):
            return False
        data = encode(text)[0]
        return truncation_mark(data, b"") is not None


def digest_of_text(text: str) -> bytes:
    """The digest under which a text is on record."""
    data, encoding = encode(text)
    if len(data) > BLOCK:
        return measure(data, encoding).digest
    return digest_of([hashlib.sha256(data).digest()] if data else [])
