"""The file of servers: what clients write is read, variables are filled in, mistakes are named."""

import hashlib
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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "`FILE` is not a JSON object. It needs `mcpServers`, by name, as clients write it."),
        ({"mcpServers": []}, "`FILE` names no servers. It needs `mcpServers`, by name, as clients write it."),
        (
            {"mcpServers": {"a": {"url": 7}}},
            "Server `a` in `FILE` needs a `command`, or a `url` and a `type` (`http`, `sse`).",
        ),
        (
            {"mcpServers": {"a": {"type": "http", "command": "x"}}},
            "Server `a` in `FILE` needs a `command`, or a `url` and a `type` (`http`, `sse`).",
        ),
        (
            {"mcpServers": {"a": {"command": "x", "cwd": "${HERE}"}}},
            "Server `a` in `FILE` needs `${HERE}`, which the environment does not have.",
        ),
        *(
            (
                {"mcpServers": {"a": {"command": "x"}}, "keepwhole": {"allow": allow}},
                "`keepwhole.allow` in `FILE` must be a list of tools for each client, "
                'such as `{"claude-code": ["git__*"], "*": ["git__git_log"]}`.',
            )
            for allow in ([], {"a": "x"}, {"a": [1]}, {"a": ["x"], "b": None})
        ),
    ],
)
def test_a_mistake_is_answered_with_what_is_needed(tmp_path: Path, value: Any, words: str) -> None:
    path = written(tmp_path, value)
    with pytest.raises(ConfigError) as caught:
        read_servers(path, environ={})
    assert str(caught.value).replace(path, "FILE") == words


def test_a_file_or_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file or directory\)\. Check the path\."):
        read_servers(str(tmp_path / "none.json"))
    path = written(tmp_path, {"servers": {"a": {"command": "x"}, "b": {"command": "x"}}})
    with pytest.raises(ConfigError, match=r"has no server `c`\. It has `a`, `b`\."):
        read_servers(path, "c")
    with pytest.raises(ConfigError, match="is not JSON"):
        read_servers(written(tmp_path, "[" * 100_000))


def test_what_a_file_leaves_out_has_a_default(tmp_path: Path) -> None:
    file = read_servers(written(tmp_path, {"servers": {"a": {"command": "x"}}, "keepwhole": "odd"}), environ={})
    (a,) = file.servers
    assert (a.args, a.env, a.cwd, a.url, a.headers, a.mode, a.timeout) == ((), (), None, "", (), "auto", None)
    assert (file.pins, dict(file.allow)) == ("warn", {})


def test_every_field_of_a_server_is_read(tmp_path: Path) -> None:
    entry = {"command": "x", "args": [1, "${A:-}b"], "cwd": "/${A}", "protocol": "handshake", "timeout": "5"}
    servers = {"a": entry, "b": {"type": "streamable-http", "url": "http://x/${A:-z}", "timeout": 1.5}}
    value = {"mcpServers": servers, "keepwhole": {"allow": {"agent": ["a", "b"], "*": []}}}
    file = read_servers(written(tmp_path, value), environ={"A": "y"})
    a, b = file.servers
    assert (a.args, a.cwd, a.mode, a.timeout) == (("1", "yb"), "/y", "legacy", None)
    assert (b.kind, b.url, b.mode, b.timeout) == ("http", "http://x/y", "auto", 1.5)
    assert dict(file.allow) == {"agent": ("a", "b"), "*": ()}


def test_pins_are_kept_for_each_command_with_its_arguments(tmp_path: Path) -> None:
    def identity(**entry: Any) -> str:
        return read_servers(written(tmp_path, {"mcpServers": {"a": entry}}), environ={}).servers[0].identity

    assert len({identity(command="x"), identity(command="y"), identity(command="x", args=["1"])}) == 3
    assert identity(command="x", env={"K": "1"}) == identity(command="x", cwd="/")
    assert identity(command="é") == "a@" + hashlib.sha256('["é", ""]'.encode()).hexdigest()[:12]
