"""The promises with arguments of calls in them, for all that a client may do, in any order and any dialect.

Lossless: what is sent can be made whole again. Valid: the strict provider takes every request. Prefix-stable: what was
sent is sent again until a decision is recorded. Deterministic: another process sends the same bytes. What it costs is
checked in `test_never_dearer_machine.py`.
"""

import json
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import AutoSettings
from keepwhole.truncation.arguments import has_mark
from tests.conversation.argument_agents import DIALECTS, WITH_FREE_TEXT, WritingAgent, arguments_in, messages_of, script
from tests.upstream.complaint import complaint
from tests.upstream.spelling import Dialect

OLD = AutoSettings(
    arguments="old",
    start=1_000,
    worth=0,
    horizon=10,
    max_loss=2.0,
)
VALUES = st.sampled_from(
    ["", "short", 'é\n"quoted" \\ 👍 ' * 80, "\ud800 half " * 100, "x" * 799, "x" * 800, "\u2028" * 900]
)
"""What is written besides a file of its own, which the empty text stands for."""


class OldArguments(RuleBasedStateMachine):
    """One conversation whose model writes long arguments."""

    @initialize(dialect=st.sampled_from(DIALECTS), thinks=st.booleans())
    def begin(self, dialect: str, thinks: bool) -> None:
        self.store, self.number, self.before = MemoryStore(), 0, list[Any]()
        self.agent = WritingAgent(dialect, thinks)
        self.session = self.process()

    def process(self) -> Session:
        return Session("s", store=self.store, settings=Settings(home="unused", policy="auto", auto=OLD))

    @rule(count=st.integers(1, 8), value=VALUES)
    def files_are_written(self, count: int, value: str) -> None:
        for _ in range(count):
            self.number += 1
            self.agent.write(self.number, value)
            self.check()

    @rule()
    def a_call_fails(self) -> None:
        self.number += 1
        self.agent.write(self.number, result="Error: no space left on device", failed=True)
        self.check()

    @rule()
    def a_result_is_long(self) -> None:
        self.number += 1
        self.agent.write(self.number, result=script(self.number + 5_000, 200))
        self.check()

    @precondition(lambda self: self.agent.dialect in WITH_FREE_TEXT)
    @rule()
    def a_patch_is_free_text(self) -> None:
        self.number += 1
        self.agent.patch(self.number, "*** Begin Patch\n" + script(self.number))
        self.check()

    @rule(thinks=st.booleans())
    def the_user_writes_again(self, thinks: bool) -> None:
        self.agent.ask(f"And now the rest of it, {self.number}.")
        self.agent.thinks = thinks
        self.check()

    @rule(steps=st.integers(1, 5))
    def the_client_goes_back(self, steps: int) -> None:
        alone = self.agent.asked()
        self.agent.messages = self.agent.messages[: alone[max(0, len(alone) - steps)] + 1]
        self.before = []
        self.check()

    @rule()
    def another_process_goes_on(self) -> None:
        self.session = self.process()

    def check(self) -> None:
        body = self.agent.body()
        found = self.session.projection(body)
        sent = messages_of(found.messages)
        assert complaint(json.loads(found.messages), cast("Dialect", self.agent.dialect)) == ""
        assert self.session.hydrate(sent) == self.agent.messages
        assert self.session.view(body) == found.messages
        assert self.process().view(body) == found.messages
        returned = self.session.view(list(self.agent.messages))
        assert arguments_in(json.dumps({"messages": returned}).encode()) == arguments_in(body)
        if not found.account.new_decisions:
            assert sent[: len(self.before)] == self.before
        self.before = sent
        if any(has_mark(json.dumps(given)) for given in arguments_in(found.messages).values()):
            event("something is cut")


def test_the_promises_hold_where_arguments_are_cut() -> None:
    some = settings(max_examples=12, stateful_step_count=12, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(
        OldArguments, settings=settings(some, derandomize=True, phases=[Phase.generate], deadline=None)
    )


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_the_promises_hold_in_many_conversations_where_arguments_are_cut() -> None:
    some = settings(max_examples=200, stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None)
    run_state_machine_as_test(OldArguments, settings=some)
