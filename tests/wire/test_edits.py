"""Edits of messages that are Python values copy what they change and share the rest."""

import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from keepwhole.wire.edits import apply, copied
from tests.wire.requests import ANTHROPIC


def test_no_edits_share_every_message() -> None:
    applied = apply(ANTHROPIC, {})
    assert applied.messages == ANTHROPIC
    assert applied.messages is not ANTHROPIC
    assert all(new is old for new, old in zip(applied.messages, ANTHROPIC, strict=True))


def test_an_edit_copies_what_is_on_its_path_and_nothing_else() -> None:
    before = copy.deepcopy(ANTHROPIC)
    path = ("content", 2, "content", 0, "text")
    applied = apply(ANTHROPIC, {2: [(path, "cut")]})
    assert before == ANTHROPIC
    assert applied.skipped == frozenset()
    expected = copy.deepcopy(ANTHROPIC)
    expected[2]["content"][2]["content"][0]["text"] = "cut"
    assert applied.messages == expected
    new, old = applied.messages[2]["content"], ANTHROPIC[2]["content"]
    assert new is not old
    assert new[0] is old[0]
    assert new[2]["content"][1] is old[2]["content"][1]
    assert all(applied.messages[at] is ANTHROPIC[at] for at in range(len(ANTHROPIC)) if at != 2)


def test_several_edits_of_one_message_are_made_together() -> None:
    edits = [(("content", 0, "content"), "a"), (("content", 2, "content", 2, "text"), "b")]
    blocks = apply(ANTHROPIC, {2: edits}).messages[2]["content"]
    assert (blocks[0]["content"], blocks[2]["content"][2]["text"]) == ("a", "b")
    assert blocks[2]["content"][2]["cache_control"] == {"type": "ephemeral"}


def test_a_message_is_edited_in_all_its_places_or_in_none() -> None:
    message = {"content": "x", "number": 5, "list": ["y"]}
    for bad in (
        ("number",),
        ("missing",),
        ("content", 0),
        ("list",),
        ("list", 1),
        ("list", -1),
        ("list", "a"),
        (),
        (0,),
    ):
        applied = apply([message, message], {0: [(("content",), "new"), (bad, "new")], 1: [(("list", 0), "new")]})
        assert applied.skipped == {0}, bad
        assert applied.messages[0] is message
        assert applied.messages[1]["list"] == ["new"]


def test_an_edit_of_a_message_that_is_not_there_is_reported() -> None:
    assert apply([{"content": "x"}], {1: [(("content",), "y")], -1: [(("content",), "y")]}).skipped == {1, -1}


def test_tuples_stay_tuples() -> None:
    assert apply([{"content": ("a", "b")}], {0: [(("content", 1), "c")]}).messages == [{"content": ("a", "c")}]


def test_objects_of_an_sdk_are_copied_along_the_path() -> None:
    from openai.types.responses import ResponseFunctionToolCallOutputItem

    item = ResponseFunctionToolCallOutputItem.model_validate(
        {
            "type": "function_call_output",
            "id": "f",
            "call_id": "c",
            "status": "completed",
            "output": [{"type": "input_text", "text": "long"}],
        }
    )
    edited: Any = apply([item], {0: [(("output", 0, "text"), "cut")]}).messages[0]
    assert type(edited) is type(item)
    assert (edited.output[0].text, item.output[0].text) == ("cut", "long")
    plain = SimpleNamespace(role="tool", content="long")
    assert apply([plain], {0: [(("content",), "cut")]}).messages[0].content == "cut"
    assert plain.content == "long"


def test_an_object_that_cannot_be_changed_is_left_and_reported() -> None:
    @dataclass(frozen=True)
    class Frozen:
        content: str

    class Single:
        content = "long"

        def __copy__(self) -> "Single":
            return self

    messages = [Frozen("long"), Single(), 5, None, "a text is no message"]
    applied = apply(messages, {at: [(("content",), "cut")] for at in range(4)} | {4: [((), "cut")]})
    assert applied.skipped == {0, 1, 2, 3, 4}
    assert all(new is old for new, old in zip(applied.messages, messages, strict=True))
    assert (messages[0].content, messages[1].content) == ("long", "long")  # type: ignore[union-attr]


def test_a_copy_of_a_message_is_six_levels_deep() -> None:
    inner: list[Any] = ["text"]
    message: Any = inner
    for level in range(6):
        message = {"in": message} if level % 2 else [message]
    made = copied(message)
    assert made == message
    for level in reversed(range(6)):
        assert made is not message, level
        made, message = (one["in"] if level % 2 else one[0] for one in (made, message))
    assert made is message is inner
