"""How each client is started so that it uses the proxy, and where its requests go from there."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from keepwhole.apps.wrap.clients import client_for
from keepwhole.apps.wrap.launch import ClientCommand, prepared
from keepwhole.apps.wrap.run import settings_for
from keepwhole.config import Settings
from keepwhole.errors import UsageError
from tests.apps.cli.cli import Cli

BASE = "http://127.0.0.1:1/kw-t"
RESULTS = "/home/u/.keepwhole/results"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(home: Path, *argv: str, **environ: str) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """The command, its environment, and the providers behind the proxy."""
    command = ClientCommand(argv, {"HOME": str(home), "PATH": os.environ["PATH"], **environ}, RESULTS)
    launch = client_for(argv[0]).launch(command)
    with prepared(launch, command, BASE) as (words, variables):
        return words, variables, dict(launch.upstreams)


def script(home: Path, name: str, text: str) -> str:
    """A program that prints a text."""
    path = home / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_claude_code_may_read_back_and_keeps_its_own_words(home: Path) -> None:
    argv, environ, upstreams = started(home, "claude", "-p", "hi")
    assert argv == ["claude", f"--allowedTools=Read(/{RESULTS}/**)", "-p", "hi"]
    assert environ["ANTHROPIC_BASE_URL"] == BASE
    assert "OPENAI_BASE_URL" not in environ
    assert upstreams == {}


def test_an_address_in_the_settings_of_claude_code_counts_and_the_nearest_most(home: Path) -> None:
    for folder, address in ((".claude/settings.json", "https://one.example"), (".claude/settings.local.json", "")):
        (home / ".claude").mkdir(exist_ok=True)
        (home / folder).write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": address}}))
    argv, environ, upstreams = started(home, "claude")
    assert upstreams == {"anthropic": "https://one.example"}
    assert "ANTHROPIC_BASE_URL" not in environ
    given = json.loads(argv[2].removeprefix("--settings="))
    assert given == {"env": {"ANTHROPIC_BASE_URL": f"{BASE}/anthropic"}}


USERS_OWN = '{"env": {"ANTHROPIC_BASE_URL": "https://one.example"}}'


def put_settings(home: Path, text: str = USERS_OWN) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(text)


@pytest.mark.parametrize(
    "spelled", [["--settings", '{"model": "m", "env": {"A": "b"}}'], ['--settings={"model": "m"}']]
)
def test_inline_settings_of_the_user_are_merged_with_the_address(home: Path, spelled: list[str]) -> None:
    put_settings(home)
    argv, environ, upstreams = started(home, "claude", "-p", *spelled, "hi")
    assert argv[:3] == ["claude", f"--allowedTools=Read(/{RESULTS}/**)", "-p"]
    assert argv[4:] == ["hi"]
    given = json.loads(argv[3].removeprefix("--settings="))
    own = json.loads(spelled[-1].removeprefix("--settings="))
    assert given == {**own, "env": {**own.get("env", {}), "ANTHROPIC_BASE_URL": f"{BASE}/anthropic"}}
    assert "ANTHROPIC_BASE_URL" not in environ
    assert upstreams == {"anthropic": "https://one.example"}


def test_an_address_in_the_users_own_settings_option_is_the_one_in_effect(home: Path) -> None:
    put_settings(home)
    mine = '{"env": {"ANTHROPIC_BASE_URL": "https://two.example"}}'
    assert started(home, "claude", "--settings", mine)[2] == {"anthropic": "https://two.example"}
    assert started(home, "claude", "--settings", "{}", "--settings", mine)[2] == {"anthropic": "https://two.example"}
    assert started(home, "claude", "--", "--settings", mine)[2] == {"anthropic": "https://one.example"}


def test_a_settings_file_of_the_user_is_merged_into_a_file_for_this_run_alone(home: Path) -> None:
    put_settings(home)
    rules = ["Read(/secrets/**)", "Edit(//etc/**)", "Read(~/x)", "Bash(/bin/rm *)", "Bash"]
    mine = home / "conf" / "mine.json"
    mine.parent.mkdir()
    mine.write_text(json.dumps({"env": {"KEY": "secret"}, "permissions": {"deny": rules, "defaultMode": "plan"}}))
    before = mine.read_bytes()
    command = ClientCommand(["claude", "--settings", "conf/mine.json"], {"HOME": str(home)}, RESULTS)
    with prepared(client_for("claude").launch(command), command, BASE) as (argv, _):
        assert "secret" not in " ".join(argv), "every user of the machine sees the arguments of a process"
        path = Path(argv[2].removeprefix("--settings="))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        given = json.loads(path.read_text())
        assert path != mine
    assert not path.parent.exists()
    assert given["env"] == {"KEY": "secret", "ANTHROPIC_BASE_URL": f"{BASE}/anthropic"}
    absolute = [f"Read(/{mine.parent}/secrets/**)", *rules[1:]]
    assert given["permissions"] == {"deny": absolute, "defaultMode": "plan"}, (
        "rules are relative to the file they are in"
    )
    assert mine.read_bytes() == before


@pytest.mark.parametrize("mine", ["gone.json", "{no json", "[]", "{no json}"])
def test_settings_of_the_user_that_cannot_be_read_stay_as_they_are(home: Path, mine: str) -> None:
    put_settings(home)
    argv, environ, _ = started(home, "claude", "--settings", mine)
    assert argv[2:] == ["--settings", mine]
    assert environ["ANTHROPIC_BASE_URL"] == BASE


def test_settings_of_the_user_stay_as_they_are_where_no_settings_name_an_address(home: Path) -> None:
    argv, environ, upstreams = started(home, "claude", "--settings", '{"model": "m"}')
    assert argv[2:] == ["--settings", '{"model": "m"}']
    assert environ["ANTHROPIC_BASE_URL"] == BASE
    assert upstreams == {}


def test_settings_that_cannot_be_read_are_as_none(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{no json")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("no toml [")
    assert started(home, "claude")[2] == {}
    argv, _, upstreams = started(home, "codex", CODEX_API_KEY="k")
    assert argv == ["codex", "-c", f'openai_base_url="{BASE}/v1"']
    assert upstreams == {}


def test_every_provider_of_codex_is_reached_by_its_name(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        'model_provider = "mine"\n[model_providers.mine]\nbase_url = "https://mine.example/v1/"\n'
        '[model_providers.azure]\nbase_url = "https://key:secret@azure.example"\n'
        '[model_providers.v1]\nbase_url = "https://odd.example"\n'
    )
    argv, _, upstreams = started(home, "codex", "exec", "hi")
    assert upstreams == {"mine": "https://mine.example/v1"}
    assert argv == [
        *("codex", "-c", f'model_providers.mine.base_url="{BASE}/mine"'),
        *("-c", f'openai_base_url="{BASE}/v1"', "exec", "hi"),
    ]


def test_a_subscription_of_codex_has_an_address_of_its_own(home: Path) -> None:
    codex = script(home, "codex", "Logged in using ChatGPT")
    argv, _, upstreams = started(home, codex)
    assert upstreams == {"openai": "https://chatgpt.com/backend-api/codex"}
    assert argv[1:] == ["-c", f'openai_base_url="{BASE}/openai"']
    assert started(home, codex, CODEX_API_KEY="k")[2] == {}
    assert started(home, script(home, "codex", "Logged in using an API key"))[2] == {}


def test_the_providers_and_permissions_of_opencode_are_kept(home: Path) -> None:
    provider = {"mine": {"options": {"baseURL": "https://mine.example/v1"}}, "plain": {"options": {}}}
    settings = {"provider": provider, "permission": {"bash": "deny", "external_directory": "ask"}}
    opencode = script(home, "opencode", json.dumps(settings))
    _, environ, upstreams = started(home, opencode, OPENCODE_CONFIG_CONTENT='{"theme": "dark"}')
    assert upstreams == {"mine": "https://mine.example/v1"}
    assert json.loads(environ["OPENCODE_CONFIG_CONTENT"]) == {
        "theme": "dark",
        "provider": {"mine": {"options": {"baseURL": f"{BASE}/mine"}}},
        "permission": {"external_directory": {"*": "ask", f"{RESULTS}/**": "allow"}},
    }
    assert environ["ANTHROPIC_BASE_URL"] == environ["OPENAI_BASE_URL"] == f"{BASE}/v1"


def test_an_opencode_that_says_nothing_of_its_settings_is_pointed_all_the_same(home: Path) -> None:
    _, environ, upstreams = started(home, script(home, "opencode", "no JSON"))
    assert upstreams == {}
    assert environ["OPENAI_BASE_URL"] == f"{BASE}/v1"


def put(home: Path, path: str, text: str) -> None:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text)


def test_goose_finds_hosts_in_variables_that_override_its_settings(home: Path) -> None:
    _, environ, upstreams = started(home, "goose", "run")
    assert (environ["OPENAI_HOST"], environ["ANTHROPIC_HOST"]) == (BASE, BASE)
    assert upstreams == {}
    put(home, ".config/goose/config.yaml", "OPENAI_HOST: https://one.example\nextensions: {a: {}}\n")
    _, environ, upstreams = started(home, "goose", "run", ANTHROPIC_HOST="https://two.example")
    assert upstreams == {"openai": "https://one.example", "anthropic": "https://two.example"}
    assert (environ["OPENAI_HOST"], environ["ANTHROPIC_HOST"]) == (f"{BASE}/openai", f"{BASE}/anthropic")
    put(home, ".config/goose/config.yaml", "\t: [broken")
    assert started(home, "goose", "run")[2] == {}


@pytest.mark.parametrize("name", ["mini", "mini-swe-agent"])
def test_the_file_of_variables_of_mini_swe_agent_counts_where_the_environment_says_nothing(
    home: Path, name: str
) -> None:
    put(home, ".config/mini-swe-agent/.env", "# addresses\nexport OPENAI_API_BASE='https://one.example/v1'\nNONE\n")
    _, environ, upstreams = started(home, name)
    assert upstreams == {"openai": "https://one.example/v1"}
    assert environ["OPENAI_API_BASE"] == environ["OPENAI_BASE_URL"] == f"{BASE}/openai"
    assert environ["ANTHROPIC_API_BASE"] == BASE
    assert started(home, name, OPENAI_API_BASE="https://two.example")[2] == {"openai": "https://two.example"}


def test_copilot_with_a_provider_of_the_users_own_reaches_it_by_the_proxy(home: Path) -> None:
    _, environ, upstreams = started(home, "copilot", COPILOT_PROVIDER_BASE_URL="https://one.example/v1")
    assert upstreams == {"copilot": "https://one.example/v1"}
    assert environ["COPILOT_PROVIDER_BASE_URL"] == f"{BASE}/copilot"
    with pytest.raises(UsageError, match="COPILOT_PROVIDER_BASE_URL"):
        started(home, "copilot")


def test_an_address_in_the_settings_of_openhands_is_overridden_and_nothing_else(home: Path) -> None:
    argv, environ, upstreams = started(home, "openhands", "-t", "hi")
    assert argv == ["openhands", "-t", "hi"]
    assert environ["OPENAI_API_BASE"] == f"{BASE}/v1"
    assert "LLM_BASE_URL" not in environ
    assert upstreams == {}
    put(home, ".openhands/agent_settings.json", '{"llm": {"base_url": "https://one.example", "model": "m"}}')
    argv, environ, upstreams = started(home, "openhands", "-t", "hi", LLM_API_KEY="ignored so far")
    assert argv == ["openhands", "--override-with-envs", "-t", "hi"]
    assert (environ["LLM_BASE_URL"], environ["LLM_API_KEY"], environ["LLM_MODEL"]) == (f"{BASE}/openhands", "", "")
    assert upstreams == {"openhands": "https://one.example"}
    given = {"LLM_API_KEY": "mine", "LLM_BASE_URL": "https://two.example"}
    argv, environ, upstreams = started(home, "openhands", "--override-with-envs", **given)
    assert argv == ["openhands", "--override-with-envs"]
    assert (environ["LLM_BASE_URL"], environ["LLM_API_KEY"]) == (f"{BASE}/openhands", "mine")
    assert upstreams == {"openhands": "https://two.example"}


def test_every_provider_of_pi_gets_its_address_from_an_extension_for_this_run(home: Path) -> None:
    models = {
        "providers": {"fake": {"baseUrl": "https://one.example/v1", "apiKey": "k"}, "v1": {"baseUrl": "https://b"}}
    }
    put(home, ".pi/agent/models.json", json.dumps(models))
    command = ClientCommand(["pi", "-p", "hi"], {"HOME": str(home)}, RESULTS)
    launch = client_for("pi").launch(command)
    with prepared(launch, command, BASE) as (argv, _):
        assert [argv[1], *argv[3:]] == ["--extension", "-p", "hi"]
        path = Path(argv[2])
        text = path.read_text()
        assert path.name == "keepwhole.js"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()
    for name, address in {"fake": f"{BASE}/fake", "anthropic": BASE, "openai": f"{BASE}/v1"}.items():
        assert f'pi.registerProvider("{name}", {{ baseUrl: "{address}" }});' in text
    assert '"v1"' not in text
    assert launch.upstreams == {"fake": "https://one.example/v1"}


def test_the_addresses_of_models_in_the_settings_of_qwen_code_are_overridden_in_a_file_for_this_run(home: Path) -> None:
    entry = {"id": "m1", "baseUrl": "https://one.example/v1", "envKey": "KEY"}
    providers = {"openai": [{"id": "m0"}, entry], "other": "broken"}
    auth = {"baseUrl": "https://two.example/v1"}
    put(home, ".qwen/settings.json", json.dumps({"modelProviders": providers, "security": {"auth": auth}}))
    command = ClientCommand(["qwen"], {"HOME": str(home)}, RESULTS)
    launch = client_for("qwen").launch(command)
    with prepared(launch, command, BASE) as (argv, environ):
        settings = json.loads(Path(environ["QWEN_CODE_SYSTEM_SETTINGS_PATH"]).read_text())
    assert argv == ["qwen"]
    assert settings["modelProviders"]["openai"] == [{"id": "m0"}, {**entry, "baseUrl": f"{BASE}/qwen-openai-1"}]
    assert environ["OPENAI_BASE_URL"] == f"{BASE}/openai"
    assert launch.upstreams == {"qwen-openai-1": "https://one.example/v1", "openai": "https://two.example/v1"}
    _, environ, upstreams = started(home, "qwen", QWEN_CODE_SYSTEM_SETTINGS_PATH="/etc/mine.json")
    assert environ["QWEN_CODE_SYSTEM_SETTINGS_PATH"] == "/etc/mine.json"
    assert upstreams == {"openai": "https://two.example/v1"}


def test_any_other_command_finds_the_usual_variables(home: Path) -> None:
    argv, environ, upstreams = started(home, "my-agent", "--fast", OPENAI_API_BASE="https://gate.example/api")
    assert argv == ["my-agent", "--fast"]
    assert upstreams == {"openai": "https://gate.example/api"}
    assert environ["OPENAI_BASE_URL"] == environ["OPENAI_API_BASE"] == f"{BASE}/openai"
    assert environ["ANTHROPIC_BASE_URL"] == BASE
    assert started(home, "aider")[1]["ANTHROPIC_API_BASE"] == BASE


def test_the_way_to_this_machine_stays_direct(home: Path) -> None:
    _, environ, _ = started(home, "my-agent", no_proxy="localhost,.corp", HTTPS_PROXY="http://proxy.corp:3128")
    assert environ["no_proxy"] == "localhost,.corp,127.0.0.1"
    assert environ["NO_PROXY"] == "127.0.0.1,localhost"
    assert environ["HTTPS_PROXY"] == "http://proxy.corp:3128"


def test_a_setting_of_how_to_read_back_is_respected(home: Path) -> None:
    claude = client_for("/usr/bin/claude")
    launch = claude.launch(ClientCommand(["claude"], {"HOME": str(home)}, RESULTS))
    plain = settings_for(claude, Settings(home="/r"), launch)
    assert (plain.recall, plain.recall_reader, plain.proxy.tenants) == ("path", "Read", "one")
    own = settings_for(claude, Settings(home="/r", recall="tools", sources={"recall": "keepwhole.yaml"}), launch)
    assert own.recall == "tools"
    assert settings_for(client_for("codex"), Settings(home="/r"), launch).recall_reader == "sed"


TOY = """
from keepwhole.apps.wrap.launch import BASE, Client, Launch

