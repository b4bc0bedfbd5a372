"""The parser of the command line: lists all commands, imports only the one that is used.

Owns: the groups of the help, and the words of every wrong use that the parser notices.
Must not know: what a command does.

Each parser, also that of an action such as `artifacts list`, reports the words that it does not know itself, so that
the message can name the command and suggest one of its own options.
"""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, cast

from keepwhole.settings_section import nearest
from keepwhole.version import VERSION

_WIDTH = 100
_NAMES = 18
_NUMBERS = {int: "a whole number", float: "a number"}
_FIRST = {
    **{"help": "--help", "version": "--version", "-v": "--version", "-V": "--version"},
    **{name: f"sessions {name}" for name in ("list", "verify", "purge", "export")},
    **{name: f"store {name}" for name in ("backup", "restore", "copy", "migrate")},
    **{name: f"hook {name}" for name in ("install", "uninstall")},
    **{name: f"artifacts {name}" for name in ("clean", "collect")},
    **{name: f"wrap {name}" for name in ("claude", "codex", "opencode", "aider")},
    **{"ls": "sessions list", "rm": "sessions purge", "delete": "sessions purge", "remove": "sessions purge"},
    **{"check": "doctor", "gateway": "mcp-gateway", "logs": "sent", "open": "inspect", "page": "inspect"},
    **{"server": "serve", "settings": "config", "setup": "hook install", "start": "serve", "ui": "inspect"},
    **{"truncate": "cut", "web": "inspect"},
}
"""Words that somebody may try as a command, and what they are here: options, actions, words of other programs."""
_ACTIONS = {"delete": "purge", "rm": "purge", "remove": "uninstall", "ls": "list", "get": "show", "print": "show"}
"""The same for actions."""
_WORDS = {
    "the following arguments are required:": "missing:",
    "expected one argument": "give a value",
    "expected at least one argument": "give a value",
    "not allowed with argument": "not together with",
}
"""Words of argparse, and the plainer ones in their place."""
_ONE_OF = re.compile(r"^one of the arguments (.+) is required$")
_OF_ARGUMENT = re.compile(r"^argument (.+?): ", re.S)


class WholeNumber(NamedTuple):
    """The type of an option that is a whole number, for `add_argument`."""

    least: int

    def __call__(self, word: str) -> int:
        """Read the number."""
        number = int(word)
        if number < self.least:
            raise ValueError
        return number

    def __str__(self) -> str:
        """What to give, for the message that refuses another word."""
        return f"a whole number of at least {self.least}"


