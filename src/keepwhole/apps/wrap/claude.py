"""Claude Code for one run: an address in its environment, and leave to read what was left out.

What its settings files put into the environment counts more than the environment itself, and `--settings` more than
both. Permissions are given on the command line, so that none of its files change.
"""

import json
import os
from collections.abc import Iterator

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import ANTHROPIC, BASE, Pointing, Run, by_environment
from keepwhole.proxy_settings import check_upstream

_SETTINGS = "--settings"


def pointed(run: Run) -> Pointing:
    """How Claude Code is made to speak to the proxy."""
    may_read = f"--allowedTools=Read(/{run.results}/**)"
    former = next(_named_in_settings(run), None)
    if former is None or any(word.startswith(_SETTINGS) for word in run.argv):
        return by_environment(run, openai=())._replace(words=[may_read])
    over = json.dumps({"env": {ANTHROPIC: f"{BASE}/anthropic"}})
    return Pointing({"anthropic": check_upstream("anthropic", former)}, words=[may_read, f"{_SETTINGS}={over}"])


def _named_in_settings(run: Run) -> Iterator[str]:
    """Addresses that settings files give, the one that counts first."""
    own = run.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(run.environ.get("HOME", ""), ".claude")
    here = os.path.join(os.getcwd(), ".claude")
    for folder, name in ((here, "settings.local.json"), (here, "settings.json"), (own, "settings.json")):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                address = mapping(mapping(json.load(file)).get("env")).get(ANTHROPIC)
        except (OSError, ValueError):
            continue
        if isinstance(address, str) and address:
            yield address
