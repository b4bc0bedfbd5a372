"""The real command lines, each in a home and a folder of its own; skipped where one is not installed."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

PATIENCE_SECONDS = 240
"""How long one run may take; most take two to six seconds on a quiet machine."""


class Start(NamedTuple):
    """How a client is started."""

    command: list[str]
    environ: dict[str, str]

    def run(
        self, home: Path, before: Sequence[str] = (), timeout: float = PATIENCE_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run it in a folder and a home of its own, behind another command if one is given; skipped where it is not
        installed."""
        path = self.environ.get("PATH", os.environ["PATH"])
        skip_unless_installed(self.command[0], path)
        work = home / "work"
        work.mkdir(exist_ok=True)
        given = {"PATH": path, "HOME": str(home), "TERM": "dumb", **self.environ}
        done = subprocess.run(
            [*before, *self.command],
            cwd=work,
            env=given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
        return done


def skip_unless_installed(command: str, path: str | None = None) -> None:
    """Skip a test of a client that is not there, before anything is prepared for it."""
    if shutil.which(command, path=path) is None:
        pytest.skip(f"`{command}` is not installed; `make clients` installs it")


def versions() -> dict[str, str]:
    """The versions of the clients that are installed."""
    found: dict[str, str] = {}
    for name in ("claude", "codex", "opencode"):
        if shutil.which(name) is not None:
            told = subprocess.run([name, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
            found[name] = next((word for word in told.split() if word[0].isdigit()), "of unknown version")
    return found


def drive(home: Path, command: list[str], **environ: str) -> str:
    """Any client; gives what it printed."""
    return Start(command, environ).run(home).stdout


def claude(home: Path, port: int, prompt: str, *more: str, tools: str = "Bash,Agent", **environ: str) -> str:
    """Claude Code; gives the id of its session."""
    return json.loads(start_claude(port, prompt, *more, tools=tools, **environ).run(home).stdout)["session_id"]


def start_claude(
    port: int, prompt: str, *more: str, tools: str = "Bash,Agent", base: str = "", **environ: str
) -> Start:
    """Claude Code, with a model on loopback, behind a path where one is given."""
    environ |= {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}{base}",
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    options = ["--output-format", "json", "--model", "claude-sonnet-4-5", "--tools", tools]
    allowed = ["--allowedTools", tools.replace(",", " ")]
    return Start(["claude", "-p", prompt, *more, *options, *allowed], environ)


def codex(home: Path, port: int, prompt: str, *more: str, **environ: str) -> str:
    """Codex; gives what it printed."""
    return start_codex(home, port, prompt, *more, **environ).run(home).stdout


def start_codex(home: Path, port: int, prompt: str, *more: str, base: str = "", **environ: str) -> Start:
    """Codex, with a model on loopback in its settings."""
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        'model = "gpt-5.5"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        "check_for_update_on_startup = false\n"
        f'[model_providers.fake]\nname = "fake"\nbase_url = "http://127.0.0.1:{port}{base}/v1"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        "[features]\nplugins = false\n[analytics]\nenabled = false\n"
        '[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n'  # else its screen begins with a question
    )
    environ["FAKE_KEY"] = "sk-fake"
    return Start(["codex", "exec", *more, "--skip-git-repo-check", "--json", prompt], environ)


def opencode(home: Path, port: int, *words: str, **environ: str) -> str:
    """opencode; gives what it printed."""
    return start_opencode(home, port, *words, **environ).run(home).stdout


def start_opencode(
    home: Path,
    port: int,
    *words: str,
    outside: str = "allow",
    base: str = "",
    window: int = 200_000,
    **environ: str,
) -> Start:
    """opencode, with a model on loopback in the user's own settings: a folder may not decide where keys go."""
    own = home / ".config/opencode"
    own.mkdir(parents=True, exist_ok=True)
    options = {"baseURL": f"http://127.0.0.1:{port}{base}/v1", "apiKey": "sk-fake"}
    models = {"m1": {"limit": {"context": window, "output": 8_000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    settings: dict[str, object] = {"$schema": "https://opencode.ai/config.json", "autoupdate": False}
    settings |= {"share": "disabled", "model": "fake/m1", "small_model": "fake/m1"}
    settings |= {"provider": {"fake": provider}, "permission": {"bash": "allow", "external_directory": outside}}
    (own / "opencode.json").write_text(json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    environ |= {f"OPENCODE_DISABLE_{name}": "1" for name in off}
    return Start(["opencode", *words], environ)
