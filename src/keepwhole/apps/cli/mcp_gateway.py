"""`keepwhole mcp-gateway`: a gateway to other MCP servers; `wrap`, `unwrap` a client's file; `accept` changes."""

import argparse
import os
import shlex

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_config
from keepwhole.apps.cli.mcp import add_address_options, require_extra, run
from keepwhole.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    servers = ("--servers", "--config")  # the second as other MCP programs call it; entries that `wrap` wrote have it
    words = "the servers, as clients write them: `mcpServers` by name"
    parser.add_argument(*servers, dest="servers", metavar="FILE", help=words)
    parser.add_argument("--server", metavar="NAME", help="only this server")
    add_config(parser, "--settings")
    parser.add_argument(
        "--session", metavar="ID", help="session (default: $KEEPWHOLE_SESSION, else the session of this folder)"
    )
    parser.add_argument(
        "--inherit-env", action="store_true", help="pass this environment to the servers, as clients do"
    )
    parser.add_argument(
        "--without-recall", action="store_true", help="offer no recall tools, for use beside `keepwhole mcp`"
    )
    add_address_options(parser)
    parser.set_defaults(act=gateway)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    wrapping = actions.add_parser("wrap", help="put the gateway in front of the servers in a client's file")
    wrapping.add_argument("path", metavar="PATH", help="the file, for example .mcp.json")
    wrapping.add_argument("--all", action="store_true", help="wrap servers at addresses without headers too")
    wrapping.set_defaults(act=wrap)
    unwrapping = actions.add_parser("unwrap", help="remove the gateway again; the file is restored byte for byte")
    unwrapping.add_argument("path", metavar="PATH", help="the file")
    unwrapping.set_defaults(act=unwrap)
    accepting = actions.add_parser("accept", help="accept what the servers now say about their tools")
    accepting.add_argument("--server", metavar="NAME", help="only those of this server")
    add_config(accepting, "--settings")
    accepting.set_defaults(act=accept)


def gateway(args: argparse.Namespace) -> int:
    """Serve what the file's servers offer."""
    if args.servers is None:
        raise UsageError("Which servers? Give `--servers FILE`, a file with `mcpServers` as clients write it.")
    require_extra()
    from keepwhole.apps.listener import parse_address
    from keepwhole.apps.mcp.gateway import Gateway
    from keepwhole.apps.mcp.listener import serve_http, serve_stdio
    from keepwhole.apps.mcp.servers_file import read_servers

    address = parse_address(args.http, args.public) if args.http else None
    file = read_servers(args.servers, args.server, args.inherit_env)
    context = _open_context(args)
    through = Gateway(context.shell_session(), file, recall=not args.without_recall)

    async def serve() -> None:
        async with through.opened() as front:
            name = "mcp-gateway"
            await (serve_http(front, address, context.settings, name) if address else serve_stdio(front))

    return run(serve, context)


def wrap(args: argparse.Namespace) -> int:
    """Rewrite a client's file."""
    from keepwhole.apps.mcp import wrap as wrapping

    done = wrapping.wrap(args.path, every=args.all)
    for name in done.wrapped:
        screen.say(f"{screen.line(name)}: now behind the gateway")
    for name in done.left:
        screen.say(f"{screen.line(name)}: unchanged (an address without headers; `--all` wraps it too)")
    screen.say(
        f"Undo it with `keepwhole mcp-gateway unwrap {screen.line(shlex.quote(args.path))}`."
        if done.wrapped
        else "This file has no server to put behind the gateway."
    )
    return 0


def unwrap(args: argparse.Namespace) -> int:
    """Restore a client's file."""
    from keepwhole.apps.mcp import wrap as wrapping

    done = wrapping.unwrap(args.path)
    for name in done.wrapped:
        screen.say(f"{screen.line(name)}: restored")
    if not done.wrapped:
        screen.say("No server in this file is behind the gateway.")
    return 0


def accept(args: argparse.Namespace) -> int:
    """Accept the servers' tools as they were last seen."""
    from keepwhole.apps.mcp.pins import Pins

    context = _open_context(args)
    accepted = Pins(os.fspath(context.settings.home)).accept(args.server)
    context.close()
    for server, what in accepted:
        screen.say(f"{screen.line(server)}: {screen.line(what)} is pinned as it is now")
    if not accepted:
        screen.say("Nothing has changed since the tools were pinned.")
    return 0


def _open_context(args: argparse.Namespace) -> CommandContext:
    return CommandContext(argparse.Namespace(config=args.settings, session=getattr(args, "session", None)))
