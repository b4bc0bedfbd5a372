"""Claude Code for one run: an address in its environment, and permission to read the files of results.

What its settings files put into the environment overrides the environment itself, and `--settings` overrides both.
Permissions are given on the command line, so that none of its files change.
"""

import json
import os
from collections.abc import Iterator

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import ANTHROPIC, BASE, Client, ClientCommand, FolderAddresses, Launch, by_environment
from keepwhole.proxy_settings import check_upstream

_SETTINGS = "--settings"


def launch(command: ClientCommand) -> Launch:
    """How Claude Code is started so that it uses the proxy."""
    may_read = f"--allowedTools=Read(/{command.results}/**)"
    former = next(_addresses_in_settings(command), None)
    if former is None or any(word.startswith(_SETTINGS) for word in command.argv):
        return by_environment(command, openai=())._replace(words=[may_read])
    over = json.dumps({"env": {ANTHROPIC: f"{BASE}/anthropic"}})
    return Launch({"anthropic": check_upstream("anthropic", former)}, words=[may_read, f"{_SETTINGS}={over}"])


def _addresses_in_settings(command: ClientCommand) -> Iterator[str]:
    """The addresses in settings files, the one in effect first."""
    own = os.path.join(_own_folder(command), "settings.json")
    for path in (*_files_in(os.getcwd()), own):
        address = _address_in(path)
        if address is not None:
            yield address


def _own_folder(command: ClientCommand) -> str:
    return command.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(command.environ.get("HOME", ""), ".claude")


def _files_in(folder: str) -> list[str]:
    return [os.path.join(folder, ".claude", name) for name in ("settings.local.json", "settings.json")]


def _address_in(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            address = mapping(mapping(json.load(file)).get("env")).get(ANTHROPIC)
    except (OSError, ValueError, RecursionError):
        return None
    return address if isinstance(address, str) and address else None


def folder_addresses(command: ClientCommand, folder: str) -> FolderAddresses:
    """The addresses in the settings files of a folder, unless it is the user's own."""
    if os.path.realpath(os.path.join(folder, ".claude")) == os.path.realpath(_own_folder(command)):
        return
    for path in _files_in(folder):
        address = _address_in(path)
        if address is not None:
            yield path, {"anthropic": address}


CLIENT = Client("claude-code", launch, recall="path", reader="Read", folder_addresses=folder_addresses)
