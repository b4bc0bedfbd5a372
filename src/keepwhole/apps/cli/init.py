"""`keepwhole init`: give this folder a record of its own."""

import argparse
import os

from keepwhole import trust
from keepwhole.apps.cli import screen
from keepwhole.config import FOLDER, RECORD
from keepwhole.store.durable import make_folder


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.set_defaults(act=init)


def init(args: argparse.Namespace) -> int:
    """Make `.keepwhole/` here, ignored by git, and approve it as the record's folder."""
    folder = os.path.join(os.getcwd(), FOLDER)
    make_folder(folder)
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "x", encoding="utf-8") as file:
            file.write("*\n")
    trust.approve(folder, RECORD)
    screen.say(f"The record of this folder is {screen.safe(folder)}; git ignores it.")
    return 0
