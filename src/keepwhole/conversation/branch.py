"""What is sent of a conversation: follow it, put new results on record, let the policy choose, edit the messages.

Owns: the order that makes the promises: on record before hidden, decided before shown otherwise, nothing decided twice.
Must not know: how a provider spells a message (`wire`), why a policy chooses (`projection`).
"""

from collections.abc import Collection, Sequence
from typing import Any

from keepwhole.canonical.message import Message, Path
from keepwhole.conversation.deciding import Deciding
from keepwhole.conversation.reaching import keep_in_reach
from keepwhole.conversation.restore import restored
from keepwhole.conversation.summary import Summing
from keepwhole.conversation.view_mode import USUAL, Manner
from keepwhole.errors import StoreError
from keepwhole.models.tokens import estimate
from keepwhole.policies.account import Account, Edit, edit_of
from keepwhole.policies.policy import SHOWN, Choice, Policy, Situation, TrackedChoices, sent_tokens, shown
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.tail import at_the_tail
from keepwhole.record.journal import Known
from keepwhole.record.recording import (
    Desk,
    Met,
    named,
)
from keepwhole.wire.compacted import compacted
from keepwhole.wire.decode import decode_message, dialect_of
from keepwhole.wire.edits import apply
from keepwhole.wire.repair import is_broken, repair
from keepwhole.wire.same_messages import alike, copied

_TAIL = 16
"""Newest messages of which a copy is held, since clients change these in place: cache markers move, results come."""


