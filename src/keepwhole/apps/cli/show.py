"""`keepwhole show`, `trace show` and `artifacts show`: one result, under three names that print it differently.

All three take the same options. `show` prints an overview, `trace show` the call and its output in pages, `artifacts
show` only the content; with a part asked for, `show` prints the content too.
"""

import argparse
import sys
from typing import Any, Literal, TypeAlias

from keepwhole.apps.cli import screen, show_overview
from keepwhole.apps.cli.command_context import CommandContext, add_options, add_part
from keepwhole.apps.cli.parser import WholeNumber
from keepwhole.apps.cli.recall_command import RecallCommand, check_range, in_options
from keepwhole.canonical.media import TEXT
from keepwhole.errors import NotFound, UsageError
from keepwhole.recall.get_artifact import ARGUMENTS, arguments_reader, read_artifact
from keepwhole.recall.get_task_trace import call_heading
from keepwhole.recall.ranges import parse_chars, parse_lines
from keepwhole.store.protocol import Row, body_of, result_of
from keepwhole.store.reader import BodyReader

View: TypeAlias = Literal["overview", "call", "content"]
_PARTS = ("lines", "from_end", "pattern", "regex", "context", "path")


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    add_show(parser, "overview", "keepwhole show")


def add_show(parser: argparse.ArgumentParser, view: View, command: str) -> None:
    """Describe the options of one of the three names; `command` is what a page names to read the next one."""
    parser.add_argument("id", metavar="NUMBER|ID", help="a result's number, its trace id or artifact id")
    part = add_part(parser)
    part.add_argument("--from-end", type=WholeNumber(1), metavar="N", help="the last N lines")
    part.add_argument("--raw", action="store_true", help="all of it, byte for byte")
    parser.add_argument("--force", action="store_true", help="allow --raw on a terminal")
    parser.add_argument(
        "--part", choices=("result", ARGUMENTS), default="result", help="the result, or the arguments of its call"
    )
    parser.add_argument("--pattern", metavar="TEXT", help="show the places that contain this text")
    parser.add_argument("--regex", action="store_true", help="the pattern is an RE2 regular expression")
    parser.add_argument("--context", type=WholeNumber(0), metavar="N", help="lines around each match")
    parser.add_argument("--path", metavar="PATH", help="inside JSON or CSV: $.items[0:9].name")
    parser.set_defaults(act=show, view=view, command_words=command)


def show(args: argparse.Namespace) -> int:
    """Show one result as the command's name says."""
    _check(args)
    context = CommandContext(args)
    row = _find(context, args.id)
    try:
        if args.raw:
            return _write_bytes(context, row, args)
        if args.view == "overview" and not _asks_for_part(args):
            show_overview.print_overview(context.session(row.session), row, args.json)
        else:
            _print_content(context, row, args)
        return 0
    except UsageError as error:
        raise UsageError(in_options(str(error))) from error
    finally:
        context.close()


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would be ignored."""
    if args.raw and args.json:
        raise UsageError("`--raw` prints bytes, and `--json` prints text. Give one of them.")
    if args.force and not args.raw:
        raise UsageError("`--force` is for `--raw`. Add `--raw`, or leave `--force` out.")
    for option in ("regex", "context"):
        if _is_given(getattr(args, option)) and not args.pattern:
            raise UsageError(f"`--{option}` needs a pattern. Add `--pattern TEXT`.")


def _find(context: CommandContext, what: str) -> Row:
    if not what.isdigit():
        return context.find_result(what)
    info = context.current_session()
    for number, row in enumerate(context.store.rows(info.name, kind="result"), 1):
        if number == int(what):
            return row
    command = f"keepwhole sessions show {info.name}"
    raise NotFound(f"Session {info.name} has no result {what}. `{command}` lists its results.")


def _asks_for_part(args: argparse.Namespace) -> bool:
    return bool(args.part == ARGUMENTS or _part_asked(args))


def _part_asked(args: argparse.Namespace) -> dict[str, Any]:
    """The part that the options choose, as the arguments of a model's call."""
    asked = {key: getattr(args, key) for key in _PARTS}
    if args.chars:
        chars = parse_chars(args.chars)
        asked |= {"start_char": chars.start, "length": chars.length}
    return {key: value for key, value in asked.items() if _is_given(value)}


def _is_given(value: object) -> bool:
    return value is not None and value is not False  # `--context 0` is given


def _open(context: CommandContext, row: Row, args: argparse.Namespace) -> BodyReader:
    return arguments_reader(result_of(row)) if args.part == ARGUMENTS else context.store.open(body_of(row))


def _write_bytes(context: CommandContext, row: Row, args: argparse.Namespace) -> int:
    if sys.stdout.isatty() and not args.force:
        raise UsageError("`--raw` writes control bytes too. Send it to a file or a pipe, or add `--force`.")
    with _open(context, row, args) as reader:
        for chunk in reader.stream():
            sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    return 0


def _print_content(context: CommandContext, row: Row, args: argparse.Namespace) -> None:
    """Print a part of the content, under a heading about the call where the command's name asks for one."""
    result = result_of(row)
    call = RecallCommand(args.id, args.command_words)
    media_type = result.media_type
    if args.part == ARGUMENTS:
        call, media_type = call.with_arguments(part=ARGUMENTS), TEXT
    with _open(context, row, args) as reader:
        if media_type == TEXT and not args.path:
            check_range(
                reader, parse_lines(args.lines) if args.lines else parse_chars(args.chars) if args.chars else None
            )
        # Who asks for lines of the content gets all of them; a page is for who asks for everything, or for a call.
        is_bounded = args.view == "call" or not (args.lines or args.chars)
        limit = context.settings.retrieval_limit if is_bounded else reader.chars + 1_000
        content = read_artifact(reader, media_type, call, _part_asked(args), limit).content
        heading = call_heading(result, reader) if args.view == "call" else None
    if args.json:
        ids = {"session": row.session, "trace_id": result.trace_id, "artifact_id": result.artifact_id}
        names = ("tool", "arguments", "turn", "call_id", "exit_code", "is_error")
        facts = {name: getattr(result, name) for name in names}
        screen.print_json({**ids, **facts, "part": args.part, "call": heading, "content": content})
    else:
        screen.show(content if heading is None else f"{heading}\n{content}")
