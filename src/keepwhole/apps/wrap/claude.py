"""Claude Code for one run: an address in its environment, and permission to read the files of results.

What its settings files put into the environment overrides the environment itself, and `--settings` overrides both.
Permissions are given on the command line, so that none of its files change. Claude Code takes only the last
`--settings`: where the user gives one and an address in settings has to be overridden, it is replaced by one with the
proxy's address beside everything in it. Such settings often have keys in them, so those of a file stay in a file.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from keepwhole.apps.hooks.payload import Json, mapping
from keepwhole.apps.wrap.launch import (
    ANTHROPIC,
    BASE,
    FILE,
    Client,
    ClientCommand,
    FolderAddresses,
    Launch,
    by_environment,
)
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.proxy_settings import check_upstream
from keepwhole.store.regular_file import read_regular

_SETTINGS = "--settings"
_LARGEST = 4 * 1_048_576
_BESIDE_FILE = re.compile(
    r"\A(?P<tool>Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep|LS)\(/(?P<path>[^/].*)\)", re.DOTALL
)
"""A permission for a path that begins at the folder of its settings file."""


def launch(command: ClientCommand) -> Launch:
    """How Claude Code is started so that it uses the proxy."""
    may_read = f"--allowedTools=Read(/{command.results}/**)"
    option = _settings_option(command.argv)
    given = None if option is None else _read_given(option.value)
    own = None if given is None else _address_of(given)
    former = own or next(_addresses_in_settings(command), None)
    if former is None or (option is not None and given is None):
        return by_environment(command, openai=())._replace(words=[may_read])
    upstreams = {"anthropic": check_upstream("anthropic", former)}
    if option is None or given is None:
        return Launch(upstreams, words=[may_read, f"{_SETTINGS}={_with_proxy({})}"])
    before, after = command.argv[1 : option.start], command.argv[option.stop :]
    if _is_inline(option.value):
        return Launch(upstreams, words=[may_read], own=[*before, f"{_SETTINGS}={_with_proxy(given)}", *after])
    text = _with_proxy(_with_absolute_rules(given, os.path.dirname(os.path.realpath(option.value))))
    return Launch(upstreams, words=[may_read], own=[*before, f"{_SETTINGS}={FILE}", *after], file=text)


class _Option(NamedTuple):
    """The user's `--settings`: its value, and its place among the arguments."""

    value: str
    start: int
    stop: int


def _settings_option(argv: Sequence[str]) -> _Option | None:
    """The last `--settings` of the user: the one that counts."""
    end = argv.index("--") if "--" in argv else len(argv)
    found = None
    for at, word in enumerate(argv[:end]):
        if word.startswith(f"{_SETTINGS}="):
            found = _Option(word.partition("=")[2], at, at + 1)
        elif word == _SETTINGS and at + 1 < end:
            found = _Option(argv[at + 1], at, at + 2)
    return found


def _is_inline(value: str) -> bool:
    """Whether Claude Code takes a value of `--settings` for JSON, and not for a path."""
    return value.strip().startswith("{") and value.strip().endswith("}")


def _read_given(value: str) -> Json | None:
    """The settings that the user gives; None where they cannot be read, which Claude Code reports itself."""
    try:
        found: Any = json.loads(value if _is_inline(value) else read_regular(value, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return cast("Json", found) if isinstance(found, dict) else None


def _with_proxy(settings: Json) -> str:
    return json.dumps({**settings, "env": {**mapping(settings.get("env")), ANTHROPIC: f"{BASE}/anthropic"}})


def _with_absolute_rules(settings: Json, folder: str) -> Json:
    """The settings of a file in this folder, with the same meaning in a file elsewhere."""

    def absolute(rule: object) -> object:
        found = _BESIDE_FILE.fullmatch(rule) if isinstance(rule, str) else None
        return rule if found is None else f"{found['tool']}(/{folder}/{found['path']})"

    rules = mapping(settings.get("permissions"))
    lists = {name: cast("list[object]", value) for name, value in rules.items() if isinstance(value, list)}
    changed = {name: list(map(absolute, value)) for name, value in lists.items()}
    return {**settings, "permissions": {**rules, **changed}} if changed else settings


def _addresses_in_settings(command: ClientCommand) -> Iterator[str]:
    """The addresses in settings files, the one in effect first."""
    own = os.path.join(_own_folder(command), "settings.json")
    for path in (*_files_in(os.getcwd()), own):
        address = _address_in(path)
        if address is not None:
            yield address


def _own_folder(command: ClientCommand) -> str:
    return CLAUDE_CODE.settings.path(command.environ.get("HOME", ""), command.environ)


def _files_in(folder: str) -> list[str]:
    return [
        os.path.join(folder, CLAUDE_CODE.project_settings, name) for name in ("settings.local.json", "settings.json")
    ]


def _address_in(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return _address_of(mapping(json.load(file)))
    except (OSError, ValueError, RecursionError):
        return None


def _address_of(settings: Json) -> str | None:
    address = mapping(settings.get("env")).get(ANTHROPIC)
    return address if isinstance(address, str) and address else None


def folder_addresses(command: ClientCommand, folder: str) -> FolderAddresses:
    """The addresses in the settings files of a folder, unless it is the user's own."""
    if os.path.realpath(os.path.join(folder, CLAUDE_CODE.project_settings)) == os.path.realpath(_own_folder(command)):
        return
    for path in _files_in(folder):
        address = _address_in(path)
        if address is not None:
            yield path, {"anthropic": address}


CLIENT = Client(CLAUDE_CODE.name, launch, recall="path", reader=CLAUDE_CODE.reader, folder_addresses=folder_addresses)
