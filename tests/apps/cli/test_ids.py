"""Every id that a command prints works with every command that takes one, however the session is named outside."""

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.cli.main import COMMANDS
from keepwhole.apps.cli.parser import module_of
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from tests.apps.cli.cli import Cli
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.apps.proxy.test_tenants import conversation
from tests.conversation.test_branch_states import step
from tests.upstream.server import upstream
from tests.upstream.spelling import Text

LONG = "".join(f"line {number} of a long output\n" for number in range(3_000))


@pytest.fixture
def ids(cli: Cli) -> dict[str, str]:
    """The ids of a session that an agent named `p1` when it asked the proxy, by what they are ids of."""
    store = SqliteStore(str(cli.folder / "home"))
    with upstream(lambda body: [Text("fine")]) as provider, proxy(provider.url, store=store) as served:
        for name in ("p1", "p10"):
            headers = {"authorization": "Bearer key", "x-keepwhole-session": name}
            body = conversation("openai_chat", LONG, call=f"call_{name}")
            assert ask(served.port, PATHS["openai_chat"], body, headers).status == 200
        served.rest()
    store.close()
    session = next(each["session"] for each in cli.json("sessions", "list") if each["session"].startswith("p1@"))
    artifact = cli.json("artifacts", "list", "--session", session)[0]
    sent = cli.json("sent", "--session", session)["requests"][0]["request"]["trace_id"]
    return {"session": session, "artifact": artifact["artifact_id"], "trace": artifact["trace_id"], "request": sent}


def commands() -> Iterator[tuple[list[str], argparse.Action, argparse.ArgumentParser]]:
    """Every command with an argument that is an id."""
    for name in COMMANDS:
        parser = argparse.ArgumentParser()
        import_module(module_of(name)).add(parser)
        yield from _with_id([name], parser)


def _with_id(words: list[str], parser: argparse.ArgumentParser) -> Iterator[Any]:
    action: Any
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.nargs == argparse.PARSER:
            for name, inner in cast("dict[str, argparse.ArgumentParser]", action.choices).items():
                yield from _with_id([*words, name], inner)
        elif not action.option_strings and ("ID" in str(action.metavar) or action.dest == "session"):
            yield words, action, parser


def ids_for(words: list[str], ids: dict[str, str]) -> list[str]:
    """What a command's id may be."""
    if words[0] == "sessions" or words[0] == "explain":
        return ["p1", ids["session"]]
    if words[0] == "sent":
        return [ids["request"]]
    return [ids["artifact"], ids["trace"], f"[Artifact: {ids['artifact']}]"]


FOUND = [(words, parser) for words, _, parser in commands()]
NAMES = [" ".join(words) for words, _ in FOUND]


def test_the_commands_are_found() -> None:
    assert {"artifacts show", "show", "trace show", "undo", "sent", "explain", "forget", "sessions show"} <= set(NAMES)


@pytest.mark.parametrize(("words", "parser"), FOUND, ids=NAMES)
def test_an_id_works_with_every_name_of_its_session(
    cli: Cli, ids: dict[str, str], words: list[str], parser: argparse.ArgumentParser
) -> None:
    options = [option for action in parser._actions for option in action.option_strings]  # pyright: ignore[reportPrivateUsage]
    if "--yes" in options:  # it removes what it is given, so once has to do
        more = ["--session", "p1"] if "--session" in options and words[0] != "sessions" else []
        done = cli(*words, ids_for(words, ids)[0], "--yes", *more)
        assert done.returncode == 0, done.stderr
        return
    for given in ids_for(words, ids):
        for name in ("p1", ids["session"]):
            more = ["--session", name] if "--session" in options else []
            done = cli(*words, given, *more)
            assert done.returncode == 0, (given, name, done.stderr)
            cli.environ["KEEPWHOLE_SESSION"] = name
            done = cli(*words, given)
            assert done.returncode == 0, (given, name, done.stderr)
            del cli.environ["KEEPWHOLE_SESSION"]


@pytest.mark.parametrize("command", ["artifacts show", "trace show"])
def test_a_part_that_is_not_there_fails_with_a_sentence(cli: Cli, ids: dict[str, str], command: str) -> None:
    done = cli(*command.split(), ids["artifact"], "--lines", "5000-6000")
    assert done.returncode == 3
    assert b"There is no line 5,000: the result has 3,000." in done.stderr
    done = cli(*command.split(), ids["artifact"], "--chars", "9000000-9000001")
    assert done.returncode == 3
    assert b"There is no character 9,000,000" in done.stderr


