"""Qwen Code for one run: an address in its environment, and settings that override the addresses of its models.

Addresses under `modelProviders` in its settings override the environment. They are overridden by settings of the
machine, which Qwen Code reads from the file that a variable names; where that file is in use already, they stay.
"""

import json
import os
from typing import Any, cast

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import BASE, FILE, OPENAI, Client, ClientCommand, Launch, by_environment, own_upstreams
from keepwhole.apps.wrap.settings_files import read_json, text_fields
from keepwhole.clients.qwen_code import QWEN_CODE

MACHINE = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
_MACHINES_OWN = "/etc/qwen-code/settings.json"


def launch(command: ClientCommand) -> Launch:
    """How Qwen Code is started so that it uses the proxy."""
    folder = QWEN_CODE.settings.path(command.environ.get("HOME", ""), command.environ)
    settings = read_json(os.path.join(folder, "settings.json"))
    signed_in = mapping(mapping(settings.get("security")).get("auth")).get("baseUrl")
    in_file = {**text_fields({OPENAI[0]: signed_in}), **text_fields(mapping(settings.get("env")))}
    usual = by_environment(command._replace(environ={**in_file, **command.environ}))
    if command.environ.get(MACHINE) or os.path.exists(_MACHINES_OWN):
        return usual
    models, upstreams = _with_proxy(mapping(settings.get("modelProviders")))
    if not upstreams:
        return usual
    environ = {**usual.environ, MACHINE: FILE}
    return Launch({**usual.upstreams, **upstreams}, environ, file=json.dumps({"modelProviders": models}))


def _with_proxy(providers: dict[str, Any]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The models of each provider with the proxy's addresses, and the addresses that they had, by name."""
    models: dict[str, list[Any]] = {}
    upstreams: dict[str, str] = {}
    for provider, entries in providers.items():
        listed = cast("list[Any]", entries) if isinstance(entries, list) else []
        for number, entry in enumerate(listed):
            name = f"qwen-{provider}-{number}"
            own = own_upstreams({name: mapping(entry).get("baseUrl")})
            upstreams |= own
            models.setdefault(provider, []).append({**entry, "baseUrl": f"{BASE}/{name}"} if own else entry)
    return models, upstreams


CLIENT = Client(QWEN_CODE.name, launch)
