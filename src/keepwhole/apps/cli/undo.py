"""`keepwhole undo [ID]`: records that a result, or all of them, are shown in full again from the next request on."""

import argparse

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.undo_figures import UndoFigures, foresee_undo


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="a trace id or an artifact id (default: all of the session)"
    )
    parser.set_defaults(act=undo)


def undo(args: argparse.Namespace) -> int:
    """Record that one result, or every hidden one, is shown in full again."""
    context = CommandContext(args)
    try:
        return _one(context, args) if args.id else _all(context, args)
    finally:
        context.close()


def _one(context: CommandContext, args: argparse.Namespace) -> int:
    row = context.find_result(args.id)
    session = context.session(row.session)
    figures = foresee_undo(session, row)
    session.undo(row.trace_id)
    if args.json:
        screen.print_json({"session": row.session, "trace_id": row.trace_id, **figures.as_dict()})
    elif not figures.changed:
        screen.say(f"{row.artifact_id} is already shown in full in session {row.session}; nothing was changed.")
    else:
        screen.say(f"{row.artifact_id} is shown in full again in session {row.session}: {_words(figures)}.")
    return 0


def _words(figures: UndoFigures) -> str:
    """The difference, and what it costs."""
    behind = f"; {figures.reread:,} tokens after it are not served from the cache" if figures.reread else ""
    cost = f", {figures.cost}" if figures.cost else ""
    return f"about {figures.tokens:,} tokens more in each request{behind}{cost}"


def _all(context: CommandContext, args: argparse.Namespace) -> int:
    session = context.session(context.current_session().name)
    known = [context.find_result(one.artifact_id) for one in session.artifacts(newest=None)]
    foreseen = {row.trace_id: foresee_undo(session, row) for row in known}
    hidden = {trace_id: figures for trace_id, figures in foreseen.items() if figures.changed}
    for trace_id in hidden:
        session.undo(trace_id)
    figures = hidden.values()
    tokens, whole = sum(one.tokens for one in figures), sum(one.whole for one in figures)
    reread = max((one.reread for one in figures), default=0)
    if args.json:
        screen.print_json(
            {"session": session.id, "results": len(hidden), "tokens": tokens, "whole": whole, "reread": reread}
        )
    elif not hidden:
        screen.say(f"Nothing was hidden in session {session.id}.")
    else:
        results = screen.plural(len(hidden), "result")
        behind = f"; {reread:,} tokens are not served from the cache" if reread else ""
        words = f"{results}, about {tokens:,} tokens more in each request{behind}"
        screen.say(f"Shown in full again in session {session.id}: {words}.")
    return 0
