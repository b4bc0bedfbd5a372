"""`keepwhole trace show TRACE_ID`: one call of a tool, its outcome and its raw output, paged."""

import argparse
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_action, add_part
from keepwhole.apps.cli.recall_command import RecallCommand, check_range
from keepwhole.canonical.media import TEXT
from keepwhole.recall.get_artifact import read_artifact
from keepwhole.recall.get_task_trace import call_heading
from keepwhole.recall.ranges import parse_chars, parse_lines
from keepwhole.store.protocol import Row, body_of, result_of


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    showing = add_action(commands, "show", show_trace, help="the call, how it ended, and what it returned")
    showing.add_argument("id", metavar="TRACE_ID", help="trace id or artifact id")
    part = add_part(showing)
    part.add_argument("--from-end", metavar="N", help="the last N lines")
    showing.add_argument("--pattern", metavar="TEXT", help="the places where this text is")
    showing.add_argument("--regex", action="store_true", help="the pattern is a regular expression of RE2")
    showing.add_argument("--context", metavar="N", help="lines round each match")
    showing.add_argument("--path", metavar="PATH", help="inside JSON or CSV: $.items[0:9].name")


def show_trace(args: argparse.Namespace) -> int:
    """Show one call and a part of its output."""
    context = CommandContext(args)
    row = context.find_result(args.id)
    report = _report(context, row, args)
    context.close()
    if args.json:
        screen.print_json(report)
    else:
        screen.show(f"{report['call']}\n{report['output']}")
    return 0


def _report(context: CommandContext, row: Row, args: argparse.Namespace) -> dict[str, Any]:
    result = result_of(row)
    with context.store.open(body_of(row)) as reader:
        call = RecallCommand(args.id, "keepwhole trace show")
        if result.media_type == TEXT and not args.path:
            check_range(
                reader, parse_lines(args.lines) if args.lines else parse_chars(args.chars) if args.chars else None
            )
        answer = read_artifact(reader, result.media_type, call, _call_arguments(args), context.settings.retrieval_limit)
        about = call_heading(result, reader)
    known = {name: getattr(result, name) for name in ("tool", "arguments", "turn", "call_id", "exit_code", "is_error")}
    return {"trace_id": result.trace_id, "session": row.session, **known, "call": about, "output": answer.content}


def _call_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """The options as the arguments of a model's call."""
    asked = {key: getattr(args, key) for key in ("lines", "from_end", "pattern", "regex", "context", "path")}
    if args.chars:
        chars = parse_chars(args.chars)
        asked |= {"start_char": chars.start, "length": chars.length}
    return {key: value for key, value in asked.items() if value not in (None, False)}
