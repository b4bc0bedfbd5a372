"""`keepwhole mcp`: the recall tools and `keep`, over standard input and output and in both eras."""

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_PROTOCOL_VERSION

from keepwhole.apps.mcp.server import record_server
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.testing import printed_calls
from tests.apps.mcp.front import ERAS, command, run
from tests.apps.mcp.upstream import LINES
from tests.canonical.pictures import png


@pytest.mark.parametrize("mode", ERAS)
def test_what_is_kept_over_mcp_is_read_back_over_mcp(mode: str) -> None:
    async def work() -> None:
        async with Client(record_server(Session("mcp")), mode=mode) as client:
            assert client.protocol_version == (LATEST_PROTOCOL_VERSION if mode == "auto" else LATEST_HANDSHAKE_VERSION)
            shown, link = (await client.call_tool("keep", {"output": LINES, "tool": "make"})).content
            assert len(shown.text) < 9_000
            name, arguments = printed_calls(shown.text)[-1]
            assert (
                "02000 a line"
                in (await client.call_tool("get_artifact", {"id": arguments["id"], "pattern": "02000"})).content[0].text
            )
            assert name == "get_artifact"
            page = (await client.read_resource(f"{link.uri}?start_char=27&length=5")).contents[0].text
            assert page.startswith("00001")
            found = await client.call_tool("search_artifacts", {"query": "long log"})
            assert link.name in found.content[0].text

    run(work())


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"rows": 2}, '{"rows": 2}'),
        ([{"type": "text", "text": "one block"}], "one block"),
        (None, ""),
        ("as it is", "as it is"),
    ],
)
def test_an_output_of_any_shape_is_kept_as_its_text(output: object, text: str) -> None:
    session = Session("mcp")

    async def work() -> None:
        async with Client(record_server(session)) as client:
            await client.call_tool("keep", {"output": output, "tool": "query"})

    run(work())
    (row,) = session.store.rows("mcp", kind="result")
    assert session.recall(row.trace_id) == text


def test_an_image_in_an_output_is_kept_as_its_bytes() -> None:
    session = Session("mcp")
    image = {"type": "image", "data": base64.b64encode(png(30, 20)).decode(), "mimeType": "image/png"}

    async def work() -> None:
        async with Client(record_server(session)) as client:
            await client.call_tool("keep", {"output": [{"type": "text", "text": "a shot"}, image], "tool": "look"})

    run(work())
    kept, text = session.store.rows("mcp", kind="result")
    assert session.recall_bytes(kept.trace_id) == png(30, 20)
    assert "a shot" in session.recall(text.trace_id)
    assert image["data"] not in session.recall(text.trace_id)


def test_the_tools_are_the_recall_tools_and_keep_in_the_same_bytes_every_time() -> None:
    async def listed() -> list[str]:
        async with Client(record_server(Session("mcp"))) as client:
            return [tool.model_dump_json() for tool in (await client.list_tools()).tools]

    first = run(listed())
    assert [name in tool for name, tool in zip((*NAMES, "keep"), first, strict=True)] == [True] * 4
    assert run(listed()) == first


def test_a_made_up_tool_address_or_id_is_refused_in_words() -> None:
    async def work() -> None:
        async with Client(record_server(Session("mcp"))) as client:
            with pytest.raises(MCPError, match="no tool"):
                await client.call_tool("rm")
            with pytest.raises(MCPError, match="begin with"):
                await client.read_resource("file:///etc/passwd")
            answer = await client.call_tool("get_artifact", {"id": "art_1_x"})
            assert answer.is_error
            assert answer.content[0].text.startswith("404")

    run(work())


@pytest.mark.parametrize("mode", ERAS)
def test_the_command_serves_a_real_client_over_pipes(mode: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Client(command(tmp_path, "mcp"), mode=mode) as client:
            shown = (await client.call_tool("keep", {"output": LINES})).content
            assert [item.type for item in shown] == ["text", "resource_link"]
            assert (
                (await client.call_tool("get_artifact", {"id": shown[1].name, "lines": "5-5"}))
                .content[0]
                .text.startswith("00004")
            )

    run(work())


@pytest.mark.parametrize(
    ("revision", "links"),
    [pytest.param("2024-11-05", 0, marks=pytest.mark.torture), ("2025-03-26", 0), ("2025-06-18", 1)],
)
def test_older_revisions_get_only_what_they_know(tmp_path: Path, revision: str, links: int) -> None:
    start = command(tmp_path, "mcp")
    about = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    keep = {"name": "keep", "arguments": {"output": LINES}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": keep},
    ]
    words = [start.command, *start.args]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **(start.env or {})}, cwd=tmp_path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        process.stdin.flush()
        greeting, answer = (json.loads(process.stdout.readline())["result"] for _ in range(2))
        process.stdin.close()
    assert greeting["protocolVersion"] == revision
    assert [item["type"] for item in answer["content"]] == ["text"] + ["resource_link"] * links
    assert process.returncode == 0
