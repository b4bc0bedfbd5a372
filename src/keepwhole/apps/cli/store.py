"""`keepwhole store migrate | copy | backup | restore`; here `migrate`: updates the schema of a record on a server."""

import argparse

from keepwhole import config
from keepwhole.apps.cli import screen, store_backup, store_copy, store_restore
from keepwhole.apps.cli.command_context import add_config, add_json
from keepwhole.errors import StoreRefused, UsageError
from keepwhole.install import install_hint
from keepwhole.store.postgres.address import is_address, redacted


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands' options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    migrating = commands.add_parser("migrate", help="create the schema of a record on a server, or update it")
    add_config(migrating)
    add_json(migrating)
    migrating.add_argument(
        "--grant", metavar="ROLE", help="allow this role to read the record and add to it, but not to change or delete"
    )
    migrating.set_defaults(act=migrate)
    for command in (store_copy, store_backup, store_restore):
        command.describe(commands)


def migrate(args: argparse.Namespace) -> int:
    """Update the schema; needs the rights of its owner."""
    address = config.load(args.config).store
    if not is_address(address):
        raise UsageError(
            "A record in a folder updates itself. For a record on a server, set `store`, for example "
            "`KEEPWHOLE_STORE=postgresql://owner@host/database`."
        )
    try:
        from keepwhole.store.postgres import server
    except ImportError as error:
        raise StoreRefused(
            f"A record in PostgreSQL needs `psycopg`. Install it with {install_hint('postgres')}."
        ) from error
    ran = server.migrate(address, args.grant)
    if args.json:
        screen.print_json({"store": redacted(address), "ran": ran, "granted": args.grant})
        return 0
    done = f"ran {ran} script{'' if ran == 1 else 's'}" if ran else "already up to date"
    granted = f"; `{args.grant}` may add to it and read it" if args.grant else ""
    screen.say(f"✓ {redacted(address)}: {done}{granted}")
    return 0
