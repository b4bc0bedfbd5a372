"""`keepwhole inspect`: a local page over the record."""

import argparse
import asyncio
import os
import sys
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from keepwhole.apps.cli.command_context import CommandContext, add_config
from keepwhole.apps.cli.proxy import require_extra, run_until_stopped
from keepwhole.apps.listener import Address, read_token
from keepwhole.errors import UsageError

if TYPE_CHECKING:
    from keepwhole.apps.inspector.server import Inspector

TOKEN = "KEEPWHOLE_INSPECTOR_TOKEN"


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_config(parser)
    parser.add_argument("--session", metavar="ID", help="open the page at this session")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on (default: any free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address, but open no browser")
    parser.set_defaults(act=inspect)


def inspect(args: argparse.Namespace) -> int:
    """Serve the page until stopped."""
    require_extra()
    return run_until_stopped(_serve(args))


async def _serve(args: argparse.Namespace) -> int:
    from keepwhole.apps.proxy.server import harden_process, wait_until_stopped

    harden_process()
    context = CommandContext(args)
    session = context.find_session(args.session).name if args.session else None
    async with page(context, args.port) as (_, url):
        url += f"&session={quote(session)}" if session else ""
        print(f"keepwhole inspect: {url}", flush=True)
        if not args.no_open and has_display():
            await asyncio.to_thread(webbrowser.open, url)
        await wait_until_stopped(lambda: None)
    context.close()
    return 0


@asynccontextmanager
async def page(context: CommandContext, port: int, option: str = "--port") -> "AsyncGenerator[tuple[Inspector, str]]":
    """The inspector over a record, and the address that opens it: the token is after the `#`, so it is never sent."""
    from keepwhole.apps.inspector.server import start_inspector
    from keepwhole.apps.inspector.services import InspectorServices

    if not 0 <= port < 65_536:
        raise UsageError(f"`{port}` is not a port. Give one between 1 and 65535, or 0 for any free one.")
    token, _ = read_token(context.settings.home, "inspector", TOKEN)
    wanted = Address(host="127.0.0.1", port=port)
    async with start_inspector(InspectorServices(context.settings, context.store), wanted, token, option) as (
        inspector,
        address,
    ):
        yield inspector, f"{address.url}/#token={token}"


def has_display() -> bool:
    """Whether the user of this terminal can see a browser."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
