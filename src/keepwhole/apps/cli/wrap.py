"""`keepwhole wrap CMD…`: run an agent with a proxy of its own in front of its provider, and print a receipt."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import add_config, add_mode
from keepwhole.apps.cli.proxy import require_extra
from keepwhole.canonical.ids import is_session_id
from keepwhole.errors import UsageError
from keepwhole.settings_section import nearest

NOT_FOUND, NOT_RUN = 127, 126


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_config(parser)
    add_mode(parser)
    parser.add_argument(
        "--session", metavar="ID", help="the session of all requests (default: the one that the agent names)"
    )
    parser.add_argument(
        "--watch", action="store_true", help="print a line for each request, unless the agent has the terminal"
    )
    parser.add_argument("--watch-file", metavar="FILE", help="append these lines to a file")
    parser.add_argument("--no-receipt", action="store_true", help="print no receipt at the end")
    parser.add_argument(
        "argv",
        nargs=argparse.REMAINDER,
        metavar="claude|codex|opencode|aider|-- CMD…",
        help="the agent, and its own arguments",
    )
    parser.set_defaults(act=wrap)


def wrap(args: argparse.Namespace) -> int:
    """Run the agent."""
    argv: list[str] = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    _check(args, argv)
    settings = config.load(args.config)
    settings = settings.replace(mode=args.mode) if args.mode else settings
    if shutil.which(argv[0]) is None and not (os.sep in argv[0] and os.path.exists(argv[0])):
        screen.warn(f"keepwhole: `{argv[0]}` is not installed, or not on the PATH. {_hint(argv[0])}")
        return NOT_FOUND
    from keepwhole.apps.wrap.clients import client_for
    from keepwhole.apps.wrap.run import run

    try:
        with _reporters(args) as reporters:
            ended = run(argv, client_for(argv[0]), settings, args.session, reporters, screen.warn)
    except OSError as error:
        screen.warn(
            f"keepwhole: `{argv[0]}` cannot be run ({error.strerror}). Check that it is a program for this machine."
        )
        return NOT_RUN
    if not args.no_receipt:
        _print(ended.receipt)
    return ended.code


def _hint(name: str) -> str:
    from keepwhole.apps.wrap.clients import CLIENTS

    near = None if name in CLIENTS else nearest(name, CLIENTS)
    return f"Did you mean `{near}`?" if near else "Install it, or give its path."


def _check(args: argparse.Namespace, argv: Sequence[str]) -> None:
    if not argv or not argv[0]:
        raise UsageError("Say what to run: `keepwhole wrap claude`, or `keepwhole wrap -- CMD…` for any other agent.")
    if args.session is not None and not is_session_id(args.session):
        raise UsageError(f"{args.session[:60]!r} cannot name a session. Use 1 to 128 letters, digits and `._:@-`.")
    require_extra()


def _print(lines: Sequence[str]) -> None:
    try:
        for line in lines:
            screen.warn(line)
    except OSError:  # the terminal is gone; the exit code is still the client's
        return


@contextmanager
def _reporters(args: argparse.Namespace) -> Generator[Sequence[Callable[[Any], None]]]:
    """The functions that are called with each request."""
    if args.watch_file:
        with _open(args.watch_file) as stream:
            yield [partial(_print_line, stream)]
        return
    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if args.watch and has_terminal:
        screen.warn("keepwhole: the agent uses this terminal, so no lines are printed; use `--watch-file FILE`")
    yield [partial(_print_line, sys.stderr)] if args.watch and not has_terminal else []


def _print_line(stream: TextIO, proxied: Any) -> None:
    from keepwhole.apps.proxy.telemetry import summary_line

    print(summary_line(proxied), file=stream, flush=True)


def _open(path: str) -> TextIO:
    try:
        return open(path, "a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Name another file.") from error