@pytest.mark.parametrize("command", ["artifacts show", "trace show"])
def test_a_page_names_the_command_that_shows_the_next(cli: Cli, ids: dict[str, str], command: str) -> None:
    shown = json.loads(cli(*command.split(), ids["artifact"], "--json").stdout)
    text = shown.get("content") or shown["output"]
    following = text.rpartition("next: ")[2].strip().removesuffix("]")
    assert following.startswith(f"keepwhole {command} {ids['artifact']} --lines ")
    assert cli(*following.split()[1:]).returncode == 0


def test_explain_says_what_the_shadow_would_show(cli: Cli) -> None:
    store = SqliteStore(str(cli.folder / "home"))
    with upstream(lambda body: [Text("fine")]) as provider, proxy(provider.url, store=store, mode="shadow") as served:
        body = conversation("openai_chat", LONG)
        headers = {"x-keepwhole-session": "quiet"}
        assert ask(served.port, PATHS["openai_chat"], body, headers).status == 200
        served.rest()
    store.close()
    told = cli.said("explain", "quiet")
    assert "would be" in told
    assert "work" in told
    assert "is shown in full" not in told
    (edit,) = cli.json("explain", "quiet")["would_be"]
    assert edit["tokens_after"] < edit["tokens_before"] / 2


def test_explain_says_what_the_shadow_would_have_aged(cli: Cli) -> None:
    eager = "start: 500, keep_steps: 1, max_loss: 1000, worth: 0, horizon: 1000, clear_at_least: 100, min_tokens: 50"
    (cli.folder / "keepwhole.yaml").write_text(f"auto: {{{eager}}}\n")
    store = SqliteStore(str(cli.folder / "home"))
    session = Session("quiet", store=store)
    log, messages = RequestLog(session), [{"role": "user", "content": "go"}]
    for number in range(5):
        messages = [*messages, *step(number)]
        body = json.dumps({"model": "gpt-5", "messages": messages}).encode()
        log.add(body, RequestFacts("openai_chat", "gpt-5", mode="shadow"), LoggedAnswer(b"{}", 200))
    store.close()
    would_be = cli.json("explain", "quiet")["would_be"]
    assert "aged" in {edit["rule"] for edit in would_be}


def test_an_id_works_in_a_fork_and_in_its_origin(cli: Cli, ids: dict[str, str]) -> None:
    store = SqliteStore(str(cli.folder / "home"))
    with upstream(lambda body: [Text("fine")]) as provider, proxy(provider.url, store=store) as served:
        headers = {"authorization": "Bearer key", "x-keepwhole-session": "copy"}
        body = conversation("openai_chat", LONG, call="call_p1")
        body["messages"] += [{"role": "assistant", "content": "fine"}, {"role": "user", "content": "go on"}]
        assert ask(served.port, PATHS["openai_chat"], body, headers).status == 200
        served.rest()
    store.close()
    fork = cli.json("sessions", "show", "copy")
    assert fork["fork_of"] == ids["session"]
    assert f"fork of {ids['session']}" in cli.said("sessions", "show", "copy")
    assert cli.json("sessions", "show", "p1")["fork_of"] is None
    for name in ("copy", fork["session"], "p1", ids["session"]):
        for given in (ids["artifact"], ids["trace"]):
            assert cli("show", given, "--session", name).returncode == 0
    assert cli("sessions", "purge", "p1", "--yes").returncode == 0
    assert cli("show", ids["artifact"]).returncode == 0
    assert cli("sessions", "verify", "--all").returncode == 0


@pytest.mark.parametrize("kind", ["artifact", "trace"])
def test_one_result_is_explained_by_its_id_wherever_it_is(cli: Cli, ids: dict[str, str], kind: str) -> None:
    session = Session("newer", store=SqliteStore(str(cli.folder / "home")))
    session.keep("bash", None, LONG)
    session.store.close()
    found = cli.json("explain", ids[kind])
    assert found["session"] == ids["session"]
    assert [each["artifact_id"] for each in found["edits"]] == [ids["artifact"]]
