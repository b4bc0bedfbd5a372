"""Claude Code for one run: an address in its environment, and permission to read the files of results.

What its settings files put into the environment overrides the environment itself, and `--settings` overrides both.
Permissions are given on the command line, so that none of its files change.
"""

import json
import os
from collections.abc import Iterator

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import ANTHROPIC, BASE, Client, ClientCommand, Launch, by_environment
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
    own = command.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(command.environ.get("HOME", ""), ".claude")
    here = os.path.join(os.getcwd(), ".claude")
    for folder, name in ((here, "settings.local.json"), (here, "settings.json"), (own, "settings.json")):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                address = mapping(mapping(json.load(file)).get("env")).get(ANTHROPIC)
        except (OSError, ValueError):
            continue
        if isinstance(address, str) and address:
            yield address


CLIENT = Client("claude-code", launch, recall="path", reader="Read")
