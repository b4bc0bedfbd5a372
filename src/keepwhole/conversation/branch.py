"""One branch of a conversation: the messages a client sends, the results in them, and how each result is sent.

Theory of operation. A client sends its whole history with every request, a little longer each time. The branch
remembers what it has seen: `follow` compares the new list with it, forgets what the client took back, and decodes only
the messages that are new. Every result in them is a `SeenResult`, and lives like this:

    state     in the messages as   on record   sent as          goes on to
    NEW       the client sent it   no          the whole text   KEPT, DECIDED (recorded, by this or another process)
    KEPT      the client sent it   yes         as it came       DECIDED (a decision is recorded), GONE
    DECIDED   the client sent it   yes         its decision     DECIDED (another decision), GONE
    GONE      the client sent it   yes         nothing          KEPT, DECIDED (a fork makes the summary not fit)

    (any state ends when the client takes the message back)

A result that the client itself had cut lives the same life: it is sent as it came. Where the original is known
(`originals`), that is what is on record, with the client's text as its first decision, by the rule `client`; what
Keepwhole shows of it later is a cut of the original.

Example. Step 1 sends the results r0 and r1: both NEW. The plan caps r1. One append records both results and the
decision about r1: r0 is KEPT, r1 DECIDED, and only now is the message edited. Ten steps later a batch ages r0: one
append records the decision, r0 is DECIDED. A summary replaces both: GONE.

Invariants
- A result is sent otherwise than whole only in the states DECIDED and GONE: what is not durable is never hidden.
- A result changes its state only after the entry that says so is on record and was learned from the journal; with
  mode `shadow` or `count` nothing is recorded, and what is shown is thrown away or only reported.
- What was sent once is sent again unchanged until an entry changes it.
- The frame that a client puts around a result is sent as it came, whatever is shown of the result inside it.
- While the record cannot be read to its end, nothing is recorded or decided: the results may be on it already.

Owns: following messages, the state of results, editing them. Must not know: how a provider spells a message (`wire`),
what is chosen (`plan`), in which order (`pipeline`).
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from keepwhole.canonical.message import Path
from keepwhole.conversation.context import BranchContext, FindOriginal
from keepwhole.conversation.costs import BranchCosts
from keepwhole.conversation.lost_results import LostResultCheck
from keepwhole.conversation.pair_check import PairCheck
from keepwhole.conversation.plan import Plan, plan_restored, without_repeats
from keepwhole.conversation.recognized_messages import RecognizedMessage, recognize
from keepwhole.conversation.seen_result import Changes, MadeEdits, SeenResult
from keepwhole.conversation.summary import BranchSummary, RecordedSummary
from keepwhole.errors import Overtaken, StoreError
from keepwhole.policies.account import Account, Edit, edit_of
from keepwhole.policies.policy import CLIENT, SHOWN, Choice, Policy, Situation, TrackedChoices, sent_tokens
from keepwhole.policies.transcript import Item, RuleName, Transcript
from keepwhole.recall.tail import recall_at_tail
from keepwhole.record.arrival import NewResult, add_results
from keepwhole.record.known_result import KnownResult
from keepwhole.store.protocol import Draft
from keepwhole.wire.dialects import DEFAULT, dialect_of
from keepwhole.wire.edits import alike, apply, copied
from keepwhole.wire.summary import SummaryPlaces, places_around, with_summary

_TAIL = 16
"""Newest messages of which a copy is held, since clients change these in place: cache markers move, results come."""


class Branch:
    """One branch of a conversation as it is sent, remembered from request to request."""

    _places: tuple[RecordedSummary, SummaryPlaces] | None = None
    """Where the summary goes, once that was found out."""
    _is_blind = False
    """Whether results were met while the record could not be read."""
    _waits = False
    """Whether new results are sent in full before they are recorded; `settle` records them."""
    restored: Collection[int] = ()
    """Numbers of the results that this view shows whole once more."""

    def __init__(self, context: BranchContext, mode: str, images: RuleName = "claude") -> None:
        """`images` is the rule by which images and documents are counted."""
        self.context = context
        self.mode = mode
        """`on` records and edits; `shadow` records results only; `count` records nothing."""
        self.transcript = Transcript(images)
        self.decisions = TrackedChoices()
        self.summary = BranchSummary(context, self.transcript, self.decisions)
        self.costs = BranchCosts(self.transcript, self.decisions)
        self.changes = Changes()
        self.sent_at: float | None = None
        """When these messages were last viewed to be sent."""
        self._messages: list[Any] = []
        """As the client sent them."""
        self._copies: list[Any] = []
        """Of the newest messages, as they were."""
        self._edited: list[Any] = []
        """As they are sent, edits made."""
        self._unedited: set[int] = set()
        """Messages that could not be edited, and are sent as they came."""
        self._results: list[SeenResult] = []
        self._new: dict[int, SeenResult] = {}
        """Those of them that are NEW, by number, in order."""
        self._by_trace: dict[str, list[SeenResult]] = {}
        self._changed: set[int] = set()
        """Numbers of the results that are sent otherwise from this view on."""
        self._decisions_read = 0
        """How many decisions of the journal were applied."""
        self._sent_whole: set[tuple[str, int]] = set()
        """Results that were sent in full and are not on record, by their call and a hash of their text."""
        self._made, self._pairs, self.lost = MadeEdits(), PairCheck(), LostResultCheck()
        self._cut_by_client: set[int] = set()
        """Numbers of the results that are on record only as the client had cut them."""
        self._with_original: set[int] = set()
        """Numbers of the results of which was found what the client cut them from."""

    # Following the client

    def count_shared(self, messages: list[Any]) -> int:
        """How many messages at the front are the ones this branch has."""
        try:
            length = alike(messages, self._messages)
            first = len(self._messages) - len(self._copies)
            return max(0, length - _TAIL) if length <= first else first + alike(messages[first:length], self._copies)
        except Exception:  # whatever a foreign object raises when it is compared, it is not known again
            return 0

    def goes_back(self, shared: int) -> bool:
        """Whether messages of which this branch has the first `shared` leave out some that it has now."""
        return shared < len(self._messages)

    def follow(
        self, messages: list[Any], shared: int, *, is_record_read: bool, continues: bool, client: str = ""
    ) -> bool:
        """Bring the branch up to these messages, of which it has the first `shared`.

        A request that `continues` another one holds half of its pairs, so none of them is broken. The frames of results
        are taken off as this `client` writes them. Return whether the record could be read, as far as these messages
        are on it.
        """
        self.changes, self._changed = Changes(), set()
        if self._is_blind:
            shared, self._is_blind = 0, False
        new = recognize(messages[shared:], client, self.context.journal, is_record_read)
        self._is_blind = new.is_original_unread or (not new.is_record_read and shared < len(messages))
        self.apply_decisions()
        if self.goes_back(shared):
            self._forget(shared)
        self._messages += messages[shared:]
        self._edited += messages[shared:]
        for message in new.messages:
            self._add(message)
        newest = messages[max(shared, len(messages) - _TAIL) :]
        self._copies = [*self._copies, *(copied(message) for message in newest)][-_TAIL:]
        self._pairs.check(messages, self.transcript, continues)
        if self._pairs.missing:
            self.context.writer.metrics.observe_missing(self.context.writer.name, self._pairs.missing)
        self.summary.find()
        return new.is_record_read

    def _add(self, new: RecognizedMessage) -> None:
        """Add a message and the results in it."""
        self.transcript.extend((new.message,))
        items = self.transcript.items[len(self._results) :]
        added = [SeenResult(item, one.came) for item, one in zip(items, new.results, strict=True)]
        self._results += added
        for seen, one in zip(added, new.results, strict=True):
            self.decisions.open[seen.item.number] = None
            seen.client_original = one.original
            if one.original is not None:
                self._with_original.add(seen.item.number)
            if one.known is not None:
                self._recognize(seen, one.known, is_client_cut=one.is_client_cut)
            else:
                seen.look_at_arguments(None, self.transcript, self._messages)
                self._new[seen.item.number] = seen

    def _recognize(self, seen: SeenResult, known: KnownResult, *, is_client_cut: bool) -> None:
        """NEW → KEPT or DECIDED: the result is on record."""
        whole = self.context.journal.whole_text(known) if is_client_cut else None
        seen.recognize(self.context.writer.store, known, whole)
        seen.item.name = self.context.writer.name_of(
            known.result.trace_id, known.result.artifact_id, known.result.media_type
        )
        seen.item.is_error = seen.item.is_error or known.result.is_error  # what `keep` was told, no message repeats
        if seen.item.media is not None:
            seen.item.chars = known.body.facts.chars
        seen.look_at_arguments(known, self.transcript, self._messages)
        self._new.pop(seen.item.number, None)
        if seen.is_known_cut:
            self._cut_by_client.add(seen.item.number)
        self._by_trace.setdefault(known.result.trace_id, []).append(seen)
        self._apply_decision(seen)

    def _recognize_recorded(self, items: Sequence[Item]) -> None:
        for item in items:
            seen = self._results[item.number]
            called = "" if item.call is None else item.call.tool
            match = self.context.journal.match(*item.returned._replace(text=seen.came).identity, called)
            if match is not None:
                self._recognize(seen, match.known, is_client_cut=match.is_client_cut)

    def apply_decisions(self) -> list[int]:
        """Apply the decisions that were recorded since, by any process; return the results that they change."""
        decided = self.context.journal.decided
        trace_ids = dict.fromkeys(decided[self._decisions_read :])
        about = [seen for trace_id in trace_ids for seen in self._by_trace.get(trace_id, ())]
        changed = [seen for seen in about if self._apply_decision(seen)]
        self._decisions_read = len(decided)
        return [seen.item.number for seen in changed]

    def _apply_decision(self, seen: SeenResult) -> bool:
        """KEPT or DECIDED → DECIDED: show the result as its newest decision says; return whether there is one of ours.

        What the client decided itself is sent as it came.
        """
        if seen.known is None or seen.known.decision is None:
            return False
        decision, cut = seen.known.decision
        if decision.rule == CLIENT and seen.came_as(decision):
            return False
        self.context.lay_out_again(seen.known, cut)
        with suppress(StoreError):  # what cannot be read is sent as it came
            self._show(seen, Choice(seen.item.number, decision.rule, cut, 0, decision.strategy))
        return True

    def _forget(self, length: int) -> None:
        """Forget the messages from `length` on: the client took them back."""
        left = sum(len(message.returned) for message in self.transcript.messages[:length])
        for seen in self._results[left:]:
            self.decisions.drop(seen.item)
            self.decisions.open.pop(seen.item.number, None)
            self._new.pop(seen.item.number, None)
            self._cut_by_client.discard(seen.item.number)
            self._with_original.discard(seen.item.number)
            seen.drop_original(self.context.writer.store)
        del self._results[left:]
        self.transcript.cut_back(length)
        first = len(self._messages) - len(self._copies)
        del self._copies[max(0, length - first) :]
        del self._messages[length:], self._edited[length:]
        self.summary.cut_back(length)
        self._places = None
        self._pairs.cut_back(length)
        self._unedited = {index for index in self._unedited if index < length}
        self._made.cut_back(length, left)
        self._by_trace = {}
        for seen in self._results:
            if seen.item.name is not None:
                self._by_trace.setdefault(seen.item.name.trace_id, []).append(seen)

    # Deciding

    def take_originals(self, find: FindOriginal) -> None:
        """Store what the client cut new results from, where it saved that."""
        for seen in self._new.values() if self.mode != "count" else ():
            seen.look_up(self.context.writer, find)
            if seen.client_original is not None:
                self._with_original.add(seen.item.number)

    @property
    def may_postpone(self) -> bool:
        """Whether new results may be sent before they are recorded: not where a body is stored already for one."""
        return self.mode != "count" and not any(seen.client_original for seen in self._new.values())

    def known(self, number: int) -> KnownResult | None:
        """The result on record, by its number; None where it is not on record."""
        return self._results[number].known

    @property
    def new_items(self) -> list[Item]:
        """The results that are not on record."""
        return [seen.item for seen in self._new.values()]

    @property
    def kept_before_items(self) -> list[Item]:
        """The results of the newest step that `keep` or a hook recorded, as far as nothing is decided about them."""
        newest = takewhile(lambda item: item.step == self.transcript.steps, reversed(self.transcript.items))
        known = ((item, self._results[item.number].known) for item in newest if item.number not in self.decisions)
        return [item for item, one in known if one is not None and one.result.turn is None]

    def name_new_results(self) -> list[Item]:
        """Draw ids for the results that are not on record, and return them."""
        self._waits = False
        fresh = self.new_items
        for item in fresh:
            item.name = item.name or self.context.writer.draw_name(item.media_type)
        return fresh

    def may_hide(self, choice: Choice) -> bool:
        """Whether what the notice of a choice names can be read; where nothing is recorded, nothing need be."""
        if self.mode != "on":
            return True
        seen = self._results[choice.number]
        if choice.cut.arguments and not self.context.lay_out_arguments(seen.item, seen.known):
            return False
        return self.context.lay_out(seen.item, is_recorded=seen.known is not None)

    def is_recorded_or_in(self, number: int, fresh: Collection[int]) -> bool:
        """Whether a result is on record, or will be with the next append."""
        return self._results[number].known is not None or number in fresh

    def is_planned_already(self) -> bool:
        """Whether the newest results were recorded by a view of these very messages, by any process.

        All that was chosen then was recorded with them, so nothing more is chosen now: the same messages are sent the
        same. What was chosen then counts as changed by this view.
        """
        if not self._messages or not self.transcript.items_in(len(self._messages) - 1):
            return False
        newest = takewhile(lambda item: item.step == self.transcript.steps, reversed(self.transcript.items))
        known: list[KnownResult] = []
        for item in newest:
            one = self._results[item.number].known
            if one is None or one.result.turn is None:
                return False
            known.append(one)
        own = {one.result.trace_id for one in known}
        together = self.context.journal.decisions_with(max(one.seq for one in known))
        others = (seen for name in together if name not in own for seen in self._by_trace.get(name, ()))
        self._changed.update(seen.item.number for seen in others if seen.item.number in self.decisions)
        return True

    def postpone(self, fresh: Sequence[Item]) -> None:
        """Send new results whole before they are recorded."""
        self._waits = True
        for item in fresh:
            item.name = None

    @property
    def is_unsettled(self) -> bool:
        """Whether results were sent in full that are not on record yet."""
        return self._waits and bool(self._new)

    def settle(self) -> None:
        """Record the results that were sent in full; what cannot be stored is tried again when it comes again."""
        if self.is_unsettled:
            self.record(self.name_new_results(), Plan())

    def record(self, fresh: Sequence[Item], plan: Plan) -> None:
        """Record new results and choices in one append, then show what is on record.

        Raises `Overtaken` where the plan depends on how other results are shown, and another process was first. What
        cannot be stored stays NEW, and so is sent in full.
        """
        after = self.context.journal.seq if plan.depends_on_others else None
        if self.mode == "on":
            self._record(fresh, plan, after)
        elif self.mode == "shadow":
            self._record_results(fresh, {}, (), None)
        self.changes = self.changes._replace(recorded=len(fresh) - len(self._new))
        if self.mode != "count":
            for seen in self._new.values():
                seen.item.name = None
        if self.mode != "on":
            self._show_unrecorded(plan)

    def read_on(self, fresh: Sequence[Item]) -> bool:
        """Take over what other processes have recorded meanwhile; return whether the record could be read."""
        try:
            self.context.journal.catch_up()
        except StoreError:
            self._is_blind = True
            return False
        self._changed.update(self.apply_decisions())
        self._recognize_recorded(fresh)
        self.summary.find()
        return True

    def compact(self, situation: Situation, *, client_compacts: bool) -> None:
        """Record a summary where the window is nearly full, or where it costs too much to go on without one."""
        made = self.summary.compact(situation, client_compacts=client_compacts)
        self.changes = self.changes._replace(summaries=made)

    def restore(self, situation: Situation, answer_tokens: int | None) -> None:
        """Choose the results that this view shows whole once more; none without `answer_tokens`."""
        self.restored = ()
        if answer_tokens is not None:
            summarized, max_loss = self.summary.with_margin(situation), self.context.max_loss
            self.restored = plan_restored(self.transcript, self.decisions, summarized, answer_tokens, max_loss)

    def count_unstored(self) -> None:
        """Count the results that are sent in full because they could not be recorded, and remember which they are."""
        self.changes = self.changes._replace(unstored=0 if self._waits else len(self._new))
        self._sent_whole = {_key_of(seen.item) for seen in self._new.values()} if self.mode == "on" else set()

    @property
    def unsent_items(self) -> list[Item]:
        """The results that are not on record and were never sent; those that were sent in full stay whole."""
        return [item for item in self.new_items if not self._sent_whole or _key_of(item) not in self._sent_whole]

    def _record(self, fresh: Sequence[Item], plan: Plan, after: int | None) -> None:
        at = self.context.writer.now()
        looked_up = (self._results[number] for number in sorted(self._with_original))
        batch = [draft for seen in looked_up if (draft := seen.client_decision(at)) is not None]
        batch += [self._decision(choice, at) for choice in plan.batch]
        if fresh:
            self._record_results(fresh, plan.arrivals, batch, after)
        elif batch:
            try:
                self.context.append_decisions(batch, after)
            except Overtaken:
                raise
            except StoreError:
                return
            self.apply_decisions()
        held = ((self.decisions.get(choice.number), choice) for choice in plan.batch)
        self._changed.update(choice.number for now, choice in held if now is not None and now.cut == choice.cut)

    def _record_results(
        self, fresh: Sequence[Item], arrivals: Mapping[int, Choice], batch: Sequence[Draft], after: int | None
    ) -> None:
        """Append results and recognize them; those that are on record but damaged are appended again."""
        if not fresh:
            return
        accepted = self._append_or_leave(without_repeats(fresh), arrivals, batch, after)
        try:
            self.context.journal.catch_up(own=True)
            self._changed.update(self.apply_decisions())  # by whichever process was first
            self._recognize_recorded(fresh)
            damaged = [item for item in accepted if item.number in self._new]
            if damaged:
                self._append(damaged, arrivals, once=False)
                self.context.journal.catch_up()
                self._recognize_recorded(damaged)
        except StoreError:
            self._is_blind = True

    def _append_or_leave(
        self, items: Sequence[Item], arrivals: Mapping[int, Choice], batch: Sequence[Draft], after: int | None
    ) -> list[Item]:
        """Append results; where nothing can be stored they stay NEW. Return those that were accepted."""
        try:
            return self._append(items, arrivals, batch, after=after)
        except Overtaken:
            raise
        except StoreError:
            return []

    def _append(
        self,
        items: Sequence[Item],
        arrivals: Mapping[int, Choice],
        batch: Sequence[Draft] = (),
        *,
        once: bool = True,
        after: int | None = None,
    ) -> list[Item]:
        """Append results with how they are shown from the beginning; return those that were accepted."""
        at = self.context.writer.now()
        arriving = [self._new_result(item, arrivals.get(item.number), at) for item in items]
        added = add_results(self.context.writer, arriving, batch, once=once, after=after)
        if added.session_existed:
            self.context.journal.foresee(added.entries, added.drafts)
        accepted = {each.result.trace_id for each in added.accepted}
        return [item for item in items if item.name is not None and item.name.trace_id in accepted]

    def _new_result(self, item: Item, choice: Choice | None, at: int) -> NewResult:
        decision = None if choice is None else self._decision(choice, at)
        return self._results[item.number].as_new(self.context.result_of(item, at), decision)

    def _decision(self, choice: Choice, at: int) -> Draft:
        return self.context.decision_of(self.transcript.items[choice.number], choice, at)

    def _show_unrecorded(self, plan: Plan) -> None:
        """Show what would be shown, where nothing is recorded."""
        for choice in (*plan.arrivals.values(), *plan.batch):
            if self.transcript.items[choice.number].name is not None:
                self._show(self._results[choice.number], choice)
        self._changed = {choice.number for choice in plan.batch}

    # Editing

    def _show(self, seen: SeenResult, choice: Choice) -> None:
        item = seen.item
        self.decisions.hold(item, seen.show(choice, self.transcript, self._messages))
        if seen.arguments is not None:
            self._made.calls.add(item.number)
        self._edit(item.index)
        if item.index in self._unedited:
            self.leave_unedited(item.index)

    def _edit(self, index: int) -> None:
        """Make the message at `index` as it is sent."""
        made = (self._results[item.number].edit() for item in self.transcript.items_in(index))
        edits = tuple(edit for edit in made if edit is not None)
        self._made.hold(index, edits)
        applied = apply((self._messages[index],), {0: edits})
        self._edited[index] = applied.messages[0]
        if applied.skipped:
            self._unedited.add(index)

    def leave_unedited(self, index: int) -> None:
        """Count a message as sent the way it came, since it could not be edited."""
        self._unedited.add(index)
        self._made.drop(index)
        for item in self.transcript.items_in(index):
            if item.number in self.decisions:
                self.decisions.hold(item, self.decisions[item.number]._replace(tokens=item.tokens))
        for number in [number for number in self.decisions if self._cuts_arguments_in(number, index)]:
            whole = self._results[number].leave_arguments(self.decisions[number])
            self.decisions.hold(self.transcript.items[number], whole)

    def _cuts_arguments_in(self, number: int, index: int) -> bool:
        edits = self._results[number].arguments
        return edits is not None and edits.at == index

    def edited_messages(self) -> list[Any]:
        """The messages to send."""
        edited = apply(self._messages, self.edited_texts()).messages if self.restored else self._edited.copy()
        return self.rearranged_messages(edited) if self.is_rearranged else edited

    def edited_texts(self, *, arguments: bool = False) -> dict[int, Sequence[tuple[Path, Any]]]:
        """The edits by message: the path, and the new text or part; those of `arguments` only for what goes to a
        provider."""
        found = self._made.by_message()
        for index in {self.transcript.items[number].index for number in self.restored} - self._unedited:
            made = (
                self._results[one.number].edit(one.number in self.restored) for one in self.transcript.items_in(index)
            )
            found[index] = [edit for edit in made if edit is not None]
        for number in sorted(self._made.calls.difference(self.restored)) if arguments else ():
            seen = self._results[number]
            if seen.arguments is not None:
                found[seen.arguments.at] = (*found.get(seen.arguments.at, ()), *seen.argument_edits(self.transcript))
        return found

    @property
    def is_rearranged(self) -> bool:
        """Whether messages are left out, put in or joined, besides the edits inside them."""
        return self.mode != "shadow" and (self._pairs.is_broken or self.summary.current is not None)

    def rearranged_messages(self, messages: Sequence[Any]) -> list[Any]:
        """The messages with the summary in place of the oldest, and with broken pairs repaired."""
        dialect = dialect_of(messages) or DEFAULT
        summary = self.summary.current
        if summary is not None:
            if self._places is None or self._places[0] != summary:
                self._places = summary, places_around(messages, summary.upto, dialect, summary.kept)
            messages = with_summary(messages, self._places[1], summary.text, dialect)
        if not self._pairs.continues:
            messages, repairs = dialect.repair(messages)
            self._pairs.repaired = sum(repairs)
        return list(messages)

    # Accounting

    def edits(self) -> tuple[Edit, ...]:
        """Every result that is not shown as it came."""
        return tuple(
            edit_of(self.transcript.items[number], self.decisions[number])
            for number in sorted(self.decisions)
            if self._is_edit(number)
        )

    def account(self, policy: Policy, situation: Situation, explained: bool) -> Account:
        """The figures of what is sent; those that need a look at every result only if `explained`."""
        items, decided = self.transcript.items, self.decisions
        first, length = self._first_changed(), len(self._messages)
        cached = 0 if first is None else self.costs.cached_before(first)
        sent = sent_tokens(self.transcript, decided) + self.summary.situation(situation).overhead
        sent += sum(items[number].tokens - decided[number].tokens for number in self.restored)
        edited = sum(map(self._is_edit, decided)) if self._unedited else decided.edits
        return Account(
            policy=policy.name,
            mode=self.mode,
            results=len(items),
            edited=edited - sum(map(self._is_edit, self.restored)),
            tokens_whole=int((self.transcript.tokens + situation.overhead) * situation.scale),
            tokens_sent=int(sent * situation.scale),
            window=situation.profile.window,
            new_results=self.changes.recorded,
            new_decisions=len(self._changed) + self.changes.summaries,
            cut_by_client=len(self._cut_by_client),
            unstored=self.changes.unstored,
            repaired=self._pairs.repaired,
            skipped=len(self._unedited),
            compacted=self.summary.replaced_count,
            hides=self.summary.current is not None or decided.hides,
            tail=int(explained and recall_at_tail(self.transcript, decided) is not None),
            scale=situation.scale,
            changed_last=None if first is None else length - first,
            uncached_last=length - cached if cached else None,
        )

    def _first_changed(self) -> int | None:
        """The first message that changes with this view; None where none does."""
        items = (self.transcript.items[number] for number in (*self._changed, *self.restored))
        return min((item.index for item in items if not item.gone), default=None)

    def _is_edit(self, number: int) -> bool:
        choice = self.decisions[number]
        return choice.rule not in SHOWN and self.transcript.items[number].index not in self._unedited


def _key_of(item: Item) -> tuple[str, int]:
    return item.returned.call_id, hash(item.returned.text)
