"""The parser of the command line: lists all commands, imports only the one that is used."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from keepwhole.version import VERSION


class _Parser(argparse.ArgumentParser):
    """A parser whose help has a fixed width: asking the terminal for it costs imports at every start."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", _formatter)
        super().__init__(*args, **options)


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=100)


def parser_for(wanted: str | None, summaries: Mapping[str, str]) -> argparse.ArgumentParser:
    """The parser; only the wanted command is imported and has its options."""
    parser = _Parser(
        prog="keepwhole",
        description="Keep every tool result whole, show what fits, recall the rest.",
        epilog="Start with `keepwhole demo`. Exit codes: 2 wrong use, 3 not found, 4 trouble with the record; "
        "`run` exits with its command's code.",
    )
    parser.add_argument("--version", action="version", version=f"keepwhole {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in summaries.items():
        if wanted in (None, name):
            own = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
            if wanted == name:
                import_module(module_of(name)).add(own)
    return parser


def module_of(name: str) -> str:
    """The module of a command; `import` is a keyword of Python."""
    return "keepwhole.apps.cli." + ("import_" if name == "import" else name.replace("-", "_"))
