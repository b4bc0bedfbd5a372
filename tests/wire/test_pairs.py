"""The calls of a turn and the results that answer them: what is missing, what answers nothing, and in which order."""

from typing import Any

import pytest

from keepwhole.canonical.media import MediaBytes
from keepwhole.wire.pairs import (
    CallGroup,
    LostResult,
    Repairs,
    as_dicts,
    in_order_of_calls,
    newest_of_model,
    not_answered_later,
    texts_in,
)


def text(words: str, kind: str = "text") -> dict[str, str]:
    return {"type": kind, "text": words}


NO_CALL = "[A tool's result whose call (c1) is not in this conversation. It is the tool's text, not the user's:]"
SECOND = "[A second result of the call c1. It is the tool's text, not the user's:]"
TWICE = "[The result of the call c1 came twice, word for word; it is shown once.]"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


def test_repairs_are_counted_together() -> None:
    assert Repairs().total == 0
    assert Repairs(1, 20, 300).total == 321


def test_a_call_waits_for_one_result_and_without_it_is_missing() -> None:
    group = CallGroup()
    group.begin(["c1", "c2", "c3"])
    assert [group.accepts("c2", "x"), group.accepts("c2", "x"), group.accepts("c4", "x")] == [True, False, False]
    assert group.take_missing() == ["c1", "c3"]
    assert group.take_missing() == []
    assert not group.accepts("c1", "late")
    assert group.repairs == Repairs(calls_without_result=2)


def test_missing_calls_of_all_turns_are_counted() -> None:
    group = CallGroup()
    for calls in (["c1"], ["c2", "c3"]):
        group.begin(calls)
        assert group.take_missing() == calls
    assert group.repairs == Repairs(3, 0, 0)


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("words", [text("words")]),
        ("", []),
        (None, []),
        ([], []),
        (["one", {"type": "text", "text": "two"}], [text("one"), text("two")]),
        ([IMAGE], [IMAGE]),
        ([{"type": "tool_reference", "name": "é"}], [text('{"type": "tool_reference", "name": "é"}')]),
        ({"output": 7}, [text('{"output": 7}')]),
        ({"type": "input_file", "file_id": "f"}, [{"type": "input_file", "file_id": "f"}]),
        ([object], [text(f'"{object}"')]),
    ],
)
def test_a_result_without_a_call_becomes_text_of_the_tool(content: object, blocks: list[object]) -> None:
    group = CallGroup()
    assert group.note("c1", content) == [text(NO_CALL), *blocks]
    assert group.repairs == Repairs(results_without_call=1)
    group.begin(["c1"])
    group.accepts("c1", "first")
    assert group.note("c1", content) == [text(SECOND), *blocks]
    assert group.repairs == Repairs(0, 1, 1)


def test_a_result_that_came_twice_is_shown_once() -> None:
    group = CallGroup("input_text")
    group.begin(["c1"])
    group.accepts("c1", [text("same")])
    for twice in (1, 2):
        assert group.note("c1", [text("same")]) == [text(TWICE, "input_text")]
        assert group.repairs == Repairs(duplicate_results=twice)
    group.begin(["c2"])
    assert group.note("c1", "same") == [text(NO_CALL, "input_text"), text("same", "input_text")]
    assert group.repairs == Repairs(0, 1, 2)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (None, [""]),
        ("", [""]),
        ("words", ["words"]),
        ([], []),
        (["one", text("two")], ["one", "two"]),
        ((text("one"),), ["one"]),
        ([text("one"), IMAGE], None),
        ([{"type": "text", "text": 7}], None),
        ({"text": "one"}, None),
        (7, None),
    ],
)
def test_the_texts_of_a_result_are_known_where_it_has_nothing_else(content: object, texts: object) -> None:
    assert texts_in(content) == texts


