"""The commands as clients run them: a wrapped file's entries, started as the file says."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from keepwhole.apps.cli.main import main
from tests.apps.mcp.front import command, run, servers_file, test_server
from tests.apps.mcp.upstream import LINES


def started(folder: Path, entry: dict[str, Any]) -> StdioServerParameters:
    """An entry of a client's file as a client starts it; `keepwhole` is this very source."""
    usual = command(folder)
    words = entry["args"] if entry["command"] == "keepwhole" else entry["args"][2:]
    return usual.model_copy(update={"args": [*usual.args, *words]})


def test_a_wrapped_server_keeps_its_names_and_its_results_are_read_through_the_entry_beside_it(tmp_path: Path) -> None:
    file = servers_file(tmp_path, mine=test_server())
    before = file.read_bytes()
    assert main(["mcp-gateway", "wrap", str(file)]) == 0
    entries = json.loads(file.read_text())["mcpServers"]

    async def work() -> None:
        async with Client(started(tmp_path, entries["mine"]), mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "plain" in names
            assert "get_artifact" not in names
            shown = (await client.call_tool("plain")).content
            assert len(shown[0].text) < len(LINES)
        async with Client(started(tmp_path, entries["keepwhole"])) as client:
            read = await client.call_tool("get_artifact", {"id": shown[1].name, "lines": "3000-3000"})
            assert read.content[0].text.startswith("02999")

    run(work())
    assert main(["mcp-gateway", "unwrap", str(file)]) == 0
    assert file.read_bytes() == before


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-gateway"]) == 2
    assert "--servers FILE" in capsys.readouterr().err
    for option in ("--servers", "--config"):
        assert main(["mcp-gateway", option, str(tmp_path / "none.json")]) == 2
        assert "cannot be read" in capsys.readouterr().err
    assert main(["mcp", "--http", "0.0.0.0:1"]) == 2
    assert "--public" in capsys.readouterr().err
    assert main(["mcp-gateway", "accept"]) == 0
    assert "Nothing has changed" in capsys.readouterr().out
