"""The file of servers: what clients write is read, variables are filled in, mistakes are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.mcp.servers_file import read_servers
from keepwhole.errors import ConfigError


def written(folder: Path, value: Any) -> str:
    path = folder / "servers.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_what_clients_write_is_read_with_its_variables_filled_in(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "mcpServers": {
                "a": {"command": "${BIN}/x", "args": ["${WHERE:-here}"], "env": {"K": "${KEY}"}, "unknown": 1},
                "b": {"type": "sse", "url": "http://x/sse", "headers": {"Authorization": "Bearer ${KEY}"}},
                "c": {"url": "http://x/mcp", "timeout": 5},
            },
            "keepwhole": {"pins": "block"},
        },
    )
    file = read_servers(path, environ={"BIN": "/bin", "KEY": "k"})
    a, b, c = file.servers
    assert (a.kind, a.command, a.args, a.env) == ("stdio", "/bin/x", ("here",), (("K", "k"),))
    assert (b.kind, b.headers) == ("sse", (("Authorization", "Bearer k"),))
    assert (c.kind, c.timeout, file.pins) == ("http", 5.0, "block")
    assert [spec.name for spec in read_servers(path, "b", environ={"KEY": "k"}).servers] == ["b"]


def test_an_environment_is_inherited_only_if_asked_and_never_ours(tmp_path: Path) -> None:
    path = written(tmp_path, {"mcpServers": {"a": {"command": "x", "env": {"B": "own"}}}})
    environ = {"B": "theirs", "C": "c", "KEEPWHOLE_MCP_TOKEN": "secret"}
    assert dict(read_servers(path, environ=environ).servers[0].env) == {"B": "own"}
    assert dict(read_servers(path, inherit=True, environ=environ).servers[0].env) == {"B": "own", "C": "c"}


def test_what_pins_are_kept_under_tells_no_secret(tmp_path: Path) -> None:
    entry = {"url": "http://x", "headers": {"K": "1"}}
    one = read_servers(written(tmp_path, {"mcpServers": {"a": entry}})).servers[0].identity
    other = read_servers(written(tmp_path, {"mcpServers": {"a": {**entry, "headers": {"K": "2"}}}})).servers[0].identity
    moved = read_servers(written(tmp_path, {"mcpServers": {"a": {**entry, "url": "http://y"}}})).servers[0].identity
    assert one == other != moved


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{", "is not JSON"),
        ([], "is not a JSON object"),
        ({"mcpServers": {}}, "names no servers"),
        ({"mcpServers": {"a": {}}}, "needs a `command`"),
        ({"mcpServers": {"a": {"type": "carrier pigeon", "url": "x"}}}, "needs a `command`"),
        ({"mcpServers": {"a": {"command": "${NOPE}"}}}, "does not have"),
        ({"mcpServers": {"a": {"command": "${KEEPWHOLE_MCP_TOKEN}"}}}, "does not have"),
        ({"mcpServers": {"a": {"command": "x"}}, "keepwhole": {"pins": "maybe"}}, "`warn` or `block`"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_servers(written(tmp_path, value), environ={"KEEPWHOLE_MCP_TOKEN": "t"})
