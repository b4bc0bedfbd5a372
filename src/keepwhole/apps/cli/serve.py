"""`keepwhole serve`: the proxy and the inspector in one process, so that the page shows what happens at once."""

import argparse
import asyncio
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from keepwhole.apps.cli import proxy
from keepwhole.apps.cli.command_context import CommandContext
from keepwhole.apps.cli.inspect import page
from keepwhole.errors import KeepwholeError, UsageError

PORT = 8788


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    proxy.add_options(parser)
    parser.add_argument(
        "--inspect-port", type=int, default=PORT, metavar="N", help=f"the port of the page (default: {PORT}; 0: any)"
    )
    parser.add_argument("--sample", action="store_true", help="use a temporary record with a made-up session")
    parser.set_defaults(act=serve)


def serve(args: argparse.Namespace) -> int:
    """Serve both until stopped."""
    proxy.require_extra()
    proxy.address_from(args)
    if args.port and args.port == args.inspect_port:
        raise UsageError(f"`--port` and `--inspect-port` are both {args.port}. Give two different ports.")
    with _home(args) as home:
        return proxy.run_until_stopped(_serve(args, CommandContext(args, proxy.PATIENCE, home)))


async def _serve(args: argparse.Namespace, context: CommandContext) -> int:
    from keepwhole.apps.inspector.sample import NAME
    from keepwhole.apps.proxy.server import harden_process

    harden_process()
    async with page(context, args.inspect_port, "--inspect-port") as (inspector, url):
        print(f"keepwhole inspect: {url}{f'&session={NAME}' if args.sample else ''}", flush=True)
        stopped = threading.Event()
        played = asyncio.to_thread(_play, context, stopped) if args.sample else asyncio.sleep(0)
        playing = asyncio.create_task(played)

        try:
            await proxy.run(args, context, (lambda _: inspector.live.wake(),))
        finally:
            stopped.set()
        await playing
    context.close()
    return 0


def _play(context: CommandContext, stopped: threading.Event) -> None:
    """Record the made-up session while the page is open, so that it is shown live."""
    from keepwhole.apps.inspector.sample import play

    try:
        play(context.settings, context.store, time.time(), keeps_going=lambda: not stopped.is_set())
    except KeepwholeError as error:
        print(f"keepwhole serve: the sample cannot be played: {error}", flush=True)


@contextmanager
def _home(args: argparse.Namespace) -> Generator[str | None]:
    """A temporary folder for a sample's record; None for the record of the settings."""
    if not args.sample:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="keepwhole-sample-", ignore_cleanup_errors=True) as folder:
        yield folder
