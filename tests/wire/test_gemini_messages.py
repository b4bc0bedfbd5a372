"""Gemini's messages: how they alternate, which pairs of calls and results are broken, and how these are repaired."""

from typing import Any

import pytest

from keepwhole.canonical.media import URL, MediaBytes
from keepwhole.wire.dialects import conversation_dialect, decode_message
from keepwhole.wire.gemini.messages import alternating
from keepwhole.wire.gemini.stream import _with_piece as with_piece
from keepwhole.wire.pairs import NO_RESULT, LostResult

GEMINI: Any = conversation_dialect("gemini")
BETWEEN = {"role": "user", "parts": [{"text": "[Messages in between are part of the summary above.]"}]}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def call(id: str = "", name: str = "run") -> dict[str, Any]:
    return {"functionCall": {**({"id": id} if id else {}), "name": name, "args": {}}}


def result(id: str = "", name: str = "run", output: str = "ok") -> dict[str, Any]:
    return {"functionResponse": {**({"id": id} if id else {}), "name": name, "response": {"output": output}}}


HELLO, SUMMARY = user(text("hello")), user(text("so far"))
BEGUN = [HELLO, model(text("a")), user(text("b")), model(text("c")), model(text("d")), user(text("e"))]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([0, 1, 2], BEGUN[:3]),
        ([None, 1, 2], [SUMMARY, *BEGUN[1:3]]),
        ([None, 2, 3], [user(text("so far"), text("b")), BEGUN[3]]),
        ([0, None, 3], [user(text("hello"), text("so far")), BEGUN[3]]),
        ([0, 1, 3], [HELLO, BEGUN[1], BETWEEN, BEGUN[3]]),
        ([0, 1, 4, 5], [HELLO, BEGUN[1], BETWEEN, *BEGUN[4:]]),
        ([2, 3, 4, 5], BEGUN[2:]),
        ([0, 2], [user(text("hello"), text("b"))]),
    ],
)
def test_roles_alternate_where_messages_meet_anew_and_stay_as_they_were_elsewhere(
    places: list[int | None], expected: list[Any]
) -> None:
    assert alternating(BEGUN, places, SUMMARY) == expected


WHOLE = [
    [HELLO],
    [HELLO, model(call("c1")), user(result("c1"))],
    [HELLO, model(call("c1"))],
    [HELLO, model(text("a")), model(call("c1")), user(result("c1"), text("and"))],
    [HELLO, model(call("c1")), model(call("c2")), user(result("c2"), result("c1"))],
    [HELLO, model(call("c1")), user(result("c1")), model(call("c1")), user(result("c1"))],
    [HELLO, model(call("c1")), user(result("c1")), model(call("c2"))],
    [HELLO, model(call()), user(result())],
    [HELLO, model(call(), call(name="ls")), user(result(), result(name="ls")), model(text("done"))],
    [HELLO, model({"function_call": {"id": "c1", "name": "run"}}), user(result("c1"))],
]
BROKEN = [
    [HELLO, model(call("c1")), user(text("and"))],
    [HELLO, model(call("c1")), user(text("and")), model(text("a"))],
    [HELLO, model(call("c1")), user(text("and")), model(text("a")), user(result("c1"))],
    [HELLO, user(result("c1"))],
    [HELLO, model(call("c1")), user(result("c1"), result("c1"))],
    [HELLO, model(call("c1")), user(result("c2"))],
    [HELLO, model(call("c1"), call("c2")), user(result("c1"))],
    [HELLO, model(call()), user(text("and"))],
    [HELLO, model({"function_call": {"id": "c1", "name": "run"}}), user(text("and"))],
    [HELLO, model(call("c1")), user({"function_response": {"id": "c2", "name": "run", "response": {}}})],
]


@pytest.mark.parametrize("messages", WHOLE)
def test_whole_pairs_are_left_alone(messages: list[Any]) -> None:
    assert not GEMINI.is_broken(messages)
    assert GEMINI.repair(messages)[0] is messages


