"""What the real command lines write is what importers read: each is driven on loopback, in a home of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwhole.logs.lines import UnreadPart
from keepwhole.logs.locations import find_log_locations
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run
from tests.clients.drive import claude, codex, drive, opencode
from tests.clients.upstream import AGENT, upstream

pytestmark = pytest.mark.clients
NUMBERS = "\n".join(map(str, range(1, 10_501)))
PROMPT = "look around"


@pytest.fixture
def port() -> Iterator[int]:
    with upstream() as port:
        yield port


def the_runs(home: Path, client: str) -> list[Run]:
    (place,) = find_log_locations(home, {}, home)
    assert place.client == client
    found = [one for log in place.files for one in read_runs(log)]
    assert [one for one in found if isinstance(one, UnreadPart)] == []
    return [one for one in found if isinstance(one, Run)]


def check(run: Run) -> None:
    """Three steps and an answer; each result is there once, after its call, and the long one is whole."""
    said = [message.said for message in run.messages if message.role == "user"]
    assert any(PROMPT in words for words in said)
    steps = [message for message in run.messages if message.role == "assistant"]
    assert [len(step.calls) for step in steps[:4]] == [1, 2, 1, 0]
    assert [step.said for step in steps[:4]] == ["Looking.", "Looking.", "Looking.", "All done."]
    results = {one.call_id: one.text for message in run.messages for one in message.returned}
    first, missing, second, long = (results[call.call_id] for step in steps for call in step.calls)
    assert "1\n2\n3\n4\n5\n6\n7\n8\n9" in first
    assert "No such file" in missing
    assert "second" in second
    assert "\n9999\n10000\n10001\n" in long
    assert sum(len(message.returned) for message in run.messages) == 4
    assert len(run.times) == len(run.messages)
    assert list(run.times) == sorted(run.times)
    assert PROMPT in run.task


def test_claude_code(tmp_path: Path, port: int) -> None:
    session = claude(tmp_path, port, PROMPT)
    (run,) = the_runs(tmp_path, "claude-code")
    check(run)
    assert run.id == session
    assert run.meta["restored_full_output"] == ["toolu_call_2_0"]
    assert run.messages[-2].returned[0].text.strip() == NUMBERS

    claude(tmp_path, port, "/compact", "--resume", run.id)
    (compacted,) = the_runs(tmp_path, "claude-code")
    assert compacted.messages[: len(run.messages)] == run.messages
    assert compacted.meta["compactions"] == 1
    assert any("continued from a previous conversation" in message.said for message in compacted.messages)


def test_a_sub_agent_of_claude_code_and_a_fork(tmp_path: Path) -> None:
    with upstream((("echo main",), (AGENT,))) as port:
        session = claude(tmp_path, port, PROMPT)
        main, side = sorted(the_runs(tmp_path, "claude-code"), key=lambda run: len(run.id))
        assert (main.id, side.meta["parent"]) == (session, session)
        assert [call.tool for message in main.messages for call in message.calls] == ["Bash", "Agent"]
        assert [call.tool for message in side.messages for call in message.calls] == ["Bash"]
        assert side.task == "look deeper"
        forked = claude(tmp_path, port, "and more", "--resume", session, "--fork-session")
    fork = next(run for run in the_runs(tmp_path, "claude-code") if run.id == forked)
    assert fork.messages[: len(main.messages)] == main.messages


def test_codex(tmp_path: Path, port: int) -> None:
    codex(tmp_path, port, PROMPT)
    (run,) = the_runs(tmp_path, "codex")
    check(run)
    assert run.messages[0].role == "system"
    assert run.task == PROMPT


def test_opencode(tmp_path: Path, port: int) -> None:
    opencode(tmp_path, port, "run", "--format", "json", "-m", "fake/m1", PROMPT)
    (run,) = the_runs(tmp_path, "opencode")
    check(run)
    exported = tmp_path / "exported.json"
    exported.write_text(opencode(tmp_path, port, "export", run.id))
    (again,) = read_runs(exported)
    assert isinstance(again, Run)
    assert [message.calls for message in again.messages] == [message.calls for message in run.messages]


def test_gemini_cli(tmp_path: Path, port: int) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}'
    )
    environ = {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}"}
    environ["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
    gemini = ["gemini", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "json", "-p", PROMPT]
    drive(tmp_path, gemini, **environ)
    (run,) = the_runs(tmp_path, "gemini-cli")
    check(run)
