"""Long arguments of old calls, as a provider gets them with `auto.arguments: old`: cut, valid, and read back whole."""

import json
from typing import Any, cast

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import AutoSettings
from keepwhole.truncation.arguments import has_mark
from tests.build import in_memory, printed_call
from tests.conversation.argument_agents import (
    DIALECTS,
    WITH_FREE_TEXT,
    WritingAgent,
    arguments_in,
    messages_of,
    results_in,
    script,
)
from tests.upstream.complaint import complaint
from tests.upstream.spelling import Dialect

OLD = AutoSettings(
    arguments="old",
    start=1_000,
    worth=0,
    horizon=10,
    clear_at_least=1_000,
    max_loss=1.0,
)
STEPS = 16


def settings(auto: AutoSettings = OLD) -> Settings:
    return Settings(home="unused", policy="auto", auto=auto)


def sent_after(agent: WritingAgent, session: Session, steps: int = STEPS, first: int = 0) -> bytes:
    """The last request of so many steps, each of which writes a file. The provider takes each of them."""
    sent = b""
    for number in range(first, first + steps):
        agent.write(number)
        sent = session.view(agent.body())
        assert complaint(json.loads(sent), dialect_of(agent)) == ""
    return sent


def dialect_of(agent: WritingAgent) -> Dialect:
    return cast("Dialect", agent.dialect)


def cut_calls(body: bytes) -> set[str]:
    return {call_id for call_id, given in arguments_in(body).items() if has_mark(json.dumps(given))}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_long_arguments_of_old_calls_are_cut_and_those_of_the_newest_steps_are_not(dialect: str) -> None:
    agent, steps = WritingAgent(dialect), 30
    sent = sent_after(agent, in_memory(settings=settings()), steps)
    cut = cut_calls(sent)
    assert "call_0" in cut
    assert not cut & {f"call_{number}" for number in range(steps - OLD.keep_steps, steps)}
    assert len(sent) < len(agent.body()) / 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_keys_the_short_values_and_the_beginning_stay(dialect: str) -> None:
    sent = sent_after(WritingAgent(dialect), in_memory(settings=settings()))
    given = arguments_in(sent)["call_0"]
    assert list(given) == ["path", "content", "mode"]
    assert (given["path"], given["mode"]) == ("src/part_0.py", 420)
    whole = script(0)
    shown, _, rest = given["content"].partition("[…")
    assert whole.startswith(shown)
    assert len(shown) >= 100
    assert rest == f"{len(whole) - len(shown):,} more characters: the tool received them, this view hides them]"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_result_says_how_the_arguments_are_read_back_whole(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent = sent_after(agent, session)
    shown = results_in(sent)["call_0"]
    assert shown.startswith("File written.\n")
    asked = printed_call(shown)
    assert asked["part"] == "arguments"
    assert json.loads(session.recall(asked["id"], part="arguments"))["content"] == script(0)
    answer = session.call_tool("get_artifact", {**asked, "path": "$.content"})
    assert answer.content.startswith(script(0)[:1_000])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_cut_values_and_the_results_differ_from_what_the_client_sent(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent = sent_after(agent, session)
    whole, cut = arguments_in(agent.body()), arguments_in(sent)
    for call_id in whole:
        assert {**cut[call_id], "content": ""} == {**whole[call_id], "content": ""}
    assert session.hydrate(messages_of(sent)) == agent.messages


@pytest.mark.parametrize("dialect", WITH_FREE_TEXT)
def test_the_free_text_of_a_custom_tool_is_cut_too(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    text = "*** Begin Patch\n" + script(99)
    agent.patch(99, text)
    sent = sent_after(agent, session)
    given = arguments_in(sent)["call_99"]
    assert has_mark(given)
    assert given.startswith("*** Begin Patch\n")
    assert session.recall(printed_call(results_in(sent)["call_99"])["id"], part="arguments") == text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_cut_of_arguments_without_the_setting(dialect: str) -> None:
    sent = sent_after(WritingAgent(dialect), in_memory(settings=settings(OLD.replace(arguments="off"))))
    assert cut_calls(sent) == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_messages_that_are_returned_to_a_program_have_their_arguments_whole(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent_after(agent, session)
    returned = session.view(list(agent.messages))
    assert arguments_in(json.dumps({"messages": returned}).encode()) == arguments_in(agent.body())
    alone = in_memory(settings=settings())
    for _ in range(3):
        returned = alone.view(list(agent.messages))
    assert arguments_in(json.dumps({"messages": returned}).encode()) == arguments_in(agent.body())
    assert "hidden" not in "".join(results_in(json.dumps({"messages": returned}).encode()).values())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_arguments_of_a_failed_call_are_never_cut(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    agent.write(50, result="Error: no such directory", failed=True)
    sent = sent_after(agent, session)
    assert "call_50" not in cut_calls(sent)
    assert "call_0" in cut_calls(sent)


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "converse"])
def test_nothing_beside_signed_reasoning_is_cut_in_the_turn_that_goes_on(dialect: str) -> None:
    agent, session = WritingAgent(dialect, thinks=True), in_memory(settings=settings())
    sent = sent_after(agent, session)
    assert cut_calls(sent) == set()
    agent.ask("Now the rest.")
    sent = sent_after(agent, session, 10, STEPS)
    assert "call_0" in cut_calls(sent)
    assert complaint(json.loads(sent), dialect_of(agent)) == ""


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "converse"])
def test_a_provider_would_refuse_what_was_cut_beside_its_signature_in_the_same_turn(dialect: str) -> None:
    agent, session = WritingAgent(dialect, thinks=True), in_memory(settings=settings())
    sent_after(agent, session)
    agent.ask("Now the rest.")
    sent = sent_after(agent, session, 10, STEPS)
    taken_back = json.loads(sent)
    asked = agent.asked()[-1]
    del taken_back[agent.field][asked - (dialect == "converse") : asked + 1]
    assert "beside signed" in complaint(taken_back, dialect_of(agent))


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "converse"])
def test_what_was_cut_is_whole_again_where_the_user_takes_the_turn_back(dialect: str) -> None:
    agent, session = WritingAgent(dialect, thinks=True), in_memory(settings=settings())
    sent_after(agent, session)
    before = list(agent.messages)
    agent.ask("Now the rest.")
    assert cut_calls(sent_after(agent, session, 10, STEPS))
    agent.messages = before
    assert cut_calls(session.view(agent.body())) == set()