def test_a_lost_result_of_one_text_is_that_text_and_of_several_parts_a_list() -> None:
    image = MediaBytes("image/png", b"x")

    def lost(*parts: str | MediaBytes) -> object:
        return LostResult(parts, False, lambda _: True).content(lambda media: {"media": media.media_type}, "input_text")

    assert lost("whole") == "whole"
    assert lost(image) == [{"media": "image/png"}]
    assert lost("a", image) == [text("a", "input_text"), {"media": "image/png"}]
    assert lost("a", "b") == [text("a", "input_text"), text("b", "input_text")]
    assert LostResult(("a", "b"), False, lambda _: True).content(dict) == [text("a"), text("b")]


MODEL = {"role": "assistant"}


def user(*ids: str) -> dict[str, Any]:
    return {"role": "user", "ids": ids}


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([user()], ["c1", "c2"]),
        ([user(), MODEL, user("c1")], ["c1", "c2"]),
        ([user(), user("c1")], ["c2"]),
        ([user(), user("c1"), user("c2")], []),
        ([user(), user("c1"), MODEL, user("c2")], ["c2"]),
        ([user("c1", "c2"), user()], ["c1", "c2"]),
    ],
)
def test_only_the_last_message_in_a_row_of_the_users_misses_a_result(
    messages: list[dict[str, Any]], left: list[str]
) -> None:
    def found(calls: list[str]) -> object:
        return not_answered_later(calls, messages, 0, lambda one: one["role"] == "assistant", lambda one: one["ids"])

    assert found(["c1", "c2"]) == left
    assert found([]) == []


@pytest.mark.parametrize(
    ("roles", "length", "newest"),
    [
        ("uauau", 5, 3),
        ("uauau", 4, 3),
        ("uauau", 3, 1),
        ("uauau", 1, 0),
        ("aaaaa", 1, 0),
        ("uaaaa", 2, 1),
        ("uuuuu", 5, 0),
        ("", 0, 0),
    ],
)
def test_the_newest_message_of_the_model_is_found_behind_the_first(roles: str, length: int, newest: int) -> None:
    names = {"u": "user", "a": "assistant"}
    assert newest_of_model([{"role": names[role]} for role in roles], length) == newest
    names["a"] = "model"
    assert newest_of_model([{"role": names[role]} for role in roles], length, "model") == newest
    assert newest_of_model([{"role": names[role]} for role in roles], length) == 0


@pytest.mark.parametrize(
    ("results", "found", "ordered"),
    [
        ("", "bc", "BC"),
        ("ac", "b", "aBc"),
        ("b", "ac", "AbC"),
        ("cb", "a", "Acb"),
        ("cb", "d", "cbD"),
        ("ax", "b", "aBx"),
        ("abcd", "", "abcd"),
        ("aa", "b", "aaB"),
    ],
)
def test_results_that_were_found_come_before_the_first_of_a_later_call(results: str, found: str, ordered: str) -> None:
    in_order = in_order_of_calls("abcd", [(one, one) for one in results], {one: one.upper() for one in found})
    assert "".join(in_order) == ordered


class Part:
    """An object as SDKs have it."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def test_objects_of_an_sdk_are_read_as_dicts_and_dicts_stay_the_same() -> None:
    plain = {"role": "user", "content": [text("a")]}
    assert as_dicts([plain])[0] is plain
    call = {"id": "c1"}
    mixed: Any = {"role": "assistant", "content": [text("a"), Part(type="text", text="b"), "c"], "tool_calls": [call]}
    (read,) = as_dicts([mixed])
    assert read == {"role": "assistant", "content": [text("a"), text("b"), "c"], "tool_calls": [call]}
    assert read["tool_calls"] is mixed["tool_calls"]
    (read,) = as_dicts([{"role": "assistant", "content": None, "tool_calls": [Part(id="c1")]}])
    assert read == {"role": "assistant", "content": None, "tool_calls": [call]}
    whole: Any = Part(role="user", content="hi")
    assert as_dicts([whole]) == [{"role": "user", "content": "hi"}]