@pytest.mark.parametrize("messages", BROKEN)
def test_a_broken_pair_is_found_and_repaired(messages: list[Any]) -> None:
    assert GEMINI.is_broken(messages)
    repaired, repairs = GEMINI.repair(messages)
    assert repairs.total > 0
    assert not GEMINI.is_broken(repaired)


def test_a_result_that_is_missing_is_said_before_the_words_of_the_next_message() -> None:
    words = {"error": NO_RESULT}
    lost = {"functionResponse": {"id": "c2", "name": "ls", "response": words}}
    messages = [HELLO, model(call("c1"), call("c2", "ls")), user(result("c1"), text("and"), text("so"))]
    repaired, repairs = GEMINI.repair(messages)
    assert repaired == [*messages[:2], user(result("c1"), lost, text("and"), text("so"))]
    assert (repairs.calls_without_result, repairs.total) == (1, 1)
    only_results = [HELLO, model(call("c1"), call("c2", "ls")), user(result("c1"))]
    assert GEMINI.repair(only_results)[0][2] == user(result("c1"), lost)


def test_a_result_that_nobody_asked_for_becomes_text_behind_the_others() -> None:
    messages = [HELLO, model(call("c1")), user(result("c9", output="late"), result("c1"), text("and"))]
    repaired, repairs = GEMINI.repair(messages)
    assert repairs.total == 1
    assert repaired[2]["parts"][:2] == [result("c1"), text("and")]
    assert any("late" in part["text"] for part in repaired[2]["parts"][2:])


@pytest.mark.parametrize(
    ("part", "is_counted"),
    [
        ({"text": "w" * 400}, True),
        ({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}, False),
    ],
)
def test_what_is_beside_a_response_and_no_media_is_counted_with_the_message(part: Any, is_counted: bool) -> None:
    beside = result("c1")
    beside["functionResponse"]["parts"] = [part]
    plain, message = decode_message(user(result("c1"))), decode_message(user(beside))
    assert (message.other > plain.other) is is_counted
    assert len(message.returned) == (1 if is_counted else 2)


def test_a_call_grows_from_pieces_at_any_place_of_its_arguments() -> None:
    part: Any = {"functionCall": {"name": "run"}}
    for path, value in (
        ("$.command", {"stringValue": "l"}),
        ("$.command", {"stringValue": "s"}),
        ("$.lines[2].text", {"stringValue": "third"}),
        ("$.lines[0]", {"numberValue": 7}),
        ("$.deep.flag", {"boolValue": False}),
        ("$.lines[2].text", {"stringValue": "!"}),
        ("$.command", {"numberValue": 5}),
    ):
        part = with_piece(part, {"partialArgs": [{"jsonPath": path, **value}], "willContinue": True})
    args = part["functionCall"]["args"]
    assert args == {"command": 5, "lines": [7, None, {"text": "third!"}], "deep": {"flag": False}}
    ended = with_piece(part, {"id": "c1", "willContinue": False})
    assert ended == {"functionCall": {"name": "run", "args": args, "id": "c1"}}


def test_recall_tools_are_put_beside_the_first_declarations() -> None:
    declared = {"functionDeclarations": [{"name": "run"}]}
    for tools, path in (
        ([declared], ("tools", 0, "functionDeclarations")),
        ([{"googleSearch": {}}, declared], ("tools", 1, "functionDeclarations")),
        (
            [{"functionDeclarations": []}, {"function_declarations": [{"name": "run"}]}],
            ("tools", 1, "function_declarations"),
        ),
        (declared, ("tools", "functionDeclarations")),
        ([{"googleSearch": {}}], ("tools",)),
    ):
        assert GEMINI.tools_path({"tools": tools}) == path


def finder(lost: dict[str, LostResult], replaced: dict[str, LostResult] | None = None) -> Any:
    """What is on record: of calls without a result, and of what a client put in the place of one."""

    def find(call_id: str, *content: object) -> LostResult | None:
        return (replaced or {}).get(call_id) if content else lost.get(call_id)

    return find


