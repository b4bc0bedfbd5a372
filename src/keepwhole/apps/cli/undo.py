"""`keepwhole undo [ID]`: records that a result, or all of them, are shown whole again from the next request on."""

import argparse

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="a trace id or an artifact id (default: all of the session)"
    )
    parser.set_defaults(act=undo)


def undo(args: argparse.Namespace) -> int:
    """Record that one result, or every hidden one, is shown whole again."""
    context = CommandContext(args)
    try:
        return _one(context, args) if args.id else _all(context, args)
    finally:
        context.close()


def _one(context: CommandContext, args: argparse.Namespace) -> int:
    row = context.find_result(args.id)
    tokens = context.session(row.session).undo(row.trace_id)
    if args.json:
        screen.print_json({"session": row.session, "trace_id": row.trace_id, "tokens": tokens})
    else:
        screen.say(f"{row.artifact_id} is shown whole again in session {row.session}: about {tokens:,} tokens.")
    return 0


def _all(context: CommandContext, args: argparse.Namespace) -> int:
    session = context.session(context.current_session().name)
    hidden = session.artifacts(newest=None)
    tokens = sum(session.undo(known.artifact_id) for known in hidden)
    if args.json:
        screen.print_json({"session": session.id, "results": len(hidden), "tokens": tokens})
    elif not hidden:
        screen.say(f"Nothing was hidden in session {session.id}.")
    else:
        results = "1 result" if len(hidden) == 1 else f"{len(hidden):,} results"
        screen.say(f"Shown whole again in session {session.id}: {results}, about {tokens:,} tokens.")
    return 0
