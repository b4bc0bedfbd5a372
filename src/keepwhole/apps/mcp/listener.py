"""How clients reach a server of ours: over standard input and output, or over HTTP.

Owns: the HTTP listener's guard. Loopback is no boundary: every request shows the token, names a host of ours and, if
it comes from a page, an origin of ours; whatever does not is turned away before anything reads it.
Must not know: what is served.
"""

import sys
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keepwhole.apps.listener import Address, is_same, read_token

TOKEN = "KEEPWHOLE_MCP_TOKEN"


class Guard:
    """Turns away every request without the token, to another host, or from another origin."""

    def __init__(self, app: ASGIApp, address: Address, token: str) -> None:
        self._app, self._token = app, f"Bearer {token}"
        self._hosts = address.hosts
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refused = self._refused(Headers(scope=scope)) if scope["type"] == "http" else (403, "HTTP only.")
        app = self._app if refused is None else PlainTextResponse(refused[1] + "\n", refused[0])
        await app(scope, receive, send)

    def _refused(self, headers: Headers) -> tuple[int, str] | None:
        origin = headers.get("origin")
        if headers.get("host", "") not in self._hosts:
            return 403, "This host is not served here."
        if origin is not None and origin not in self._origins:
            return 403, "Pages of this origin are not served here."
        if not is_same(headers.get("authorization", ""), self._token):
            return 401, "The token is missing or wrong. It goes into `Authorization: Bearer`."
        return None


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes its end."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(server: Server[Any], address: Address, token: str) -> ASGIApp:
    """The guarded application, at `/mcp`."""
    hosts = sorted(address.hosts)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    return Guard(server.streamable_http_app(transport_security=security, host=address.host), address, token)


def http_server(server: Server[Any], address: Address, token: str) -> uvicorn.Server:
    """What serves it; `serve` runs until interrupted."""
    app = http_app(server, address, token)
    return uvicorn.Server(
        uvicorn.Config(app, address.host, address.port, log_level="warning", access_log=False, server_header=False)
    )


async def serve_http(server: Server[Any], address: Address, home: str, name: str) -> None:
    """Serve clients until interrupted; says where, and where the token is."""
    token, where = read_token(home, name, TOKEN)
    print(f"keepwhole {name}: {address.url}/mcp, token in {where}", file=sys.stderr, flush=True)
    await http_server(server, address, token).serve()
