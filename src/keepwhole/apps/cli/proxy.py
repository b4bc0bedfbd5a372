"""`keepwhole proxy`: a proxy between agents and their providers."""

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_config, add_mode
from keepwhole.apps.listener import Address, checked_address, read_token
from keepwhole.errors import KeepwholeError, UsageError
from keepwhole.install import install_hint
from keepwhole.proxy_settings import check_upstream
from keepwhole.settings_section import nearest
from keepwhole.wire import dialects

if TYPE_CHECKING:
    from keepwhole.apps.proxy.telemetry import Reporter

TOKEN = "KEEPWHOLE_PROXY_TOKEN"
PORT = 8787
PATIENCE = 1.0
"""Seconds that a request waits for other writers of the record; then it goes on without the record."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.set_defaults(act=proxy)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands that start a proxy."""
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"port to listen on (default: {PORT})")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--public", action="store_true", help="allow an address that other machines can reach")
    parser.add_argument(
        "--no-token", action="store_true", help="require no token: every process on this machine may use the proxy"
    )
    add_config(parser)
    add_mode(parser)
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="where requests go, such as openai=https://…",
    )
    parser.add_argument("--watch", action="store_true", help="print a line for each request")


def proxy(args: argparse.Namespace) -> int:
    """Serve until stopped."""
    require_extra()
    return run_until_stopped(_serve(args))


def run_until_stopped(serving: Coroutine[Any, Any, int]) -> int:
    """Run a server until it is stopped; a second signal ends it at once."""
    try:
        return asyncio.run(serving)
    except asyncio.CancelledError:
        return 0


async def _serve(args: argparse.Namespace) -> int:
    context = CommandContext(args, PATIENCE)
    await run(args, context)
    context.close()
    return 0


async def run(args: argparse.Namespace, context: CommandContext, reporters: "Sequence[Reporter]" = ()) -> None:
    """Run a proxy over a record until it is stopped; `reporters` are called with each request once it is recorded."""
    from keepwhole.apps.proxy.server import ProxyOptions, build_setup, start_proxy, wait_until_stopped
    from keepwhole.apps.proxy.telemetry import print_summary, span_reporter

    home = context.settings.home
    settings = settings_from(args, home)
    address = address_from(args)
    token, where = (None, "") if args.no_token else read_token(home, "proxy", TOKEN)
    spans = span_reporter()
    own = ([spans] if spans is not None else []) + ([print_summary] if args.watch else [])
    options = ProxyOptions(address, token, (*own, *reporters))
    async with start_proxy(settings, context.store, options) as (running, port):
        _greet(address.replace(port=port), token, where)

        def reload() -> None:
            try:
                counted = running.setup.router.metrics
                running.setup = build_setup(settings_from(args, home), context.store, options, port, counted)
                print("keepwhole proxy: settings reloaded", file=sys.stderr, flush=True)
            except KeepwholeError as error:
                print(f"keepwhole proxy: kept the old settings: {error}", file=sys.stderr, flush=True)

        await wait_until_stopped(reload)
        print("keepwhole proxy: stopping; open streams get ten seconds to end", file=sys.stderr, flush=True)


def settings_from(args: argparse.Namespace, home: str | None = None) -> config.Settings:
    """The settings, overridden by the command line."""
    settings = config.load(args.config, home=home)
    given = dict(_upstream(text) for text in args.upstream)
    own = settings.proxy.replace(upstreams={**settings.proxy.upstreams, **given})
    return settings.replace(proxy=own, **({"mode": args.mode} if args.mode else {}))


def require_extra() -> None:
    """Raise a `UsageError` where the package for the proxy is not installed."""
    if find_spec("aiohttp") is None:
        raise UsageError(f"The proxy and the page need an extra package: {install_hint('proxy')}.")


def _upstream(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not equals or not name.replace("-", "_").isidentifier():
        raise UsageError(f"`--upstream {text}` is not NAME=URL, such as openai=https://api.openai.com.")
    url = check_upstream(name, url)
    providers = [dialect.provider for dialect in dialects.TABLE.dialects]
    if name not in providers and (near := nearest(name, providers)):
        screen.warn(
            f"keepwhole: `{name}` is a new upstream, for paths that begin with /{name}/. Did you mean `{near}`?"
        )
    return name, url


def address_from(args: argparse.Namespace) -> Address:
    """The address to listen on, from the command line."""
    address = Address(host=args.host, port=args.port)
    if not 0 <= args.port < 65_536:
        raise UsageError(f"`--port {args.port}` is not a port. Give one between 1 and 65535, or 0 for any free one.")
    checked_address(address, args.public)
    if args.public and args.no_token:
        raise UsageError("A proxy that other machines reach needs its token: leave `--no-token` out.")
    return address


def _greet(address: Address, token: str | None, where: str) -> None:
    base = address.base_url(token)
    print(f"keepwhole proxy: {address.url}" + (f", token in {where}" if token else ", no token is required"))
    print(f"  export ANTHROPIC_BASE_URL={base}")
    print(f"  export OPENAI_BASE_URL={base}/v1", flush=True)
    if not address.is_loopback:
        print("keepwhole proxy: other machines can reach this; put TLS in front of it", file=sys.stderr, flush=True)
