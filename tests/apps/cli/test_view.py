"""`keepwhole view`: what a policy would send of given messages, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apps.cli.cli import Quick
from tests.policies.builders import chat

TOOL = "a_tool_with_a_name_of_33_letters_"
TEXT = "".join(f"line {number} {'x' * 120}\n" for number in range(300))


@pytest.fixture
def cli(tmp_path: Path) -> Quick:
    (tmp_path / "messages.json").write_text(json.dumps(chat(TEXT, "short", tool=TOOL)))
    return Quick(tmp_path)


def given(cli: Quick, value: Any) -> str:
    (cli.folder / "given.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return "given.json"


def test_each_edit_is_a_row_with_its_tokens_before_and_after(cli: Quick) -> None:
    printed = cli.said("view", "messages.json", "--policy", "truncation").splitlines()
    found = cli.json("view", "messages.json", "--policy", "truncation")
    (edit,) = found["edits"]
    *cells, after = next(line for line in printed if line.startswith("1")).split()
    assert cells == ["1", TOOL[:23] + "…", edit["rule"], edit["strategy"], f"{edit['tokens_before']:,}"]
    assert int(after.replace(",", "")) == pytest.approx(edit["tokens_after"], rel=0.05)  # an id may take more tokens
    account = found["account"]
    assert account["tokens_saved"] == account["tokens_whole"] - account["tokens_sent"] > 0
    assert "1 of 2 results edited" in printed[-1]


def test_messages_that_no_policy_changes_are_no_table(cli: Quick) -> None:
    plain = cli.said("view", given(cli, chat("short")))
    assert len(plain.splitlines()) == 1
    assert "0 of 1 results edited" in plain
    assert cli.json("view", given(cli, {"messages": chat("short")}))["edits"] == []
    assert cli.json("view", given(cli, {"model": "m", "input": [{"role": "user", "content": "a"}]}))["edits"] == []


def test_with_diff_both_texts_are_shown_by_their_first_lines(cli: Quick) -> None:
    assert not any(line.startswith("- line") for line in cli.said("view", "messages.json").splitlines())
    printed = cli.said("view", "messages.json", "--policy", "truncation", "--diff").splitlines()
    before, after = ([line for line in printed if line.startswith(mark)] for mark in ("- ", "+ "))
    assert [line[2:9] for line in before[:3]] == ["line 0 ", "line 1 ", "line 2 "]
    assert {len(line) for line in before[:-1]} == {2 + 110}
    assert f"{300 - len(before) + 1:,} more lines" in before[-1]
    assert len(after) == len(before)


def test_what_would_be_sent_is_written_to_a_file(cli: Quick) -> None:
    cli.said("view", "messages.json", "--policy", "truncation", "--out", "sent.json")
    sent = json.loads((cli.folder / "sent.json").read_text())
    whole = json.loads((cli.folder / "messages.json").read_text())
    assert [one["role"] for one in sent] == [one["role"] for one in whole]
    assert len(sent[2]["content"]) < 9_000 < len(whole[2]["content"])
    assert not (cli.folder / "home").exists()
    refused = cli("view", "messages.json", "--out", "no/such/folder.json")
    assert (refused.returncode, refused.stdout) == (2, b"")


@pytest.mark.parametrize("wrong", ["no json", "7", "[7]", '{"messages": 7}', "{}", "[" * 9_000])
def test_what_has_no_messages_is_refused(cli: Quick, wrong: str) -> None:
    refused = cli("view", given(cli, wrong))
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"`given.json`" in refused.stderr
    assert cli("view", "missing.json").returncode == 2
