"""What people read of a replay on a terminal."""

import pytest

from keepwhole.apps.cli.replay_screen import print_totals, print_unread
from keepwhole.replay.survey import LogTotals


def test_what_could_not_be_read_is_named_with_the_reason_and_how_often(capsys: pytest.CaptureFixture[str]) -> None:
    print_unread([{"path": "one.jsonl", "why": "not JSON", "count": 1}, {"path": "two", "why": "odd", "count": 1_200}])
    assert capsys.readouterr().err.splitlines() == [
        "  not read: one.jsonl: not JSON",
        "  not read: two: odd (1,200 times)",
    ]


def test_of_many_that_could_not_be_read_five_are_named_and_the_others_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = [{"path": f"log{number}", "why": "not JSON", "count": 1} for number in range(7)]
    print_unread(many)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[-1] == "  and 2 more; `--json` lists them"
    print_unread(many[:5])
    assert len(capsys.readouterr().err.splitlines()) == 5


@pytest.mark.parametrize(("tools", "words"), [(7, "by 1 other tool"), (9, "by 3 other tools")])
def test_tools_that_are_not_listed_are_counted(tools: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    totals = LogTotals()
    totals.runs = 1
    totals.tools.update({f"tool{number}": 10 for number in range(tools)})
    print_totals(totals)
    assert capsys.readouterr().out.splitlines()[-1].endswith(words)
