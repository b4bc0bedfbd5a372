"""What one branch has cost, request by request, beside what the client would have paid with `mode: off`.

Owns: the requests of a branch as a ledger sees them: how large they came and were sent, what of them was cached.
Must not know: what a batch leaves out, how a provider spells a message.

A branch that is followed from its beginning, after a restart or by another process, has its earlier requests worked out
from the record: each turn of the model was one request; a result was first sent in the request of its turn, as it was
cut on arrival; a batch was sent with the results that were recorded before it.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.canonical.message import Message
from keepwhole.conversation.plan import is_recall_answer
from keepwhole.models.ledger import CachedPrefixes, Costs, Ledger, SentRequest, last_end
from keepwhole.models.tokens import estimate
from keepwhole.models.unmanaged import ClientRequest
from keepwhole.policies.policy import Situation, TrackedChoices, sent_tokens
from keepwhole.policies.transcript import Transcript
from keepwhole.recall.names import is_recall
from keepwhole.record.known_result import KnownResult

_CENT = 3_000
"""Input tokens of a usual model for about a cent: less is not worth a warning."""

KnownResults: TypeAlias = Mapping[int, KnownResult]
"""The results of a branch that are on record, by number."""


class _Came(NamedTuple):
    """The messages of a request as the client sent them."""

    messages: int
    tokens: int
    """Without what only recall needs."""


class _Forgotten(NamedTuple):
    """Messages at the end of a branch that came differently."""

    length: int
    """How many messages are before them."""
    messages: Sequence[Message]
    tokens: int
    """Tokens of all messages, these included."""


class BranchCosts:
    """The costs of one branch."""

    def __init__(self, transcript: Transcript, decisions: TrackedChoices) -> None:
        self._transcript, self._decisions = transcript, decisions
        self._ledger, self._prefixes = Ledger(), CachedPrefixes()
        self._now = self._lifetime = 0.0
        self._shortfall = self._unserved = 0
        """Tokens that the cache should have served, in all, and since the request before."""
        self._before = _Came(0, 0)
        """The request before."""
        self._is_told = False
        """Whether it was said that nothing more can be afforded."""
        self._forgotten: _Forgotten | None = None
        """The messages that came differently with the request that is viewed now."""
        self._recalled: list[int] = []
        """For each message the tokens of recall calls and answers up to and with it."""

    def begin(self, now: float, lifetime: float, shortfall: int) -> None:
        """Set the time of the next request, how long the cache remembers one, and what bills say it did not serve."""
        self._now, self._lifetime = now, lifetime
        self._unserved = shortfall - self._shortfall if self._before.messages else 0
        self._shortfall = shortfall

    def cut_back(self, length: int) -> None:
        """Note that the messages from `length` on are about to be forgotten, since they came differently.

        Clients spell the newest messages anew at each request. Whether they say something else is seen when they are
        there again.
        """
        del self._recalled[length:]
        if self._forgotten is None:
            self._forgotten = _Forgotten(length, self._transcript.messages[length:], self._transcript.tokens)
        elif length < self._forgotten.length:
            between = self._transcript.messages[length : self._forgotten.length]
            self._forgotten = self._forgotten._replace(length=length, messages=[*between, *self._forgotten.messages])

    def _take_back(self, forgotten: "_Forgotten") -> None:
        """Forget the part of what was sent that the client has taken back."""
        again = self._transcript.messages[forgotten.length :]
        pairs = zip(forgotten.messages, again, strict=False)
        length = forgotten.length + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if length < self._before.messages:
            left = self._transcript.tokens - self._transcript.tokens_from(length)
            self._before = _Came(length, max(0, self._before.tokens - (forgotten.tokens - left)))
            self._prefixes.drop_after(length)

    def before(self, situation: Situation, whole: int, known: Callable[[], KnownResults], *, is_recall: bool) -> Costs:
        """Return what the branch has cost before the request that is viewed now.

        `situation` has what a summary saves in its overhead, `whole` is the overhead without that; `known` gives the
        results on record. With `is_recall` the request is made only to recall something.
        """
        if self._forgotten is not None:
            self._take_back(self._forgotten)
            self._forgotten = None
        self._count_recalled()
        if not self._before.messages and self._transcript.turns and whole == situation.overhead:
            self._rebuild(situation, known())
        scale, profile = situation.scale, situation.profile
        self._ledger.charge(self._unserved, profile)
        self._unserved = 0
        ends = [] if situation.cold else self._prefixes.alive(self._now, self._lifetime, profile)
        sent = sent_tokens(self._transcript, self._decisions) + situation.overhead
        cached = sent - self._sent_from(ends[-1]) if ends else 0
        came: ClientRequest | None = None
        if not is_recall:
            tokens = self._transcript.tokens - self._recalled_upto(len(self._recalled)) + whole
            shared = min(self._before.tokens, tokens)
            came = ClientRequest(int(tokens * scale), int(shared * scale), not ends, int(whole * scale))
        return Costs(self._ledger, SentRequest(int(sent * scale), int(cached * scale), came), profile, ends, scale)

    def add(
        self, costs: Costs, situation: Situation, first_changed: int | None, max_loss: float, *, is_summarized: bool
    ) -> None:
        """Count the request as it is sent: `first_changed` is the first message that changes with it.

        Where the conversation costs more than `max_loss` allows, which only the window can force, that is said once.
        """
        messages = len(self._transcript.messages)
        if messages == self._before.messages and first_changed is None and not is_summarized:
            return  # the same request once more
        sent = sent_tokens(self._transcript, self._decisions) + situation.overhead
        cached = costs.request.cached
        if first_changed is not None or is_summarized:
            end = 0 if is_summarized else last_end(costs.ends, first_changed or 0)
            cached = min(cached, int((sent - self._sent_from(end)) * costs.scale) if end else 0)
            self._prefixes.drop_after(end)
        self._ledger.send(costs.request._replace(tokens=int(sent * costs.scale), cached=cached), costs.profile)
        if not self._is_told and self._ledger.budget(max_loss) < -_CENT:
            self._is_told = True
            events.log_budget_spent(round(self._ledger.paid), round(self._ledger.unmanaged))
        self._prefixes.add(messages, self._now)
        came = costs.request.came
        self._before = _Came(messages, int(came.tokens / costs.scale) if came is not None else self._before.tokens)

    def _sent_from(self, index: int) -> int:
        """Return the tokens of the messages from `index` on, as they are sent."""
        found = self._transcript.tokens_from(index)
        for item in takewhile(lambda item: item.index >= index, reversed(self._transcript.items)):
            choice = self._decisions.get(item.number)
            found -= item.tokens - choice.tokens if choice is not None else 0
        return found

    def _count_recalled(self) -> None:
        transcript = self._transcript
        for index in range(len(self._recalled), len(transcript.messages)):
            calls = sum(estimate(call.arguments) for call in transcript.messages[index].calls if is_recall(call.tool))
            answers = sum(item.tokens for item in transcript.items_in(index) if is_recall_answer(item))
            self._recalled.append(self._recalled_upto(index) + calls + answers)

    def _recalled_upto(self, length: int) -> int:
        return self._recalled[length - 1] if length else 0

    def _rebuild(self, situation: Situation, known: KnownResults) -> None:
        """Count the requests that were sent before this process followed the branch."""
        transcript, scale = self._transcript, situation.scale
        saved, changed = self._changes_by_turn(known)
        times = {transcript.items[number].turn: one.result.at / 1000 for number, one in known.items()}
        now, left_out = min(times.values(), default=self._now), 0
        for turn, (messages, tokens) in enumerate(transcript.requests()):
            now = max(now, times.get(turn, now))
            left_out += saved.get(turn, 0)
            whole = tokens - self._recalled_upto(messages) + situation.overhead
            sent = tokens - left_out + situation.overhead
            end = self._before.messages
            if turn in changed:
                self._prefixes.drop_after(changed[turn])
                end = 0
            cached = self._before.tokens - left_out if end else 0
            came = ClientRequest(int(whole * scale), int(min(self._before.tokens, whole) * scale))
            self._ledger.send(SentRequest(int(sent * scale), int(max(0, cached) * scale), came), situation.profile)
            self._prefixes.add(messages, now)
            self._before = _Came(messages, whole)

    def _changes_by_turn(self, known: KnownResults) -> tuple[dict[int, int], dict[int, int]]:
        """Return for each turn the tokens that are left out from then on, and the first message that it changed."""
        items = self._transcript.items
        recorded = sorted((one.seq, items[number].turn) for number, one in known.items())
        seqs = [seq for seq, _ in recorded]
        saved: dict[int, int] = {}
        changed: dict[int, int] = {}
        for number, choice in self._decisions.items():
            item, one = items[number], known.get(number)
            before = bisect_left(seqs, one.decided) if one is not None else 0
            turn = max(item.turn, recorded[before - 1][1] if before else 0)
            saved[turn] = saved.get(turn, 0) + item.tokens - choice.tokens
            if turn > item.turn:
                changed[turn] = min(changed.get(turn, item.index), item.index)
        return saved, changed
