"""Two processes view the same messages at the same moment: whoever is first decides, and both send and say the same."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.entry import Entry
from keepwhole.conversation.context import ViewMode
from keepwhole.policies.auto import Auto, age_choice
from keepwhole.policies.policy import Choice, Choices, Situation
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.store.protocol import Draft
from tests.conversation.test_branch_states import EAGER, step

SETTLES = ViewMode(may_settle=True)
ROOMY = Auto(EAGER.settings.replace(most=100_000))
"""Ages for cost alone, so not where that has stopped."""
TASK = [{"role": "user", "content": "go"}]


class Overtaking(MemoryStore):
    """A store in which somebody else is first."""

    first: Callable[[], object] | None = None
    """What happens just before the next append."""

    def append(self, session: str, drafts: Sequence[Draft], **more: Any) -> list[Entry]:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().append(session, drafts, **more)


@contextmanager
def two_sessions() -> Iterator[tuple[Overtaking, Session, Session]]:
    store = Overtaking()
    with Session("s", store=store) as one, Session("s", store=store) as other:
        yield store, one, other


def messages_of(steps: int, size: int = 3_000) -> list[dict[str, Any]]:
    return [*TASK, *(message for number in range(steps) for message in step(number, size))]


def stop_aging(session: Session) -> None:
    session.billing.frozen = True


def test_a_process_that_would_choose_nothing_sends_what_the_other_one_chose() -> None:
    with two_sessions() as (store, one, other):
        for count in range(1, 4):
            for session in (one, other):
                session.view(messages_of(count), policy="everything")
        messages, shown = messages_of(4), list[Any]()
        stop_aging(one)
        store.first = lambda: shown.append(other.projection(messages, policy=ROOMY, view_mode=SETTLES))
        late = one.projection(messages, policy=ROOMY, view_mode=SETTLES)
        (first,) = shown
    assert first.account.new_decisions > 0
    assert late.messages == first.messages
    assert late.account.new_decisions == first.account.new_decisions


class AgesAt:
    """A policy that leaves the first result out at one scale only."""

    name = "auto"

    def __init__(self, least: float, most: float, needs_costs: bool = False) -> None:
        self._least, self._most, self._needs_costs = least, most, needs_costs

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation
    ) -> list[Choice]:
        return []

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        in_range = self._least <= situation.scale <= self._most
        if situation.frozen or not in_range or decided or (self._needs_costs and situation.costs is not None):
            return []
        return [age_choice(transcript.items[0])]


@pytest.mark.parametrize(
    "policy", [AgesAt(1.0, 1.0), AgesAt(1.3, 2.0), AgesAt(0.5, 0.8), AgesAt(0.9, 1.1, needs_costs=True)]
)
def test_nothing_is_sent_unrecorded_that_a_process_with_other_bills_would_send_otherwise(policy: AgesAt) -> None:
    with two_sessions() as (_, one, _other):
        one.view(messages_of(2), policy="everything")
        stop_aging(one)
        one.projection(messages_of(3), policy=policy, view_mode=SETTLES)
        assert not one.is_unsettled


def test_what_no_bill_would_change_is_sent_before_it_is_recorded() -> None:
    with two_sessions() as (_, one, _other):
        one.view(messages_of(2), policy="everything")
        one.projection(messages_of(3), policy=AgesAt(9.0, 9.0), view_mode=SETTLES)
        assert one.is_unsettled
