"""What is decided about a branch, on its way into the record: together with what is new, and by one of all who may.

Owns: the order that makes the promises where several processes send one conversation: read, choose, put on record in
one go where nobody else was first, else read on and choose again; then show what is on record.
Must not know: messages (`viewing`), what is chosen (`planning`).
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from keepwhole.conversation.plan import Plan, Planning
from keepwhole.conversation.summary import Summing
from keepwhole.conversation.view_mode import Manner
from keepwhole.errors import NotFound, Overtaken, StoreError
from keepwhole.policies.policy import Choice, Policy, Situation, TrackedChoices
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.record.journal import Known
from keepwhole.record.recording import Desk, append_results, decision_draft, drawn, once_each, record, stored

_TRIES = 4
"""How often something is decided anew because somebody else was first; then results are kept that lean on nothing."""


class Deciding:
    """The part of a branch that decides."""

    transcript: Transcript
    _desk: Desk
    _mode: str
    _messages: list[Any]
    _known: list[Known | None]
    _unknown: dict[int, None]
    _decided: TrackedChoices
    _numbers: dict[str, list[int]]
    _changed: set[int]
    _summing: Summing
    _settles: bool
    _blind: bool
    _new: int

    def _show(self, item: Item, choice: Choice) -> None:
        raise NotImplementedError

    def _refresh(self) -> list[int]:
        raise NotImplementedError

    def _recognise_all(self, items: list[Item]) -> None:
        raise NotImplementedError

    @property
    def is_unsettled(self) -> bool:
        """Whether results were sent whole that are not on record yet."""
        return self._settles and bool(self._unknown)

    def settle(self) -> None:
        """Put them on record; what cannot be stored is tried again when it comes again."""
        if self.is_unsettled:
            fresh = self._fresh()
            self._settles = False
            self._keep(fresh, Plan(), None)

    def _fresh(self) -> list[Item]:
        """The results that are not on record, named."""
        fresh = [self.transcript.items[number] for number in self._unknown]
        for item in fresh:
            item.name = item.name or drawn(self._desk.keeping)
        return fresh

    def _decide(self, policy: Policy, situation: Situation, manner: Manner) -> None:
        """Let the policy choose, and put on record what it chose with what is new: all in one go, and only where nobody
        else decided meanwhile; else the same again from what is on record then."""
        for left in range(_TRIES, -1, -1):
            fresh, self._settles = self._fresh(), False
            planning = self._planning()
            plan = self._plan(planning, fresh, policy, situation, manner, alone=not left)
            may_wait = manner.settles and fresh and not any(plan) and self._mode != "count"
            if may_wait and planning.may_wait(fresh, policy, situation):
                self._settles = True
                for item in fresh:
                    item.name = None
                return
            try:
                return self._keep(fresh, plan, self._desk.ledger.seq if plan.leans else None)
            except Overtaken:
                if not self._read_on(fresh):
                    return

    def _planning(self) -> Planning:
        desk, is_on = self._desk, self._mode == "on"
        return Planning(desk.keeping, self.transcript, self._known, self._decided, self._summing, is_on)

    def _plan(
        self,
        planning: Planning,
        fresh: list[Item],
        policy: Policy,
        situation: Situation,
        manner: Manner,
        alone: bool,
    ) -> Plan:
        arrivals = planning.arrivals(fresh, policy, situation, alone)
        if alone or manner.restored:
            return Plan(arrivals)
        if manner.between or (manner.settles and self._is_planned()):
            situation = situation._replace(frozen=True)  # who put the newest on record has chosen already
        return Plan(arrivals, planning.batch(fresh, arrivals, policy, situation))

    def _is_planned(self) -> bool:
        """Whether the newest results were put on record by a view of these messages, and so all else was chosen then;
        what was is counted as new: whoever sends the same sends the same."""
        if not self._messages or not self.transcript.items_in(len(self._messages) - 1):
            return False
        newest = takewhile(lambda item: item.step == self.transcript.steps, reversed(self.transcript.items))
        known: list[Known] = []
        for item in newest:
            one = self._known[item.number]
            if one is None or one.result.turn is None:
                return False
            known.append(one)
        own = {one.result.trace_id for one in known}
        beside = self._desk.ledger.decided_with(max(one.seq for one in known))
        self._changed.update(number for name in beside if name not in own for number in self._numbers.get(name, ()))
        return True

    def _read_on(self, fresh: list[Item]) -> bool:
        """Take over what others have put on record; whether that could be read."""
        try:
            self._desk.ledger.catch_up()
        except StoreError:
            self._blind = True
            return False
        self._changed.update(self._refresh())
        self._recognise_all(fresh)
        self._summing.stand()
        return True

    def _keep(self, fresh: list[Item], plan: Plan, after: int | None) -> None:
        """Put results and choices on record, then show what is there; what cannot be stored is sent whole."""
        if self._mode == "on":
            self._record(fresh, plan, after)
        elif self._mode == "shadow":
            self._learned(fresh, stored(self._desk, once_each(fresh), {}), {})
        self._new = len(fresh) - len(self._unknown)
        for number in self._unknown if self._mode != "count" else ():
            self.transcript.items[number].name = None
        if self._mode != "on":
            self._look_at(plan)

    def _record(self, fresh: list[Item], plan: Plan, after: int | None) -> None:
        items, keeping = self.transcript.items, self._desk.keeping
        at = keeping.now()
        batch = [decision_draft(items[choice.number], choice, at, keeping.version) for choice in plan.batch]
        if fresh:
            added = stored(self._desk, once_each(fresh), plan.arrivals, batch, after)
            self._learned(fresh, added, plan.arrivals)
        elif batch:
            try:
                record(self._desk, batch, after)
            except Overtaken:
                raise
            except (StoreError, NotFound):
                return
            self._refresh()
        held = ((self._decided.get(choice.number), choice) for choice in plan.batch)
        self._changed.update(choice.number for now, choice in held if now is not None and now.cut == choice.cut)

    def _learned(self, fresh: list[Item], added: list[Item], arrivals: Mapping[int, Choice]) -> None:
        """Recognise results that were put on record; those that are there but damaged are put there again."""
        if not fresh:
            return
        try:
            self._desk.ledger.catch_up(own=True)
            self._refresh()
            self._recognise_all(fresh)
            damaged = [item for item in added if item.number in self._unknown]
            if damaged:
                append_results(self._desk, damaged, arrivals, once=False)
                self._desk.ledger.catch_up()
                self._recognise_all(damaged)
        except (StoreError, NotFound):
            self._blind = True

    def _look_at(self, plan: Plan) -> None:
        """Show what would be shown: nothing of it is on record."""
        for choice in (*plan.arrivals.values(), *plan.batch):
            if self.transcript.items[choice.number].name is not None:
                self._show(self.transcript.items[choice.number], choice)
        self._changed = {choice.number for choice in plan.batch}
