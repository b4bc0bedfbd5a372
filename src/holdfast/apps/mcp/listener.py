"""How clients reach a server of ours: over standard input and output, or over HTTP.

Owns: the HTTP listener's guard. Loopback is no boundary: every request shows the token, names a host of ours and, if
it comes from a page, an origin of ours; whatever does not is turned away before anything reads it.
Must not know: what is served.
"""

import hmac
import os
import secrets
import sys
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.canonical.value import Value
from holdfast.errors import UsageError
from holdfast.store.durable import make_folder, write_file

TOKEN = "HOLDFAST_MCP_TOKEN"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(Value):
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in _LOOPBACK

    @property
    def hosts(self) -> frozenset[str]:
        """What a `Host` header may say."""
        names = _LOOPBACK if self.is_loopback else (self.host,)
        written = [f"[{name}]" if ":" in name else name for name in names]
        return frozenset([f"{name}:{self.port}" for name in written] + (written if self.port == 80 else []))


def parse_address(text: str, public: bool = False) -> Address:
    """`HOST:PORT`, `:PORT` or `PORT`; any host but this machine's own only if `public` says so."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(f"`{text}` is no address to listen at. Give HOST:PORT, for example 127.0.0.1:7411.")
    address = Address(host=host, port=int(port))
    if not address.is_loopback and not public:
        raise UsageError(f"`{host}` can be reached from other machines. If that is what you want, add `--public`.")
    return address


def token_for(home: str, name: str) -> tuple[str, str]:
    """The listener's own token and where it is written: `$HOLDFAST_MCP_TOKEN`, else a file only its owner reads."""
    given = os.environ.get(TOKEN)
    if given is not None:
        if len(given) < 16:
            raise UsageError(f"`${TOKEN}` is shorter than 16 characters. Leave it unset and one is made.")
        return given, f"${TOKEN}"
    path = os.path.join(home, f"{name}.token")
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip(), path
    except FileNotFoundError:
        make_folder(home)
        token = secrets.token_urlsafe(32)
        write_file(path, [token.encode() + b"\n"], 0o600)
        return token, path


class Guard:
    """Turns away every request without the token, to another host, or from another origin."""

    def __init__(self, app: ASGIApp, address: Address, token: str) -> None:
        self._app, self._token = app, f"Bearer {token}".encode()
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
        if not hmac.compare_digest(headers.get("authorization", "").encode(), self._token):
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
    token, where = token_for(home, name)
    shown = f"[{address.host}]" if ":" in address.host else address.host
    print(f"holdfast {name}: http://{shown}:{address.port}/mcp, token in {where}", file=sys.stderr, flush=True)
    await http_server(server, address, token).serve()