def on_record(*parts: Any, is_error: bool = False, beside: tuple[str, ...] = ()) -> LostResult:
    return LostResult(parts, is_error, lambda call_id: call_id in beside)


def test_a_lost_result_is_put_among_those_that_are_there_in_the_order_of_the_calls() -> None:
    messages = [HELLO, model(call("c1"), call("c2", "ls"), call("c3")), user(result("c1"), result("c3"), text("and"))]
    found = GEMINI.with_lost_results(messages, finder({"c2": on_record("one", "two")}))
    lost = result("c2", "ls", output="one\ntwo")
    assert found == [*messages[:2], user(result("c1"), lost, result("c3"), text("and"))]


def test_messages_in_which_nothing_is_lost_stay_as_they_are() -> None:
    messages = [HELLO, model(call("c1")), user(result("c1")), model(call("c2")), user(text("and"))]
    assert GEMINI.with_lost_results(messages, finder({"c1": on_record("one")})) is messages
    lost = GEMINI.with_lost_results(messages, finder({"c2": on_record("two")}))
    assert lost == [*messages[:4], user(result("c2", output="two"), text("and"))]
    early = GEMINI.with_lost_results(
        [*messages[:2], user(text("and")), *messages[3:]], finder({"c1": on_record("one")})
    )
    assert early[2] == user(result("c1", output="one"), text("and"))


def test_the_results_of_the_last_calls_are_put_behind_them_and_errors_stay_errors() -> None:
    messages = [HELLO, model(call("c1"))]
    found = GEMINI.with_lost_results(messages, finder({"c1": on_record("no", is_error=True)}))
    response = {"functionResponse": {"id": "c1", "name": "run", "response": {"error": "no"}}}
    assert found == [*messages, user(response)]


def test_a_message_that_is_lost_between_two_of_the_model_is_put_back_where_their_calls_are_of_two_turns() -> None:
    messages = [HELLO, model(call("c1")), model(call("c2")), user(result("c2"))]
    found = GEMINI.with_lost_results(messages, finder({"c1": on_record("one")}))
    assert found == [*messages[:2], user(result("c1", output="one")), *messages[2:]]
    together = GEMINI.with_lost_results(messages, finder({"c1": on_record("one", beside=("c2",))}))
    assert together == [*messages[:3], user(result("c1", output="one"), result("c2"))]


def test_what_a_client_put_in_the_place_of_a_result_gives_place_to_it_media_and_all() -> None:
    image, file = MediaBytes("image/png", b"\x89PNG"), MediaBytes(f"{URL}; kind=image", b"https://x/y.png")
    messages = [HELLO, model(call("c1")), user(result("c1", output="[cleared]"), text("and"))]
    found = GEMINI.with_lost_results(messages, finder({}, {"c1": on_record("one", image, file)}))
    inline = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    linked = {"fileData": {"mimeType": f"{URL}; kind=image", "fileUri": "https://x/y.png"}}
    whole = result("c1", output="one")
    whole["functionResponse"]["parts"] = [inline, linked]
    assert found[2] == user(whole, text("and"))
    has_media = [HELLO, model(call("c1")), user(whole)]
    assert GEMINI.with_lost_results(has_media, finder({}, {"c1": on_record("one")})) is has_media


def test_words_calls_and_results_are_read_from_parts_and_thoughts_are_only_counted() -> None:
    message = decode_message(model(text("one"), {"text": "hidden thought", "thought": True}, text("two"), call("c1")))
    assert (message.role, message.said, [one.call_id for one in message.calls]) == ("assistant", "one\ntwo", ["c1"])
    assert message.other > 0
    assert decode_message(user(result("c1"))).role == "tool"
    assert decode_message(user(result("c1"), text("and"))).role == "user"
    assert decode_message({"parts": [text("no role")]}).role == "user"
    assert decode_message({"role": "odd", "parts": [text("x" * 400)]}).role == "other"
