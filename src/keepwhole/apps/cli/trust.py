"""`keepwhole trust`: approve what the files of a folder decide beyond limits, after having seen it."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from keepwhole import config, trust
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import refuse_together
from keepwhole.apps.wrap.clients import project_addresses
from keepwhole.apps.wrap.launch import ADDRESSES
from keepwhole.errors import UsageError


class Request(NamedTuple):
    """One file or folder that wants more than it may have, and what."""

    path: str
    what: object
    lines: list[str]
    """The same for people."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument("folder", nargs="?", metavar="FOLDER", default=".", help="the folder (default: this one)")
    parser.add_argument("--yes", action="store_true", help="approve without asking")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--list", action="store_true", help="list what is approved")
    other.add_argument("--revoke", action="store_true", help="withdraw every approval of this folder")
    parser.set_defaults(act=approve)


def approve(args: argparse.Namespace) -> int:
    """Show what the files of a folder want to decide, and remember a yes."""
    for other in ("list", "revoke"):
        refuse_together(args, "yes", other)
    if args.list:
        screen.say("\n".join(map(screen.safe, trust.approved_paths())) or "Nothing is approved.")
        return 0
    if not os.path.isdir(args.folder):
        raise UsageError(f"There is no folder `{args.folder}`. Name the folder whose files you want to approve.")
    found = list(_requests(os.path.abspath(args.folder)))
    if args.revoke:
        known = [request.path for request in found if trust.revoke(request.path)]
        screen.say("\n".join(f"No longer approved: {screen.safe(path)}" for path in known) or "Nothing was approved.")
        return 0
    open_requests = [request for request in found if not trust.is_approved(request.path, request.what)]
    if not open_requests:
        screen.say("Nothing here needs approval.")
        return 0
    for request in open_requests:
        screen.say(screen.safe(request.path))
        for line in request.lines:
            screen.say(f"    {screen.safe(line)}")
    if not args.yes and not _ask():
        screen.say("Nothing was approved.")
        return 1
    for request in open_requests:
        trust.approve(request.path, request.what)
    screen.say("Approved. If these lines change, they need approval again.")
    return 0


def _requests(folder: str) -> Iterator[Request]:
    """What files in a folder or above it want to decide."""
    file, home = config.project_file(folder), config.project_home(folder)
    wanted = config.settings_to_approve(file) if file is not None else {}
    if file is not None and wanted:
        yield Request(file, wanted, [f"{key}: {json.dumps(value, default=str)}" for key, value in wanted.items()])
    if home is not None:
        yield Request(home, config.RECORD, ["is the record here: everything that is kept is written to it"])
    for path, addresses in project_addresses(folder):
        lines = [f"{name} requests, and the key in them, go to {url}" for name, url in addresses.items()]
        yield Request(path, {ADDRESSES: addresses}, lines)


def _ask() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("There is no terminal to ask in. Read the lines above, then run `keepwhole trust --yes`.")
    print("Approve this? [y/N] ", end="", flush=True)
    return sys.stdin.readline().lower() in ("y\n", "yes\n")
