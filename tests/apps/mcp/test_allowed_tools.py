"""A gateway offers each client the tools that its list names, from the first request on, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from keepwhole.apps.mcp.servers_file import read_servers
from keepwhole.errors import ConfigError
from keepwhole.recall.names import NAMES
from tests.apps.mcp.front import ERAS, between, run

CLAUDE = Implementation(name="claude-code", version="2")
OTHER = Implementation(name="other", version="1")


async def _offered(allow: dict[str, tuple[str, ...]], client: Implementation, mode: str) -> list[str]:
    async with between(allow=allow, mode=mode, client_info=client) as (connected, _):
        first = [tool.name for tool in (await connected.list_tools()).tools]
        assert [tool.name for tool in (await connected.list_tools()).tools] == first
        return [name for name in first if name not in NAMES]


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_is_offered_the_tools_on_its_list_and_others_those_of_the_star(mode: str) -> None:
    everything = run(_offered({}, CLAUDE, mode))
    assert {"big", "small", "slow"} < set(everything)
    allow = {"claude-code": ("big",), "*": ("s*",)}
    assert run(_offered(allow, CLAUDE, mode)) == ["big"]
    assert run(_offered(allow, OTHER, mode)) == [name for name in everything if name.startswith("s")]


def test_a_client_without_a_list_gets_everything_and_an_empty_list_nothing() -> None:
    everything = run(_offered({}, OTHER, "auto"))
    assert run(_offered({"claude-code": ("big",)}, OTHER, "auto")) == everything
    assert run(_offered({"other": ()}, OTHER, "auto")) == []


@pytest.mark.parametrize("mode", ERAS)
def test_a_tool_that_is_not_offered_cannot_be_called_and_recall_tools_can(mode: str) -> None:
    async def call() -> Any:
        async with between(allow={"*": ("big",)}, mode=mode, client_info=CLAUDE) as (client, _):
            with pytest.raises(MCPError, match=r"`small` is not offered to claude-code"):
                await client.call_tool("small", {"a": "x"})
            return await client.call_tool("search_artifacts", {"query": "x"})

    assert not run(call()).is_error


def test_the_lists_come_from_the_file_of_servers(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"

    def written(allow: Any) -> str:
        path.write_text(json.dumps({"mcpServers": {"up": {"command": "up"}}, "keepwhole": {"allow": allow}}))
        return str(path)

    assert read_servers(written({"claude-code": ["echo", "l*"]})).allow == {"claude-code": ("echo", "l*")}
    for wrong in (["echo"], {"claude-code": "echo"}, {"claude-code": [1]}, "echo"):
        with pytest.raises(ConfigError, match="list of tools for each client"):
            read_servers(written(wrong))
