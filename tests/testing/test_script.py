"""The scripted models play their scripts, and the checks on requests say what is wrong with them."""

from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.errors import StoreError
from keepwhole.models.tokens import estimate
from keepwhole.testing.look import broken_prefixes, find_unpaired, recorded_results, results_in, tokens_of
from keepwhole.testing.model import FakeModel, PrintedCall, newest_text, printed_calls
from keepwhole.testing.script import AgentRun, Script, ScriptedCall, newest_result
from keepwhole.testing.stage import NEEDLE, FullStore, Stage


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def asks(*ids: str) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": id, "name": "look", "input": {}} for id in ids]
    return {"role": "assistant", "content": calls}


def returns(id: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def test_a_model_says_the_lines_of_its_script_and_then_that_it_is_done() -> None:
    model = FakeModel(["words", ("look", {"path": "a"}), lambda text: PrintedCall("again", {"seen": text})])
    assert model([user({"type": "text", "text": "go"})]) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "words"}],
    }
    first = model([])["content"]
    assert first == [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"path": "a"}}]
    (second,) = model([user(returns("c1", "old"), returns("c2", "new")), user({"type": "text", "text": "and"})])[
        "content"
    ]
    assert (second["id"], second["name"], second["input"]) == ("toolu_2", "again", {"seen": "new"})
    assert model([])["content"][0]["text"] == "done"
    model.play([("look", {})])
    assert model([])["content"][0]["id"] == "toolu_3", "numbers go on"


def test_the_newest_result_is_the_last_one_of_the_last_message_with_any() -> None:
    messages = [
        user(returns("c1", "one")),
        user(returns("c2", "two"), returns("c3", "three")),
        {"role": "user", "content": "x"},
    ]
    assert newest_text(messages) == newest_result(messages) == "three"
    assert newest_text([]) == newest_result([]) == ""
    assert newest_text(messages[-1:]) == newest_result(messages[-1:]) == ""


def test_a_script_numbers_its_calls_and_notes_what_was_received_and_offered() -> None:
    script = Script(["words", [("a", {}), ("b", {"x": 1})], lambda text: ("c", {"seen": text})])
    assert script.reply([{"role": "user", "content": "go"}], ["a", "b"]).text == "words"
    turn = script.reply([])
    assert (turn.text, turn.calls) == ("", (ScriptedCall("call_1", "a", {}), ScriptedCall("call_2", "b", {"x": 1})))
    assert script.reply([user(returns("call_1", "seen"))]).calls == (ScriptedCall("call_3", "c", {"seen": "seen"}),)
    assert (script.reply([]).text, script.reply([]).calls) == ("done", ())
    assert script.offered == [("a", "b"), (), (), (), ()]
    assert script.requests[0] == [{"role": "user", "content": "go"}]
    assert Script([("a", {})], iter([7])).reply([]).calls[0].call_id == "call_7"


def test_a_call_may_be_some_thousand_characters_long() -> None:
    head = 'get_artifact(id="'
    for length, is_read in ((4_000, True), (4_001, False)):
        call = head + "x" * (length - len(head) - 2) + '"' + ")"
        assert len(call) == length
        assert bool(printed_calls(call)) is is_read


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([], set()),
        ([asks("c1"), user(returns("c1"))], set()),
        ([asks("c1")], set()),
        ([asks("c1"), user({"type": "text", "text": "and"})], {"c1"}),
        ([user(returns("c1"))], {"c1"}),
        ([asks("c1"), user(returns("c1")), user(returns("c1"))], {"c1"}),
        ([asks("c1"), user(returns("c1")), asks("c1"), user(returns("c1"))], {"c1"}),
        ([asks("c1", "c2"), user(returns("c1")), asks("c3")], {"c2"}),
        ([asks("c1", "c2"), user(returns("c2"), returns("c1")), asks("c3"), user(returns("c3"))], set()),
    ],
)
def test_calls_and_results_that_have_no_other_half_are_found(messages: list[Any], wrong: set[str]) -> None:
    assert find_unpaired(messages) == wrong


def test_requests_that_do_not_begin_like_the_one_before_are_found() -> None:
    one, two, three = (user({"type": "text", "text": word}) for word in ("one", "two", "three"))
    assert broken_prefixes([[one], [one, two], [one, two, three]]) == []
    assert broken_prefixes([[one, two], [one], [two, one], [two, one, three]]) == [1, 2]
    assert broken_prefixes([]) == []


def test_results_and_tokens_are_read_from_messages_of_any_dialect() -> None:
    chat = [{"role": "assistant", "content": "some words"}, {"role": "tool", "tool_call_id": "c1", "content": "text"}]
    assert results_in([*chat, user(returns("c2", "more"))]) == [("c1", "text"), ("c2", "more")]
    assert tokens_of(chat[:1]) == estimate("some words")
    called = [{"role": "assistant", "content": "", "tool_calls": [_called("look", '{"path": "a/long/path"}')]}]
    assert tokens_of(called) >= estimate('{"path": "a/long/path"}')
    assert tokens_of([*chat, *called]) == tokens_of(chat) + tokens_of(called)


def _called(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_the_results_of_a_session_are_told_without_those_of_keepwhole_s_own_tools() -> None:
    session = Session("s", store=MemoryStore())
    for tool, text in (
        ("bash", "one"),
        ("get_artifact", "two"),
        ("mcp__keepwhole__get_artifact", "three"),
        ("read", "four"),
    ):
        session.keep(tool, None, text)
    assert recorded_results(session) == [("bash", "one"), ("read", "four")]


def test_the_tools_of_the_stage_return_what_is_known_and_note_it() -> None:
    stage = Stage()
    tools = stage.tools()
    assert tools["run_command"]("short") == "a.txt\nb.txt\n"
    long = tools["run_command"]("long").splitlines()
    assert (len(long), long[700], long.count(NEEDLE), long[699]) == (1_500, NEEDLE, 1, "0699: nothing to see")
    lines = tools["read_file"]("a.py").splitlines()
    assert (len(lines), lines[0], lines[119].startswith("a.py:119 = ")) == (120, "a.py:0 = 31676 of a.py", True)
    assert len(set(lines)) == 120
    assert [tool for tool, _ in stage.returned] == ["run_command", "run_command", "read_file"]
    with pytest.raises(ValueError, match="why"):
        tools["fail"]("why")


def test_a_full_store_refuses_every_write_and_results_are_shown_whole() -> None:
    store = FullStore()
    with pytest.raises(StoreError, match="no room left"):
        store.append("s", [])
    kept = Session("s", store=store).keep("bash", None, "some text")
    assert (kept.content, kept.metadata.stored) == ("some text", False)


class Echo:
    """A harness whose agent makes one request."""

    def run(self, script: Script, tools: Any, session: Session) -> AgentRun:
        turn = script.reply([], tools)
        return AgentRun(turn.text, script.requests, [call.call_id for call in turn.calls])


def test_each_run_of_a_stage_plays_its_own_steps_and_numbers_of_calls_go_on() -> None:
    stage, session = Stage(), Session("s", store=MemoryStore())
    assert stage.run(Echo(), session, "words").text == "words"
    assert stage.run(Echo(), session, ("read_file", {"path": "a"})).history == ["call_1"]
    assert stage.run(Echo(), session, ("read_file", {"path": "a"})).history == ["call_2"]
    assert stage.run(Echo(), session).text == "done"
    assert stage.script.offered == [("run_command", "read_file", "fail", "cancel")]
