"""The tools that a request declares, in every dialect, and the servers that their names tell of."""

import pytest

from keepwhole.models.tokens import estimate
from keepwhole.wire.declarations import by_server, declarations_in, server_of

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
SPELLINGS = {
    "anthropic": {"name": "mcp__git__log", "description": "Show it.", "input_schema": SCHEMA},
    "chat": {"type": "function", "function": {"name": "mcp__git__log", "parameters": SCHEMA}},
    "responses": {"type": "function", "name": "mcp__git__log", "parameters": SCHEMA},
}


@pytest.mark.parametrize("tool", SPELLINGS.values(), ids=SPELLINGS)
def test_a_tool_is_read_in_every_dialect(tool: dict[str, object]) -> None:
    (found,) = declarations_in({"tools": [tool]})
    assert (found.name, found.server) == ("mcp__git__log", "git")
    assert estimate(str(SCHEMA)) <= found.tokens <= estimate(str(tool)) + 10


def test_older_functions_and_tools_that_a_provider_hosts_count_too() -> None:
    fields = {
        "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"type": "mcp", "server_label": "docs"}],
        "functions": [{"name": "look"}],
    }
    assert [(one.name, one.server) for one in declarations_in(fields)] == [
        ("web_search", ""),
        ("docs", "docs"),
        ("look", ""),
    ]


@pytest.mark.parametrize("odd", [None, "tools", {"a": 1}, [None, 3, "x", {"name": 5}, {"function": []}]])
def test_what_is_no_list_of_tools_does_no_harm(odd: object) -> None:
    assert all(one.name == "" and one.server == "" for one in declarations_in({"tools": odd}))


def test_the_server_is_in_the_name() -> None:
    names = ("mcp__a__b__c", "a__b", "Bash", "__init__", "mcp__alone", "trailing__")
    assert [server_of(name) for name in names] == ["a", "a", "", "", "alone", ""]


def test_the_server_with_the_most_tokens_comes_first() -> None:
    tools = [{"name": "Bash"}, {"name": "a__x", "description": "many words " * 50}, {"name": "b__y"}, {"name": "a__z"}]
    found = by_server(declarations_in({"tools": tools}))
    assert next(iter(found)) == "a"
    assert [one.name for one in found["a"]] == ["a__x", "a__z"]
    assert set(found) == {"", "a", "b"}
