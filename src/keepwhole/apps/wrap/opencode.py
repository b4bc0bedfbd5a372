"""opencode for one run: addresses in its environment, and settings that override those of its providers.

Its settings are merged from many files and variables, so opencode itself is asked for the result.
"""

import json
import os
import subprocess
from typing import Any

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import (
    ANTHROPIC,
    BASE,
    OPENAI,
    Client,
    ClientCommand,
    FolderAddresses,
    Launch,
    by_environment,
    own_upstreams,
)
from keepwhole.clients.opencode import OPENCODE

CONTENT = "OPENCODE_CONFIG_CONTENT"
_OUTSIDE = "external_directory"
_ANSWERS_WITHIN = 20


def launch(command: ClientCommand) -> Launch:
    """How opencode is started so that it uses the proxy."""
    settings = _settings(command, os.getcwd())
    named = _addresses(settings)
    by_name = {name: {"options": {"baseURL": f"{BASE}/{name}"}} for name in named}
    over = {"provider": by_name, "permission": _permissions(settings.get("permission"), command.results)}
    usual = by_environment(command, openai=OPENAI[:1])
    environ = {**usual.environ, CONTENT: json.dumps(_merge(_content_before(command), over))}
    if "anthropic" not in usual.upstreams:
        environ[ANTHROPIC] = f"{BASE}/v1"
    return Launch({**usual.upstreams, **named}, environ)


def folder_addresses(command: ClientCommand, folder: str) -> FolderAddresses:
    """The addresses that opencode uses in a folder and not in the home folder."""
    home = command.environ.get("HOME", "")
    here = _addresses(_settings(command, folder)) if os.path.isdir(home) else {}
    own = _addresses(_settings(command, home)) if here else {}
    added = {name: url for name, url in here.items() if own.get(name) != url}
    return [(folder, added)] if added else []


def _addresses(settings: dict[str, Any]) -> dict[str, str]:
    """The providers' addresses in settings, by name."""
    providers = {name: mapping(found).get("options") for name, found in mapping(settings.get("provider")).items()}
    return own_upstreams({name: mapping(options).get("baseURL") for name, options in providers.items()})


def _permissions(permission: object, results: str) -> dict[str, Any]:
    """Permission to read the files of results, beside what the user allows and forbids."""
    everything = {"*": permission} if isinstance(permission, str) else {}
    outside = everything.get("*") or mapping(permission).get(_OUTSIDE, {})
    before = {"*": outside} if isinstance(outside, str) else mapping(outside)
    return {**everything, _OUTSIDE: {**before, f"{results}/**": "allow"}}


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """`one` overridden by `other`, level by level."""
    inner = {key: mapping(value) for key, value in other.items() if mapping(value)}
    return {**one, **other, **{key: _merge(mapping(one.get(key)), value) for key, value in inner.items()}}


def _content_before(command: ClientCommand) -> dict[str, Any]:
    try:
        return mapping(json.loads(command.environ.get(CONTENT) or "{}"))
    except ValueError:
        return {}


def _settings(command: ClientCommand, folder: str) -> dict[str, Any]:
    """The settings that opencode reports in a folder; empty where it does not."""
    try:
        asked = subprocess.run(
            [command.argv[0], "debug", "config"],
            env=dict(command.environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWERS_WITHIN,
            check=False,
        )
        return mapping(json.loads(asked.stdout))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}


CLIENT = Client(OPENCODE.name, launch, recall="path", reader=OPENCODE.reader, folder_addresses=folder_addresses)
