"""LiteLLM's own proxy as a process, with Keepwhole in its configuration and a provider on loopback."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

# Without it LiteLLM fetches a list of prices from the network when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
CONFIG = """
model_list:
  - model_name: team-gpt
    litellm_params: {{model: openai/gpt-5, api_base: {upstream}/v1, api_key: k, max_retries: 0}}
  - model_name: team-claude
    litellm_params: {{model: anthropic/claude-sonnet-5, api_base: {upstream}, api_key: k, max_retries: 0}}
litellm_settings:
  callbacks: keepwhole.integrations.litellm.callback
  num_retries: 0
general_settings:
  master_key: sk-b1946ac92492d2347c6235b4d2611184b1946ac92492d234
  custom_auth: keys.user_api_key_auth
"""
KEYS = """
from litellm.proxy._types import UserAPIKeyAuth

async def user_api_key_auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key)
"""
"""Every key is good: virtual keys of the proxy's own need a database."""


class LiteLLMProxy(NamedTuple):
    """A running proxy."""

    url: str
    home: Path
    """Where Keepwhole's record is."""

    def post(self, path: str, body: Mapping[str, Any], key: str = "sk-one", **headers: str) -> str:
        """The proxy's answer to a request, whole or streamed, as text."""
        own = {"content-type": "application/json", "authorization": f"Bearer {key}", **headers}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), own)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error


@contextmanager
def litellm_proxy(upstream: str, folder: Path) -> Iterator[LiteLLMProxy]:
    """Start the proxy and wait until it answers; that takes about ten seconds."""
    (folder / "config.yaml").write_text(CONFIG.format(upstream=upstream))
    (folder / "keys.py").write_text(KEYS)
    port, home = _free_port(), folder / "home"
    own = {"KEEPWHOLE_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    command = [str(Path(sys.executable).parent / "litellm"), "--config", "config.yaml", "--host", "127.0.0.1"]
    with open(folder / "log", "wb") as log:
        started = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, env={**os.environ, **own}, stdout=log, stderr=log
        )
    proxy = LiteLLMProxy(f"http://127.0.0.1:{port}", home)
    try:
        _wait(proxy.url, started, folder / "log")
        yield proxy
    finally:
        started.terminate()
        started.wait(20)


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def _wait(url: str, started: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and started.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health/liveliness", timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-3_000:])
