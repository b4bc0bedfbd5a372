"""What tool declarations take of every request, and which tools were never called, as people see it."""

import json
from collections.abc import Sequence

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.apps.declared_tools import ServerTools, add_up
from keepwhole.apps.window_contents import parts_of_request
from keepwhole.exchange.request_log import RequestFacts, RequestLog
from keepwhole.recall.names import GET_ARTIFACT
from tests.apps.cli.cli import Cli

WORDS = "It does a good many things that take a while to tell. " * 4


def _body(tools: Sequence[str]) -> bytes:
    declared = [{"name": name, "description": WORDS, "input_schema": {"type": "object"}} for name in tools]
    said = [{"role": "user", "content": "hi"}]
    return json.dumps({"model": "claude-sonnet-5", "tools": declared, "messages": said}).encode()


def _record(cli: Cli, name: str, tools: Sequence[str], called: Sequence[str]) -> None:
    store = SqliteStore(str(cli.folder / "home"))
    session = Session(name, store=store, workspace=str(cli.folder))
    for tool in called:
        session.keep(tool, {}, "done")
    log = RequestLog(session)
    log.add(_body(tools), RequestFacts("anthropic", "claude-sonnet-5", mode="on", tokens_whole=50, tokens_sent=50))
    log.add(_body(()), RequestFacts("anthropic", "claude-sonnet-5", mode="on", tokens_whole=5, tokens_sent=5))
    store.close()


OWN, GIT = ("Bash", "Read"), ("mcp__git__log", "mcp__git__diff", "mcp__git__blame")


@pytest.fixture
def recorded(cli: Cli) -> Cli:
    _record(cli, "one", (*OWN, *GIT, GET_ARTIFACT), ["Bash", "mcp__git__log"])
    return cli


def test_status_says_what_declarations_take_by_server_and_what_was_never_called(recorded: Cli) -> None:
    declared = {one["server"]: one for one in recorded.json("status", "--session", "one")["declarations"]}
    assert set(declared) == {"", "git", "keepwhole"}
    assert declared[""]["never_called"] == ["Read"]
    assert declared["git"]["never_called"] == ["mcp__git__diff", "mcp__git__blame"]
    assert declared["keepwhole"]["never_called"] == [], "recall is answered on the way"
    assert declared["git"]["tokens"] * 2 == pytest.approx(declared[""]["tokens"] * 3, rel=0.1)
    said = recorded.said("status", "--session", "one")
    total = sum(one["tokens"] for one in declared.values())
    assert f"Tool declarations: ≈ {total:,} tokens in every request" in said
    assert any(line.split()[:2] == ["git", "3"] and line.endswith("diff, blame") for line in said.splitlines())


def test_the_report_adds_up_all_sessions(recorded: Cli) -> None:
    _record(recorded, "two", GIT, ["mcp__git__diff"])
    (git,) = [one for one in recorded.json("report", "--tools")["servers"] if one["server"] == "git"]
    assert (git["sessions"], len(git["tools"]), git["never_called"]) == (2, 3, ["mcp__git__blame"])
    table = recorded.said("report", "--tools")
    assert any(line.split()[:3] == ["git", "2", "3"] for line in table.splitlines())
    assert "the client's own" in table


def test_a_record_without_declarations_says_so(cli: Cli) -> None:
    _record(cli, "bare", (), ["Bash"])
    assert "declarations" not in cli.said("status", "--session", "bare")
    assert "No recorded request declares a tool." in cli.said("report", "--tools")
    assert cli.json("report", "--tools") == {"servers": []}


def test_a_tool_that_one_session_called_was_called() -> None:
    first, second = ServerTools("s", ("a", "b"), 10, ("a", "b")), ServerTools("s", ("b", "c"), 20, ("c",))
    assert add_up([[first], [second]]) == [(ServerTools("s", ("a", "b", "c"), 15, ("a", "c")), 2)]


def test_the_window_shows_the_declarations_of_each_server() -> None:
    parts = {part.label: part.tokens for part in parts_of_request(_body((*OWN, *GIT)))}
    assert parts["Tool definitions: git"] > parts["Tool definitions"] > 0
