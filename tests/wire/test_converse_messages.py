"""Converse's messages: how they alternate, which pairs of calls and results are broken, and how these are repaired."""

from typing import Any

import pytest

from keepwhole.wire.converse.messages import alternating
from keepwhole.wire.dialects import conversation_dialect
from keepwhole.wire.pairs import NO_RESULT

CONVERSE: Any = conversation_dialect("converse")
BETWEEN = {"role": "user", "content": [{"text": "[Messages in between are part of the summary above.]"}]}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def call(id: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": "run", "input": {}}}


def result(id: str, words: str = "ok") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": [{"text": words}]}}


HELLO, SUMMARY = user(text("hello")), user(text("so far"))
BEGUN = [HELLO, model(text("a")), user(text("b")), model(text("c")), user(text("d"))]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([0, 1, 2], BEGUN[:3]),
        ([None, 1, 2], [SUMMARY, *BEGUN[1:3]]),
        ([None, 2, 3], [user(text("so far"), text("b")), BEGUN[3]]),
        ([0, None, 3], [user(text("hello"), text("so far")), BEGUN[3]]),
        ([0, 1, 3, 4], [HELLO, BEGUN[1], BETWEEN, *BEGUN[3:]]),
        ([0, 2], [user(text("hello"), text("b"))]),
    ],
)
def test_roles_alternate_where_messages_meet_anew_and_stay_as_they_were_elsewhere(
    places: list[int | None], expected: list[Any]
) -> None:
    assert alternating(BEGUN, places, SUMMARY) == expected


@pytest.mark.parametrize(
    ("messages", "is_broken"),
    [
        ([HELLO], False),
        ([HELLO, model(call("c1"))], False),
        ([HELLO, model(call("c1")), user(result("c1"))], False),
        ([HELLO, model(call("c1")), user(result("c1"), text("and"))], False),
        ([HELLO, model(call("c1"), call("c2")), user(result("c2"), result("c1"))], False),
        ([HELLO, model(call("c1")), user(result("c1")), model(call("c1")), user(result("c1"))], False),
        ([HELLO, model(call("c1")), user(text("and"))], True),
        ([HELLO, model(call("c1")), user(text("and")), model(text("a"))], True),
        ([HELLO, model(call("c1"), call("c2")), user(result("c1"))], True),
        ([HELLO, user(result("c1"))], True),
        ([HELLO, model(call("c1")), user(result("c1"), result("c1"))], True),
        ([HELLO, model(call("c1")), user(result("c2"))], True),
    ],
)
def test_a_result_must_come_in_the_message_after_its_call(messages: list[Any], is_broken: bool) -> None:
    assert CONVERSE.is_broken(messages) is is_broken
    repaired, repairs = CONVERSE.repair(messages)
    assert (repaired is messages) is not is_broken
    assert (repairs.total > 0) is is_broken
    assert not CONVERSE.is_broken(repaired)


def test_a_result_that_is_missing_is_said_before_the_words_of_the_next_message() -> None:
    messages = [HELLO, model(call("c1"), call("c2")), user(result("c1"), text("and"))]
    repaired, repairs = CONVERSE.repair(messages)
    (lost,) = [block["toolResult"] for block in repaired[2]["content"] if "toolResult" in block][1:]
    assert (lost["toolUseId"], lost["content"]) == ("c2", [{"text": NO_RESULT}])
    assert repaired[2]["content"][-1] == text("and")
    assert (repairs.calls_without_result, repairs.total) == (1, 1)


def test_a_result_that_nobody_asked_for_becomes_text() -> None:
    messages = [HELLO, model(call("c1")), user(result("c9", "late"), result("c1"), text("and"))]
    repaired, repairs = CONVERSE.repair(messages)
    assert repairs.total == 1
    assert repaired[2]["content"][:2] == [result("c1"), text("and")]
    assert any("late" in block["text"] for block in repaired[2]["content"][2:])
