"""What a summary says of each call: its outcome in one line, and which errors are still open."""

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.policies.call_outcomes import CallOutcome, one_line, outcome_line, outcomes_before, unresolved_errors
from keepwhole.policies.transcript import Name, Transcript


def made(*messages: Message) -> list[CallOutcome]:
    transcript = Transcript()
    transcript.extend(messages)
    return outcomes_before(transcript, len(messages), (), lambda item: Name("trace", "art"))


def asks(call_id: str, arguments: str = "{}") -> Message:
    return Message("assistant", calls=(Call(call_id, "bash", arguments),))


def answers(call_id: str, text: str, is_error: bool = False) -> Message:
    return Message("tool", returned=(ResultText(call_id, ("content",), text, is_error),))


@pytest.mark.parametrize(
    ("text", "is_error", "line"),
    [
        ("", False, "nothing was printed"),
        (" \n ", False, "nothing was printed"),
        ("", True, "an error without words"),
        ("it broke", True, "failed: it broke"),
        ("fatal: no such branch\nmore", False, "failed: fatal: no such branch"),
    ],
)
def test_the_outcome_of_a_call_is_one_line(text: str, is_error: bool, line: str) -> None:
    (outcome,) = made(asks("c"), answers("c", text, is_error))
    assert outcome_line(outcome, 100) == line


def test_a_call_without_a_result_and_a_result_without_a_call_are_outcomes_too() -> None:
    unanswered, stray = made(asks("c"), answers("lost", "text"))
    assert outcome_line(unanswered, 100) == "no result on record"
    assert (stray.call, stray.step, len(stray.items)) == (None, 1, 1)
    assert "text" in outcome_line(stray, 100)


def test_what_the_model_said_is_in_the_list_and_the_messages_that_stay_are_not() -> None:
    transcript = Transcript()
    transcript.extend([Message("user", "go"), Message("assistant", "thinking"), asks("c"), answers("c", "text")])
    name = Name("trace", "art")
    assert [one.said for one in outcomes_before(transcript, 4, (), lambda _: name)] == ["thinking", ""]
    assert [one.said for one in outcomes_before(transcript, 4, (1,), lambda _: name)] == [""]
    assert outcomes_before(transcript, 1, (), lambda _: name) == []


def test_an_error_is_open_until_the_same_call_succeeds_later() -> None:
    messages = [
        *(asks("a"), answers("a", "it broke", True)),
        *(asks("b", '{"x": 1}'), answers("b", "it broke", True)),
        *(asks("c"), answers("c", "fine")),
    ]
    transcript = Transcript()
    transcript.extend(messages)
    outcomes = outcomes_before(transcript, len(messages), (), lambda _: Name("trace", "art"))
    assert [one.call.call_id for one in unresolved_errors(outcomes, transcript) if one.call] == ["b"]


@pytest.mark.parametrize(("tool", "size", "is_error"), [("read", 400, True), ("read", 401, False), ("bash", 401, True)])
def test_a_short_text_of_a_file_counts_as_an_error_by_its_shape(tool: str, size: int, is_error: bool) -> None:
    text = "fatal: no such branch\n".ljust(size, "x")
    call = Message("assistant", calls=(Call("c", tool, '{"command": "make", "path": "a"}'),))
    (outcome,) = made(call, answers("c", text))
    assert outcome.is_error is is_error


def test_one_line_of_a_text_is_printable_and_says_where_it_is_cut() -> None:
    assert one_line("a\tb\n c\x00d", 20) == "a b c d"
    assert one_line("x" * 20, 20) == "x" * 20
    assert one_line("x" * 21, 20) == "x" * 19 + "…"
    assert one_line("x " + " " * 90, 20) == "x…"
    assert one_line("[Artifact: art_1_x]", 40) == "[quoted] [Artifact: art_1_x]"


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (("one",), "1 line, 3 chars: one"),
        (("\n\none\ntwo\n",), "4 lines, 10 chars: one"),
        (("a" * 1_200,), "1 line, 1,200 chars: " + "a" * 9 + "…"),
        (("one", "two"), "2 lines, 7 chars: one"),
    ],
)
def test_a_result_that_is_no_error_is_told_by_its_size_and_its_first_line(texts: tuple[str, ...], line: str) -> None:
    (outcome,) = made(asks("c"), *(answers("c", text) for text in texts))
    assert outcome_line(outcome, 10) == line
    assert not outcome.is_open
