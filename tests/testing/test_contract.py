"""The contract fails for adapters that break it: each broken adapter fails the check that is meant for it."""

import unittest
from collections.abc import Callable
from typing import Any

import pytest

from keepwhole.session import Session
from keepwhole.testing import AdapterContract, AgentRun, Harness, Script, ScriptedCall
from keepwhole.testing.look import find_unpaired
from keepwhole.testing.script import Tools


class Loop:
    """A loop that keeps the contract; the broken ones change one thing."""

    def __init__(self) -> None:
        self.history: list[Any] = []

    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        self.history.append({"role": "user", "content": "go"})
        while (turn := script.reply(self.sent(session), self.offered(tools, session))).calls:
            calls = [self.spelled(call) for call in turn.calls]
            self.history.append({"role": "assistant", "content": None, "tool_calls": calls})
            self.history += self.results(turn.calls, tools, session)
        self.history.append({"role": "assistant", "content": turn.text})
        return AgentRun(turn.text, script.requests, self.history)

    def sent(self, session: Session) -> list[Any]:
        return session.view(self.history)

    def offered(self, tools: Tools, session: Session) -> list[str]:
        return [*tools, *(tool["function"]["name"] for tool in session.tools("openai_chat"))]

    def spelled(self, call: ScriptedCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": call.arguments}
        return {"id": call.call_id, "type": "function", "function": function}

    def results(self, calls: tuple[ScriptedCall, ...], tools: Tools, session: Session) -> list[Any]:
        return [self.result(call, tools, session) for call in calls]

    def result(self, call: ScriptedCall, tools: Tools, session: Session) -> dict[str, Any]:
        answer = session.answer(self.spelled(call))
        if answer is not None:
            return answer
        output = self.output(call, tools)
        session.keep(self.spelled(call), output)
        return {"role": "tool", "tool_call_id": call.call_id, "content": output}

    def output(self, call: ScriptedCall, tools: Tools) -> str:
        return tools[call.name](**call.arguments)


class TestLoop(AdapterContract):
    def harness(self) -> Loop:
        return Loop()


class SendsEverything(Loop):
    def sent(self, session: Session) -> list[Any]:
        session.view(self.history)
        return list(self.history)


class KeepsViews(Loop):
    def result(self, call: ScriptedCall, tools: Tools, session: Session) -> dict[str, Any]:
        answer = session.answer(self.spelled(call))
        return answer or session.keep(self.spelled(call), self.output(call, tools)).block("openai_chat")


class KeepsLess(Loop):
    def output(self, call: ScriptedCall, tools: Tools) -> str:
        return super().output(call, tools).strip()


class LosesAResult(Loop):
    def results(self, calls: tuple[ScriptedCall, ...], tools: Tools, session: Session) -> list[Any]:
        return super().results(calls, tools, session)[:2]


class MixesResults(Loop):
    def results(self, calls: tuple[ScriptedCall, ...], tools: Tools, session: Session) -> list[Any]:
        made = super().results(calls, tools, session)
        texts = [each["content"] for each in made]
        return [{**each, "content": text} for each, text in zip(made, reversed(texts), strict=True)]


class ChangesTheFirst(Loop):
    def sent(self, session: Session) -> list[Any]:
        first, *others = super().sent(session)
        return [{**first, "content": f"go, step {len(self.history)}"}, *others]


class NoTools(Loop):
    def result(self, call: ScriptedCall, tools: Tools, session: Session) -> dict[str, Any]:
        if call.name not in tools:
            return {"role": "tool", "tool_call_id": call.call_id, "content": "there is no such tool"}
        return super().result(call, tools, session)


class OffersLate(Loop):
    def offered(self, tools: Tools, session: Session) -> list[str]:
        return super().offered(tools, session) if len(self.history) > 1 else [*tools]


class Swallows(Loop):
    def output(self, call: ScriptedCall, tools: Tools) -> str:
        try:
            return super().output(call, tools)
        except ValueError:
            return "ok"


class Forgets(Loop):
    def run(self, script: Script, tools: Tools, session: Session) -> AgentRun:
        self.history = []
        return super().run(script, tools, session)


class Trusts(Loop):
    """Cuts results even if they could not be recorded."""

    def sent(self, session: Session) -> list[Any]:
        cut = [{**each, "content": each["content"][:100]} for each in self.history if each["role"] == "tool"]
        return [cut.pop(0) if each["role"] == "tool" else each for each in self.history]


CAUGHT = [
    (SendsEverything, "test_the_model_receives_no_more_than_the_limit"),
    (SendsEverything, "test_a_hundred_steps_stay_under_the_window"),
    (KeepsViews, "test_the_framework_keeps_what_the_tools_returned"),
    (KeepsLess, "test_the_record_has_what_the_tools_returned"),
    (LosesAResult, "test_every_call_has_its_result_and_every_result_its_call"),
    (MixesResults, "test_results_of_parallel_calls_go_to_their_own_calls"),
    (ChangesTheFirst, "test_what_was_sent_is_sent_again_unchanged"),
    (NoTools, "test_the_model_reads_back_what_was_left_out"),
    (NoTools, "test_an_id_that_is_made_up_is_answered_and_raises_nothing"),
    (OffersLate, "test_what_was_sent_is_sent_again_unchanged"),
    (OffersLate, "test_the_model_reads_back_what_was_left_out"),
    (Swallows, "test_a_tool_that_raises_is_not_swallowed"),
    (Forgets, "test_a_second_run_goes_on_where_the_first_ended"),
    (Trusts, "test_what_cannot_be_stored_is_sent_whole"),
]


def contract_of(made: Callable[[], Harness], **says: bool) -> AdapterContract:
    return type("Contract", (AdapterContract,), {"harness": lambda self: made(), **says})()


@pytest.mark.parametrize(("broken", "check"), CAUGHT)
def test_a_broken_adapter_is_caught(broken: type[Loop], check: str) -> None:
    with pytest.raises(AssertionError):
        getattr(contract_of(broken), check)()


class SendsAfterCancelling(Loop):
    """Sends the calls that were never answered."""

    def sent(self, session: Session) -> list[Any]:
        session.view(self.history)
        return list(self.history)


def test_calls_that_a_canceled_run_left_open_are_caught() -> None:
    with pytest.raises(AssertionError):
        contract_of(SendsAfterCancelling).test_a_run_that_is_cancelled_leaves_the_session_whole()


@pytest.mark.parametrize("ability", ["sees_requests", "holds_truth", "continues"])
def test_what_a_framework_cannot_do_is_skipped_with_a_reason(ability: str) -> None:
    contract = contract_of(Loop, **{ability: False})
    skipped: list[str] = []
    for name in dir(contract):
        if name.startswith("test_"):
            try:
                getattr(contract, name)()
            except unittest.SkipTest as reason:
                skipped.append(str(reason))
    assert skipped == [f"Contract says `{ability} = False`."]


def test_a_class_without_a_harness_says_what_to_give() -> None:
    with pytest.raises(NotImplementedError, match="Give `harness`"):
        AdapterContract().test_the_record_has_what_the_tools_returned()


def chat(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([chat("a", "b"), result("b"), result("a")], set()),
        ([chat("a", "b"), result("a")], {"b"}),
        ([result("a")], {"a"}),
        ([chat("a"), result("a"), result("a")], {"a"}),
        ([chat("a"), result("a"), chat("a"), result("a")], {"a"}),
        ([chat("a")], set()),
        ([chat("a"), {"role": "user", "content": "well?"}], {"a"}),
    ],
)
def test_unpaired_calls_and_results_are_named(messages: list[Any], wrong: set[str]) -> None:
    assert find_unpaired(messages) == wrong
