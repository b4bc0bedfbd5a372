"""mini-SWE-agent for one run: addresses in its environment, which overrides its file of variables."""

import os

from keepwhole.apps.wrap.launch import ANTHROPIC, Client, ClientCommand, Launch, by_environment
from keepwhole.apps.wrap.settings_files import read_variables
from keepwhole.clients.mini_swe_agent import MINI_SWE_AGENT


def launch(command: ClientCommand) -> Launch:
    """How mini-SWE-agent is started so that it uses the proxy."""
    folder = MINI_SWE_AGENT.settings.path(command.environ.get("HOME", ""), command.environ)
    in_file = read_variables(os.path.join(folder, ".env"))
    command = command._replace(environ={**in_file, **command.environ})
    return by_environment(command, anthropic=(ANTHROPIC, "ANTHROPIC_API_BASE"))


CLIENT = Client(MINI_SWE_AGENT.name, launch)
