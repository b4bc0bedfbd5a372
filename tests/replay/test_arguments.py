"""What a replay says of arguments: evidence that only they could have told; and the tokens of requests by source."""

import json

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.logs.run import Run
from keepwhole.policies.auto import Auto
from keepwhole.policies.settings import AutoSettings
from keepwhole.replay.contenders import contender_named
from keepwhole.replay.replay import replay, replay_unchanged
from keepwhole.replay.run_facts import RunFacts
from keepwhole.wire.dialects import decode_message
from tests.apps.proxy.screenshots import step_messages, text_part
from tests.upstream.media_parts import media_part

FILES = 30
OLD = AutoSettings(
    arguments="old",
    start=1_000,
    worth=0,
    horizon=10,
    max_loss=2.0,
)


def content(number: int) -> str:
    """A file: a name at its beginning, another one far behind it, and much between them."""
    middle = "".join(f"    total_{number}_{line} += weigh({number * 100 + line})\n" for line in range(80))
    return f"def open_{number}_first():\n{f'    # {number}' * 12}\n{middle}\ndef close_{number}_last():\n"


def writes(*used: tuple[int, str]) -> Run:
    """A run that writes files; then, at a step of its own, each of these strings is used in a call."""
    messages = [Message("user", "Write the files.")]
    calls = [
        (f"w{number}", "write", {"path": f"part_{number}.py", "content": content(number)}) for number in range(FILES)
    ]
    calls += [(f"u{at}", "edit", {"old": text}) for at, (_, text) in enumerate(used)]
    for call_id, tool, given in calls:
        messages.append(Message("assistant", calls=(Call(call_id, tool, json.dumps(given)),)))
        messages.append(Message("tool", returned=(ResultText(call_id, ("content",), "Done."),)))
    return Run(source="made/up", id="r", messages=tuple(messages))


def test_a_string_that_only_a_call_was_given_is_evidence_when_it_is_used_again() -> None:
    (one,) = RunFacts(writes((FILES, "close_3_last"))).arguments.evidence
    assert (one.step, one.text, one.calls) == (FILES, "close_3_last", (3,))


def test_what_a_result_showed_or_somebody_said_is_no_evidence_of_arguments() -> None:
    run = writes((FILES, "close_3_last"))
    shown = Message("tool", returned=(ResultText("w5", ("content",), "see close_3_last"),))
    said = Message("user", "Look at close_3_last.")
    for other in (shown, said):
        messages = (*run.messages[:12], other, *run.messages[13 if other is shown else 12 :])
        assert RunFacts(run.replace(messages=messages)).arguments.evidence == []


def test_what_is_hidden_of_arguments_is_counted_as_not_shown() -> None:
    facts = RunFacts(writes((FILES, "close_3_last"), (FILES + 1, "open_4_first")))
    shown = replay(facts, Auto(OLD.replace(arguments="off")))
    assert shown.arguments == (2, 2)
    hidden = replay(facts, Auto(OLD))
    assert hidden.arguments == (1, 2)  # the beginning of a value stays
    assert [loss.source for loss in hidden.losses_in_context] == [-1 - 3]


@pytest.mark.parametrize("arguments", ["off", "old"])
def test_the_sources_of_tokens_add_up_to_what_is_sent(arguments: str) -> None:
    facts = RunFacts(writes((FILES, "close_3_last")))
    outcome = replay(facts, Auto(OLD.replace(arguments=arguments)), tools=120)
    assert sum(outcome.sources) == sum(request.total for request in outcome.requests)
    whole = replay_unchanged(facts)
    assert sum(whole.sources) == sum(request.total for request in whole.requests)
    assert (outcome.sources.arguments < whole.sources.arguments / 2) == (arguments == "old")


@pytest.mark.parametrize("name", ["auto+arguments", "auto-lean+arguments"])
def test_arguments_are_compared_by_name(name: str) -> None:
    contender = contender_named(name)
    policy = contender.make(RunFacts(writes()))
    assert isinstance(policy, Auto)
    assert policy.settings.arguments == "old"
    assert "arguments: old" in (contender.settings or "")


@pytest.mark.parametrize("name", ["everything", "auto-lean", "rolling"])
def test_images_that_tools_returned_are_a_source_of_their_own(name: str) -> None:
    messages = [Message("user", "Look.")]
    for step in range(60):
        parts = [text_part("anthropic", f"Clicked at {step}."), media_part("anthropic", "screenshot", step)]
        made = step_messages("anthropic", f"c{step}", "computer", {"action": f"click {step}"}, parts)
        messages += [decode_message(message) for message in made]
    facts = RunFacts(Run(source="made/up", id="r", messages=tuple(messages)))
    whole = replay_unchanged(facts)
    outcome = replay(facts, contender_named(name).make(facts))
    for one in (whole, outcome):
        assert sum(one.sources) == sum(request.total for request in one.requests)
    assert whole.sources.images > 10 * whole.sources.results
    assert (outcome.sources.images < whole.sources.images) == (name != "everything")
