"""pi for one run: an extension that gives its providers the proxy's address, in a file for this run alone.

An extension overrides both the addresses that pi has built in and those in its `models.json`.
"""

import json
import os

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import BASE, FILE, Client, ClientCommand, Launch, own_upstreams
from keepwhole.apps.wrap.settings_files import read_json
from keepwhole.clients.pi import PI

_BUILT_IN = {"anthropic": BASE, "openai": f"{BASE}/v1"}


def launch(command: ClientCommand) -> Launch:
    """How pi is started so that it uses the proxy."""
    folder = PI.settings.path(command.environ.get("HOME", ""), command.environ)
    providers = mapping(read_json(os.path.join(folder, "models.json")).get("providers"))
    upstreams = own_upstreams({name: mapping(provider).get("baseUrl") for name, provider in providers.items()})
    addresses = {**_BUILT_IN, **{name: f"{BASE}/{name}" for name in upstreams}}
    lines = [
        f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(addresses[name])} }});"
        for name in addresses
    ]
    text = "\n".join(["export default function (pi) {", *lines, "}", ""])
    return Launch(upstreams, words=["--extension", FILE], file=text, file_name="keepwhole.js")


CLIENT = Client(PI.name, launch)
