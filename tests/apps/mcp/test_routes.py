"""Which server a name or an address belongs to."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from keepwhole.apps.mcp import routes
from keepwhole.apps.mcp.recall_tools import SCHEME
from keepwhole.apps.mcp.routes import Cursor, Routes, parsed_cursor


def servers(*names: str) -> Routes:
    upstreams: list[Any] = [SimpleNamespace(name=name) for name in names]
    return Routes(upstreams, {})


@pytest.mark.parametrize(
    ("names", "at", "inner", "outer"),
    [
        (("git",), 0, "log", "log"),
        (("git",), 0, "git__log", "git__log"),
        (("git",), 0, "get_artifact", "git__get_artifact"),
        (("git", "web"), 1, "log", "web__log"),
        (("a", "a__b"), 1, "x", "a__b__x"),
        (("a", "a__b"), 0, "x", "a__x"),
    ],
)
def test_a_name_outside_leads_to_its_server(names: tuple[str, ...], at: int, inner: str, outer: str) -> None:
    own = servers(*names)
    assert own.outside(own.upstreams[at], inner) == outer
    assert own.inside(outer) == (own.upstreams[at], inner)
    assert own.is_reachable(own.upstreams[at], inner)


def test_a_name_that_leads_elsewhere_is_not_reachable() -> None:
    own = servers("a", "a__b")
    assert not own.is_reachable(own.upstreams[0], "b__x")


@pytest.mark.parametrize(("names", "name"), [(("git", "web"), "log"), (("git",), "get_artifact"), ((), "x" * 90)])
def test_a_name_that_no_server_has_is_refused(names: tuple[str, ...], name: str) -> None:
    with pytest.raises(MCPError, match=f"^No server here has `{name[:80]}`.$") as caught:
        servers(*names).inside(name)
    assert caught.value.error.code == -32602


def test_of_several_servers_the_first_in_the_file_has_an_address(caplog: pytest.LogCaptureFixture) -> None:
    own = servers("a", "b")
    a, b = own.upstreams
    items = [{"uri": "file:///2", "n": 1}, {"uri": "file:///1"}, {"uri": "file:///2", "n": 2}]
    assert own.claimed(b, "uri", items) == [{"uri": "file:///1"}, {"uri": "file:///2", "n": 1}]
    assert own.holders("file:///1") == (b,)
    assert own.claimed(a, "uri", [{"uri": "file:///1"}]) == [{"uri": "file:///1"}]
    assert own.holders("file:///1") == (a,)
    with caplog.at_level(logging.WARNING):
        assert own.claimed(b, "uri", items) == [{"uri": "file:///2", "n": 1}]
        assert own.claimed(a, "uri", [{"uri": f"{SCHEME}x"}]) == []
    assert [record.getMessage() for record in caplog.records] == [
        "server 'b': 'file:///1' is 'a''s already",
        f"server 'a': addresses that begin with {SCHEME} are Keepwhole's",
    ]
    long = [{"uri": "file:///" + "x" * 90}]
    assert own.claimed(a, "uri", long) == long
    with caplog.at_level(logging.WARNING):
        assert own.claimed(b, "uri", long) == []
    assert caplog.records[-1].getMessage() == f"server 'b': '{long[0]['uri'][:80]}' is 'a''s already"
    assert own.holders("file:///other") == [a, b]
    assert own.holders(f"{SCHEME}x") == [a, b]


def test_addresses_beyond_the_most_are_listed_but_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_MOST_ADDRESSES", 2)
    own = servers("a", "b")
    items = [{"uri": f"file:///{number}"} for number in range(3)]
    assert own.claimed(own.upstreams[1], "uri", items) == items
    assert len(own.addresses) == 2
    own.claimed(own.upstreams[0], "uri", items)
    assert list(own.addresses.values()) == [own.upstreams[0]] * 2


@pytest.mark.parametrize("cursor", [Cursor(0), Cursor(1, 2, "a:b"), Cursor(1, 999_999_999, "")])
def test_a_cursor_is_read_as_it_was_written(cursor: Cursor) -> None:
    inner = "None" if cursor.inner is None else cursor.inner
    assert parsed_cursor(cursor.written(), 2) == cursor._replace(inner=inner)
    assert parsed_cursor(None, 0) == Cursor(0, 0, None)


@pytest.mark.parametrize("text", ["", "x", "1", ":1:", "1::", "2:0:x", "-1:0:", "0:1234567890:", "٣:0:", "0:٣:"])
def test_a_cursor_that_no_gateway_wrote_is_refused(text: str) -> None:
    with pytest.raises(MCPError, match=r"This cursor is unknown here\. List from the beginning\.") as caught:
        parsed_cursor(text, 2)
    assert caught.value.error.code == -32602
