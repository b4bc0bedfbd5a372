"""The commands that show whole conversations."""

import json
from pathlib import Path
from typing import Any

import pytest

import keepwhole
from keepwhole import Session
from tests.apps.cli.cli import Cli

LONG = "".join(f"{number:05} all is well here\n" for number in range(3_000)) + "error: the disk is full\n"


def conversation(steps: int = 1) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does it fail?"}]
    for number in range(steps):
        function = {"name": "bash", "arguments": '{"command": "make"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number}\n{LONG}"})
    return messages


def text_of(cli: Cli, *words: str) -> str:
    """What a command prints for people; it must succeed."""
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.fixture
def viewed(cli: Cli) -> dict[str, Any]:
    """A session in which two results were sent cut."""
    session = Session("work", store=str(cli.folder / "home"))
    projection = session.projection(conversation(2), policy="auto")
    session.close()
    return {"edits": projection.edits}


def test_view_says_what_would_be_sent_and_stores_nothing(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(conversation()))
    report = cli.json("view", str(file), "--policy", "auto")
    assert report["account"]["edited"] == 1
    assert report["account"]["tokens_sent"] < report["account"]["tokens_whole"]
    assert report["edits"][0]["rule"] == "arrival"
    assert not (cli.folder / "home" / "record.db").exists()


def test_view_shows_each_edit_beside_what_is_kept(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"model": "gpt-5.5", "messages": conversation()}))
    text = text_of(cli, "view", str(file), "--policy", "auto", "--diff")
    assert "- 00000 all is well here" in text
    assert "+ " in text
    assert "1 of 1 results edited" in text


def test_view_writes_what_would_be_sent(cli: Cli, tmp_path: Path) -> None:
    file, out = tmp_path / "messages.json", tmp_path / "sent.json"
    file.write_text(json.dumps(conversation()))
    text_of(cli, "view", str(file), "--policy", "auto", "--out", str(out))
    sent = json.loads(out.read_text())
    assert len(sent[2]["content"]) <= 8_000
    assert "error: the disk is full" in sent[2]["content"]


@pytest.mark.parametrize("content", ["{", '"words"', '{"model": "m"}'])
def test_view_says_what_it_needs_where_there_are_no_messages(cli: Cli, tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    done = cli("view", str(file))
    assert done.returncode == 2
    assert b"messages" in done.stderr


def test_explain_says_which_rule_edited_what_and_how_to_undo_it(cli: Cli, viewed: dict[str, Any]) -> None:
    report = cli.json("explain", "work")
    assert [edit["rule"] for edit in report["edits"]] == ["arrival", "arrival"]
    assert all(edit["tokens_saved"] > 0 for edit in report["edits"])
    assert report["edits"][0]["undo"] == f"keepwhole undo {viewed['edits'][0].artifact_id}"
    assert "longer than the limit" in text_of(cli, "explain", "work")
    assert len(cli.json("explain", "work", "2")["edits"]) == 1


def test_a_number_alone_explains_that_result_of_the_newest_session(cli: Cli, viewed: dict[str, Any]) -> None:
    assert cli.json("explain", "2") == cli.json("explain", "work", "2")
    with Session("2", store=str(cli.folder / "home")) as named:
        named.keep("bash", None, "short")
    assert cli.json("explain", "2") == {"session": "2", "edits": []}


def test_explain_reports_that_nothing_was_edited(cli: Cli) -> None:
    session = Session("quiet", store=str(cli.folder / "home"))
    session.view([{"role": "user", "content": "hello"}])
    session.keep("bash", None, "short")
    session.close()
    assert "is shown in full" in text_of(cli, "explain", "quiet")
    assert cli("explain", "quiet", "1").returncode == 3


def test_undo_shows_a_result_whole_again(cli: Cli, viewed: dict[str, Any]) -> None:
    edit = viewed["edits"][0]
    report = cli.json("undo", edit.artifact_id)
    assert report["trace_id"] == edit.trace_id
    session = Session("work", store=str(cli.folder / "home"))
    sent = session.view(conversation(2), policy="auto")
    session.close()
    assert sent[2]["content"] == conversation(2)[2]["content"]
    assert sent[4]["content"] != conversation(2)[4]["content"]


def test_undo_without_an_id_shows_everything_again(cli: Cli, viewed: dict[str, Any]) -> None:
    assert cli.json("undo", "--session", "work")["results"] == len(viewed["edits"]) == 2
    session = Session("work", store=str(cli.folder / "home"))
    assert session.view(conversation(2), policy="auto") == conversation(2)
    session.close()
    assert text_of(cli, "undo") == "Nothing was hidden in session work.\n"


def test_undo_without_an_id_tells_how_many_results_it_showed_again(cli: Cli, viewed: dict[str, Any]) -> None:
    assert "Shown in full again in session work: 2 results, about " in text_of(cli, "undo")


def test_undo_reports_that_nothing_is_hidden(cli: Cli) -> None:
    cli("run", "--session", "short", "--", "echo", "hello")
    assert "Nothing was hidden in session short." in text_of(cli, "undo")


def test_undo_of_an_unknown_id_is_not_found(cli: Cli) -> None:
    assert cli("undo", "art_1_unknown").returncode == 3


def test_status_names_its_three_thresholds(cli: Cli, viewed: dict[str, Any]) -> None:
    text = text_of(cli, "status")
    for label in ("Warning at 75 %", "Compaction at 90 %", "Hard limit at 95 %"):
        assert label in text
    report = cli.json("status")
    assert report["results"] == 2
    assert report["tokens_shown"] < report["tokens_whole"]
    assert [line["label"] for line in report["thresholds"]] == [
        "Warning at 75 %",
        "Compaction at 90 %",
        "Hard limit at 95 %",
    ]
    assert report["counted"] == "results"


def test_old_results_are_left_out_only_while_rolling_context_is_switched_on(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(cli.folder))
    messages = [{**message} for message in conversation(8)]
    for message in messages[2::2]:
        message["content"] = message["content"].removesuffix("error: the disk is full\n")
    before = json.dumps(messages)
    seen: list[bool] = []
    for number, words in enumerate(([], ["on"], ["off"])):
        if words:
            text_of(cli, "rolling-context", *words)
        sent = keepwhole.session(f"s{number}").view(messages)
        seen.append(sent[2]["content"] == "[content truncated - 7 steps ago]")
        assert "[content truncated" not in json.dumps(sent[-10:])
    assert seen == [False, True, False]
    assert json.dumps(messages) == before


def test_rolling_context_is_switched_and_remembered(cli: Cli) -> None:
    assert cli.json("rolling-context", "status")["rolling_context_enabled"] is False
    text_of(cli, "rolling-context", "on")
    assert cli.json("rolling-context", "status")["rolling_context_enabled"] is True
    text_of(cli, "rolling-context", "off")
    assert cli.json("rolling-context", "status")["rolling_context_enabled"] is False