@pytest.mark.parametrize("dialect", ["openai_chat", "gemini"])
def test_a_call_with_a_signature_of_its_own_is_never_changed(dialect: str) -> None:
    agent, session = WritingAgent(dialect, thinks=True), in_memory(settings=settings())
    sent_after(agent, session)
    agent.ask("Now the rest.")
    assert cut_calls(sent_after(agent, session, 10, STEPS)) == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arguments_that_are_not_on_record_as_they_are_sent_stay_whole(dialect: str) -> None:
    session = in_memory(settings=settings())
    session.keep("write", {"path": "another"}, "File written.", call_id="call_0")
    sent = sent_after(WritingAgent(dialect), session)
    cut = cut_calls(sent)
    assert "call_0" not in cut
    assert cut, "others are"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_undo_shows_the_arguments_whole_again(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent = sent_after(agent, session)
    session.undo(printed_call(results_in(sent)["call_0"])["id"])
    again = session.view(agent.body())
    assert arguments_in(again)["call_0"] == arguments_in(agent.body())["call_0"]
    assert results_in(again)["call_0"] == "File written."


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_process_sends_the_same_bytes(dialect: str) -> None:
    store = MemoryStore()
    agent, session = WritingAgent(dialect), Session("s", store=store, settings=settings())
    sent = sent_after(agent, session)
    assert Session("s", store=store, settings=settings()).view(agent.body()) == sent
    off = settings(OLD.replace(arguments="off"))
    assert Session("s", store=store, settings=off).view(agent.body()) == sent  # what was decided holds


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_sent_before_a_batch_is_sent_again_until_the_next(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings(OLD.replace(horizon=0.5)))
    before: list[Any] = []
    changed = 0
    for number in range(STEPS):
        agent.write(number)
        sent = messages_of(session.view(agent.body()))
        changed += sent[: len(before)] != before
        before = sent
    assert 1 <= changed <= STEPS // 4


def test_a_key_that_is_there_twice_is_left_alone() -> None:
    agent, session = WritingAgent("openai_chat"), in_memory(settings=settings())
    twice = '{"content": "a", "content": ' + json.dumps(script(70)) + ', "other": ' + json.dumps(script(71)) + "}"
    agent.write(70)
    agent.messages[-2]["tool_calls"][0]["function"]["arguments"] = twice
    sent = sent_after(agent, session)
    arguments = messages_of(sent)[1]["tool_calls"][0]["function"]["arguments"]
    assert arguments.startswith('{"content": "a", "content": ' + json.dumps(script(70)))
    assert has_mark(arguments)


def test_a_key_that_is_there_twice_in_an_object_leaves_the_message_whole() -> None:
    agent, session = WritingAgent("anthropic"), in_memory(settings=settings())
    sent = b""
    for number in range(STEPS):
        agent.write(number)
        body = agent.body().replace(b'"path": "src/part_0.py"', b'"content": "", "path": "src/part_0.py"')
        sent = session.view(body)
    assert arguments_in(sent)["call_0"]["content"] == script(0)
    assert cut_calls(sent), "others are cut"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_new_call_that_imitates_the_cut_is_counted_and_sent_as_it_is(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent_after(agent, session)
    assert session.metrics.imitated_arguments_total == 0
    agent.write(90, "import os\n[…1,234 more characters: the tool received them, this view hides them]")
    sent = session.view(agent.body())
    assert session.metrics.imitated_arguments_total == 1
    assert arguments_in(sent)["call_90"] == arguments_in(agent.body())["call_90"]
    assert session.hydrate(messages_of(sent))[-2] == agent.messages[-2]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cut_arguments_that_come_back_are_neither_stored_nor_cut_again(dialect: str) -> None:
    agent, session = WritingAgent(dialect), in_memory(settings=settings())
    sent = sent_after(agent, session)
    kept = session.metrics.results_total
    again = session.view(sent)  # another batch may be due, of what was whole
    for call_id in cut_calls(sent):
        assert arguments_in(again)[call_id] == arguments_in(sent)[call_id]
        assert results_in(again)[call_id] == results_in(sent)[call_id]
    assert (session.metrics.results_total, session.metrics.imitated_arguments_total) == (kept, 0)
