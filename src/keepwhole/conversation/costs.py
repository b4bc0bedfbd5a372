"""What one branch has cost, request by request, beside what the client would have paid with `mode: off`.

Owns: the requests of a branch as a ledger sees them: how large they came and were sent, what of them was cached.
Must not know: what a batch leaves out, how a provider spells a message.

Theory of operation. Each turn of the model was one request, whichever process sent it. So the requests are worked out
from the messages and the record, once for each turn, when the next request is viewed:

    a result was first sent in the request of its turn, as it was cut on arrival
    a batch was sent with the request after the newest result that was recorded before it
    a request was sent when the newest of its results was recorded

Example. Turn 7 came with 40k tokens and was sent with 30k; then `bash` returned 2k tokens. Turn 8 came with 42k, and
was sent with 32k, of which the cache had 30k. A batch before turn 9 leaves 12k out: 22k are sent, and of these the
cache has what ended before the first change.

Invariants
- The costs depend on the messages and the record alone, so each process that views a branch has the same. They are in
  estimated tokens: processes see bills at different times, and what a token is billed weighs on both sides alike. Only
  the limits of the model are converted by it, such as the window at which a client would compact.
- What clients spell anew at each request, as markers move, is not sent anew.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from math import inf
from typing import NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.canonical.message import Message
from keepwhole.conversation.plan import is_recall_answer
from keepwhole.models.ledger import CachedPrefixes, CarriedCosts, Costs, Ledger, SentRequest, last_end
from keepwhole.models.profiles import Profile
from keepwhole.models.tokens import estimate
from keepwhole.models.unmanaged import ClientRequest
from keepwhole.policies.policy import Situation, TrackedChoices, sent_tokens
from keepwhole.policies.transcript import Transcript
from keepwhole.recall.names import is_recall
from keepwhole.record.known_result import KnownResult

_CENT = 3_000
"""Input tokens of a usual model for about a cent: less is not worth a warning."""

Known: TypeAlias = Callable[[int], KnownResult | None]
"""Gives the result on record by its number in the branch; None for one that is not on record."""


class _Request(NamedTuple):
    """A request that was counted, in estimated tokens."""

    messages: int = 0
    came: int = 0
    """Without what only recall needs."""
    sent: int = 0
    at: float = 0.0


class BranchCosts:
    """The costs of one branch."""

    def __init__(self, transcript: Transcript, decisions: TrackedChoices) -> None:
        self._transcript, self._decisions = transcript, decisions
        self._ledger, self._prefixes = Ledger(), CachedPrefixes()
        self._now = self._lifetime = 0.0
        self._shortfall: int | None = None
        """Tokens that the cache should have served, by all bills that were seen."""
        self._before = _Request()
        """The request before."""
        self._turns = 0
        """Requests that were counted."""
        self._saved: dict[int, int] = {}
        """By the number of a result the tokens that are left out of it, as far as that was counted."""
        self._left_out = 0
        """The sum of these."""
        self._pending: dict[int, list[tuple[int, int]]] = {}
        """By turns that were not counted yet the results that are shown otherwise, and what is left out of each."""
        self._recorded: list[tuple[int, int]] = []
        """The numbers of the entries of results, each with the turn of the result."""
        self._items = 0
        """Results that were looked at for that."""
        self._recalled: list[int] = []
        """For each message the tokens of recall calls and answers up to and with it."""
        self._summary = 0
        """The number of the entry of the summary that was sent when requests were counted last; 0 for none."""
        self._seen: list[Message] = []
        """The messages of the request before."""
        self.compacted: CarriedCosts | None = None
        """What is left of the branch when the client compacts with the request that was viewed last; None if not."""
        self._newest: tuple[int, Costs] | None = None
        """What it had cost before the request that was viewed last, with the turns before that."""
        self._uncounted: SentRequest | None = None
        """The request that was viewed before that, if the model's answer to it is not among the messages."""
        self._is_told = False
        """Whether it was said that nothing more can be afforded."""
        self._fork: int | None = None
        """The number of turns before the fork that is still to be counted up to; None where there is none."""

    def begin(self, now: float, lifetime: float) -> None:
        """Set the time of the next request, and how long the cache remembers one."""
        self._now, self._lifetime = now, lifetime

    @property
    def is_new(self) -> bool:
        """Whether nothing was viewed yet."""
        return self._newest is None and not self._turns

    def go_on(self, carried: CarriedCosts, at: float, situation: Situation, whole: int) -> None:
        """Begin with what another conversation had cost when its client compacted it: of that, the cache still serves
        what is before the messages."""
        begins = whole + self._transcript.tokens_of(0)
        self._ledger.go_on(carried, begins)
        self._before = _Request(0, begins if carried.size else whole, whole, at)
        self._prefixes.add(0, at)

    def begin_fork(self, turns: int) -> None:
        """Count what was sent in the first `turns` turns for what the cache has, and not for what it has cost: it was
        paid in the session that the conversation was forked from."""
        self._fork = turns

    def note_compaction(self, costs: Costs, restored: Collection[int]) -> None:
        """Note that the client compacts with the request that is viewed now, in which these results are shown in full
        again."""
        items, more, ledger = self._transcript.items, 0.0, self._ledger
        if restored:
            first = min(items[number].index for number in restored)
            shown = sum(items[number].tokens - self._decisions[number].tokens for number in restored)
            more = max(0.0, costs.of_batch(self._transcript.tokens_from(first), -shown))
        if self._uncounted is not None:
            ledger = ledger.after(self._uncounted, costs.profile)
        self._newest = None
        self.compacted = ledger.after_compaction(costs.request, costs.profile, more)

    def before(
        self, situation: Situation, whole: int, known: Known, summary: int, *, is_between_rounds: bool, restores: bool
    ) -> Costs:
        """Return what the branch has cost before the request that is viewed now.

        `situation` has what a summary saves in its overhead, `whole` is the overhead without that, `summary` the number
        of its entry. A request between hidden rounds is made only to recall something. One that `restores` results
        follows a request that has no answer yet among the messages, and that the cache has.
        """
        situation = _in_estimates(situation)
        self._take_back()
        self._count_recalled()
        if self._turns < self._transcript.turns:
            self._count_requests(situation, whole, known, summary)
        newest, turns, ledger = self._newest, self._transcript.turns, self._ledger
        self._uncounted = newest[1].request if newest is not None and newest[0] == turns else None
        ends = [] if situation.cold else self._prefixes.alive(self._now, self._lifetime, situation.profile)
        sent = sent_tokens(self._transcript, self._decisions) + situation.overhead
        came = self._transcript.tokens - self._recalled_upto(len(self._recalled)) + whole
        shared = self._before.came
        if restores and not situation.cold and (end := self._end_of_results()):
            shared = came - self._transcript.tokens_from(end)
            if self._uncounted is not None:
                self._read_changes(known)
                front = whole if summary != self._summary else None
                self._uncounted = self._as_sent(self._uncounted, self._sent_upto(end, sent), sent, ends, front)
                ledger = ledger.after(self._uncounted, situation.profile)
            ends = [*(each for each in ends if each < end), end]
        client = ClientRequest(came, min(shared, came), not ends, whole, whole)
        is_for_recall = is_between_rounds or self._is_for_recall(len(self._transcript.messages))
        cached = self._sent_upto(ends[-1], sent) if ends else 0
        request = SentRequest(sent, cached, None if is_for_recall else client)
        self.compacted = None
        costs = Costs(ledger, request, situation.profile, ends)
        self._newest = turns, costs
        return costs

    def cached_before(self, index: int) -> int:
        """Return the number of messages of the longest prefix before message `index` that the cache has; 0 for none."""
        return 0 if self._newest is None else last_end(self._newest[1].ends, index)

    def _as_sent(
        self, viewed: SentRequest, tokens: int, sent: int, ends: Sequence[int], front: int | None
    ) -> SentRequest:
        """Return the request that was viewed last as it was sent, with `tokens`: with what was cut on arrival, and with
        the batch or the summary that was made for it, behind which nothing was cached. `front` are the tokens before
        the messages, if it was a summary."""
        changes = self._pending.get(self._transcript.turns, ())
        old = [self._first_changed(number) for number, _ in changes if self._is_older(number, self._transcript.turns)]
        cached = viewed.cached if front is None else front
        if front is None and old:
            end = last_end(ends, min(old))
            cached = self._sent_upto(end, sent) if end else 0
        return viewed._replace(tokens=tokens, cached=min(cached, tokens))

    def _end_of_results(self) -> int:
        """Return the number of messages up to the newest result, and with it; 0 without one."""
        return self._transcript.items[-1].index + 1 if self._transcript.items else 0

    def charge(self, shortfall: int, situation: Situation, max_loss: float) -> None:
        """Charge what the cache should have served and did not, of `shortfall` tokens in all; say once where the
        conversation has cost more than it may, which only the window can force."""
        if self._shortfall is not None:
            self._ledger.charge(int((shortfall - self._shortfall) / situation.scale), situation.profile)
        self._shortfall = shortfall
        if not self._is_told and self._ledger.budget(max_loss) < -_CENT:
            self._is_told = True
            events.log_budget_spent(round(self._ledger.paid), round(self._ledger.unmanaged))

    def _is_for_recall(self, messages: int) -> bool:
        """Return whether the request of the first `messages` messages was made only to recall something: all results
        at its end are answers of recall tools."""
        results = takewhile(bool, (self._transcript.items_in(index) for index in range(messages - 1, -1, -1)))
        return {is_recall_answer(item) for items in results for item in items} == {True}

    def _take_back(self) -> None:
        """Forget the part of what was sent that the client has taken back.

        Clients spell the newest messages anew at each request; only those that say something else were taken back.
        """
        transcript, seen = self._transcript, self._seen
        length = min(len(seen), len(transcript.messages))
        while length and seen[length - 1] is not transcript.messages[length - 1]:
            length -= 1
        pairs = zip(seen[length:], transcript.messages[length:], strict=False)
        length += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        del self._recalled[length:]
        if length < len(seen):
            self._forget_results()
        self._seen[length:] = transcript.messages[length:]
        self._turns = min(self._turns, transcript.turns_before(length))
        if length < self._before.messages:
            left = transcript.tokens - transcript.tokens_from(length)
            self._before = self._before._replace(messages=length, came=left, sent=min(left, self._before.sent))
            self._prefixes.drop_after(length)

    def _forget_results(self) -> None:
        """Read again what is known of results, since some were taken back."""
        self._recorded, self._items = [], 0
        items = self._transcript.items
        for number in [number for number in self._saved if number not in self._decisions]:
            self._left_out -= self._saved.pop(number)
        self._pending = {
            turn: [change for change in changes if change[0] < len(items)] for turn, changes in self._pending.items()
        }

    def _count_requests(self, situation: Situation, whole: int, known: Known, summary: int) -> None:
        """Count the requests that were sent since the last time, by any process. What was sent before there was a
        summary is left out, on both sides, and so is what was not sent through us: the turns whose results were
        recorded together with those of a later one."""
        times = self._read_recorded(known)
        self._read_changes(known)
        if summary != self._summary:
            self._summary = summary
            self._begin_after_summary(whole)
        first = self._turn_of(summary)
        at = self._before.at or min(times.values(), default=self._now)
        for turn, messages, tokens in self._transcript.requests(self._turns):
            self._pass_fork(turn)
            is_sent = turn in times and times[turn] != times.get(turn + 1)
            at = max(at, times.get(turn, at))
            changes = self._pending.pop(turn, [])
            old = [self._first_changed(number) for number, _ in changes if self._is_older(number, turn)]
            for number, saved in changes:
                self._left_out += saved - self._saved.get(number, 0)
                self._saved[number] = saved
            if not is_sent and not self._before.messages:
                continue
            if turn >= first:
                self._count_request(situation, whole, messages, tokens, at, min(old, default=None))
            else:
                self._before = _Request(messages, tokens - self._recalled_upto(messages) + whole, 0, at)
                self._begin_after_summary(whole)
        self._turns = self._transcript.turns
        self._pass_fork(self._turns)

    def _pass_fork(self, turn: int) -> None:
        """Begin the sums anew with the first request that was sent after a fork."""
        if self._fork is not None and turn >= self._fork:
            self._ledger.begin_fork()
            self._fork = None

    def _begin_after_summary(self, whole: int) -> None:
        """Forget what was sent before a summary took its place: of that the cache serves only what is before messages.
        The client with `mode: off` is served all of it."""
        self._prefixes.drop_after(0)
        if self._before.messages:
            self._prefixes.add(0, self._before.at)
            self._before = self._before._replace(sent=whole)

    def _first_changed(self, number: int) -> int:
        """Return the message from which on a result is sent otherwise: that of its call where arguments are cut."""
        item, choice = self._transcript.items[number], self._decisions.get(number)
        is_cut = choice is not None and bool(choice.cut.arguments)
        return self._transcript.index_of_call(item) if is_cut else item.index

    def _is_older(self, number: int, turn: int) -> bool:
        """Return whether a result was sent before the request of a turn."""
        return self._transcript.items[number].turn < turn

    def _count_request(
        self, situation: Situation, whole: int, messages: int, tokens: int, at: float, first_changed: int | None
    ) -> None:
        """Count one request: its messages and their original tokens, when it was sent, and what of it had changed."""
        profile, overhead = situation.profile, situation.overhead
        ends = self._prefixes.alive(at, self._lifetime, profile)
        sent = tokens - self._left_out + overhead
        cached = self._before.sent if ends else 0
        if first_changed is not None:
            end = last_end(ends, first_changed)
            self._prefixes.drop_after(end)
            items = self._transcript.items
            left_out = sum(saved for number, saved in self._saved.items() if items[number].index < end)
            upto = self._transcript.tokens - self._transcript.tokens_from(end) if end else 0
            cached = upto - left_out + overhead if end else 0
        came = tokens - self._recalled_upto(messages) + whole
        client = ClientRequest(came, min(self._before.came, came), not ends, whole, whole)
        request = SentRequest(sent, max(0, min(cached, sent)), client)
        self._ledger.send(request._replace(came=None) if self._is_for_recall(messages) else request, profile)
        self._prefixes.add(messages, at)
        self._before = _Request(messages, came, sent, at)

    def _read_recorded(self, known: Known) -> dict[int, float]:
        """Note when results of finished turns were recorded; return the newest time of each turn."""
        items, times = self._transcript.items, dict[int, float]()
        for item in items[self._items :]:
            if item.turn >= self._transcript.turns:
                break
            one = known(item.number)
            if one is not None:
                insort(self._recorded, (one.seq, item.turn))
                times[item.turn] = max(times.get(item.turn, 0.0), one.result.at / 1000)
            self._items += 1
        return times

    def _read_changes(self, known: Known) -> None:
        """Note by turn the results that its request showed otherwise than those before, and what it left out.

        What another process recorded together with the newest results is first sent with the request viewed now.
        """
        turns = self._transcript.turns
        newest = takewhile(lambda item: item.turn >= turns, reversed(self._transcript.items))
        begins = min((one.seq for item in newest if (one := known(item.number)) is not None), default=inf)
        for number in self._decisions.take_changed():
            choice, item, one = self._decisions.get(number), self._transcript.items[number], known(number)
            decided = 0 if one is None else turns if one.decided > begins else self._turn_of(one.decided)
            turn = max(item.turn, decided, self._turns)
            saved = 0 if choice is None else item.tokens - choice.tokens
            if self._saved.get(number) == saved or item.gone:
                continue  # a message that is spelled anew, or of which nothing is sent
            self._pending.setdefault(turn, []).append((number, saved))

    def _turn_of(self, seq: int) -> int:
        """Return the turn with whose request an entry was first sent: that of the newest result recorded before it."""
        before = bisect_left(self._recorded, (seq, 0))
        return self._recorded[before - 1][1] if before else 0

    def _sent_upto(self, end: int, sent: int) -> int:
        """Return the tokens of the first messages, as they are sent, of `sent` in all."""
        found = self._transcript.tokens_from(end)
        for item in takewhile(lambda item: item.index >= end, reversed(self._transcript.items)):
            choice = self._decisions.get(item.number)
            found -= item.tokens - choice.tokens if choice is not None else 0
        return max(0, sent - found)

    def _count_recalled(self) -> None:
        transcript = self._transcript
        for index in range(len(self._recalled), len(transcript.messages)):
            calls = sum(estimate(call.arguments) for call in transcript.messages[index].calls if is_recall(call.tool))
            answers = sum(item.tokens for item in transcript.items_in(index) if is_recall_answer(item))
            self._recalled.append(self._recalled_upto(index) + calls + answers)

    def _recalled_upto(self, length: int) -> int:
        return self._recalled[length - 1] if length else 0


def _in_estimates(situation: Situation) -> Situation:
    """The situation with the limits of its model in estimated tokens."""
    return situation._replace(profile=_estimated(situation.profile, situation.scale))


@lru_cache(maxsize=256)
def _estimated(profile: Profile, scale: float) -> Profile:
    limits = {"window": profile.window, "long_from": profile.long_from, "minimum": profile.minimum}
    return profile.replace(**{name: round(tokens / scale) for name, tokens in limits.items()})
