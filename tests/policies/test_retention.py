"""Retention by turns: whole in its own turn and the next, then three lines and where the rest is."""

import ast
import inspect
import unicodedata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.utf8 import showable
from keepwhole.errors import ConfigError, UsageError
from keepwhole.policies import retention
from keepwhole.policies.policy import Choice, Policy, shown_text
from keepwhole.policies.retention import Retention, notice
from keepwhole.policies.settings import RetentionSettings
from keepwhole.policies.transcript import Transcript
from keepwhole.standalone import retention as standalone_retention
from keepwhole.standalone.context_window import (
    AssistantMessage,
    ContextMessage,
    ContextWindow,
    SpecRefreshMessage,
    ToolResultMessage,
    UserMessage,
)
from keepwhole.standalone.retention import ToolResultRetentionPolicy
from keepwhole.truncation.cut import TextSource, decode_cut, encode_cut, render, whole
from keepwhole.truncation.edges import joined
from tests.policies.builders import SITUATION, add_image, add_step, by_number, transcript
from tests.promises.texts import texts

LONG = "\n".join(f"line {number}" for number in range(200))
POLICY = ToolResultRetentionPolicy()


def result(turn: int, content: str = LONG) -> ToolResultMessage:
    return ToolResultMessage(f"m{turn}", content, turn, f"trace-{turn}")


def window_of(*turns: int) -> ContextWindow:
    return ContextWindow(result(turn) for turn in turns)


@pytest.mark.parametrize("current_turn", [7, 8])
def test_a_result_is_whole_in_the_turn_that_made_it_and_in_the_next(current_turn: int) -> None:
    assert POLICY.is_fully_retained(result(7), current_turn)


def test_the_retention_policy_is_imported_from_the_package_that_the_how_to_names() -> None:
    how_to = (Path(__file__).parents[2] / "docs" / "howto" / "retention.md").read_text(encoding="utf-8")
    assert f"from {ToolResultRetentionPolicy.__module__} import ToolResultRetentionPolicy" in how_to


@pytest.mark.parametrize("trace_id", ["", None])
def test_a_result_message_without_a_trace_id_is_refused(trace_id: Any) -> None:
    with pytest.raises(UsageError, match="trace"):
        ToolResultMessage("m1", LONG, 1, trace_id)
    with pytest.raises(TypeError, match="trace_id"):
        ToolResultMessage("m1", LONG, 1)  # type: ignore[call-arg]


@pytest.mark.parametrize("current_turn", [9, 10, 700])
def test_a_result_is_cut_from_two_turns_later_on(current_turn: int) -> None:
    assert not POLICY.is_fully_retained(result(7), current_turn)


@pytest.mark.parametrize("kind", [UserMessage, AssistantMessage, SpecRefreshMessage])
def test_no_other_kind_of_message_is_ever_cut(kind: type[UserMessage]) -> None:
    message = kind("m", LONG, 1)
    assert POLICY.is_fully_retained(message, 1_000)
    assert POLICY.apply(ContextWindow([message]), 1_000).get_messages()[0] is message


def test_two_hundred_lines_become_fewer_than_five_with_the_literal_notice() -> None:
    cut = POLICY.truncate(LONG, "abc-123")
    assert len(cut.split("\n")) < 5
    assert cut == 'line 0\nline 1\nline 2\n[TRUNCATED — full output in get_task_trace(traceId="abc-123")]'


@given(texts, st.text(min_size=1))
def test_truncating_gives_the_same_for_the_same(text: str, trace_id: str) -> None:
    assert POLICY.truncate(text, trace_id) == ToolResultRetentionPolicy().truncate(str(text), trace_id)


@pytest.mark.parametrize("module", [retention, standalone_retention])
def test_the_module_can_do_no_input_or_output(module: ModuleType) -> None:
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert all(str(name).startswith(("keepwhole.", "collections.abc")) for name in imported)
    assert "open(" not in inspect.getsource(module)


def test_at_turn_four_the_results_of_turns_one_and_two_are_cut_and_that_of_three_is_whole() -> None:
    first, second, third = POLICY.apply(window_of(1, 2, 3), current_turn=4).get_messages()
    assert first.content == POLICY.truncate(LONG, "trace-1")
    assert second.content == POLICY.truncate(LONG, "trace-2")
    assert third.content == LONG


def test_applying_returns_another_window_and_does_not_change_the_first() -> None:
    window = window_of(1, 2, 3)
    applied = POLICY.apply(window, 4)
    assert applied is not window
    assert window == window_of(1, 2, 3)
    assert applied.get_messages()[2] is window.get_messages()[2]


def test_a_cut_message_keeps_its_id_turn_and_trace_id() -> None:
    (message,) = POLICY.apply(window_of(1), 9).get_messages()
    assert isinstance(message, ToolResultMessage)
    assert (message.id, message.turn, message.trace_id) == ("m1", 1, "trace-1")


def test_lines_that_end_with_a_carriage_return_stay_whole() -> None:
    assert POLICY.truncate("a\r\nb\r\nc\r\nd", "t") == "a\r\nb\r\nc" + notice("t")
    assert POLICY.truncate("a\rb\rc\rd", "t") == "a\rb\rc" + notice("t")


messages = st.builds(
    lambda kind, content, turn: (
        ToolResultMessage("m", content, turn, f"t{turn}") if kind is ToolResultMessage else kind("m", content, turn)
    ),
    st.sampled_from([UserMessage, AssistantMessage, ToolResultMessage, SpecRefreshMessage]),
    st.text(st.sampled_from("ab\n\r"), max_size=30),
    st.integers(0, 6),
)


