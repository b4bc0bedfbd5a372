"""The summary that takes the place of the oldest messages of a branch, when the window is nearly full.

A summary is a result like any other: its body is the full account of the steps it replaces, its view the words that are
sent. So it is durable before anything is left out for it, and one recall brings the account back. A summary on record
is found again by the digest of the messages it replaces: their meaning, not how a client spells or marks them.

Owns: finding the summary on record, recording one, and what it saves.
Must not know: how a summary is worded (`policies.compaction`), how messages are sent.
"""

import hashlib
import json
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, cast

from keepwhole.canonical.entry import Result
from keepwhole.canonical.message import Message
from keepwhole.conversation.context import BranchContext
from keepwhole.errors import Overtaken, StoreError
from keepwhole.models.ledger import REQUESTS_TO_PAY
from keepwhole.models.profiles import Profile
from keepwhole.models.tokens import estimate, reserve
from keepwhole.policies.compaction import MAX_TOKENS, Compaction, Summary
from keepwhole.policies.policy import Situation, TrackedChoices, sent_reserve, sent_tokens
from keepwhole.policies.summary_text import MIN_TOKENS
from keepwhole.policies.transcript import Item, Name, Transcript
from keepwhole.record.journal import digest_of_text
from keepwhole.record.known_result import KnownResult
from keepwhole.record.writer import decision_draft
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Draft
from keepwhole.truncation.cut import Cut, Segment

TOOL = "keepwhole_summary"
RULE = "compaction"
_KEPT_SHARE = 0.5
"""Share of the window for the newest steps, which stay as they are."""
_KEPT_STEPS = 5
"""Newest steps that stay where no more can be afforded."""
_HARDLY_CHEAPER = 0.9
"""Share of the price of writing to the cache from which on reading from it is hardly cheaper."""
_WINDOW_PART = 8
"""Of a small window, a summary takes at most one part in this many."""
_COVERED = 0.05
"""Part of the margin that limits below the whole window make room for."""


class RecordedSummary(NamedTuple):
    """A summary on record."""

    prefix: str
    """The digest of the messages it replaces."""
    upto: int
    """How many messages at the front of a branch these are."""
    kept: tuple[int, ...]
    """Places of messages among them that stay."""
    text: str
    seq: int
    """The number of its entry."""


