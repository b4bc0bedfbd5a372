"""Messages of a log in the order in which the model saw them."""

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.logs.message_order import (
    Timed,
    build_run,
    epoch_seconds,
    first_prompt,
    merge_responses,
    results_after_calls,
)


def asks(*ids: str, at: float | None = None) -> Timed:
    return Timed(Message("assistant", calls=tuple(Call(one, "bash", "{}") for one in ids)), at)


def answers(id: str, at: float | None = None) -> Timed:
    return Timed(Message("tool", returned=(ResultText(id, ("content",), f"result of {id}"),)), at)


def says(words: str, role: str = "user", at: float | None = None) -> Timed:
    return Timed(Message(role, words), at)  # type: ignore[arg-type]


def test_each_result_comes_right_after_the_message_that_made_its_call() -> None:
    found = [asks("a"), asks("b"), says("also"), answers("b"), answers("a"), answers("unknown")]
    assert results_after_calls(found) == [found[0], found[4], found[1], found[3], found[2], found[5]]
    assert results_after_calls([answers("a"), asks("a")]) == [answers("a"), asks("a")], "never before its call"


def test_pieces_of_one_response_are_one_message_with_the_time_of_the_first() -> None:
    pieces = [says("one", "assistant", 1.0), says("two", "assistant", 2.0), asks("a", at=3.0), says("user", at=4.0)]
    (joined, user) = merge_responses(pieces)
    assert (joined.message.said, len(joined.message.calls), joined.at) == ("one\ntwo", 1, 1.0)
    assert user == pieces[3]


def test_a_message_without_a_time_has_that_of_the_one_before_it() -> None:
    run = build_run("s", "id", [says("a"), says("b", at=5.0), says(""), says("c"), says("d", at=7.0)], {"empty": ""})
    assert run is not None
    assert (len(run.messages), run.times) == (4, (5.0, 5.0, 5.0, 7.0))
    assert run.meta == {"task_id": "a"}
    untimed = build_run("s", "id", [says("a")], {"task_id": "given"})
    assert untimed is not None
    assert (untimed.times, untimed.meta) == ((), {"task_id": "given"})
    assert build_run("s", "id", [says("")], {}) is None


def test_200_characters_of_the_first_prompt_name_the_task() -> None:
    messages = [Message("assistant", "hello"), Message("user", ""), Message("user", "  " + "x" * 300)]
    assert first_prompt(messages) == "x" * 200
    assert first_prompt([]) == ""


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        (1_700_000_000, 1_700_000_000.0),
        (1_700_000_000_500, 1_700_000_000.5),
        (100_000_000_000, 100_000_000_000.0),
        ("2023-11-14T22:13:20Z", 1_700_000_000.0),
        ("2023-11-14T22:13:20", 1_700_000_000.0),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000.0),
        ("yesterday", None),
        (None, None),
        ([], None),
    ],
)
def test_times_are_seconds_however_they_are_written(stamp: object, seconds: float | None) -> None:
    assert epoch_seconds(stamp) == seconds
