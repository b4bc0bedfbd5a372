"""`keepwhole store restore FILE`: restores a backup and checks every hash."""

import argparse
import os
import sys
from contextlib import closing
from typing import Any

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.addresses import HELP, open_record_at, printable_address
from keepwhole.apps.cli.command_context import add_options
from keepwhole.errors import UsageError
from keepwhole.transfer.restore import Restored, restore


def describe(commands: Any) -> None:
    """Describe the command's options."""
    parser = commands.add_parser("restore", help="bring a backup back; run it again to continue")
    add_options(parser, session=False)
    parser.add_argument("file", metavar="FILE", help="the backup; - for standard input")
    parser.add_argument("--into", metavar="ADDRESS", help=f"{HELP} (default: the record of the settings)")
    parser.add_argument(
        "--session", action="append", metavar="NAME", default=[], help="only this session; can be repeated"
    )
    parser.add_argument("--erased", action="store_true", help="also restore what was erased since the backup")
    parser.set_defaults(act=restore_backup)


def restore_backup(args: argparse.Namespace) -> int:
    """Restore a backup."""
    settings = config.load(args.config)
    address = args.into or settings.store or settings.home
    try:
        file = sys.stdin.buffer if args.file == "-" else open(args.file, "rb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"`{args.file}` cannot be opened ({error.strerror}). Check the path.") from error
    with file, closing(open_record_at(address, settings)) as store:
        size = os.fstat(file.fileno()).st_size
        try:
            with screen.Progress("restoring", size, in_bytes=True) as progress:
                tell = file.tell if file.seekable() else lambda: 0
                done = restore(
                    store, file, only=args.session, erased=args.erased, on_entry=lambda _: progress.set_done(tell())
                )
        except KeyboardInterrupt:
            screen.warn("Stopped. The same command continues where it stopped.")
            raise
    _say(args, printable_address(address), done)
    return 0


def _say(args: argparse.Namespace, where: str, done: Restored) -> None:
    if args.json:
        screen.print_json({"into": where, **done._asdict()})
        return
    for name in done.kept_erased:
        screen.say(f"  {name}: was erased here, and stays so (`--erased` brings it back)")
    counted = f"{screen.plural(done.sessions, 'session')}, {screen.plural(done.entries, 'entry', 'entries')}"
    screen.say(f"✓ {where}: {counted}, heads equal: {done.head[:16]}")
