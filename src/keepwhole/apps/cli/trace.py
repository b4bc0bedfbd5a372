"""`keepwhole trace show ID`: one call of a tool, how it ended, and its output in pages."""

import argparse

from keepwhole.apps.cli import show
from keepwhole.apps.cli.command_context import add_action


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    showing = add_action(commands, "show", show.show, help="the call, how it ended, and what it returned")
    show.add_show(showing, "call", "keepwhole trace show")
