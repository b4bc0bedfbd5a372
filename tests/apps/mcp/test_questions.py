"""A question of a server names the server that asks, before its words and beside them."""

from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import mcp_types as types

from keepwhole.apps.mcp.questions import signed, signed_result

ASKS = "The MCP server `files` asks:"
NAMED = {"keepwhole/server": "files"}


def result(*questions: Any) -> dict[str, Any]:
    return {"resultType": "input_required", "inputRequests": dict(enumerate(questions)), "requestState": "s"}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            {"method": "elicitation/create", "params": {"message": "Name?", "_meta": {"a": 1}}},
            {"method": "elicitation/create", "params": {"message": f"{ASKS} Name?", "_meta": {"a": 1, **NAMED}}},
        ),
        (
            {"method": "sampling/createMessage", "params": {"maxTokens": 7}},
            {"method": "sampling/createMessage", "params": {"maxTokens": 7, "systemPrompt": ASKS, "_meta": NAMED}},
        ),
        (
            {"method": "sampling/createMessage", "params": {"systemPrompt": None, "_meta": None}},
            {"method": "sampling/createMessage", "params": {"systemPrompt": ASKS, "_meta": NAMED}},
        ),
        (
            {"method": "elicitation/create", "params": "odd"},
            {"method": "elicitation/create", "params": {"message": ASKS, "_meta": NAMED}},
        ),
        (
            {"method": "elicitation/create"},
            {"method": "elicitation/create", "params": {"message": ASKS, "_meta": NAMED}},
        ),
        ({"method": "roots/list"}, {"method": "roots/list"}),
        ({"params": {"message": "x"}}, {"params": {"message": "x"}}),
        ("odd", "odd"),
    ],
)
def test_questions_in_an_answer_are_signed(question: Any, shown: Any) -> None:
    assert signed_result(result(question, question), "files") == result(shown, shown)


@pytest.mark.parametrize(
    "answer",
    [
        {"content": []},
        {"resultType": "complete", "inputRequests": {"0": {"method": "elicitation/create"}}},
        {"resultType": "input_required"},
        {"resultType": "input_required", "inputRequests": ["odd"]},
    ],
)
def test_any_other_answer_stays_as_it_is(answer: dict[str, Any]) -> None:
    assert signed_result(answer, "files") is answer


def test_a_question_by_a_request_is_signed_and_keeps_its_type() -> None:
    form = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}
    asked: Any = types.ElicitRequest.model_validate({"params": form})
    shown = signed(asked, "files")
    assert isinstance(shown, types.ElicitRequest)
    assert shown.params.message == f"{ASKS} Name?"
    assert shown.params.model_dump(by_alias=True)["_meta"]["keepwhole/server"] == "files"
    assert isinstance(signed(types.ListRootsRequest(), "files"), types.ListRootsRequest)
