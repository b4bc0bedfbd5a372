"""`holdfast undo ID`: show a result whole again from the next request on. A recorded decision like any other."""

import argparse

from holdfast.apps.cli import screen
from holdfast.apps.cli.place import Place, add_options


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument("id", metavar="ID", help="a trace id or an artifact id")
    parser.set_defaults(act=undo)


def undo(args: argparse.Namespace) -> int:
    """Record that a result is shown whole again."""
    place = Place(args)
    row = place.find(args.id)
    tokens = place.session(row.session).undo(row.trace_id)
    place.close()
    if args.json:
        screen.as_json({"session": row.session, "trace_id": row.trace_id, "tokens": tokens})
    else:
        screen.say(f"{row.artifact_id} is shown whole again in session {row.session}: about {tokens:,} tokens.")
    return 0
