"""Replays one run under one policy: what each request would have sent, and how much of the evidence it would show.

Owns: feeding a policy step by step, as a session would.
Must not know: how figures are summed up.

Theory of operation
-------------------
A run is a list of messages. Before every assistant message there was a request, so the replay walks the messages in
order: an assistant message is first *requested* (the policy chooses, the request is counted) and then *added*, like all
other messages. Nothing is generated: the recorded calls are kept even where the agent would have done something else
after seeing less. So the figures compare policies and bound the harm; they are not success rates.

    index  message                  requested                                   sizes of the request, in tokens
    0      user                     -
    1      assistant, call          step 0: nothing to choose                   [50]
    2      result 0, 9000 tokens    -
    3      assistant, call          step 1: `arrive` cuts result 0 to 2000      [50, 30, 2000]           first_changed 1
    4      result 1, 4000 tokens    -
    5      assistant, answer        step 2: `age` clears result 0 to 10         [50, 30, 10, 30, 4000]   first_changed 2

`arrive` at step 1 changes a result that no request has sent yet, so the cached prefix (index 1, the length of the
request before) stays intact. `age` at step 2 changes index 2, which step 1 had sent: a rewrite, and everything from
there on is written to the cache again. `changed` has the text of every result that is not shown as it arrived; the
tally compares the evidence with it.

Invariants:
- Choices change the sizes of messages only by the difference of the texts. `SentMessages` says what of it is sent: a
  summary takes the place of the oldest messages, for costs alone. The policy goes on as if there were none.
- A result is in `changed` if and only if its shown text differs from its original text.
- `first_changed` never exceeds the length of the request before; it is smaller only if something sent has changed.
- Policies see tokens by the counter of the replay, so that all of them decide by the same sizes.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from keepwhole.models.ledger import CachedPrefixes, Costs, Ledger, SentRequest, last_end
from keepwhole.models.profiles import DEFAULT, Profile
from keepwhole.models.unmanaged import ClientRequest, summary_cost
from keepwhole.policies.atoms import argument_text
from keepwhole.policies.auto import Auto
from keepwhole.policies.other_systems import Everything
from keepwhole.policies.policy import Choice, Policy, Situation, hides, shown_text
from keepwhole.policies.settings import CAREFUL
from keepwhole.policies.transcript import Item, Name, Transcript
from keepwhole.replay.cache import BreakpointCache, RequestEndCache, RequestShape
from keepwhole.replay.client_compaction import CompactingClient
from keepwhole.replay.cost import RequestTokens, price_of, refetch_cost
from keepwhole.replay.evidence import LATE, RECENT
from keepwhole.replay.outcome import EvidenceShare, Outcome, ResultChange, shares_by_kind
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.sent_messages import SentMessages
from keepwhole.replay.tail_recall import TailRecallProbe
from keepwhole.replay.tally import EvidenceTally
from keepwhole.replay.token_sources import TokenSourceTotals
from keepwhole.truncation.arguments import cut_arguments

WINDOW = 128_000
"""Tokens of the context window at which runs overflow and clients compact, unless another one is given."""


def replay(
    facts: RunFacts,
    policy: Policy,
    profile: Profile = DEFAULT,
    window: int = WINDOW,
    tail: bool = False,
    tools: int = 0,
    on_message: Callable[[int], None] | None = None,
) -> Outcome:
    """Return what `policy` would have done to a run; with `tail` also what recall at the tail would have appended.

    `tools` are the tokens of the recall tools where they are offered. `on_message` is told how many messages are done;
    it may raise to give up.
    """
    max_loss = policy.settings.max_loss if isinstance(policy, Auto) else CAREFUL.max_loss
    front = SentMessages(facts, window, tools, max_loss)
    state = _Replay(facts, policy, profile, window, front, TailRecallProbe(facts) if tail else None)
    for index, message in enumerate(facts.run.messages):
        if message.role == "assistant":
            state.request(index)
        state.add(index)
        if on_message is not None:
            on_message(index + 1)
    return state.outcome()


def replay_unchanged(
    facts: RunFacts,
    profile: Profile = DEFAULT,
    window: int = WINDOW,
    on_message: Callable[[int], None] | None = None,
) -> Outcome:
    """Return the outcome of sending everything: the baseline of all policies."""
    return replay(facts, Everything(), profile, window, on_message=on_message)


class _Replay:
    """The state of one replay between two messages."""

    def __init__(
        self,
        facts: RunFacts,
        policy: Policy,
        profile: Profile,
        window: int,
        front: SentMessages,
        tail_recall: TailRecallProbe | None,
    ) -> None:
        self._facts, self._policy, self._profile = facts, policy, profile
        self._front = front
        self._transcript = Transcript()
        self._decided: dict[int, Choice] = {}
        self._changed: dict[int, str] = {}
        self._shown_tokens: dict[int, int] = {}
        """The tokens of each result that was decided about."""
        self._cut_calls: dict[int, str] = {}
        """By the number of a call the texts in its arguments that are shown, where they are cut."""
        self._sizes: list[int] = []
        self._sources = TokenSourceTotals(facts, front)
        self._new: list[Item] = []
        """Results that no request has sent yet."""
        self._last = self._frontier = self._whole = self._whole_before = 0
        """Messages of the last request, messages up to the newest changed one, tokens of everything now and then."""
        self._ledger, self._prefixes = Ledger(), CachedPrefixes()
        self._recalled = 0
        """Tokens that were fetched back, and that each request has carried since."""
        self._rewritten: list[int] = []
        self._changes: list[ResultChange] = []
        self._requests: list[RequestTokens] = []
        self._by_step = {step: list(found) for step, found in groupby(facts.evidence, lambda one: one.step)}
        self._request_ends, self._breakpoints = RequestEndCache(), BreakpointCache(profile)
        self._tally, self._client = EvidenceTally(facts), CompactingClient(facts, window)
        self._tail_recall = tail_recall

    def add(self, index: int) -> None:
        """Add one message to the transcript."""
        transcript, message = self._transcript, self._facts.run.messages[index]
        transcript.extend((message,))
        for item in transcript.items_in(index):
            item.tokens = self._facts.result_tokens[item.number]
            item.name = Name(f"trace_{item.number:022d}", f"art_0_{item.number:022d}")
            self._new.append(item)
        self._sizes.append(self._facts.sizes[index])
        self._whole += self._facts.sizes[index]
        transcript.tokens = self._whole

    def request(self, index: int) -> None:
        """Apply the choices of the policy and count the request that they give."""
        transcript, step = self._transcript, len(self._requests)
        now, cold = self._clock(index)
        situation, waited = Situation(self._profile, cold=cold, arguments=True), self._front.waits
        arrived = self._policy.arrive(transcript, self._new, self._decided, situation)
        changed = self._apply(self._front.affordable(arrived, transcript.items, self._costs(index, now, cold)))
        costs = self._costs(index, now, cold)
        aged = self._policy.age(transcript, self._decided, situation._replace(costs=costs))
        changed = min(changed, self._apply(self._front.affordable(aged, transcript.items, costs)), self._last)
        if changed < self._last:
            self._rewritten.append(step)
        total = sum(self._sizes)
        summarized = self._front.compact(self._sizes, self._last, costs)
        if summarized is not None or waited != self._front.waits:
            changed = 0
        self._add_to_ledger(costs, index, changed, now)
        self._requests.append(self._tokens_of(changed, now)._replace(summarized=summarized or 0))
        found = len(self._tally.losses_in_context)
        self._tally.count(step, self._by_step.get(step, ()), self._changed, transcript.items, self._decided)
        self._tally.count_arguments(step, self._cut_calls)
        self._sources.add_request(self._sizes)
        recalled = self._tally.losses_in_context[found:]
        self._ledger.pay(self._profile.read * self._recalled)
        if summarized:
            self._ledger.pay(summary_cost(self._profile, summarized))
        self._ledger.pay(refetch_cost(self._requests, recalled, price_of(self._profile)))
        self._recalled += sum(one.fetched for one in recalled)
        self._client.count(step, self._sizes, total, self._changed)
        if self._tail_recall is not None:
            self._tail_recall.count(step, transcript, self._decided)
        self._last = index
        self._new = []

    def _costs(self, index: int, now: float, cold: bool) -> Costs:
        """Return what the run has cost before a request, and this request as it would be sent without a batch."""
        ends, sent = self._prefixes.alive(now, self._profile.lifetime, self._profile), self._front.sizes(self._sizes)
        came = ClientRequest(self._whole, self._whole_before, cold, self._front.kept(self._last))
        request = SentRequest(sum(sent), 0 if cold else sum(sent[: last_end(ends, index)]), came)
        return Costs(self._ledger, request, self._profile, ends)

    def _add_to_ledger(self, costs: Costs, index: int, first_changed: int, now: float) -> None:
        sent = self._front.sizes(self._sizes)
        cached = sum(sent[: last_end(costs.ends, first_changed)])
        request = costs.request._replace(tokens=sum(sent), cached=min(cached, costs.request.cached))
        self._ledger.send(request, self._profile)
        self._prefixes.drop_after(first_changed)
        self._prefixes.add(index, now)
        self._whole_before = self._whole

    def _tokens_of(self, first_changed: int, now: float) -> RequestTokens:
        sent = self._front.sizes(self._sizes)
        shape = RequestShape(sent, self._facts.blocks, first_changed, self._frontier, now)
        ends, explicit = self._request_ends.send(shape), self._breakpoints.send(shape)
        return RequestTokens(sum(sent), sum(sent[:first_changed]), ends, explicit)

    def _clock(self, index: int) -> tuple[float, bool]:
        """Return the time of a request, and whether the cache has certainly expired by then."""
        times = self._facts.run.times
        if not times or not self._last:
            return 0.0, False
        return times[index] - times[0], times[index] - times[self._last] > self._profile.lifetime

    def _apply(self, choices: Sequence[Choice]) -> int:
        """Apply choices; return the index of the first message whose text they change."""
        first = len(self._sizes)
        for choice in choices:
            item = self._transcript.items[choice.number]
            before = self._decided.get(choice.number)
            if before is not None and before.cut == choice.cut:
                continue
            if self._show(item, choice) and item.index >= self._front.cut:
                first = min(first, self._transcript.index_of_call(item) if choice.cut.arguments else item.index)
        return first

    def _show(self, item: Item, choice: Choice) -> bool:
        """Show a result by a choice; return whether its text changes."""
        text, before = shown_text(item, choice), self._changed.get(item.number, item.text)
        is_whole_media = item.media is not None and not hides(choice)
        tokens = item.tokens if is_whole_media else self._facts.count_tokens(text)
        shown = self._shown_tokens.get(item.number, item.tokens)
        self._shown_tokens[item.number] = tokens
        self._sizes[item.index] += tokens - shown
        self._sources.change_result(item, shown, tokens)
        self._decided[item.number] = choice._replace(tokens=tokens - self._cut_arguments(item, choice))
        self._changed[item.number] = text
        if text == item.text:
            del self._changed[item.number]
        else:
            self._frontier = max(self._frontier, item.index + 1)
        if text != before:
            self._changes.append(ResultChange(item.number, len(self._requests), choice.rule, tokens))
        return text != before

    def _cut_arguments(self, item: Item, choice: Choice) -> int:
        """Cut the arguments of a result's call as a choice says; return the tokens that are not sent."""
        if item.call is None or not choice.cut.arguments:
            return 0
        count, given = self._facts.count_tokens, item.call.arguments
        shown = cut_arguments(given, choice.cut.arguments)
        index, freed = self._transcript.index_of_call(item), count(given) - count(shown)
        self._cut_calls[self._facts.arguments.number_of[id(item.call)]] = argument_text(shown)
        self._sizes[index] -= freed
        self._sources.add_arguments(index, -freed)
        return freed

    def outcome(self) -> Outcome:
        """Return everything that was counted, as a value."""
        facts, tally, client = self._facts, self._tally, self._client
        run, found = facts.run, facts.evidence
        late = [one for one in found if one.step >= LATE]
        return Outcome(
            policy=self._policy.name,
            source=run.source,
            id=run.id,
            task=run.task,
            tokens=facts.tokens,
            requests=tuple(self._requests),
            evidence=len(found),
            visible=tally.visible,
            in_context=tally.in_context,
            steps=len(self._by_step),
            steps_ok=tally.steps_ok,
            losses=tuple(tally.losses),
            losses_in_context=tuple(tally.losses_in_context),
            blind_searches=tuple(tally.blind_searches),
            rewritten=tuple(self._rewritten),
            changes=tuple(self._changes),
            results=facts.results,
            calls=facts.repeats.calls,
            hidden_repeats=tally.hidden_repeats,
            first_compaction=client.first_compaction,
            after_compaction=EvidenceShare(client.shown, client.total),
            missed=tuple(tally.missed),
            kinds=shares_by_kind(found, tally.missed),
            arguments=EvidenceShare(tally.arguments_shown, tally.arguments),
            sources=self._sources.total,
            late=len(late),
            late_recent=sum(one.age <= RECENT for one in late),
            appended=None if self._tail_recall is None else tuple(self._tail_recall.found),
        )
