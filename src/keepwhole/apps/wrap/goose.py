"""Goose for one run: hosts of providers in its environment, which overrides its settings file."""

import os

from keepwhole.apps.wrap.launch import Client, ClientCommand, Launch, by_environment
from keepwhole.apps.wrap.settings_files import read_yaml, text_fields
from keepwhole.clients.goose import GOOSE


def launch(command: ClientCommand) -> Launch:
    """How Goose is started so that it uses the proxy; the paths of its requests begin with `/v1` by themselves."""
    folder = GOOSE.settings.path(command.environ.get("HOME", ""), command.environ)
    in_file = text_fields(read_yaml(os.path.join(folder, "config.yaml")))
    command = command._replace(environ={**in_file, **command.environ})
    return by_environment(command, openai=("OPENAI_HOST",), anthropic=("ANTHROPIC_HOST",), openai_path="")


CLIENT = Client(GOOSE.name, launch)
