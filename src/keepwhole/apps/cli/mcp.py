"""`keepwhole mcp`: the recall tools and `keep` over the Model Context Protocol."""

import argparse
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

from keepwhole.apps.cli.command_context import CommandContext, add_config
from keepwhole.errors import UsageError
from keepwhole.install import install_hint


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_config(parser)
    parser.add_argument(
        "--session", metavar="ID", help="session (default: $KEEPWHOLE_SESSION, else the session of this folder)"
    )
    add_address_options(parser)
    parser.set_defaults(act=mcp)


def add_address_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that clients connect to."""
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over HTTP, with a token, instead of standard input")
    parser.add_argument("--public", action="store_true", help="allow an address that other machines can reach")


def mcp(args: argparse.Namespace) -> int:
    """Serve this folder's session."""
    require_extra()
    from keepwhole.apps.listener import parse_address
    from keepwhole.apps.mcp.listener import serve_http, serve_stdio
    from keepwhole.apps.mcp.server import record_server

    if args.public and not args.http:
        raise UsageError("`--public` is for HTTP. Add `--http HOST:PORT`, or leave `--public` out.")
    address = parse_address(args.http, args.public) if args.http else None
    context = CommandContext(args)
    server = record_server(context.shell_session())

    async def serve() -> None:
        await (serve_http(server, address, context.settings, "mcp") if address else serve_stdio(server))

    return run(serve, context)


def run(serve: Callable[[], Awaitable[Any]], context: CommandContext) -> int:
    """Serve until the client disconnects or the user interrupts."""
    import anyio

    try:
        anyio.run(serve)
    finally:
        context.close()
    return 0


def require_extra() -> None:
    """Raise a `UsageError` where the package for MCP is not installed."""
    if find_spec("mcp_types") is None:
        raise UsageError(f"MCP needs an extra package: {install_hint('mcp')}.")