@given(st.lists(messages, max_size=8), st.integers(0, 10))
def test_any_window_is_untouched_cut_where_it_is_due_and_the_same_when_applied_again(
    given_messages: list[ContextMessage], turn: int
) -> None:
    window = ContextWindow(given_messages)
    before = [message.as_dict() for message in given_messages]
    applied = POLICY.apply(window, turn)
    assert [message.as_dict() for message in window.get_messages()] == before
    for old, new in zip(window.get_messages(), applied.get_messages(), strict=True):
        if not isinstance(old, ToolResultMessage) or POLICY.is_fully_retained(old, turn):
            assert new is old
        else:
            assert new.content == POLICY.truncate(old.content, old.trace_id)
    assert POLICY.apply(applied, turn) == applied


def aged(made: Transcript, policy: Retention | None = None) -> dict[int, Choice]:
    return by_number((policy or Retention()).age(made, {}, SITUATION))


def test_as_a_policy_it_cuts_what_is_two_turns_old_and_nothing_on_arrival() -> None:
    policy: Policy = Retention()
    made = transcript(LONG, LONG, LONG, LONG)
    assert policy.name == "retention"
    assert policy.arrive(made, made.items, {}) == []
    assert [choice.number for choice in policy.age(made, {}, SITUATION)] == [0, 1]


def test_a_rendered_choice_is_exactly_what_the_specification_asks_for() -> None:
    made = transcript(LONG, "", "")
    (choice,) = aged(made).values()
    assert shown_text(made.items[0], choice) == POLICY.truncate(LONG, "trace_call_1")
    assert choice.cut.covers(len(LONG))
    assert decode_cut(encode_cut(choice.cut)) == choice.cut
    assert choice.tokens == -(-len(shown_text(made.items[0], choice)) // 4)


def test_a_choice_once_made_holds() -> None:
    made = transcript(LONG, LONG, LONG)
    decided = aged(made)
    add_step(made, LONG)
    assert [choice.number for choice in Retention().age(made, decided, SITUATION)] == [1]


def test_a_choice_of_another_rule_is_replaced_only_by_a_shorter_one() -> None:
    made = transcript(LONG, LONG, LONG)
    small, large = (Choice(0, "other", whole(len(LONG)), tokens) for tokens in (20, 400))
    assert Retention().age(made, {0: small}, SITUATION) == []
    assert [choice.number for choice in Retention().age(made, {0: large}, SITUATION)] == [0]


@pytest.mark.parametrize("text", ["", "short", "a\nb\nc\nd", "x" * 60, "one\ntwo\nthree\n" + "x" * 60])
def test_nothing_is_cut_where_that_would_not_be_shorter(text: str) -> None:
    assert aged(transcript(text, "", "")) == {}


def test_a_pinned_result_is_never_cut() -> None:
    made = transcript(LONG, "", "")
    made.items[0].pinned = True
    assert aged(made) == {}


def test_a_result_without_a_name_stays_whole_because_nobody_could_ask_for_it() -> None:
    assert aged(transcript(LONG, "", "", named=False)) == {}


def test_three_endless_lines_are_bounded() -> None:
    made = transcript("x" * 9_000, "", "")
    (choice,) = aged(made).values()
    assert shown_text(made.items[0], choice) == "x" * 2_000 + notice("trace_call_1")
    (choice,) = aged(made, Retention(RetentionSettings(line_chars=10))).values()
    assert shown_text(made.items[0], choice) == "x" * 10 + notice("trace_call_1")


def test_the_bound_ends_at_a_line_end_where_one_is_near() -> None:
    made = transcript("a" * 90 + "\r\n" + "b" * 9_000, "", "")
    (choice,) = aged(made, Retention(RetentionSettings(line_chars=100))).values()
    assert shown_text(made.items[0], choice) == "a" * 90 + notice("trace_call_1")


def test_a_bound_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="line_chars"):
        RetentionSettings(line_chars=0)


@given(texts, st.integers(1, 300))
def test_any_cut_is_shorter_covers_the_original_and_splits_nothing(text: str, line_chars: int) -> None:
    made = transcript(text, "", "")
    words = notice("trace_call_1")
    for choice in aged(made, Retention(RetentionSettings(line_chars=line_chars))).values():
        assert choice.cut.covers(len(text))
        kept = choice.cut.kept[0].stop
        assert kept <= line_chars
        assert render(choice.cut, TextSource(text)) == showable(text[:kept]) + words
        assert kept + len(words) < len(text)
        assert kept == 0 or text[kept] in "\r\n" or not joined(text, kept)
        assert text[max(0, kept - 1) : kept + 1] != "\r\n"
        assert not unicodedata.combining(text[kept])


@given(st.lists(texts, max_size=5), st.integers(1, 4))
def test_one_more_step_changes_nothing_that_was_sent_before(given_texts: list[str], more: int) -> None:
    made = transcript(*given_texts)
    decided = aged(made)
    before = [shown_text(item, decided.get(item.number)) for item in made.items]
    for _ in range(more):
        add_step(made, LONG)
        new = by_number(Retention().age(made, decided, SITUATION))
        assert not new.keys() & decided.keys()
        decided |= new
    for item, sent in zip(made.items, before, strict=False):
        assert shown_text(item, decided.get(item.number)) in (sent, shown_text(item, aged(made).get(item.number)))


def test_an_old_image_becomes_one_line_that_says_what_it_was_and_how_to_get_it() -> None:
    made = transcript()
    for number in range(4):
        add_image(made, number)
    decided = aged(made)
    assert sorted(decided) == [0, 1]
    words = shown_text(made.items[0], decided[0])
    assert words.startswith("image/png 1280x800, 146.5 KB")
    assert 'get_task_trace(traceId="trace_call_1")' in words
    assert decided[0].tokens < made.items[0].tokens
