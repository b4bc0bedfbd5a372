"""Standing between a client and servers in a test: a record of its own, a gateway over it, a client before it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from keepwhole.apps.mcp.gateway import Gateway
from keepwhole.apps.mcp.servers_file import ServersFile, ServerSpec
from keepwhole.session import Session
from tests.apps.mcp import upstream

ROOT = Path(__file__).parents[3]
ERAS = ("auto", "legacy")
"""The newest revision, and those with a handshake before it."""


def run(work: Awaitable[Any]) -> Any:
    """Run it, but not for ever."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, 45)

    return asyncio.run(bounded())


def process(name: str = "up", **more: Any) -> ServerSpec:
    """The test server in a process of its own."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    env = (("PYTHONPATH", path), ("HOME", os.environ["HOME"]))
    return ServerSpec(
        name=name, kind="stdio", command=sys.executable, args=("-m", "tests.apps.mcp.upstream"), env=env, **more
    )


NEAR: dict[str, Callable[[], Any]] = {"up": upstream.made}


def near(mode: Any = "auto") -> ServerSpec:
    """The test server in this process, spoken to in this era's revision."""
    return ServerSpec(name="up", kind="stdio", mode=mode)


@asynccontextmanager
async def between(
    *specs: ServerSpec,
    session: Session | None = None,
    mode: str = "auto",
    pins: Any = "warn",
    recall: bool = True,
    allow: Mapping[str, tuple[str, ...]] | None = None,
    connect: dict[str, Callable[[], Any]] | None = None,
    **client: Any,
) -> AsyncGenerator[tuple[Client, Session]]:
    """A client before a gateway before servers; the test server in this process where none is named."""
    session = session or Session("gateway")
    named = specs or (near(),)
    inside = connect if connect is not None else ({} if specs else NEAR)
    gateway = Gateway(session, ServersFile(servers=named, pins=pins, allow=allow or {}), recall=recall, connect=inside)
    async with gateway.opened() as front, Client(front, mode=mode, **client) as connected:
        yield connected, session
    session.close()


def command(folder: Path, *words: str) -> StdioServerParameters:
    """`keepwhole` with these words as a client starts it."""
    env = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "KEEPWHOLE_HOME": str(folder / "home"),
        "HOME": str(folder),
    }
    return StdioServerParameters(command=sys.executable, args=["-m", "keepwhole", *words], env=env, cwd=str(folder))


def servers_file(folder: Path, **servers: Any) -> Path:
    """A file of servers as clients write it."""
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def test_server() -> dict[str, Any]:
    """The test server as a file names it."""
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return {"command": sys.executable, "args": ["-m", "tests.apps.mcp.upstream"], "env": env}


test_server.__test__ = False  # type: ignore[attr-defined]
