"""Gemini CLI for one run: the addresses of Gemini and of Vertex AI in its environment."""

from keepwhole.apps.wrap.launch import BASE, Client, ClientCommand, Launch
from keepwhole.clients.gemini_cli import GEMINI_CLI
from keepwhole.proxy_settings import check_upstream

_VARIABLES = {"gemini": "GOOGLE_GEMINI_BASE_URL", "vertex": "GOOGLE_VERTEX_BASE_URL"}


def launch(command: ClientCommand) -> Launch:
    """How Gemini CLI is started so that it uses the proxy; the addresses it had are the providers behind that.

    With an account of Google instead of a key, Gemini CLI asks another service, which no variable leads elsewhere.
    """
    former = {name: command.environ.get(variable) for name, variable in _VARIABLES.items()}
    upstreams = {name: check_upstream(name, url) for name, url in former.items() if url}
    return Launch(upstreams, {variable: f"{BASE}/{name}" for name, variable in _VARIABLES.items()})


CLIENT = Client(GEMINI_CLI.name, launch)