def launch(command):
    return Launch(environ={"TOY_URL": BASE + "/v1"}, words=["--results", command.results])

CLIENT = Client("toy", launch, recall="path", reader="read_file")
"""


def install(folder: Path, entry: str) -> None:
    """Install a package that offers a client: a module and the metadata of its distribution."""
    (folder / "toy_client.py").write_text(TOY)
    about = folder / "toy_client-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-client\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[keepwhole.clients]\ntoy-client = {entry}\n")


def wrapped_toy(tmp_path: Path, entry: str) -> tuple[Cli, "subprocess.CompletedProcess[bytes]"]:
    """`keepwhole wrap toy-client`, with a package that offers the client and a command that prints its arguments."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, entry)
    command = tmp_path / "toy-client"
    command.write_text('#!/bin/sh\necho "$TOY_URL $@"\n')
    command.chmod(0o755)
    cli = Cli(tmp_path)
    cli.environ["PATH"] = f"{tmp_path}:{cli.environ['PATH']}"
    cli.environ["PYTHONPATH"] = f"{site}:{cli.environ.get('PYTHONPATH', '')}"
    return cli, cli("wrap", "toy-client", "go")


def test_a_client_of_another_package_is_found_by_its_entry_point(tmp_path: Path) -> None:
    cli, done = wrapped_toy(tmp_path, "toy_client:CLIENT")
    url, *words = done.stdout.decode().split()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/kw-[\w-]+/v1", url), done.stderr
    assert words == ["--results", f"{cli.folder}/home/results", "go"]
    assert done.returncode == 0


