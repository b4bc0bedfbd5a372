"""The clients that `keepwhole wrap` knows by name.

Owns: the table. A client of another package is found by its entry point in the group `keepwhole.clients`; any other
command gets the environment variables that most programs read.
Must not know: how a proxy is started, how a command is run.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from keepwhole import plugins
from keepwhole.apps.wrap import claude, codex, copilot, gemini, goose, mini_swe_agent, opencode, openhands, pi, qwen
from keepwhole.apps.wrap.launch import ANTHROPIC, Client, ClientCommand, Launch, by_environment
from keepwhole.clients.aider import AIDER
from keepwhole.clients.table import facts_of
from keepwhole.errors import UsageError
from keepwhole.wire import dialects


def _launch_aider(command: ClientCommand) -> Launch:
    return by_environment(command, anthropic=(ANTHROPIC, "ANTHROPIC_API_BASE"))


_KNOWN = (
    claude.CLIENT,
    codex.CLIENT,
    opencode.CLIENT,
    Client(AIDER.name, _launch_aider),
    copilot.CLIENT,
    gemini.CLIENT,
    goose.CLIENT,
    mini_swe_agent.CLIENT,
    openhands.CLIENT,
    pi.CLIENT,
    qwen.CLIENT,
)
CLIENTS: Mapping[str, Client] = MappingProxyType(
    {**{facts_of(client.name).command: client for client in _KNOWN}, "mini-swe-agent": mini_swe_agent.CLIENT}
)
"""The known clients by the commands that start them."""


def project_addresses(folder: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The files of a folder that name addresses of providers, for every client that is installed."""
    for name, client in CLIENTS.items():
        path = shutil.which(name)
        if path is not None:
            yield from unusual_addresses(client, ClientCommand([path], os.environ, ""), folder)


def unusual_addresses(client: Client, command: ClientCommand, folder: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The addresses of one client in a folder, without the providers' own."""
    for path, addresses in client.folder_addresses(command, folder):
        others = other_upstreams(addresses)
        if others:
            yield path, others


def other_upstreams(upstreams: Mapping[str, str]) -> dict[str, str]:
    """Those addresses that are not the providers' own."""
    return {name: url for name, url in upstreams.items() if url.rstrip("/") != dialects.TABLE.upstreams.get(name)}


def client_for(command: str) -> Client:
    """The client that a command starts, by the last part of its path."""
    name = os.path.basename(command)
    client: object = CLIENTS.get(name) or plugins.load("clients", name) or Client(name, by_environment)
    if not isinstance(client, Client):
        raise UsageError(
            f"The entry point `{name}` in `keepwhole.clients` is a {type(client).__name__}. It must name a "
            "`keepwhole.apps.wrap.launch.Client`; update or uninstall its package."
        )
    return client
