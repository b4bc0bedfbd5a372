"""Calls and results of Gemini get ids where they have none, always the same ones, and lose them again."""

from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.wire.gemini.call_ids import (
    inner,
    is_made,
    listed_parts,
    part_path,
    with_call_ids,
    without_made_ids,
)


def call(name: str, call_id: str | None = None, **args: object) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args, **({"id": call_id} if call_id else {})}}


def result(name: str, call_id: str | None = None, output: object = "out") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": output, **({"id": call_id} if call_id else {})}}


def model(*parts: object) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: object) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def ids(messages: list[Any]) -> list[list[str | None]]:
    """The id of every part of every message."""
    return [
        [next(iter(part.values())).get("id") if "text" not in part else None for part in listed_parts(message)]
        for message in with_call_ids(messages)
    ]


def test_a_made_id_follows_from_the_name_the_arguments_and_their_number() -> None:
    ((first, again, other, renamed),) = ids([model(call("f", x=1), call("f", x=1), call("f", x=2), call("g", x=1))])
    assert first is not None
    assert again == first[:-1] + "1"
    bases = {str(one).rpartition("-")[0] for one in (first, other, renamed)}
    assert len(bases) == 3
    assert all(str(one).endswith("-0") for one in (first, other, renamed))
    assert first.startswith("kw-f-")
    assert len(first) == len("kw-f-") + 12 + len("-0")
    assert ids([model(call("f", x=1))]) == [[first]]


@pytest.mark.parametrize(
    ("call_id", "made"),
    [
        ("kw-f-0123456789ab-0", True),
        ("kw-a\nb-0123456789ab-999999999", True),
        ("kw-f-0123456789ab-1234567890", False),
        ("kw-f-0123456789a-0", False),
        ("kw-f-0123456789AB-0", False),
        ("xkw-f-0123456789ab-0", False),
        ("kw-f-0123456789ab-0x", False),
        (None, False),
        (7, False),
    ],
)
def test_an_id_that_was_made_here_is_known_by_its_form(call_id: object, made: bool) -> None:
    assert is_made(call_id) is made


def test_results_are_matched_in_order_of_the_calls_of_their_name() -> None:
    calls = model(call("read", path="a"), call("list"), call("read", path="b"))
    answers = user(result("read"), result("read"), result("list"), result("read"))
    (made, answered) = ids([calls, answers])
    assert answered[:3] == [made[0], made[2], made[1]]
    assert answered[3] not in made
    assert is_made(answered[3])


def test_ids_of_the_client_stay_and_match_first() -> None:
    messages = [
        model(call("read", "one"), call("read"), call("read", "three")),
        user(result("read", "three"), result("read"), result("read", "one")),
    ]
    named = with_call_ids(messages)
    (calls, answered) = ids(messages)
    assert calls[0] == "one"
    assert calls[2] == "three"
    assert answered == ["three", "one", calls[1]]
    assert messages[0]["parts"][1]["functionCall"].get("id") is None
    same = [model(call("read", "one"), {"text": "x"}), user(result("read", "one"))]
    assert all(new is old for new, old in zip(with_call_ids(same), same, strict=True))
    assert named[0] is not messages[0]


def test_an_id_that_no_call_has_is_replaced_only_where_the_call_has_no_id_of_its_own() -> None:
    assert ids([model(call("read")), user(result("read", "own"))])[1] == ids([model(call("read"))])[0]
    assert ids([model(call("read", "one")), user(result("read", "own"))])[1] == ["own"]
    assert ids([model(call("read")), user(result("list", "own"))])[1] == ["own"]
    assert ids([model(call("read", "one")), user(result("read"))])[1] == ["one"]


def test_calls_of_an_earlier_step_wait_no_longer() -> None:
    late = [model(call("read", x=1)), user({"text": "never mind"}), model({"text": "ok"}), user(result("read"))]
    (made, _, _, answered) = ids(late)
    assert answered != made
    in_a_row = [model(call("read", x=1)), model({"text": "and"}), user(result("read"))]
    (made, _, answered) = ids(in_a_row)
    assert answered == made
    in_two = [model(call("read", x=1)), user({"text": "wait"}), user(result("read"))]
    (made, _, answered) = ids(in_two)
    assert answered == made


def test_a_number_that_was_given_before_is_not_given_again() -> None:
    ((first,),) = ids([model(call("f", x=1))])
    base = str(first)[:-1]
    for known, following in (("0", "1"), ("4", "5"), ("99", "100")):
        assert ids([model(call("f", base + known, x=1), call("f", x=1))]) == [[base + known, base + following]]
    assert ids([model(call("f", base + "4", x=1), call("f", base + "2", x=1), call("f", x=1))])[0][2] == base + "5"


def test_both_spellings_of_the_fields_are_known_and_an_object_in_place_of_a_list() -> None:
    snake = {"role": "model", "parts": {"function_call": {"name": "f", "args": {"x": 1}}}}
    answer = {"role": "user", "parts": {"function_response": {"name": "f", "response": {}}}}
    named = with_call_ids([snake, answer])
    made = named[0]["parts"]["function_call"]["id"]
    assert [made] == ids([model(call("f", x=1))])[0]
    assert named[1]["parts"] == {"function_response": {"name": "f", "response": {}, "id": made}}
    assert [without_made_ids(one) for one in named] == [snake, answer]


def test_made_ids_are_taken_off_again_and_others_stay() -> None:
    messages = [model({"text": "x"}, call("f", x=1), call("g", "own")), user(result("f"), result("g", "own"))]
    named = with_call_ids(messages)
    assert named != messages
    assert [without_made_ids(one) for one in named] == messages
    assert without_made_ids(messages[0]) is messages[0]
    assert without_made_ids({"role": "user"}) == {"role": "user"}


class Sdk:
    """An object as Google's SDK has them."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_copy(self, update: dict[str, Any]) -> "Sdk":
        return Sdk(**{**vars(self), **update})


def test_objects_of_the_sdk_get_ids_in_copies_and_lose_them_again() -> None:
    message = Sdk(role="model", parts=[Sdk(function_call=Sdk(name="f", args={"x": 1}))])
    ((made,),) = ids([model(call("f", x=1))])
    (named,) = with_call_ids([message])
    assert named.parts[0].function_call.id == made
    assert vars(message.parts[0].function_call).keys() == {"name", "args"}
    assert without_made_ids(named).parts[0].function_call.id is None
    odd = SimpleNamespace(role="model", parts=[SimpleNamespace(function_call=SimpleNamespace(name="f"))])
    assert with_call_ids([odd]) == [odd]


def test_parts_are_listed_with_their_paths() -> None:
    alone, several, none = {"parts": {"text": "a"}}, {"parts": [{"text": "a"}, {"text": "b"}]}, {"role": "user"}
    assert [listed_parts(one) for one in (alone, several, none)] == [[{"text": "a"}], several["parts"], []]
    assert [part_path(one, 1) for one in (alone, several)] == [("parts",), ("parts", 1)]


def test_the_first_field_that_is_there_counts() -> None:
    assert inner({"a": None, "b": 0, "c": 1}, ("a", "b", "c")) == ("b", 0)
    assert inner({"a": None}, ("a", "b")) is None
    empty = {"role": "model", "parts": [{"functionCall": None}, {"functionResponse": {"name": "f"}}]}
    assert is_made(with_call_ids([empty])[0]["parts"][1]["functionResponse"]["id"])
