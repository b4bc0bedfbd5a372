"""The HTTP listener: nobody without the token, no other host, no other origin; several clients at once."""

import asyncio
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from keepwhole.apps.listener import Address, parse_address, read_token
from keepwhole.apps.mcp import http_limits
from keepwhole.apps.mcp.gateway import Gateway
from keepwhole.apps.mcp.listener import http_app, http_server
from keepwhole.apps.mcp.server import record_server
from keepwhole.apps.mcp.servers_file import ServersFile
from keepwhole.errors import UsageError
from keepwhole.proxy_settings import ProxySettings
from keepwhole.session import Session
from tests.apps.mcp.front import ERAS, NEAR, near, run
from tests.apps.mcp.upstream import LINES

TOKEN = "a-token-long-enough"
ADDRESS = Address(host="127.0.0.1", port=7411)


async def _status(method: str, path: str, headers: dict[str, str]) -> int:
    app: Any = http_app(record_server(Session("http")), ADDRESS, TOKEN)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:7411") as client:
        return (await client.request(method, path, headers=headers, content=b"{}")).status_code


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/mcp", "/", "/anything"])
def test_every_route_wants_token_host_and_origin(method: str, path: str) -> None:
    hosts = [("127.0.0.1:7411", True), ("localhost:7411", True), ("evil.example:7411", False), ("127.0.0.1", False)]
    origins = [(None, True), ("http://localhost:7411", True), ("https://evil.example", False), ("null", False)]
    tokens = [(f"Bearer {TOKEN}", True), ("Bearer wrong", False), (None, False)]
    for (host, good_host), (origin, good_origin), (token, good_token) in product(hosts, origins, tokens):
        if good_host and good_origin and good_token:
            continue
        given = {"host": host, "origin": origin, "authorization": token}
        headers = {name: value for name, value in given.items() if value is not None}
        wanted = 401 if good_host and good_origin else 403
        assert run(_status(method, path, headers)) == wanted, headers


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("none", 401), ("same-origin", 401)]
)
def test_a_page_of_another_site_is_refused(site: str, status: int) -> None:
    assert run(_status("GET", "/mcp", {"sec-fetch-site": site})) == status


def test_health_needs_no_token_but_the_right_host() -> None:
    assert run(_status("GET", "/healthz", {})) == 200
    assert run(_status("POST", "/healthz", {})) == 401
    assert run(_status("GET", "/healthz/x", {})) == 401
    assert run(_status("GET", "/healthz", {"host": "evil.example"})) == 403
    assert run(_status("GET", "/healthz", {"origin": "https://evil.example"})) == 403


