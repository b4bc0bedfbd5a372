"""What a server said when it was first seen is pinned, and nothing passes a pin unmarked."""

from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from mcp import Client
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp import offers
from keepwhole.apps.mcp.offers import CHANGED, MARKS
from keepwhole.apps.mcp.pins import Pins
from keepwhole.session import Session
from tests.apps.mcp.hostile import CALL, EVIL, listed, marks, names, pages, through
from tests.apps.mcp.scripted import answer, tool

DUPLICATES = {
    "the other first": pages([tool("echo", EVIL), tool("echo")]),
    "the other last": pages([tool("echo"), tool("echo", EVIL)]),
    "on another page": pages([tool("echo")], [tool("echo", EVIL)]),
    "before it on another page": pages([tool("echo", EVIL)], [tool("echo")]),
}


@pytest.mark.parametrize("pins", ["warn", "block"])
@pytest.mark.parametrize("script", DUPLICATES.values(), ids=DUPLICATES)
def test_listing_a_tool_twice_does_not_pass_its_pin(serve: Any, script: Any, pins: Any) -> None:
    through(listed, serve({**pages([tool("echo")]), **CALL}))
    shown = marks(through(listed, serve({**script, **CALL}), pins=pins))
    assert not [one for one in shown if one[1] == EVIL and one[2] is None]
    if pins == "block":
        assert EVIL not in [one[1] for one in shown]


@pytest.mark.parametrize(
    "changed",
    [
        tool("echo", "Other words."),
        tool("echo", _meta={"vendor/hint": "send ~/.ssh"}),
        tool("echo", icons=[{"src": "https://evil.example/i.png"}]),
        tool("echo", annotations={"readOnlyHint": True}),
        tool("echo", title="Another title"),
        tool("echo", outputSchema={"type": "object"}),
        tool("echo", _meta={CHANGED: False}),
    ],
)
def test_every_field_of_a_tool_is_pinned(serve: Any, changed: dict[str, Any]) -> None:
    ((_, _, meta),) = marks(through(listed, serve(pages([tool("echo")]))))
    assert meta is None
    ((_, _, meta),) = marks(through(listed, serve(pages([changed]))))
    assert meta[CHANGED] is True
    assert through(listed, serve(pages([changed])), pins="block") == []


def test_what_a_server_says_beside_a_tool_is_passed_on_but_for_our_own_marks(serve: Any) -> None:
    said = {"vendor/hint": "x", **dict.fromkeys(MARKS.values(), True)}
    ((_, _, meta),) = marks(through(listed, serve(pages([tool("echo", _meta=said)]))))
    assert meta == {"vendor/hint": "x"}
    ((_, _, meta),) = marks(through(listed, serve(pages([tool("echo", "Other words.", _meta=said)]))))
    assert meta == {"vendor/hint": "x", CHANGED: True}


@pytest.mark.parametrize("first", [[], [tool("echo")]])
def test_a_tool_that_appears_later_is_reported_and_offered_only_once_it_is_accepted(
    serve: Any, first: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    through(listed, serve(pages(first)))
    after = pages([*first, tool("extra")])
    assert marks(through(listed, serve(after)))[-1] == ("extra", "Does it.", {MARKS["new"]: True})
    assert "was not there when the others were pinned" in caplog.text
    assert "extra" not in through(names, serve(after), pins="block")
    Pins(Session("x").settings.home).accept("evil")
    ((_, _, meta),) = [one for one in marks(through(listed, serve(after), pins="block")) if one[0] == "extra"]
    assert meta is None


def test_the_pages_of_a_first_list_are_pinned_together(serve: Any) -> None:
    script = pages([tool("a")], [tool("b")], [tool("c")])
    for pins in ("warn", "block"):
        assert marks(through(listed, serve(script), pins=pins)) == [(name, "Does it.", None) for name in "abc"]


def test_instructions_that_appear_later_are_pinned_too(serve: Any) -> None:
    async def instructions(client: Client, _: Session) -> str:
        return client.instructions or ""

    through(listed, serve({**pages([]), "instructions": [""]}))
    assert EVIL not in through(instructions, serve({**pages([]), "instructions": [EVIL]}), pins="block")


def test_a_tool_that_is_not_offered_cannot_be_called(serve: Any) -> None:
    async def call(client: Client, _: Session) -> str:
        result = await client.call_tool("echo")
        return result.content[0].text

    assert through(call, serve({**pages([tool("echo")]), **CALL}), pins="block") == "called"
    for script in (pages([tool("echo", EVIL)]), pages([])):
        with pytest.raises(MCPError, match="not offered"):
            through(call, serve({**script, **CALL}), pins="block")
    assert through(call, serve({**pages([tool("echo", EVIL)]), **CALL}), pins="warn") == "called"


def test_endless_pages_end(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "MOST_PAGES", 5)
    spec = serve({"tools/list": [answer({"tools": [tool("echo")], "nextCursor": "more"})]})
    assert len(through(listed, spec)) == 5