class BranchSummary:
    """The summary of one branch, where it has one."""

    def __init__(self, context: BranchContext, transcript: Transcript, decisions: TrackedChoices) -> None:
        self._context, self._transcript, self._decisions = context, transcript, decisions
        self._digests: list[bytes] = [b""]
        """Of the first 0, 1, 2… messages of the branch."""
        self._gone = 0
        """Messages up to here are marked as replaced."""
        self.current: RecordedSummary | None = None
        self._saved: int | None = None
        """Tokens of what it replaces, once they were counted."""

    @property
    def replaced_count(self) -> int:
        """How many messages it takes the place of."""
        return 0 if self.current is None else self.current.upto - len(self.current.kept)

    @property
    def seq(self) -> int:
        """The number of its entry; 0 where there is none."""
        return 0 if self.current is None else self.current.seq

    def find(self) -> None:
        """Find the newest summary on record that fits the messages of this branch."""
        self.current = self._saved = None
        for known in self._context.journal.of_tool(TOOL):
            summary = _read_summary(known)
            if summary is None or summary.upto > len(self._transcript.messages):
                continue
            if summary.prefix == self.prefix(summary.upto):
                self.current = summary
                break
        self._mark_gone(self.current.upto if self.current is not None else 0)

    def situation(self, situation: Situation) -> Situation:
        """The situation with what the summary saves."""
        if self.current is None:
            return situation
        if self._saved is None:
            self._saved = self._count_saved(self.current)
        return situation._replace(overhead=situation.overhead - self._saved + estimate(self.current.text))

    def _count_saved(self, summary: RecordedSummary) -> int:
        """The tokens of the messages that a summary replaces, as they would be sent."""
        upto, kept = summary.upto, summary.kept
        saved = self._transcript.tokens - self._transcript.tokens_from(upto)
        saved -= sum(map(self._transcript.tokens_of, kept))
        for number, choice in self._decisions.items():
            item = self._transcript.items[number]
            saved -= item.tokens - choice.tokens if item.index < upto and item.index not in kept else 0
        return saved

    def with_margin(self, situation: Situation, decisions: TrackedChoices | None = None) -> Situation:
        """The situation with what the summary saves, and with how far above its estimate what is sent may be: as it is
        decided now, or with other decisions."""
        decisions = self._decisions if decisions is None else decisions
        upto, text = (0, "") if self.current is None else (self.current.upto, self.current.text)
        more = situation.reserve + sent_reserve(self._transcript, decisions, upto) + (reserve(text) if text else 0)
        situation = self.situation(situation)
        sent = sent_tokens(self._transcript, decisions) + situation.overhead
        return situation._replace(margin=max(1.0, 1 - _COVERED + more / max(1, sent)))

    def compact(self, situation: Situation, *, client_compacts: bool = False) -> int:
        """Record a summary of the oldest steps when the window is nearly full, or when they cost too much to carry.

        Where the `client_compacts` by itself, it is given the time to. Return how many summaries were recorded.
        """
        head, max_loss, limits = situation.overhead, self._context.max_loss, self._context.thresholds
        situation = self.with_margin(situation)
        sent = sent_tokens(self._transcript, self._decisions) + situation.overhead
        is_full = sent >= (limits.hard if client_compacts else limits.compact) * situation.window
        keep = self._tokens_to_keep(situation, head, is_full=is_full)
        if not is_full:
            left = head + max(keep, self._tokens_of_steps(1)) + _most_tokens(situation.window)
            costs = situation.costs
            if costs is None or self._is_young(costs.profile) or not costs.is_outgrown(sent, left, max_loss):
                return 0
        try:
            drafts = self._drafts(situation.window, keep)
            if not self._context.lay_out_summary(drafts, self._transcript.items):
                return 0
            self._context.append_decisions(drafts, after=self._context.journal.seq)
        except Overtaken:
            return self._take_over()
        except StoreError:
            return 0
        self.find()
        return len(drafts) // 2

    def tokens_left(self, situation: Situation) -> tuple[int, int]:
        """The tokens that would be sent with a summary of all but the last steps, and of all but the newest."""
        beside = situation.overhead + _most_tokens(situation.window)
        return beside + self._tokens_of_steps(_KEPT_STEPS), beside + self._tokens_of_steps(1)

    def cut_back(self, length: int) -> None:
        """Forget all messages from `length` on."""
        del self._digests[length + 1 :]

    def _take_over(self) -> int:
        """Use the summary that another process recorded meanwhile; where there is none, the next request tries."""
        before = self.current
        try:
            self._context.journal.catch_up()
        except StoreError:
            return 0
        self.find()
        return int(self.current != before)

    def _tokens_to_keep(self, situation: Situation, head: int, *, is_full: bool) -> int:
        """How many tokens of the newest steps stay: half a window, else the last steps, as far as that is afforded:
        where the window does not force a summary, together with the `head` before them and the summary."""
        half = int(_KEPT_SHARE * situation.window)
        recent = min(half, self._tokens_of_steps(_KEPT_STEPS))
        costs, max_loss = situation.costs, self._context.max_loss
        if costs is None or (is_full and costs.affords_to_carry(half, max_loss)):
            return half
        beside = 0 if is_full else head + _most_tokens(situation.window)
        return recent if costs.affords_to_carry(beside + recent, max_loss) else 0

    def _is_young(self, profile: Profile) -> bool:
        """Whether the summary was made so lately that it cannot have paid yet. Where reading from the cache is hardly
        cheaper, it pays at once: what it leaves would be sent as dear without it."""
        if self.current is None:
            return False
        turns = self._transcript.turns - self._transcript.turns_before(self.current.upto)
        pays_at_once = profile.read >= _HARDLY_CHEAPER * profile.write
        return turns < _KEPT_STEPS + (0 if pays_at_once else REQUESTS_TO_PAY)

    def _tokens_of_steps(self, steps: int) -> int:
        """Tokens of so many of the newest steps as they came."""
        return self._transcript.tokens_from(self._transcript.start_of_step(-steps))

    def _drafts(self, window: int, keep_tokens: int) -> list[Draft]:
        """The entries that record a summary; none where nothing can be made smaller."""
        own = self._context.writer.draw_name()
        compaction = Compaction(self._context.summarizer, max_tokens=_most_tokens(window))
        upto = compaction.boundary(self._transcript, self._decisions, keep_tokens)
        beyond = self.current.upto if self.current is not None else 0
        if upto <= beyond or any(item.name is None for item in self._transcript.items if item.index < upto):
            return []
        summary = self._summarize(compaction, upto, own)
        return self._entries(summary, upto, own) if summary.saves else []

    def _summarize(self, compaction: Compaction, upto: int, own: Name) -> Summary:
        """Write the summary; an asynchronous summarizer runs in a loop of its own, since `aview` is on a thread."""
        transcript, decisions = self._transcript, self._decisions
        if not iscoroutinefunction(compaction.summarizer):
            return compaction.summarize(transcript, upto, _name_of, decisions, own)
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(compaction.summarize_async(transcript, upto, _name_of, decisions, own))
        plain = Compaction(max_tokens=compaction.max_tokens)  # this thread's loop is busy with the caller
        return plain.summarize(transcript, upto, _name_of, decisions, own)

    def _entries(self, summary: Summary, upto: int, own: Name) -> list[Draft]:
        writer = self._context.writer
        about = {"prefix": self.prefix(upto), "messages": upto, "kept": list(summary.kept)}
        at = writer.now()
        taken = writer.store.store_body(Feed(summary.body), writer.room())
        taken.reader.close()
        result = Result(
            at=at, trace_id=own.trace_id, artifact_id=own.artifact_id, tool=TOOL, arguments=json.dumps(about)
        )
        cut = Cut((Segment("gap", 0, taken.body.facts.chars),), above=summary.text)
        return [Draft(result, taken.body), decision_draft(own.trace_id, at, RULE, "summary", cut, summary.text)]

    def prefix(self, length: int) -> str:
        """Return the digest of the first `length` messages."""
        for message in self._transcript.messages[len(self._digests) - 1 : length]:
            self._digests.append(hashlib.sha256(self._digests[-1] + _identity_bytes(message)).digest())
        return self._digests[length].hex()

    def _mark_gone(self, upto: int) -> None:
        """Mark the results of which nothing is sent, so that they neither age nor are pointed to."""
        for item in self._transcript.items:
            if item.index >= max(upto, self._gone):
                break
            item.gone = item.index < upto
            item.pinned = item.gone or self._transcript.messages[item.index].pinned
        self._gone = upto


def _most_tokens(window: int) -> int:
    """The most tokens that a summary takes in a window of this size."""
    return max(MIN_TOKENS, min(MAX_TOKENS, window // _WINDOW_PART))


def _read_summary(known: KnownResult) -> RecordedSummary | None:
    """The summary that a result on record is; None for any other result."""
    if known.result.tool != TOOL or known.decision is None or known.decision[0].rule != RULE:
        return None
    try:
        about = cast("dict[str, Any]", json.loads(known.result.arguments or ""))
        kept, text = tuple(about["kept"]), known.decision[1].above
        return RecordedSummary(about["prefix"], int(about["messages"]), kept, text, known.seq)
    except (ValueError, KeyError, TypeError):
        return None


def _identity_bytes(message: Message) -> bytes:
    results = [(each.call_id, digest_of_text(each.text).hex()) for each in message.returned]
    return json.dumps([message.role, message.said, message.calls, results]).encode("ascii")


def _name_of(item: Item) -> Name:
    assert item.name is not None, "a result that is not in the record is not summarized"
    return item.name