async def _left_open(port: int, first: bytes) -> bool:
    """Whether a connection on which something was sent is open a second later."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(first)
        async with asyncio.timeout(1):
            while await reader.read(1_000):
                pass
        return False
    except TimeoutError:
        return True
    except ConnectionError:
        return False
    finally:
        writer.close()


HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_client_that_does_not_send_its_request_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http_limits, "BODY_SECONDS", 0.2)

    async def work() -> None:
        async with _served(record_server(Session("slow"))) as url:
            port = int(url.split(":")[2].removesuffix("/mcp"))
            head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
            head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            asked = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            for first in (b"", HALF, asked + HALF, f"{head}Content-Length: 50\r\n\r\n{{".encode()):
                assert not await _left_open(port, first), first

    run(work())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_who_is_refused_holds_no_connection_and_others_only_up_to_the_limit() -> None:
    async def work() -> None:
        async with _served(record_server(Session("many")), max_connections=3) as url:
            port = int(url.split(":")[2].removesuffix("/mcp"))
            stranger = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            assert not await _left_open(port, stranger)
            open_ones = await asyncio.gather(*(_left_open(port, HALF) for _ in range(6)))
            assert open_ones.count(True) == 3
            async with _client(url, "legacy") as client:
                assert (await client.list_tools()).tools

    run(work())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_body_over_the_limit_is_refused_and_one_below_it_is_kept() -> None:
    async def work() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        async with _served(record_server(Session("big")), max_body=8_000_000) as url:
            async with httpx2.AsyncClient(headers=headers) as http:
                assert (await http.post(url, content=b"x" * 8_000_001)).status_code == 413
            async with _client(url, "legacy") as client:
                assert not (await client.call_tool("keep", {"output": "x" * 6_000_000})).is_error

    run(work())


def test_only_loopback_unless_it_is_said() -> None:
    assert parse_address("7411") == ADDRESS
    assert parse_address("[::1]:80").hosts == {
        "127.0.0.1",
        "localhost",
        "[::1]",
        "127.0.0.1:80",
        "localhost:80",
        "[::1]:80",
    }
    with pytest.raises(UsageError, match="--public"):
        parse_address("0.0.0.0:7411")
    assert parse_address("box.lan:7411", public=True).hosts == {"box.lan:7411"}
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_address("nonsense")


def test_the_token_is_made_once_in_a_file_only_its_owner_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token, where = read_token(str(tmp_path), "mcp", "KEEPWHOLE_MCP_TOKEN")
    assert stat.S_IMODE(Path(where).stat().st_mode) == 0o600
    assert read_token(str(tmp_path), "mcp", "KEEPWHOLE_MCP_TOKEN")[0] == token
    assert read_token(str(tmp_path), "mcp-gateway", "KEEPWHOLE_MCP_TOKEN")[0] != token
    monkeypatch.setenv("KEEPWHOLE_MCP_TOKEN", "short")
    with pytest.raises(UsageError, match="16"):
        read_token(str(tmp_path), "mcp", "KEEPWHOLE_MCP_TOKEN")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@asynccontextmanager
async def _served(server: Any, port: int | None = None, **limits: Any) -> AsyncGenerator[str]:
    address = Address(host="127.0.0.1", port=port or _free_port())
    listening = http_server(server, address, TOKEN, ProxySettings(**limits))
    task = asyncio.create_task(listening.serve())
    while not listening.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{address.port}/mcp"
    finally:
        listening.should_exit = listening.force_exit = True
        await task


@asynccontextmanager
async def _client(url: str, mode: str, **more: Any) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_clients_at_once_each_get_their_own_results(mode: str) -> None:
    async def work() -> None:
        session = Session("shared")
        gateway = Gateway(session, ServersFile(servers=(near("legacy"),)), connect=NEAR)
        async with gateway.opened() as front, _served(front) as url, _client(url, mode) as a, _client(url, mode) as b:
            calls = [client.call_tool("small", {"a": f"{n}"}) for n in range(10) for client in (a, b)]
            answers = [answer.content[0].text for answer in await asyncio.gather(*calls)]
            assert answers == [f"small {n}" for n in range(10) for _ in (a, b)]
            shown = (await a.call_tool("plain")).content
            assert len(shown[0].text) < len(LINES)
            read = await b.call_tool("get_artifact", {"id": shown[1].name, "lines": "1-1"})
            assert read.content[0].text.startswith("00000")
        session.close()

    run(work())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_gateway_may_stand_before_a_server_at_an_address_and_passes_no_token_on() -> None:
    from keepwhole.apps.mcp.servers_file import ServerSpec

    seen: list[str | None] = []

    async def work() -> None:
        inner = record_server(Session("inner"))
        async with _served(_noting(inner, seen)) as url:
            headers = (("Authorization", f"Bearer {TOKEN}"), ("X-Own", "from the file"))
            spec = ServerSpec(name="far", kind="http", url=url, headers=headers)
            session = Session("outer")
            gateway = Gateway(session, ServersFile(servers=(spec,)))
            async with gateway.opened() as front, Client(front, mode="legacy") as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names == [
                    "far__get_artifact",
                    "far__get_task_trace",
                    "far__search_artifacts",
                    "keep",
                    *names[-3:],
                ]
                assert (await client.call_tool("keep", {"output": "x"})).content[0].text == "x"
            session.close()
        assert set(seen) == {"from the file"}

    run(work())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_at_an_address_that_goes_and_comes_back_is_reached_again() -> None:
    from keepwhole.apps.mcp.servers_file import ServerSpec

    async def work() -> None:
        port, session = _free_port(), Session("outer")
        headers = (("Authorization", f"Bearer {TOKEN}"),)
        spec = ServerSpec(name="far", kind="http", url=f"http://127.0.0.1:{port}/mcp", headers=headers, mode="legacy")
        gateway = Gateway(session, ServersFile(servers=(spec,)))
        inner = Session("inner")
        async with gateway.opened() as front, Client(front, mode="legacy") as client:
            async with _served(record_server(inner), port):
                assert (await client.call_tool("keep", {"output": "x"})).content[0].text == "x"
            gone = await client.call_tool("keep", {"output": "x"})
            assert gone.is_error
            async with _served(record_server(inner), port):
                answers = [await client.call_tool("keep", {"output": "x"}) for _ in range(2)]
                assert not answers[-1].is_error
        session.close()

    run(work())


def _noting(server: Any, seen: list[str | None]) -> Any:
    async def note(ctx: Any, call_next: Any) -> Any:
        if ctx.request is not None:
            seen.append(ctx.request.headers.get("x-own"))
        return await call_next(ctx)

    server.middleware.append(note)
    return server
