"""`holdfast`: finds the command, imports only that one, and turns errors into words and exit codes."""

import argparse
import os
import sys
from importlib import import_module
from typing import Any

from holdfast.errors import HoldfastError, NotFound, StoreError
from holdfast.version import VERSION

COMMANDS: dict[str, str] = {
    "demo": "see what it does, in under ten seconds",
    "replay": "what policies would have cost and kept on the logs you already have",
    "run": "run a command, keep all its output, print what fits",
    "keep": "keep what comes in on standard input, print what fits",
    "cut": "what a model would see of a file, what is left out and why",
    "view": "what would be sent of a conversation, beside what is kept",
    "show": "what a tool really returned, and what was shown of it",
    "trace": "one call of a tool, how it ended, and its raw output in pages",
    "search": "what was kept that has to do with a question, and how to read more",
    "explain": "which rule edited what, when, what it saved, how to undo it",
    "undo": "show a result whole again",
    "status": "how full the context window is, and the three thresholds",
    "rolling-context": "switch ageing by steps on or off; remembered",
    "mcp": "serve the recall tools and `keep` to MCP clients",
    "mcp-gateway": "stand in front of other MCP servers, keep what their tools return, pass on what fits",
    "artifacts": "list, show, search and clean results that were cut",
    "sessions": "list, show, verify, purge, export and import sessions",
    "config": "show the settings and where they come from, or check them",
    "doctor": "check that the record is safe here",
    "init": "give this folder a record of its own",
}
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_STORE = 4
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser = _parser(next((word for word in argv if word in COMMANDS), None))
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return EXIT_USAGE
    try:
        return args.act(args)
    except HoldfastError as error:
        print(f"holdfast: {_plain(str(error))}", file=sys.stderr)
        return (
            EXIT_NOT_FOUND
            if isinstance(error, NotFound)
            else EXIT_STORE
            if isinstance(error, StoreError)
            else EXIT_USAGE
        )
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE


class _Parser(argparse.ArgumentParser):
    """A parser whose help has a fixed width: asking the terminal for it costs imports at every start."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", _formatter)
        super().__init__(*args, **options)


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=100)


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    """The parser; only the wanted command is imported and described in full."""
    parser = _Parser(
        prog="holdfast",
        description="Keep every tool result whole, show what fits, recall the rest.",
        epilog="Start with `holdfast demo`. Exit codes: 2 wrong use, 3 not found, 4 trouble with the record; "
        "`run` exits with its command's code.",
    )
    parser.add_argument("--version", action="version", version=f"holdfast {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if wanted in (None, name):
            own = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
            if wanted == name:
                module = import_module(f"holdfast.apps.cli.{name.replace('-', '_')}")
                module.add(own)
    return parser


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
