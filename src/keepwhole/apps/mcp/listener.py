"""How clients reach Keepwhole's MCP servers: over standard input and output, or over HTTP.

Owns: the guard of the HTTP listener. A loopback address is no protection: every request needs the token, an accepted
host and, where it comes from a page, an accepted origin; any other is refused before anything reads it. Only
`GET /healthz` needs no token.
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
from keepwhole.apps.mcp.http_limits import TimedBody, limited_protocol
from keepwhole.config import Settings
from keepwhole.proxy_settings import ProxySettings

TOKEN = "KEEPWHOLE_MCP_TOKEN"
_HEALTH = "/healthz"
_LIMITS = ProxySettings()


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
        refusal = self._refusal(scope, Headers(scope=scope)) if is_http else Refusal(403, "HTTP only.")
        timed = TimedBody(receive, send)
        await self._answer(scope, refusal)(scope, timed.receive, timed.send)

    def _answer(self, scope: Scope, refusal: Refusal | None) -> ASGIApp:
        if refusal is not None:  # who is refused holds no connection
            return PlainTextResponse(refusal.message + "\n", refusal.status, headers={"connection": "close"})
        return PlainTextResponse("ok\n", headers={"connection": "close"}) if _asks_for_health(scope) else self._app

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        if headers.get("host", "") not in self._hosts:
            return Refusal(403, "This host is not served here.")
        if not self._origins.issuperset(headers.getlist("origin")):
            return Refusal(403, "Pages of this origin are not served here.")
        if not {"none", "same-origin"}.issuperset(headers.getlist("sec-fetch-site")):
            return Refusal(403, "Pages of other sites are not served here.")
        if not _asks_for_health(scope) and not is_same(headers.get("authorization", ""), self._token):
            return Refusal(401, "The token is missing or wrong. Send it as `Authorization: Bearer TOKEN`.")
        return None


def _asks_for_health(scope: Scope) -> bool:
    return scope["path"] == _HEALTH and scope["method"] in ("GET", "HEAD")


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes its end."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(server: Server[Any], address: Address, token: str, limits: ProxySettings = _LIMITS) -> ASGIApp:
    """The guarded application, at `/mcp`."""
    hosts = sorted(address.hosts)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    app = server.streamable_http_app(
        transport_security=security, host=address.host, max_request_body_size=limits.max_body
    )
    return Guard(app, address, token)


def http_server(server: Server[Any], address: Address, token: str, limits: ProxySettings = _LIMITS) -> uvicorn.Server:
    """The HTTP server; its `serve` runs until interrupted."""
    return uvicorn.Server(
        uvicorn.Config(
            http_app(server, address, token, limits),
            address.host,
            address.port,
            http=limited_protocol(limits.max_connections),
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
        )
    )


async def serve_http(server: Server[Any], address: Address, settings: Settings, name: str) -> None:
    """Serve clients until interrupted; print where, and where the token is."""
    token, where = read_token(settings.home, name, TOKEN)
    print(f"keepwhole {name}: {address.url}/mcp, token in {where}", file=sys.stderr, flush=True)
    await http_server(server, address, token, settings.proxy).serve()
