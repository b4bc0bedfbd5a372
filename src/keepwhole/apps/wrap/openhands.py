"""OpenHands for one run: the providers' addresses in its environment.

Where its settings name an address, only `--override-with-envs` changes it for one run. That option applies other
variables too, which OpenHands ignores without it, so those are emptied: an empty one changes nothing.
"""

import os

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import ANTHROPIC, BASE, Client, ClientCommand, Launch, by_environment
from keepwhole.apps.wrap.settings_files import read_json
from keepwhole.clients.openhands import OPENHANDS
from keepwhole.proxy_settings import check_upstream

_OVERRIDE, _ADDRESS, _OTHERS = "--override-with-envs", "LLM_BASE_URL", ("LLM_API_KEY", "LLM_MODEL")
_UPSTREAM = "openhands"


def launch(command: ClientCommand) -> Launch:
    """How OpenHands is started so that it uses the proxy."""
    overrides = _OVERRIDE in command.argv
    folder = OPENHANDS.settings.path(command.environ.get("HOME", ""), command.environ)
    in_file = mapping(read_json(os.path.join(folder, "agent_settings.json")).get("llm")).get("base_url")
    former = (command.environ.get(_ADDRESS) if overrides else None) or in_file
    usual = by_environment(command, anthropic=(ANTHROPIC, "ANTHROPIC_API_BASE"))
    if not isinstance(former, str) or not former:
        return usual
    emptied = {} if overrides else dict.fromkeys(_OTHERS, "")
    return Launch(
        {**usual.upstreams, _UPSTREAM: check_upstream(_UPSTREAM, former)},
        {**usual.environ, **emptied, _ADDRESS: f"{BASE}/{_UPSTREAM}"},
        [] if overrides else [_OVERRIDE],
    )


CLIENT = Client(OPENHANDS.name, launch)
