"""What a gateway lists: pages of servers in order, names outside, marks of what changed, and what is withheld."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import anyio
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp.allowed_tools import AllowedTools
from keepwhole.apps.mcp.offers import Listing
from keepwhole.apps.mcp.pins import Pins
from keepwhole.apps.mcp.routes import Cursor

OWN = {"name": "get_artifact"}


def tool(name: str, description: str = "words", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, **more}


class Server:
    """A server behind the gateway, with the pages of its lists."""

    def __init__(self, name: str, pages: list[Any] | None = None, **lists: Any) -> None:
        self.name, self.pages, self.lists = name, pages or [], lists
        self.spec = SimpleNamespace(identity=f"{name}@1f")
        self.asked: list[Any] = []

    async def connected(self) -> Any:
        capabilities = {"tools": True, "prompts": True, "resources": None}
        return SimpleNamespace(server_capabilities=SimpleNamespace(**capabilities))

    async def tools(self, cursor: str | None) -> dict[str, Any]:
        self.asked.append(cursor)
        return self._page(self.pages, cursor)

    async def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        return {"prompts": self.lists.get("prompts", [])}

    def _page(self, pages: list[Any], cursor: str | None) -> dict[str, Any]:
        if not pages:
            raise ValueError("broken " * 100)
        at = int(cursor or 0)
        following = {"nextCursor": str(at + 1)} if at + 1 < len(pages) else {}
        return {"tools": pages[at], **following}


class Routes:
    """Names of two servers: `git__log` for `log` of `git`."""

    def __init__(self, *upstreams: Server) -> None:
        self.upstreams = upstreams

    def is_reachable(self, upstream: Server, name: str) -> bool:
        return not name.startswith("taken")

    def claimed(self, upstream: Server, key: str, found: list[Any]) -> list[Any]:
        return found

    def outside(self, upstream: Server, name: str) -> str:
        return f"{upstream.name}__{name}"


def listing(tmp_path: Any, *servers: Server, pinning: str = "warn", allow: Any = None) -> Listing:
    routes: Any = Routes(*servers)
    return Listing(routes, Pins(str(tmp_path)), pinning, AllowedTools(allow or {}), [OWN])  # type: ignore[arg-type]


def ctx(method: str = "tools/list", **params: Any) -> Any:
    client = SimpleNamespace(client_params=SimpleNamespace(client_info=SimpleNamespace(name="agent")))
    return SimpleNamespace(method=method, params=params or None, session=client)


def tools(one: Listing, **params: Any) -> tuple[list[str], str | None]:
    """The names of one page, and the cursor of the next."""
    answer = anyio.run(one.answer, ctx(**params), None)
    return [item["name"] for item in answer["tools"]], answer.get("nextCursor")


def test_servers_without_pages_are_listed_together_in_the_order_of_the_file(tmp_path: Any) -> None:
    one = listing(tmp_path, Server("git", [[tool("log"), tool("add")]]), Server("fs", [[tool("read")]]))
    assert tools(one) == (["git__add", "git__log", "fs__read", "get_artifact"], None)


def test_pages_of_a_server_are_pages_of_the_list(tmp_path: Any) -> None:
    git = Server("git", [[tool("a")], [tool("b")], []])
    one = listing(tmp_path, Server("first", [[tool("x")]]), git, Server("fs", [[tool("read")]]))
    names, cursor = tools(one)
    assert names == ["first__x", "git__a"]
    names, cursor = tools(one, cursor=cursor)
    assert names == ["git__b"]
    assert tools(one, cursor=cursor) == (["fs__read", "get_artifact"], None)
    assert git.asked == [None, "1", "2"]


def test_endless_pages_are_left_out_from_the_thousandth_on(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    one = listing(tmp_path, Server("git", [[tool("a")], [tool("b")]]))
    names, cursor = tools(one, cursor=Cursor(0, 998, "0").written())
    assert (names, cursor) == (["git__a"], Cursor(0, 999, "1").written())
    assert tools(one, cursor=Cursor(0, 999, "0").written()) == (["git__a", "get_artifact"], None)
    assert "server 'git': more than 1000 pages of tools; the rest is left out" in caplog.text


def test_a_server_that_fails_or_has_no_such_list_is_left_out(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    broken = Server("git")
    one = listing(tmp_path, broken, Server("fs", [[tool("read")]], prompts=[{"name": "ask"}]))
    with caplog.at_level(logging.WARNING):
        assert tools(one)[0] == ["fs__read", "get_artifact"]
    assert f"server 'git': no tools ({('broken ' * 100)[:300]})" in caplog.text
    assert anyio.run(one.answer, ctx("resources/list"), None) == {"resources": []}
    templates = anyio.run(one.answer, ctx("resources/templates/list"), None)["resourceTemplates"]
    assert [template["name"] for template in templates] == ["artifact"]
    assert anyio.run(one.answer, ctx("prompts/list"), None) == {"prompts": [{"name": "fs__ask"}]}
    assert broken.asked == [None, ("prompts/list", {})]


def test_what_is_listed_has_no_output_schema_and_no_marks_of_others(tmp_path: Any) -> None:
    meta = {"keepwhole/changed": True, "keepwhole/new": True, "other": 1}
    given = [tool("a", outputSchema={"type": "object"}, _meta=meta), tool("b", _meta={"keepwhole/new": True})]
    answer = anyio.run(listing(tmp_path, Server("git", [given])).answer, ctx(), None)
    assert answer["tools"][:2] == [
        {"name": "git__a", "description": "words", "_meta": {"other": 1}},
        {"name": "git__b", "description": "words"},
    ]


@pytest.mark.parametrize("pinning", ["warn", "block"])
def test_what_changed_or_is_new_is_marked_or_withheld(
    tmp_path: Any, pinning: str, caplog: pytest.LogCaptureFixture
) -> None:
    git = Server("git", [[tool("a"), tool("b")]])
    assert tools(listing(tmp_path, git, pinning=pinning))[0] == ["git__a", "git__b", "get_artifact"]
    git.pages = [[tool("a", "other words"), tool("b"), tool("c" * 76)]]
    with caplog.at_level(logging.WARNING):
        answer = anyio.run(listing(tmp_path, git, pinning=pinning).answer, ctx(), None)
    shown = {item["name"]: item.get("_meta") for item in answer["tools"]}
    if pinning == "block":
        assert shown == {"git__b": None, "get_artifact": None}
    else:
        marks = {"git__a": {"keepwhole/changed": True}, "git__b": None, f"git__{'c' * 76}": {"keepwhole/new": True}}
        assert shown == {**marks, "get_artifact": None}
    assert (
        "server 'git': 'tool a' is described differently than when it was pinned. Look at it, then run `keepwhole"
        in caplog.text
    )
    assert f"server 'git': 'tool {'c' * 75}' was not there when the others were pinned." in caplog.text


def test_what_is_listed_twice_or_cannot_be_reached_is_said(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    git = Server("git", [[tool("a"), tool("a", "again"), tool("taken" + "x" * 76)]])
    with caplog.at_level(logging.WARNING):
        answer = anyio.run(listing(tmp_path, git).answer, ctx(), None)
    assert answer["tools"] == [{"name": "git__a", "description": "words"}, OWN]
    assert "server 'git': tool 'a' is listed twice" in caplog.text
    assert f"server 'git': tool 'taken{'x' * 75}' has the name of another one, and is left out" in caplog.text
    caplog.clear()
    same = Server("fs", [[tool("a"), tool("a")]])
    assert tools(listing(tmp_path, same))[0] == ["fs__a", "get_artifact"]
    same.pages = [[tool("a")]]
    assert "keepwhole/changed" not in str(anyio.run(listing(tmp_path, same).answer, ctx(), None))


def test_pins_that_cannot_be_read_withhold_everything_only_where_changes_are_blocked(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mcp-pins.json").write_text("[]")
    git = Server("git", [[tool("a")]])
    assert tools(listing(tmp_path, git))[0] == ["git__a", "get_artifact"]
    assert tools(listing(tmp_path, git, pinning="block"))[0] == ["get_artifact"]
    assert caplog.text.count("server 'git': pins cannot be read or written (") == 2


def test_instructions_that_changed_are_dropped_where_changes_are_blocked(tmp_path: Any) -> None:
    git: Any = Server("git")
    for pinning, said in (("warn", "first"), ("block", "first"), ("warn", "second")):
        assert listing(tmp_path, git, pinning=pinning).said(git, said) == said
    assert listing(tmp_path, git, pinning="block").said(git, "second") is None
    fs: Any = Server("fs")
    assert listing(tmp_path, fs, pinning="block").said(fs, None) is None
    assert listing(tmp_path, fs).said(fs, "now some") == "now some"
    assert listing(tmp_path, fs, pinning="block").said(fs, "now some") is None


def test_a_tool_that_is_not_on_the_clients_list_is_neither_listed_nor_called(tmp_path: Any) -> None:
    git = Server("git", [[tool("log"), tool("add")]])
    one = listing(tmp_path, git, allow={"agent": ("git__l*",)})
    assert tools(one)[0] == ["git__log", "get_artifact"]
    one.refuse_tool(ctx(), "git__log")
    with pytest.raises(MCPError) as caught:
        one.refuse_tool(ctx(), "x" * 81)
    assert caught.value.error.message == (
        f"The tool `{'x' * 80}` is not offered to agent: `keepwhole.allow` in the file of servers."
    )
    nameless = listing(tmp_path, git, allow={"*": ()})
    unnamed: Any = SimpleNamespace(session=SimpleNamespace(client_params=None))
    with pytest.raises(MCPError, match="is not offered to this client"):
        nameless.refuse_tool(unnamed, "git__log")


def refused(one: Listing, server: Any, name: str) -> str | None:
    try:
        anyio.run(one.refuse_withheld, server, "tools/list", name)
    except MCPError as error:
        return error.error.message
    return None


def test_a_call_of_what_is_not_offered_is_refused_where_changes_are_blocked(tmp_path: Any) -> None:
    git = Server("git", [[tool("a")], [tool("b")]])
    assert refused(listing(tmp_path, git), git, "none") is None
    assert git.asked == []
    one = listing(tmp_path, git, pinning="block")
    assert refused(one, git, "b") is None
    assert git.asked == [None, "1"]
    assert refused(one, git, "a") is None
    assert git.asked == [None, "1"]
    words = refused(one, git, "n" * 81)
    assert words is not None
    assert words.startswith(f"The tool `{'n' * 80}` of the MCP server `git` is not offered: not listed, or differs")
    assert words.endswith("`keepwhole mcp-gateway accept --server git` accepts it.")
    git.pages = [[tool("a", "other"), tool("b")]]
    tools(one)
    assert refused(one, git, "a") is not None
    assert refused(one, git, "b") is None
