"""What the gateway passes on, and how much of it: notices, clients, questions, structured content."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import mcp_types as types

from keepwhole.apps.mcp import clients
from keepwhole.apps.mcp.answers import valid_answer
from keepwhole.apps.mcp.clients import Clients
from keepwhole.apps.mcp.guarded_streams import MOST_NOTICES, NOTICE_SECONDS, RateLimit
from keepwhole.apps.mcp.questions import signed_result
from keepwhole.apps.mcp.results import _repeats, _too_many
from keepwhole.apps.mcp.wrap import unwrap, wrap


def test_a_thousand_notices_are_passed_on_in_ten_seconds() -> None:
    assert (MOST_NOTICES, NOTICE_SECONDS) == (1_000, 10.0)
    now = 0.0
    limit = RateLimit(3, 10.0, lambda: now)
    assert [limit.allows() for _ in range(5)] == [True, True, True, False, False]
    now = 9.9
    assert not limit.allows()
    now = 10.0
    assert [limit.allows() for _ in range(4)] == [True, True, True, False]
    now = 25.0
    assert limit.allows()


def test_the_oldest_of_more_than_256_clients_is_forgotten() -> None:
    known = Clients()
    for number in range(257):
        known.greet(SimpleNamespace(request=SimpleNamespace(headers={"mcp-session-id": f"c{number}"})))  # type: ignore[arg-type]
        assert len(known._connected) == min(256, number + 1)
    assert next(iter(known._connected)) == "c1"


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (types.ToolListChangedNotification(), "ToolsListChanged"),
        (types.PromptListChangedNotification(), "PromptsListChanged"),
        (types.ResourceListChangedNotification(), "ResourcesListChanged"),
        (types.ResourceUpdatedNotification(params={"uri": "a://b"}), "ResourceUpdated"),
        (types.ProgressNotification(params={"progressToken": 1, "progress": 1}), "NoneType"),
    ],
)
def test_a_change_is_told_to_all_clients(message: Any, event: str) -> None:
    assert type(clients._event(message)).__name__ == event


def test_a_question_is_signed_with_the_name_of_its_server() -> None:
    asked = {"a": {"method": "elicitation/create", "params": {"message": "Sure?"}}, "b": 7, "c": {"method": "odd"}}
    signed = signed_result({"resultType": "input_required", "inputRequests": asked}, "files")["inputRequests"]
    assert signed["a"]["params"]["message"] == "The MCP server `files` asks: Sure?"
    assert (signed["b"], signed["c"]) == (7, {"method": "odd"})
    for plain in ({"resultType": "complete", "inputRequests": asked}, {"resultType": "input_required"}):
        assert signed_result(plain, "files") is plain


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("a", {"result": "a"}, True),
        ('{"x": 1}', {"x": 1}, True),
        ("a", {"x": "a", "y": 1}, False),
        ("{", {"x": 1}, False),
    ],
)
def test_structured_content_that_repeats_a_text_is_known(text: str, value: object, same: bool) -> None:
    assert _repeats(text, value) is same


@pytest.mark.parametrize(
    ("sizes", "many"),
    [((500,), False), ((100, 100), False), ((100, 100, 1), True), ((900, 1), False), ((90, 90, 20), False)],
)
def test_texts_are_too_many_where_they_are_over_twice_the_limit_together(sizes: tuple[int, ...], many: bool) -> None:
    assert _too_many(["x" * size for size in sizes], 100) is many


def test_a_call_whose_answer_cannot_be_repaired_is_answered_with_its_text() -> None:
    found = valid_answer("tools/call", "2025-06-18", {"isError": True, "_meta": 7, "content": [{"type": "odd"}]})
    assert found is not None
    assert found["isError"] is True
    assert found["content"][0]["type"] == "text"
    odd = {"anything": 1}
    assert valid_answer("no/such/method", "2025-06-18", odd) is odd


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {"command": "x"}}}',
        '{"mcpServers": {"a": {"command": "x"} , "b": {"command": "y"}}}',
        '{"mcpServers": {"list": [1], "a": {"command": "x"}}}',
    ],
)
def test_unwrapping_gives_back_the_bytes_wherever_commas_are(text: str, tmp_path: Any) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    wrap(str(file))
    assert file.read_text() != text
    unwrap(str(file))
    assert file.read_text() == text