@pytest.mark.parametrize(("entry", "says"), [("toy_client:launch", b"must name a"), ("toy_client:GONE", b"toy-client")])
def test_a_package_that_offers_something_else_is_named(tmp_path: Path, entry: str, says: bytes) -> None:
    _, done = wrapped_toy(tmp_path, entry)
    assert done.returncode == 2
    assert says in done.stderr
    assert b"uninstall" in done.stderr


def test_an_address_in_the_settings_of_codex_goes_on_behind_the_proxy(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('openai_base_url = "https://one.example/v1"\n')
    argv, _, upstreams = started(home, "codex")
    assert upstreams["openai"] == "https://one.example/v1"
    assert f'openai_base_url="{BASE}/openai"' in argv


@pytest.mark.parametrize(
    ("says", "environ", "address"),
    [
        ("Logged in using ChatGPT", {}, "openai"),
        ("Logged in using an API key", {}, "v1"),
        ("Logged in using ChatGPT", {"CODEX_API_KEY": "x"}, "v1"),
    ],
)
def test_codex_with_a_subscription_has_another_address(
    home: Path, says: str, environ: dict[str, str], address: str
) -> None:
    program = script(home, "codex", says)
    argv, _, _ = started(home, program, **environ)
    assert f'openai_base_url="{BASE}/{address}"' in argv


def test_codex_that_cannot_be_asked_has_no_subscription(home: Path) -> None:
    argv, _, _ = started(home, str(home / "gone" / "codex"))
    assert f'openai_base_url="{BASE}/v1"' in argv


def test_addresses_of_opencode_in_a_folder_are_those_that_the_home_folder_has_not(home: Path) -> None:
    def settings(**addresses: str) -> str:
        return json.dumps({"provider": {name: {"options": {"baseURL": url}} for name, url in addresses.items()}})

    own, added = settings(one="https://one.example"), settings(one="https://one.example", two="https://two.example")
    (home / "work").mkdir()
    program = home / "opencode"
    program.write_text(f"#!/bin/sh\ncase $PWD in */work) echo '{added}' ;; *) echo '{own}' ;; esac\n")
    program.chmod(0o755)
    command = ClientCommand([str(program)], {"HOME": str(home), "PATH": os.environ["PATH"]}, RESULTS)
    find = client_for("opencode").folder_addresses
    assert find is not None
    assert find(command, str(home / "work")) == [(str(home / "work"), {"two": "https://two.example"})]
    assert find(command, str(home)) == []
    assert find(command._replace(environ={"HOME": str(home / "gone")}), str(home / "work")) == []


def test_gemini_cli_asks_both_of_its_services_by_the_proxy(home: Path) -> None:
    _, environ, upstreams = started(home, "gemini", GOOGLE_GEMINI_BASE_URL="https://g.example/")
    assert upstreams == {"gemini": "https://g.example"}
    assert environ["GOOGLE_GEMINI_BASE_URL"] == f"{BASE}/gemini"
    assert environ["GOOGLE_VERTEX_BASE_URL"] == f"{BASE}/vertex"
    assert started(home, "gemini")[2] == {}


def test_own_settings_of_opencode_that_are_no_json_are_replaced(home: Path) -> None:
    opencode = script(home, "opencode", json.dumps({"permission": "ask"}))
    _, environ, _ = started(home, opencode, OPENCODE_CONFIG_CONTENT="{broken")
    assert json.loads(environ["OPENCODE_CONFIG_CONTENT"]) == {
        "provider": {},
        "permission": {"*": "ask", "external_directory": {"*": "ask", f"{RESULTS}/**": "allow"}},
    }


def test_a_qwen_code_without_models_of_its_own_needs_no_file(home: Path) -> None:
    put(home, ".qwen/settings.json", json.dumps({"modelProviders": {"openai": [{"id": "m0"}]}}))
    _, environ, upstreams = started(home, "qwen", OPENAI_BASE_URL="https://one.example/v1")
    assert "QWEN_CODE_SYSTEM_SETTINGS_PATH" not in environ
    assert upstreams == {"openai": "https://one.example/v1"}
