"""How a client is started so that it uses the proxy: its environment, its arguments and its file for one run."""

import os
import stat
from typing import Any

import pytest

from keepwhole.apps.wrap.launch import Client, ClientCommand, Launch, by_environment, own_upstreams, prepared
from keepwhole.errors import ConfigError

BASE = "http://127.0.0.1:7/t"
DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def command(*argv: str, **environ: str) -> ClientCommand:
    return ClientCommand(argv or ("agent",), environ, "/results")


def test_placeholders_are_filled_in_what_is_added_and_nowhere_else() -> None:
    launch = Launch(environ={"URL": "{base}/v1", "FILE": "{file}"}, words=("--url={base}", "{file}"))
    argv, environ = launch.apply(command("agent", "say {base} {file}", PATH="{base}"), BASE, "/f")
    assert argv == ["agent", f"--url={BASE}", "/f", "say {base} {file}"]
    assert environ == {"PATH": "{base}", **DIRECT, "URL": f"{BASE}/v1", "FILE": "/f"}


def test_the_users_arguments_may_change_but_their_own_words_stay() -> None:
    launch = Launch(own=("{base}", "kept {base}", "new {base} {file}"))
    argv, _ = launch.apply(command("agent", "kept {base}", "gone"), BASE, "/f")
    assert argv == ["agent", BASE, "kept {base}", f"new {BASE} /f"]
    assert Launch(own=()).apply(command("agent", "gone"), BASE)[0] == ["agent"]


@pytest.mark.parametrize(
    ("given", "direct"),
    [
        ({}, "127.0.0.1,localhost"),
        ({"NO_PROXY": "example.com"}, "example.com,127.0.0.1,localhost"),
        ({"NO_PROXY": "localhost, ,a"}, "localhost,a,127.0.0.1"),
        ({"NO_PROXY": "127.0.0.1,localhost"}, "127.0.0.1,localhost"),
    ],
)
def test_requests_to_this_machine_stay_off_the_networks_proxy(given: dict[str, str], direct: str) -> None:
    _, environ = Launch().apply(command(**given), BASE)
    assert environ == {**DIRECT, "NO_PROXY": direct}
    _, environ = Launch(environ={"NO_PROXY": "mine"}).apply(command(**given), BASE)
    assert environ["NO_PROXY"] == "mine"


def test_a_file_is_there_for_the_run_alone_and_private() -> None:
    launch = Launch(environ={"FILE": "{file}"}, file="url: {base}, {file}", file_name="own.yaml")
    with prepared(launch, command(), BASE) as (_, environ):
        path = environ["FILE"]
        assert os.path.basename(path) == "own.yaml"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, encoding="utf-8") as file:
            assert file.read() == f"url: {BASE}, {{file}}"
    assert not os.path.exists(os.path.dirname(path))
    with prepared(Launch(words=("[{file}]",)), command(), BASE) as (argv, _):
        assert argv == ["agent", "[]"]
    with prepared(Launch(file=""), command(), BASE) as (argv, _):
        assert argv == ["agent"]


def test_variables_that_most_programs_read_are_set_to_the_proxy() -> None:
    launch = by_environment(command(PATH="/bin"))
    assert launch.upstreams == {}
    assert launch.environ == {
        **{"ANTHROPIC_BASE_URL": "{base}", "OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_BASE": "{base}/v1"},
    }


def test_what_the_variables_said_before_is_behind_the_proxy() -> None:
    given = {
        "ANTHROPIC_BASE_URL": "https://a.example/",
        "OPENAI_BASE_URL": "",
        "OPENAI_API_BASE": "https://o.example/v1",
    }
    launch = by_environment(command(**given))
    assert launch.upstreams == {"anthropic": "https://a.example", "openai": "https://o.example/v1"}
    assert launch.environ == {
        **{"ANTHROPIC_BASE_URL": "{base}/anthropic"},
        **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), "{base}/openai"),
    }
    both = {"OPENAI_BASE_URL": "https://first.example", "OPENAI_API_BASE": "https://second.example"}
    assert by_environment(command(**both)).upstreams == {"openai": "https://first.example"}
    with pytest.raises(ConfigError, match="upstream `openai`"):
        by_environment(command(OPENAI_BASE_URL="no address"))


def test_a_client_may_have_variables_and_a_path_of_its_own() -> None:
    launch = by_environment(command(MY_HOST="https://o.example"), openai=("MY_HOST",), anthropic=(), openai_path="/x")
    assert launch.environ == {"MY_HOST": "{base}/openai"}
    assert by_environment(command(), openai=("MY_HOST",), anthropic=(), openai_path="/x").environ == {
        "MY_HOST": "{base}/x"
    }


@pytest.mark.parametrize(
    ("name", "url", "is_served"),
    [
        ("azure", "https://a.example/", True),
        ("my.own-one_2", "http://127.0.0.1:8080/v1", True),
        ("2nd", "https://a.example", False),
        ("a/b", "https://a.example", False),
        ("", "https://a.example", False),
        ("v1", "https://a.example", False),
        ("healthz", "https://a.example", False),
        ("metrics", "https://a.example", False),
        ("azure", "a.example", False),
        ("azure", "https://user@a.example", False),
        ("azure", None, False),
    ],
)
def test_an_address_is_served_under_its_name_where_it_can_be(name: str, url: Any, is_served: bool) -> None:
    served = own_upstreams({name: url, "other": "https://b.example"})
    assert served == ({name: str(url).rstrip("/")} if is_served else {}) | {"other": "https://b.example"}


def test_the_folder_of_most_clients_names_no_addresses() -> None:
    client = Client("mine", lambda _: Launch())
    assert tuple(client.folder_addresses(command(), "/work")) == ()
    assert (client.recall, client.reader) == ("tools", "Read")
