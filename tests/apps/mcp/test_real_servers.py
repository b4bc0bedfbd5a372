"""The gateway before other people's servers, from PyPI and npm, through `keepwhole mcp-gateway` and real pipes.

They are looked for on `PATH` and in the folders of `MCP_SERVERS_BIN`. For example:
`uv pip install mcp-server-time mcp-server-git`, `npm install @modelcontextprotocol/server-filesystem
@modelcontextprotocol/server-everything @playwright/mcp`; the last one drives the Chromium of the machine.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import mcp_types as types
from mcp import Client

from keepwhole import SqliteStore
from keepwhole.store.protocol import result_of
from tests.apps.mcp.front import ERAS, command, run, servers_file

pytestmark = [pytest.mark.mcp_servers, pytest.mark.parametrize("mode", ERAS)]


def found(name: str) -> str:
    path = os.pathsep.join([os.environ.get("MCP_SERVERS_BIN", ""), os.environ["PATH"]])
    program = shutil.which(name, path=path)
    if program is None:
        pytest.skip(f"`{name}` is not installed")
    return program


@asynccontextmanager
async def through(folder: Path, mode: str, program: str, *args: str, **client: Any) -> AsyncGenerator[Client]:
    file = servers_file(folder, real={"command": program, "args": list(args), "env": {"PATH": os.environ["PATH"]}})
    async with Client(command(folder, "mcp-gateway", "--config", str(file)), mode=mode, **client) as connected:
        yield connected


def test_the_git_server_shows_both_ends_of_a_long_log_and_gives_the_rest_back(mode: str, tmp_path: Path) -> None:
    program = found("mcp-server-git")
    _commits(tmp_path / "repository", 600)

    async def work() -> None:
        async with through(tmp_path, mode, program) as client:
            asked = {"repo_path": str(tmp_path / "repository"), "max_count": 600}
            text, link = (await client.call_tool("git_log", asked)).content
            assert "commit number 599" in text.text
            assert "commit number 0 " in text.text
            assert len(text.text) < 20_000, "of more than 100,000"
            read = await client.call_tool("get_artifact", {"id": link.name, "pattern": "commit number 257"})
            assert "commit number 257" in read.content[0].text

    run(work())


def _commits(folder: Path, count: int) -> None:
    folder.mkdir()
    who = "A <a@example.invalid> 1700000000 +0000"
    words = "".join(
        f"commit refs/heads/main\ncommitter {who}\ndata <<E\ncommit number {n} {'of many ' * 8}\nE\n\n"
        for n in range(count)
    )
    for arguments, given in ((["init", "-q", "-b", "main"], ""), (["fast-import", "--quiet"], words)):
        subprocess.run(["git", *arguments], cwd=folder, input=words if given else "", text=True, check=True)


def test_the_time_server_answers_as_it_does_alone(mode: str, tmp_path: Path) -> None:
    program = found("mcp-server-time")

    async def work() -> None:
        async with through(tmp_path, mode, program) as client:
            asked = {"source_timezone": "UTC", "time": "16:30", "target_timezone": "Asia/Tokyo"}
            answer = await client.call_tool("convert_time", asked)
            assert "+9.0h" in answer.content[0].text

    run(work())


def test_the_filesystem_server_reads_files_within_budget_and_refuses_as_it_does(mode: str, tmp_path: Path) -> None:
    program = found("mcp-server-filesystem")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "long.txt").write_text("".join(f"{n} something\n" for n in range(50_000)))

    async def work() -> None:
        async with through(tmp_path, mode, program, str(folder)) as client:
            answer = await client.call_tool("read_text_file", {"path": str(folder / "long.txt")})
            assert [item.type for item in answer.content] == ["text", "resource_link"]
            assert answer.structured_content is None
            read = await client.read_resource(f"{answer.content[1].uri}?lines=2500-2500")
            assert read.contents[0].text.startswith("2499 something")
            refused = await client.call_tool("read_text_file", {"path": "/etc/passwd"})
            assert refused.is_error
            assert "Access denied" in refused.content[0].text

    run(work())


def test_the_filesystem_server_shows_a_file_of_common_size_whole(mode: str, tmp_path: Path) -> None:
    program = found("mcp-server-filesystem")
    folder = tmp_path / "files"
    folder.mkdir()
    text = "".join(f"    value_{n} = {n} * 2  # line\n" for n in range(1_600))
    assert 48_000 < len(text) < 60_000
    (folder / "module.py").write_text(text)

    async def work() -> None:
        async with through(tmp_path, mode, program, str(folder)) as client:
            answer = await client.call_tool("read_text_file", {"path": str(folder / "module.py")})
            assert [item.type for item in answer.content] == ["text"]
            assert answer.content[0].text == text

    run(work())


def test_servers_that_ask_for_roots_when_they_start_know_those_of_the_client(mode: str, tmp_path: Path) -> None:
    """The everything server remembers the first answer; the filesystem server gives access to the roots alone."""
    env = {"PATH": os.environ["PATH"]}
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "note.txt").write_text("in the root")
    (tmp_path / "other").mkdir()
    servers = {
        "all": {"command": found("mcp-server-everything"), "args": ["stdio"], "env": env},
        "files": {"command": found("mcp-server-filesystem"), "args": [str(tmp_path / "other")], "env": env},
    }
    file = servers_file(tmp_path, **servers)

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=(tmp_path / "root").as_uri())])

    async def work() -> None:
        given = command(tmp_path, "mcp-gateway", "--config", str(file))
        async with Client(given, mode=mode, list_roots_callback=roots) as client:
            await asyncio.sleep(1)
            names = [tool.name for tool in (await client.list_tools()).tools]
            ask = next(name for name in names if name.endswith("get-roots-list"))
            assert (tmp_path / "root").as_uri() in (await client.call_tool(ask)).content[0].text
            read = next(name for name in names if name.endswith("read_text_file"))
            asked = {"path": str(tmp_path / "root" / "note.txt")}
            await client.call_tool(
                read, asked
            )  # with it the client is asked; the server takes a moment to use the answer
            await asyncio.sleep(0.5)
            assert (await client.call_tool(read, asked)).content[0].text == "in the root"

    run(work())


async def _sampled(context: Any, params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="sampled at the client")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


def test_the_everything_server_does_everything(mode: str, tmp_path: Path) -> None:
    program = found("mcp-server-everything")
    steps: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def work() -> None:
        async with through(tmp_path, mode, program, "stdio", sampling_callback=_sampled) as client:
            image = await client.call_tool("get-tiny-image")
            assert [item.type for item in image.content] == ["text", "image", "text"]
            weather = await client.call_tool("get-structured-content", {"location": "New York"})
            assert weather.structured_content is not None
            asked = {"duration": 0.2, "steps": 2}
            await client.call_tool("trigger-long-running-operation", asked, progress_callback=progressed)
            sampled = await client.call_tool("trigger-sampling-request", {"prompt": "hi", "maxTokens": 5})
            assert "sampled at the client" in sampled.content[0].text
            assert (await client.get_prompt("simple-prompt")).messages
            listed = (await client.list_resources()).resources
            assert (await client.read_resource(listed[0].uri)).contents
        assert steps == [1, 2]

    run(work())


def test_screenshots_of_the_playwright_server_are_kept_and_given_back_as_images(mode: str, tmp_path: Path) -> None:
    """A page that changes, looked at in a real browser: every screenshot is on record and can be seen again."""
    program = found("playwright-mcp")
    chromium = found("chromium")
    given = ["--headless", "--isolated", "--no-sandbox", "--executable-path", chromium, "--output-dir", str(tmp_path)]

    async def work() -> None:
        async with through(tmp_path, mode, program, *given) as client:
            seen: list[str] = []
            for color in ("teal", "tomato", "gold"):
                page = f"data:text/html,<body style='background:{color}'><h1>{color}</h1>"
                assert not (await client.call_tool("browser_navigate", {"url": page})).is_error
                shot = await client.call_tool("browser_take_screenshot", {"type": "png"})
                assert not shot.is_error, shot.content
                (image,) = [item for item in shot.content if item.type == "image"]
                assert image.mime_type == "image/png"
                seen.append(image.data)
            assert len(set(seen)) == 3
            images = _kept_images(tmp_path / "home")
            assert len(images) == 3
            for artifact_id, data in zip(images, seen, strict=True):
                read = await client.call_tool("get_artifact", {"id": artifact_id})
                assert [item.data for item in read.content if item.type == "image"] == [data]

    run(work())


def _kept_images(home: Path) -> list[str]:
    """The ids of the images on record, in order."""
    with closing(SqliteStore(str(home))) as store:
        rows = [row for info in store.sessions() for row in store.rows(info.name, kind="result")]
    found = (result_of(row) for row in rows)
    return [str(one.artifact_id) for one in found if one.media_type == "image/png"]
