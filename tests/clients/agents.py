"""Other people's agents with a model on loopback in their own settings, and programs that use an SDK the same way."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.drive import Start

PROMPT = "look around"
KEY = "sk-fake"


class Agent(NamedTuple):
    """One agent: how it is started when its provider is at an address that ends with the provider's version."""

    start: Callable[[Path, str], Start]
    cuts: bool = False
    """Whether the agent cuts results to less than Keepwhole shows, so that nothing is left out."""


def _put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def _start_qwen(home: Path, address: str) -> Start:
    model = {"id": "m1", "name": "m1", "baseUrl": address, "envKey": "OPENAI_API_KEY"}
    settings = {"modelProviders": {"openai": [model]}, "model": {"name": "m1"}}
    _put(home / ".qwen/settings.json", json.dumps({**settings, "security": {"auth": {"selectedType": "openai"}}}))
    return Start(["qwen", "-p", PROMPT, "--yolo"], {"OPENAI_API_KEY": KEY})


def _start_pi(home: Path, address: str) -> Start:
    provider = {"baseUrl": address, "api": "openai-completions", "apiKey": KEY, "models": [{"id": "m1"}]}
    _put(home / ".pi/agent/models.json", json.dumps({"providers": {"fake": provider}}))
    return Start(["pi", "-p", "--provider", "fake", "--model", "m1", PROMPT], {"PI_OFFLINE": "1"})


def _start_goose(home: Path, address: str) -> Start:
    _put(home / ".config/goose/config.yaml", f"OPENAI_HOST: {address.removesuffix('/v1')}\n")
    environ = {"OPENAI_API_KEY": KEY, "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "m1", "GOOSE_MODE": "auto"}
    return Start(["goose", "run", "-t", PROMPT], {**environ, "GOOSE_DISABLE_KEYRING": "1"})


def _start_copilot(home: Path, address: str) -> Start:
    environ = {"COPILOT_PROVIDER_BASE_URL": address, "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_MODEL": "m1"}
    return Start(["copilot", "-p", PROMPT, "--allow-all-tools"], {**environ, "COPILOT_OFFLINE": "true"})


def _start_mini(home: Path, address: str) -> Start:
    _put(home / ".config/mini-swe-agent/.env", f"MSWEA_CONFIGURED=true\nOPENAI_API_BASE='{address}'\n")
    options = ["-y", "-t", PROMPT, "-m", "openai/m1", "--exit-immediately", "-l", "0"]
    return Start(["mini", *options], {"OPENAI_API_KEY": KEY, "MSWEA_COST_TRACKING": "ignore_errors", **_LITELLM})


def _start_openhands(home: Path, address: str) -> Start:
    environ = {"LLM_API_KEY": KEY, "LLM_MODEL": "openai/m1", "LLM_BASE_URL": address}
    return Start(["openhands", "--headless", "--override-with-envs", "-t", PROMPT], {**environ, **_LITELLM})


def _start_cn(home: Path, address: str) -> Start:
    model = {"name": "m1", "provider": "openai", "model": "m1", "apiKey": KEY, "apiBase": address, "roles": ["chat"]}
    settings = {"name": "a", "version": "1.0.0", "schema": "v1", "models": [{**model, "capabilities": ["tool_use"]}]}
    path = _put(home / ".continue/config.yaml", json.dumps(settings))
    return Start(["cn", "-p", "--auto", "--config", path, PROMPT], {"CONTINUE_TELEMETRY_ENABLED": "0"})


def _start_cline(home: Path, address: str) -> Start:
    settings = {"provider": "openai-compatible", "apiKey": KEY, "model": "m1", "baseUrl": address}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    known = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
    text = json.dumps({**known, "providers": {"openai-compatible": entry}})
    _put(home / ".cline/data/settings/providers.json", text)
    # Without this it starts a process that goes on after the run.
    return Start(["cline", "--json", PROMPT], {"CLINE_SESSION_BACKEND_MODE": "local"})


def _start_kimi(home: Path, address: str) -> Start:
    provider = f'[providers.fake]\ntype = "openai"\nbase_url = "{address}"\napi_key = "{KEY}"\n'
    model = '[models.m1]\nprovider = "fake"\nmodel = "m1"\nmax_context_size = 200000\ncapabilities = ["tool_use"]\n'
    _put(home / ".kimi-code/config.toml", f'default_model = "m1"\n{provider}{model}')
    return Start(["kimi", "-p", PROMPT], {"KIMI_DISABLE_TELEMETRY": "1", "KIMI_CODE_NO_AUTO_UPDATE": "1"})


_AI_SDK = """
import { execSync } from "node:child_process";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
const provider = createOpenAICompatible({ name: "fake", baseURL: process.env.ADDRESS, apiKey: process.env.KEY });
const inputSchema = jsonSchema({ type: "object", properties: { command: { type: "string" } } });
const execute = async ({ command }) => execSync(command).toString();
const bash = tool({ description: "run a command", inputSchema, execute });
const settings = { model: provider("m1"), prompt: "look around", tools: { bash }, stopWhen: stepCountIs(9) };
const answer = await generateText(settings);
console.log(answer.text);
"""
_LITELLM_LOOP = """
import json, os, subprocess, litellm
parameters = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "bash", "description": "run a command", "parameters": parameters}}]
messages = [{"role": "user", "content": "look around"}]
while True:
    given = {"model": "openai/m1", "api_base": os.environ["ADDRESS"], "api_key": os.environ["KEY"]}
    said = litellm.completion(messages=messages, tools=tools, **given).choices[0].message
    messages.append(said.model_dump())
    for call in said.tool_calls or []:
        command = json.loads(call.function.arguments)["command"]
        text = subprocess.run(command, shell=True, capture_output=True, text=True).stdout
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    if not said.tool_calls:
        print(said.content)
        break
"""
_LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def _start_ai_sdk(home: Path, address: str) -> Start:
    """A program beside the packages that it uses, which is where Node looks for them."""
    folders = [Path(folder).parent for folder in os.environ["PATH"].split(os.pathsep) if folder.endswith("/.bin")]
    packages = next((folder for folder in folders if (folder / "ai").is_dir()), None)
    if packages is None:
        pytest.skip("the AI SDK is not installed; `make clients` installs it")
    (home / "node_modules").symlink_to(packages)
    return Start(["node", _put(home / "loop.mjs", _AI_SDK)], {"ADDRESS": address, "KEY": KEY})


def _start_litellm(home: Path, address: str) -> Start:
    """A program for the Python that LiteLLM is installed for."""
    command = shutil.which("litellm")
    if command is None:
        pytest.skip("LiteLLM is not installed; `make clients` installs it")
    python = Path(command).resolve().with_name("python")
    return Start([str(python), _put(home / "loop.py", _LITELLM_LOOP)], {"ADDRESS": address, "KEY": KEY, **_LITELLM})


WRAPPED = {
    "copilot": Agent(_start_copilot, cuts=True),
    "goose": Agent(_start_goose),
    "mini": Agent(_start_mini, cuts=True),
    "openhands": Agent(_start_openhands),
    "pi": Agent(_start_pi),
    "qwen": Agent(_start_qwen),
}
"""The agents that `keepwhole wrap NAME` points at its proxy for one run."""
POINTED = {
    "ai-sdk": Agent(_start_ai_sdk),
    "cline": Agent(_start_cline, cuts=True),
    "cn": Agent(_start_cn),
    "kimi": Agent(_start_kimi),
    "litellm": Agent(_start_litellm),
}
"""Those that are pointed at a proxy by their own settings or by their program."""
