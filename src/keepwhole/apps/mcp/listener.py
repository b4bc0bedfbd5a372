"""How clients reach Keepwhole's MCP servers: over standard input and output, or over HTTP.

Owns: the guard of the HTTP listener. A loopback address is no protection: every request needs the token, an accepted
host and, where it comes from a page, an accepted origin; any other is refused before anything reads it.
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

from keepwhole.apps.listener import Address, Refusal, is_same, read_token

TOKEN = "KEEPWHOLE_MCP_TOKEN"


class Guard:
    """Refuses every request without the token, to another host, or from another origin."""

    def __init__(self, app: ASGIApp, address: Address, token: str) -> None:
        self._app, self._token = app, f"Bearer {token}"
        self._hosts = address.hosts
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        is_http = scope["type"] == "http"
        refusal = self._refusal(Headers(scope=scope)) if is_http else Refusal(403, "HTTP only.")
        app = self._app if refusal is None else PlainTextResponse(refusal.message + "\n", refusal.status)
        await app(scope, receive, send)

    def _refusal(self, headers: Headers) -> Refusal | None:
        origin = headers.get("origin")
        if headers.get("host", "") not in self._hosts:
            return Refusal(403, "This host is not served here.")
        if origin is not None and origin not in self._origins:
            return Refusal(403, "Pages of this origin are not served here.")
        if not is_same(headers.get("authorization", ""), self._token):
            return Refusal(401, "The token is missing or wrong. It goes into `Authorization: Bearer`.")
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
    """The HTTP server; its `serve` runs until interrupted."""
    app = http_app(server, address, token)
    return uvicorn.Server(
        uvicorn.Config(app, address.host, address.port, log_level="warning", access_log=False, server_header=False)
    )


async def serve_http(server: Server[Any], address: Address, home: str, name: str) -> None:
    """Serve clients until interrupted; says where, and where the token is."""
    token, where = read_token(home, name, TOKEN)
    print(f"keepwhole {name}: {address.url}/mcp, token in {where}", file=sys.stderr, flush=True)
    await http_server(server, address, token).serve()
