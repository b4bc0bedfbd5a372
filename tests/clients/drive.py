"""The real command lines, each in a home and a folder of its own; skipped where one is not installed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest


def drive(home: Path, command: list[str], **environ: str) -> str:
    """Run a client in a folder and a home of its own; skipped where it is not installed."""
    path = environ.get("PATH", os.environ["PATH"])
    if shutil.which(command[0], path=path) is None:
        pytest.skip(f"`{command[0]}` is not installed; `make clients` installs it")
    work = home / "work"
    work.mkdir(exist_ok=True)
    given = {"PATH": path, "HOME": str(home), "TERM": "dumb", **environ}
    done = subprocess.run(
        command, cwd=work, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
    return done.stdout


def claude(home: Path, port: int, prompt: str, *more: str, tools: str = "Bash,Agent", **environ: str) -> str:
    """Claude Code; gives the id of its session."""
    environ |= {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    options = ["--output-format", "json", "--model", "claude-sonnet-4-5", "--tools", tools]
    allowed = ["--allowedTools", tools.replace(",", " ")]
    told = drive(home, ["claude", "-p", prompt, *more, *options, *allowed], **environ)
    return json.loads(told)["session_id"]


def codex(home: Path, port: int, prompt: str, *more: str, **environ: str) -> str:
    """Codex; gives what it printed."""
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        'model = "gpt-5.5"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        "check_for_update_on_startup = false\n"
        f'[model_providers.fake]\nname = "fake"\nbase_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n'
        'env_key = "FAKE_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        "[features]\nplugins = false\n[analytics]\nenabled = false\n"
    )
    environ["FAKE_KEY"] = "sk-fake"
    return drive(home, ["codex", "exec", *more, "--skip-git-repo-check", "--json", prompt], **environ)


def opencode(home: Path, port: int, *words: str, **environ: str) -> str:
    """opencode; gives what it printed."""
    work = home / "work"
    work.mkdir(exist_ok=True)
    options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "sk-fake"}
    models = {"m1": {"limit": {"context": 200_000, "output": 8_000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    settings = {"autoupdate": False, "share": "disabled", "model": "fake/m1", "small_model": "fake/m1"}
    settings |= {"provider": {"fake": provider}, "permission": {"bash": "allow", "external_directory": "allow"}}
    (work / "opencode.json").write_text(json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    environ |= {f"OPENCODE_DISABLE_{name}": "1" for name in off}
    return drive(home, ["opencode", *words], **environ)