class Viewer(Deciding):
    """One branch of a conversation as it is sent, remembered from call to call."""

    def __init__(self, desk: Desk, mode: str) -> None:
        self._desk = desk
        self._mode = mode
        self._messages: list[Any] = []
        self._copies: list[Any] = []
        """Of the newest messages, as they were."""
        self.transcript = Transcript()
        self._known: list[Known | None] = []
        self._unknown: dict[int, None] = {}
        """Results that are not on record yet, by number, in order."""
        self._came: list[str] = []
        self._decided = TrackedChoices()
        self._numbers: dict[str, list[int]] = {}
        self._texts: dict[int, str] = {}
        """What is sent in place of a result, by its number, where that is not what came."""
        self._out: list[Any] = []
        """The messages as they are sent, edits made."""
        self._skipped: set[int] = set()
        self._read_decisions = 0
        self._summing = Summing(desk, self.transcript, self._decided)
        self._blind = False
        """Whether results were met while the record could not be read."""
        self._continues = False
        self._checked = 0
        self._broken = False
        self.repaired = 0
        self._new = self._summed = self._unstored = 0
        self._changed: set[int] = set()
        """The numbers of results that are shown otherwise from this view on."""
        self._settles = False
        """Whether results are sent whole before they are on record."""
        self.seen: float | None = None
        """When these messages were last looked at, to be sent."""

    def shared(self, messages: list[Any]) -> int:
        """How many messages at the front are the ones this branch has."""
        try:
            length = alike(messages, self._messages)
            first = len(self._messages) - len(self._copies)
            return max(0, length - _TAIL) if length <= first else first + alike(messages[first:length], self._copies)
        except Exception:  # whatever a foreign object raises when it is compared, it is not known again
            return 0

    def view(
        self,
        messages: list[Any],
        shared: int,
        policy: Policy,
        situation: Situation,
        manner: Manner = USUAL,
        *,
        is_known: bool = True,
        continues: bool = False,
    ) -> None:
        """Bring the branch up to these messages, of which it has `shared`, and let the policy choose.

        Where results are restored, the policy chooses about new ones alone.

        While the record is not known to its end nothing is kept or decided: what came may be on it already.
        """
        self._new = self._summed = self._unstored = 0
        self._changed = set()
        self._continues = continues
        if self._blind:
            shared, self._blind = 0, False
        self._blind = not is_known and shared < len(messages)
        self._refresh()
        self._follow(messages, shared)
        self._summing.stand()
        if is_known:
            self._decide(policy, situation, manner)
        self._unstored = len(self._unknown) if not self._settles else 0
        if is_known and not manner.restored and self._mode == "on" and policy.name != "everything":
            self._summed = self._summing.compact(situation)

    def sent(self, messages: Sequence[Any], whole: Collection[int] = ()) -> list[Any]:
        """The messages to send: those that came, the edited ones replaced."""
        if self._mode == "shadow":
            return list(messages)
        out = apply(self._messages, self.texts(whole)).messages if whole else self._out.copy()
        return self.arranged(out) if self.is_rearranged else out

    def restored(self, situation: Situation, answer: int) -> Collection[int]:
        """The results that may be shown whole this once, though it is decided otherwise."""
        return restored(self.transcript, self._decided, self._summing.situation(situation), answer)

    @property
    def is_rearranged(self) -> bool:
        """Whether messages are left out, put in or merged, beside the edits inside them."""
        return self._mode != "shadow" and (self._broken or self._summing.standing is not None)

    def arranged(self, messages: Sequence[Any]) -> list[Any]:
        """The messages with a summary in place of the oldest, and with broken pairs mended."""
        dialect = dialect_of(messages) or "openai_chat"
        standing = self._summing.standing
        if standing is not None:
            messages = compacted(messages, standing.upto, standing.text, dialect, standing.kept)
        if not self._continues:
            messages, repairs = repair(messages, dialect)
            self.repaired = sum(repairs)
        return list(messages)

    def texts(self, whole: Collection[int] = ()) -> dict[int, list[tuple[Path, str]]]:
        """The edits by message: where, and what stands there now; the results in `whole` as they are on record."""
        found: dict[int, list[tuple[Path, str]]] = {}
        originals = {number: self.transcript.items[number].text for number in whole}
        for number, text in sorted({**self._texts, **originals}.items()):
            if number in originals and text == self._came[number]:
                continue
            item = self.transcript.items[number]
            if item.index not in self._skipped:
                found.setdefault(item.index, []).append((item.returned.path, text))
        return found

    def edits(self) -> tuple[Edit, ...]:
        """Every result that is not shown as it came."""
        return tuple(
            edit_of(self.transcript.items[number], self._decided[number])
            for number in sorted(self._decided)
            if self._is_edit(number)
        )

    def account(self, policy: Policy, situation: Situation, explained: bool, whole: Collection[int] = ()) -> Account:
        """The figures of what is sent, the results in `whole` as they are on record; those that take a look at every
        result only if asked for."""
        items, decided = self.transcript.items, self._decided
        sent = sent_tokens(self.transcript, decided) + self._summing.situation(situation).overhead
        sent += sum(items[number].tokens - decided[number].tokens for number in whole)
        edited = sum(map(self._is_edit, decided)) if self._skipped else decided.edits
        return Account(
            policy=policy.name,
            mode=self._mode,
            results=len(self.transcript.items),
            edited=edited - sum(map(self._is_edit, whole)),
            tokens_whole=int((self.transcript.tokens + situation.overhead) * situation.scale),
            tokens_sent=int(sent * situation.scale),
            window=situation.profile.window,
            new_results=self._new,
            new_decisions=len(self._changed) + self._summed,
            unstored=self._unstored,
            repaired=self.repaired,
            skipped=len(self._skipped),
            compacted=self._summing.messages,
            tail=int(explained and at_the_tail(self.transcript, self._decided) is not None),
            scale=situation.scale,
            changed_from=self._changed_from(),
        )

    def _changed_from(self) -> int | None:
        """The first message that changes with this view; none where messages lie elsewhere than they came."""
        indices = [self.transcript.items[number].index for number in self._changed]
        return None if self.is_rearranged else min(indices, default=None)

    def _is_edit(self, number: int) -> bool:
        choice = self._decided[number]
        return choice.rule not in SHOWN and self.transcript.items[number].index not in self._skipped

    def _follow(self, messages: list[Any], shared: int) -> None:
        """Forget what is no longer said, add what is new."""
        if shared < len(self._messages):
            self._forget(shared)
        for message in messages[shared:]:
            self._messages.append(message)
            self._out.append(message)
            decoded = decode_message(message)
            self._add(self._met(decoded) if decoded.returned else (), decoded)
        fresh = messages[max(shared, len(messages) - _TAIL) :]
        self._copies = [*self._copies, *(copied(message) for message in fresh)][-_TAIL:]
        self._check_pairs(messages)

    def _check_pairs(self, messages: Sequence[Any]) -> None:
        """Look for broken pairs, in what is new only if what was there is known to be whole."""
        self.repaired = 0
        if self._continues:
            self._broken, self._checked = False, 0
            return
        start = 0 if self._broken else self.transcript.last_calls_before(self._checked)
        dialect = dialect_of(messages[start:]) or "openai_chat"
        self._broken = is_broken(messages[start:], dialect) and is_broken(messages, dialect_of(messages) or dialect)
        self._checked = len(messages)

    def _met(self, message: Message) -> list[Met]:
        """The results in a message; what somebody else cut of a result that we have is not one."""
        ledger = self._desk.ledger
        met: list[Met] = []
        for came in message.returned:
            match = ledger.match(came.call_id, came.text)
            if match is not None:
                known, whole = match
                text = came.text if whole else self._original(known)
                if text is not None:
                    met.append(Met(came._replace(text=text), came.text, known))
            elif not ledger.is_foreign(came.call_id, came.text):
                met.append(Met(came, came.text, None))
        return met

    def _original(self, known: Known) -> str | None:
        """The text that a result has on record, of which a view came; None where it cannot be read."""
        try:
            return self._desk.ledger.original(known)
        except StoreError:
            self._blind = True
            return None

    def _add(self, met: Sequence[Met], message: Message) -> None:
        if len(met) != len(message.returned):
            kept = {each.returned.path for each in met}
            foreign = sum(estimate(each.text) for each in message.returned if each.path not in kept)
            message = message._replace(other=message.other + foreign)
        if met:
            message = message._replace(returned=tuple(each.returned for each in met))
        elif message.returned:
            message = message._replace(returned=())
        self.transcript.extend((message,))
        for each, item in zip(met, self.transcript.items[len(self._known) :], strict=True):
            self._known.append(each.known)
            self._came.append(each.came)
            self._decided.open[item.number] = None
            if each.known is not None:
                self._recognise(item, each.known)
            else:
                self._unknown[item.number] = None

    def _recognise(self, item: Item, known: Known) -> None:
        """Let a result go by its name on record and be shown as decided."""
        item.name = named(self._desk.keeping, known.result.trace_id, known.result.artifact_id)
        self._known[item.number] = known
        self._unknown.pop(item.number, None)
        self._numbers.setdefault(item.name.trace_id, []).append(item.number)
        self._apply(item, known)

    def _apply(self, item: Item, known: Known) -> None:
        """Show a result as the record says."""
        if known.decision is None:
            return
        decision, cut = known.decision
        keep_in_reach(self._desk.keeping, known.result.trace_id, cut)
        self._show(item, Choice(item.number, decision.rule, cut, 0, decision.strategy))

    def _show(self, item: Item, choice: Choice) -> None:
        text = shown(item, choice)
        self._decided.hold(item, choice._replace(tokens=estimate(text)))
        if text == self._came[item.number]:
            self._texts.pop(item.number, None)
        else:
            self._texts[item.number] = text
        self._make(item.index)
        if item.index in self._skipped:
            self.skip(item.index)

    def _make(self, index: int) -> None:
        """The edited message at `index`, made anew."""
        changes = [
            (item.returned.path, self._texts[item.number])
            for item in self.transcript.items_in(index)
            if item.number in self._texts
        ]
        applied = apply((self._messages[index],), {0: changes})
        self._out[index] = applied.messages[0]
        if applied.skipped:
            self._skipped.add(index)

    def skip(self, index: int) -> None:
        """Count a message as sent the way it came, since it could not be edited."""
        self._skipped.add(index)
        for item in self.transcript.items_in(index):
            if item.number in self._decided:
                self._decided.hold(item, self._decided[item.number]._replace(tokens=item.tokens))

    def _refresh(self) -> list[int]:
        """Take over decisions that were recorded since, by whomever; gives the results in here that they are about."""
        decided = self._desk.ledger.decided
        names = dict.fromkeys(decided[self._read_decisions :])
        changed = [number for trace_id in names for number in self._numbers.get(trace_id, ())]
        for number in changed:
            if (known := self._known[number]) is not None:
                self._apply(self.transcript.items[number], known)
        self._read_decisions = len(decided)
        return changed

    def _recognise_all(self, items: list[Item]) -> None:
        for item in items:
            if match := self._desk.ledger.match(item.returned.call_id, self._came[item.number]):
                self._recognise(item, match[0])

    def _forget(self, length: int) -> None:
        left = sum(len(message.returned) for message in self.transcript.messages[:length])
        for item in self.transcript.items[left:]:
            self._decided.drop(item)
            self._decided.open.pop(item.number, None)
            self._unknown.pop(item.number, None)
        self.transcript.cut_back(length)
        first = len(self._messages) - len(self._copies)
        del self._copies[max(0, length - first) :]
        del self._messages[length:], self._out[length:], self._known[left:], self._came[left:]
        self._summing.cut_back(length)
        self._checked = min(self._checked, length)
        self._texts = {number: text for number, text in self._texts.items() if number < left}
        self._skipped = {index for index in self._skipped if index < length}
        self._numbers = {}
        for item in self.transcript.items:
            if item.name is not None:
                self._numbers.setdefault(item.name.trace_id, []).append(item.number)
