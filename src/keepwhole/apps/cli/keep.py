"""`… | keepwhole keep --tool NAME`: keeps its input, prints what fits."""

import argparse
import json
import sys

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.cli.run import result_as_dict
from keepwhole.errors import StoreError, UsageError
from keepwhole.record.kept_result import unstored_chunks
from keepwhole.store.feed import pipe


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument("--tool", required=True, help="name of the tool to record")
    parser.add_argument("--arguments", metavar="JSON", help="the call's arguments, as JSON")
    parser.add_argument("--call-id", metavar="ID", help="the provider's id of the call")
    parser.add_argument("--exit-code", type=int, metavar="N", help="the tool's exit code; anything but 0 is an error")
    parser.add_argument("--error", action="store_true", help="the output is an error")
    parser.set_defaults(act=keep)


def keep(args: argparse.Namespace) -> int:
    """Keep standard input."""
    if args.arguments is not None:
        _check_json(args.arguments)
    if sys.stdin.isatty():
        screen.warn("keepwhole: reading from the terminal; end with Ctrl-D.")
    context = CommandContext(args)
    session, output = context.shell_session(), pipe(sys.stdin.fileno())
    try:
        shown = session.keep(
            args.tool,
            args.arguments,
            output,
            call_id=args.call_id,
            exit_code=args.exit_code,
            is_error=args.error,
            on_trouble="raise",
        )
    except StoreError as error:
        screen.pass_on(unstored_chunks(output, error))
        screen.warn(f"keepwhole: {error}")
        return 4
    finally:
        context.close()
    if args.json:
        screen.print_json(result_as_dict(shown))
    else:
        screen.show(shown.content)
    return 0


def _check_json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise UsageError(f'`--arguments` is not JSON ({error}). Give it like \'{{"path": "a.txt"}}\'.') from error
