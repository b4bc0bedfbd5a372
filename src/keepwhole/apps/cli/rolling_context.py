"""`keepwhole rolling-context on|off|status`: switches the policy `rolling` on and off; the choice is remembered."""

import argparse

from keepwhole import config, preferences
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import add_json


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_json(parser)
    parser.add_argument(
        "switch",
        metavar="SWITCH",
        choices=("on", "off", "status"),
        help="on, off, or status, which shows the current state",
    )
    parser.set_defaults(act=rolling_context)


def rolling_context(args: argparse.Namespace) -> int:
    """Switch it, or print whether it is on."""
    if args.switch != "status":
        known = preferences.load()
        preferences.save(known.replace(rolling_context_enabled=args.switch == "on"))
    enabled = preferences.load().rolling_context_enabled
    policy = config.load().policy
    if args.json:
        screen.print_json({"rolling_context_enabled": enabled, "policy": policy})
    else:
        screen.say(f"Rolling context is {'on' if enabled else 'off'}; the policy in effect here is `{policy}`.")
        if enabled and policy != "rolling":
            screen.say("`KEEPWHOLE_POLICY` takes precedence over it.")
    return 0