class Parser(argparse.ArgumentParser):
    """A parser whose help has a fixed width and whose errors suggest what was meant.

    The width is fixed because asking the terminal for it costs imports at every start. Options cannot be abbreviated:
    what an abbreviation means would change with every new option.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", _formatter)
        super().__init__(*args, allow_abbrev=False, **options)
        self._given: list[str] = []

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the words; refuse those that this command does not know."""
        self._given = list(args or ())
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._about_unknown(unknown[0]))
        return parsed, unknown

    def check_first(self, words: Sequence[str]) -> None:
        """Refuse an option before the command: what follows it could be its value, and not the command."""
        if words and words[0].startswith("-") and words[0] not in ("-h", *self.options()):
            self.error(self._about_unknown(words[0]))

    def error(self, message: str) -> NoReturn:
        """End with one line: what is wrong, and where to read what is right."""
        sentence = _OF_ARGUMENT.sub(r"`\1`: ", message).rstrip(".")
        for theirs, ours in _WORDS.items():
            sentence = sentence.replace(theirs, ours)
        sentence = _ONE_OF.sub(lambda names: f"missing: {_one_of(names[1].split())}", sentence)
        sentence += self._about_dash(message)
        if sentence == "missing: ACTION":
            sentence = f"say what to do: {_one_of([*self.actions()])}"
        closing = "" if sentence.endswith("?") else f". See `{self.prog} --help`."
        self.exit(2, f"{self.prog}: {_printable(sentence)}{closing}\n")

    def options(self) -> list[str]:
        """Every option that this command takes, in the long spelling."""
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]

    def actions(self) -> "dict[str, Parser]":
        """The commands or actions below this one, by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                return cast("dict[str, Parser]", cast(Any, action).choices)
        return {}

    def _about_dash(self, message: str) -> str:
        """How to give the value that argparse took for an option, because it begins with a dash."""
        of = _OF_ARGUMENT.match(message)
        names = of[1].split("/") if of is not None and message.endswith("expected one argument") else []
        after = next((two for one, two in pairwise(self._given) if one in names), "")
        if not names or len(after) < 2 or after.partition("=")[0] in self._option_string_actions:
            return ""
        return f"; where it begins with a dash, write `{names[-1]}={after}`"

    def _about_unknown(self, word: str) -> str:
        name = word.partition("=")[0]
        if not name.startswith("-"):
            meant = f". Did you mean `--session {word}`?" if self._takes_session_as_option() else ""
            return f"one argument too many: `{word}`{meant}"
        if self.prog == "keepwhole":
            if name in _FIRST:
                return f"`{name}` is not an option here. Did you mean `{_FIRST[name]}`?"
            return f"`{name}` is not an option here; options follow the command, as in `keepwhole status --json`"
        meant = nearest(name.lstrip("-"), [option.removeprefix("--") for option in self.options()])
        return f"there is no option `{name}`" + (f". Did you mean `--{meant}`?" if meant else "")

    def _takes_session_as_option(self) -> bool:
        return "--session" in self.options() and all(action.option_strings for action in self._actions)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if action.nargs == argparse.PARSER:
            is_command = self.prog == "keepwhole"
            what = "command" if is_command else "action"
            same = (_FIRST if is_command else _ACTIONS).get(value.lower())
            near = same if same is not None and (is_command or same in choices) else None
            if near is None and not is_command and len(choices) == 1:  # `trace 7`
                near = f"{self.prog.removeprefix('keepwhole ')} {choices[0]} {value}"
            meant = f". Did you mean `{near}`?" if near else _did_you_mean(value.lower(), choices)
            raise argparse.ArgumentError(None, f"there is no {what} `{value}`{meant}")
        near = _did_you_mean(str(value), choices) or f"; give {_one_of(choices)}"
        raise argparse.ArgumentError(action, f"`{value}` is not one of its values{near}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if not arg_string and action.nargs in (None, "?") and action.default != "":
            raise argparse.ArgumentError(action, "give a value, not an empty one")
        try:
            return super()._get_value(action, arg_string)  # type: ignore[misc]
        except argparse.ArgumentError:
            wanted = str(action.type) if isinstance(action.type, WholeNumber) else _NUMBERS.get(cast(Any, action.type))
            if wanted is None:
                raise
            raise argparse.ArgumentError(action, f"give {wanted}, not `{arg_string}`") from None


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=_WIDTH)


def _raw_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=_WIDTH)


def parser_for(wanted: str | None, groups: Mapping[str, Mapping[str, str]]) -> Parser:
    """The parser; only the wanted command is imported and has its options."""
    parser = Parser(
        prog="keepwhole",
        usage="keepwhole COMMAND ...",
        formatter_class=_raw_formatter,
        description="Keep every tool result in full, show the model what fits, fetch the rest with one call.",
        epilog=_grouped(groups),
    )
    parser.add_argument("--version", action="version", version=f"keepwhole {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help=argparse.SUPPRESS, prog="keepwhole")
    for name, summary in ((name, summary) for group in groups.values() for name, summary in group.items()):
        if wanted in (None, name):
            own = commands.add_parser(
                name, description=summary[0].upper() + summary[1:] + ".", formatter_class=_formatter
            )
            if wanted == name:
                import_module(module_of(name)).add(own)
    return parser


def module_of(name: str) -> str:
    """The module of a command; `import` is a keyword of Python."""
    return "keepwhole.apps.cli." + ("import_" if name == "import" else name.replace("-", "_"))


def _grouped(groups: Mapping[str, Mapping[str, str]]) -> str:
    """The commands in their groups, one line each."""
    lines: list[str] = []
    for title, commands in groups.items():
        lines += [f"{title}:", *(f"  {name:<{_NAMES}}{summary}" for name, summary in commands.items()), ""]
    return "\n".join(
        [
            *lines,
            "Start with `keepwhole demo`. `keepwhole COMMAND --help` lists the options of a command.",
            "Exit codes: 1 a check that failed, or the system; 2 wrong use; 3 not found; 4 trouble with the",
            "record. `run` exits with its command's code.",
        ]
    )


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f". Did you mean `{near}`?" if near else ""


def _one_of(choices: list[str]) -> str:
    return ", ".join(choices[:-1]) + f" or {choices[-1]}" if len(choices) > 1 else choices[0]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
