"""`keepwhole completion SHELL`: a script that completes commands, actions, options and their values.

The script is written from the parsers, so it knows what this version takes, and it runs nothing of Keepwhole when a
word is completed. It is a table from a command to its words; each shell looks up the command that was typed so far.

Owns: the table, and how each shell reads one.
Must not know: what a command does.
"""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.main import COMMANDS, GROUPS
from keepwhole.apps.cli.parser import Parser, parser_for

_SHELLS = ("bash", "zsh", "fish")


class CommandWords(NamedTuple):
    """What may follow one command."""

    path: str
    """The command and its action: `artifacts show`; nothing for `keepwhole` itself."""
    names: dict[str, str]
    """The commands or actions that may follow, with what they do."""
    options: dict[str, str]
    """The options, with what they do."""
    values: dict[str, tuple[str, ...]]
    """The values of each option or argument that has a fixed set of them; those of arguments under `""`."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=" | ".join(_SHELLS))
    parser.epilog = (
        'bash: put `eval "$(keepwhole completion bash)"` in ~/.bashrc. zsh: put `eval "$(keepwhole completion zsh)"` '
        "in ~/.zshrc, after compinit. fish: `keepwhole completion fish > ~/.config/fish/completions/keepwhole.fish`."
    )
    parser.set_defaults(act=complete)


def complete(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    screen.say("\n".join(write(list(command_words()))))
    return 0


def command_words() -> Iterator[CommandWords]:
    """What may follow each command, from the parsers."""
    yield CommandWords("", dict(COMMANDS), {"--help": "show help", "--version": "show the version"}, {})
    for name in COMMANDS:
        yield from _words_of(name, parser_for(name, GROUPS).actions()[name])


def _words_of(path: str, parser: Parser) -> Iterator[CommandWords]:
    found = CommandWords(path, {}, {}, {})
    action: Any
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.nargs == argparse.PARSER:
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found.names.update({name: summaries.get(name, "") for name in action.choices})
            continue
        for option in action.option_strings:
            if option.startswith("--"):
                found.options[option] = action.help or ""
        if action.choices is not None:
            values = tuple(str(value) for value in action.choices)
            found.values[next((one for one in action.option_strings if one.startswith("--")), "")] = values
    yield found
    for name, inner in parser.actions().items():
        yield from _words_of(f"{path} {name}", inner)


def _bash(table: list[CommandWords]) -> Iterator[str]:
    yield '# Completion of keepwhole for bash: eval "$(keepwhole completion bash)"'
    yield "_keepwhole() {"
    yield "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= words= word"
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    case "$path/$word" in'
    yield from (f'      "{_parent(one.path)}/{_last(one.path)}") path="{one.path}" ;;' for one in table[1:])
    yield "    esac"
    yield "  done"
    yield '  case "$path $before" in'
    for one in table:
        yield from (
            f'    "{one.path} {name}") words="{" ".join(values)}" ;;' for name, values in one.values.items() if name
        )
    yield "  esac"
    yield '  if [ -z "$words" ]; then case "$path" in'
    yield from (f'    "{one.path}") words="{" ".join(_all(one))}" ;;' for one in table)
    yield "  esac; fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))'
    yield "}"
    yield "complete -o filenames -F _keepwhole keepwhole"


def _zsh(table: list[CommandWords]) -> Iterator[str]:
    yield "#compdef keepwhole"
    yield "_keepwhole() {"
    yield "  local commandpath= word"
    yield "  local -a entries values"
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield '    case "$commandpath/$word" in'
    yield from (f'      "{_parent(one.path)}/{_last(one.path)}") commandpath="{one.path}" ;;' for one in table[1:])
    yield "    esac"
    yield "  done"
    yield '  case "$commandpath ${words[CURRENT-1]}" in'
    for one in table:
        yield from (
            f'    "{one.path} {name}") values=({" ".join(values)}) ;;' for name, values in one.values.items() if name
        )
    yield "  esac"
    yield "  if (( $#values )); then compadd -- $values; return; fi"
    yield '  case "$commandpath" in'
    for one in table:
        described = {**one.names, **dict.fromkeys(one.values.get("", ()), ""), **one.options}
        entries = " ".join(_quoted(f"{name}:{words}" if words else name) for name, words in described.items())
        yield f'    "{one.path}") entries=({entries}) ;;'
    yield "  esac"
    yield "  _describe keepwhole entries"
    yield "  _files"
    yield "}"
    yield "compdef _keepwhole keepwhole"


def _fish(table: list[CommandWords]) -> Iterator[str]:
    yield "# Completion of keepwhole for fish"
    yield "function __keepwhole_path"
    yield "  set -l path"
    yield "  for word in (commandline -opc)[2..-1]"
    yield '    switch "$path/$word"'
    yield from (f'      case "{_parent(one.path)}/{_last(one.path)}"; set path "{one.path}"' for one in table[1:])
    yield "    end"
    yield "  end"
    yield "  echo $path"
    yield "end"
    for one in table:
        here = f'complete -c keepwhole -n \'test "$(__keepwhole_path)" = "{one.path}"\''
        for name, words in one.names.items():
            yield f"{here} -f -a {name} -d {_quoted(words)}"
        for value in one.values.get("", ()):
            yield f"{here} -f -a {_quoted(value)}"
        for option, words in one.options.items():
            values = f" -x -a {_quoted(' '.join(one.values[option]))}" if option in one.values else ""
            yield f"{here} -l {option[2:]}{values} -d {_quoted(words)}"


def _parent(path: str) -> str:
    return path.rpartition(" ")[0]


def _last(path: str) -> str:
    return path.rpartition(" ")[2]


def _all(one: CommandWords) -> tuple[str, ...]:
    return (*one.names, *one.values.get("", ()), *one.options)


def _quoted(text: str) -> str:
    """`text` in single quotes, which mean the same to all three shells once there is no quote or backslash inside."""
    return "'" + text.replace("\\", "/").replace("'", "’") + "'"
