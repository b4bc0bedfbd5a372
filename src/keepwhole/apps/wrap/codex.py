"""Codex for one run: settings on its command line, for its own provider and for every one that its file names."""

import json
import os
import subprocess
import tomllib
from typing import Any

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import BASE, Client, ClientCommand, Launch, own_upstreams
from keepwhole.clients.codex import CODEX
from keepwhole.proxy_settings import check_upstream

_BY_SUBSCRIPTION = "https://chatgpt.com/backend-api/codex"
_ANSWERS_WITHIN = 10


def launch(command: ClientCommand) -> Launch:
    """How Codex is started so that it uses the proxy."""
    settings = _settings(command)
    providers = mapping(settings.get("model_providers"))
    named = {name: mapping(provider).get("base_url") for name, provider in providers.items()}
    upstreams = own_upstreams({name: url for name, url in named.items() if name != "openai"})
    words = [word for name in upstreams for word in _option(f"model_providers.{name}.base_url", f"{BASE}/{name}")]
    former = settings.get("openai_base_url")
    if isinstance(former, str) and former:
        upstreams["openai"] = check_upstream("openai", former)
        words += _option("openai_base_url", f"{BASE}/openai")
    elif not settings.get("model_provider") and _is_by_subscription(command):
        upstreams["openai"] = _BY_SUBSCRIPTION
        words += _option("openai_base_url", f"{BASE}/openai")
    else:
        words += _option("openai_base_url", f"{BASE}/v1")
    return Launch(upstreams, words=words)


def _option(key: str, value: str) -> list[str]:
    return ["-c", f"{key}={json.dumps(value)}"]


def _settings(command: ClientCommand) -> dict[str, Any]:
    folder = CODEX.settings.path(command.environ.get("HOME", ""), command.environ)
    try:
        with open(os.path.join(folder, "config.toml"), "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def _is_by_subscription(command: ClientCommand) -> bool:
    """Whether Codex is signed in with a subscription, which uses another address than an API key."""
    if command.environ.get("CODEX_API_KEY"):
        return False
    try:
        asked = subprocess.run(
            [command.argv[0], "login", "status"],
            env=dict(command.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWERS_WITHIN,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"using ChatGPT" in asked.stdout + asked.stderr


CLIENT = Client(CODEX.name, launch, recall="path", reader=CODEX.reader)
