"""`keepwhole config show | check`: the settings, and where each comes from."""

import argparse
import os

from keepwhole import config as settings_module
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import add_action


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_action(commands, "show", show, help="show every setting with its value and source", session=False)
    add_action(commands, "check", check, help="check the settings file", session=False)


def show(args: argparse.Namespace) -> int:
    """Show the settings."""
    rows = settings_module.flattened(settings_module.load(args.config))
    if args.json:
        screen.print_json({key: value for key, value, _ in rows})
    else:
        screen.print_table(("Setting", "Value", "From"), rows)
    return 0


def check(args: argparse.Namespace) -> int:
    """Check the settings; a wrong one is an error that says what to change."""
    settings_module.load(args.config)
    found = settings_module.find_file(args.config, os.environ, os.getcwd())
    if args.json:
        screen.print_json({"ok": True, "file": found})
    else:
        screen.say(f"✓ {found or 'no settings file; the defaults apply'}")
    return 0
