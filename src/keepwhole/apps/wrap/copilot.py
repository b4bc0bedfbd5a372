"""GitHub Copilot CLI for one run, where it uses a model provider of the user's own.

Without one, its requests go to GitHub's service, whose address cannot be changed.
"""

from keepwhole.apps.wrap.launch import BASE, Client, ClientCommand, Launch
from keepwhole.clients.copilot_cli import COPILOT_CLI
from keepwhole.errors import UsageError
from keepwhole.proxy_settings import check_upstream

ADDRESS = "COPILOT_PROVIDER_BASE_URL"
_UPSTREAM = "copilot"


def launch(command: ClientCommand) -> Launch:
    """How Copilot CLI is started so that it uses the proxy."""
    former = command.environ.get(ADDRESS)
    if not former:
        raise UsageError(
            "Copilot CLI sends its requests to GitHub's own service, whose address cannot be changed. Set "
            f"`{ADDRESS}` to use a provider of your own (`copilot help providers`), or keep the results of its MCP "
            "servers with `keepwhole mcp-gateway`."
        )
    return Launch({_UPSTREAM: check_upstream(_UPSTREAM, former)}, {ADDRESS: f"{BASE}/{_UPSTREAM}"})


CLIENT = Client(COPILOT_CLI.name, launch)
