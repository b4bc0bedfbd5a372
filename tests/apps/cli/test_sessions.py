"""`keepwhole sessions`: what each action prints and returns, for people and for programs."""

import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.apps.cli.sessions import age_in_ms
from keepwhole.errors import UsageError
from tests.apps.cli.cli import Quick
from tests.build import NOON

MOMENT = NOON * 1000
HOUR = 3_600_000


@pytest.fixture
def cli(tmp_path: Path) -> Quick:
    return Quick(tmp_path)


def session(cli: Quick, name: str, at: int = MOMENT, **options: Any) -> Session:
    return Session(name, store=str(cli.folder / "home"), clock=lambda: at / 1000, **options)


def keep(cli: Quick, name: str, *outputs: str, at: int = MOMENT, **options: Any) -> list[str]:
    """Keep results in a session; return their trace ids."""
    with session(cli, name, at, **options) as one:
        kept = [one.keep("grep", {"pattern": f"x{number}"}, text) for number, text in enumerate(outputs)]
    return [each.trace_id for each in kept]


def failure(cli: Quick, *words: str, code: int = 2) -> str:
    done = cli(*words)
    assert done.returncode == code
    assert done.stdout == b""
    return done.stderr.decode().removeprefix("keepwhole: ").strip()


@pytest.mark.parametrize(("text", "hours"), [("1h", 1), ("2d", 48), ("3w", 504), ("100000w", 16_800_000), ("010h", 10)])
def test_an_age_is_a_number_of_hours_days_or_weeks(text: str, hours: int) -> None:
    assert age_in_ms(text) == hours * HOUR


@pytest.mark.parametrize("text", ["", "h", "30", "30m", "-1d", "1.5d", "1000000w", "²d", "٣d", "d30"])
def test_anything_else_is_no_age(text: str) -> None:
    with pytest.raises(UsageError, match=f"^`{re.escape(text)}` is not an age. Give a number and `h`, `d` or `w`"):
        age_in_ms(text)
    with pytest.raises(UsageError, match=r"^`0d` would be every session\. Give `1h` or more"):
        age_in_ms("0d")


def test_without_sessions_the_list_says_how_to_begin(cli: Quick) -> None:
    assert cli.said("sessions", "list") == (
        f"No sessions in {cli.folder / 'home'} yet. Begin with `keepwhole run -- ls`.\n"
    )
    assert cli.json("sessions", "list") == []


def test_sessions_are_listed_with_their_counts_and_state(cli: Quick) -> None:
    keep(cli, "first", "x" * 1_000, "y" * 1_048, agent="tester", workspace="/work")
    with session(cli, "second", MOMENT + 5_000) as second:
        for failed in (True, True, False):
            second.keep("grep", {}, "no", is_error=failed)
    first, second_row = cli.json("sessions", "list")[::-1]
    assert {**first, "created_at": 0} == {
        **{"session": "first", "agent": "tester", "workspace": "/work", "entries": 2, "bytes": 2_048},
        **{"created_at": 0, "last_at": MOMENT, "state": "open"},
        **{"title": None, "fork_of": None, "errors": 0, "cost": None},
    }
    assert (second_row["errors"], second_row["bytes"]) == (2, 6)
    heads, _, newest, oldest = cli.said("sessions", "list").splitlines()
    assert re.split(r"\s{2,}", heads.strip()) == [
        *("Session", "Title", "Agent", "Entries", "Size", "Errors", "Paid (saved)", "Last active", "State")
    ]
    assert re.split(r"\s{2,}", newest)[:1] + newest.split()[-1:] == ["second", "open"]
    assert re.split(r"\s{2,}", oldest)[:4] == ["first", "tester", "2", "2.0 KB"]
    assert oldest.endswith("open")
    assert [one["session"] for one in cli.json("sessions", "list", "--limit", "1")] == ["second"]


def test_the_results_of_a_session_are_listed(cli: Quick) -> None:
    with session(cli, "work", agent="tester", workspace="/work") as work:
        one = work.keep("grep", {"pattern": "needle"}, "a\nb\n")
        work.keep("ls", None, "x" * 3_000, is_error=True, exit_code=3)
    shown = cli.json("sessions", "show", "work")
    assert (shown["session"], shown["entries"], shown["fork_of"]) == ("work", 2, None)
    first, second = shown["steps"]
    assert first == {
        **{"step": 1, "tool": "grep", "argument": "needle", "bytes": 4, "lines": 2, "cut_by_client": False},
        **{"is_error": False, "exit_code": None, "at": MOMENT},
        **{"trace_id": one.trace_id, "artifact_id": first["artifact_id"]},
    }
    assert (second["step"], second["argument"], second["is_error"], second["exit_code"]) == (2, None, True, 3)
    lines = cli.said("sessions", "show", "work").splitlines()
    assert lines[0] == "work  open, 2 entries, 2.9 KB"
    assert lines[1] == "agent tester, folder /work"
    assert lines[2].startswith("kept 2 results")
    assert lines[3] == ""
    assert re.split(r"\s{2,}", lines[4]) == ["Result", "Tool", "Call", "Size", "Lines", "Trace"]
    assert re.split(r"\s{2,}", lines[6].strip()) == ["1", "grep", "needle", "4 bytes", "2", one.trace_id]
    assert re.split(r"\s{2,}", lines[7].strip())[:5] == ["2", "ls", "2.9 KB", "1", "error"]
    assert lines[8] == ""
    assert lines[9].split() == ["Counter", "Value"]
    counters = [(name, f"{n:,}" if isinstance(n, int) else f"{n:.3f}") for name, n in shown["metrics"].items()]
    assert [tuple(line.split()) for line in lines[11:]] == counters
    assert {type(value) for value in shown["metrics"].values()} == {int, float}


@pytest.mark.parametrize("words", [("list",), ("purge", "one"), ("import", "file")])
def test_an_action_that_is_not_about_one_session_takes_no_session(cli: Quick, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli("sessions", *words, "--session", "one")


def test_a_session_is_named_once(cli: Quick) -> None:
    keep(cli, "one", "x")
    keep(cli, "two", "x", at=MOMENT + 1)
    assert cli.json("sessions", "show")["session"] == "two"
    assert cli.json("sessions", "show", "one")["session"] == "one"
    assert cli.json("sessions", "show", "--session", "one")["session"] == "one"
    assert cli.json("sessions", "show", "one", "--session", "on")["session"] == "one"
    assert failure(cli, "sessions", "show", "one", "--session", "two") == (
        "A name and `--session` contradict each other. Leave one of them out."
    )


def test_a_session_or_all_are_verified(cli: Quick) -> None:
    keep(cli, "one", "x" * 2_048)
    keep(cli, "two", "y", "z", at=MOMENT + 1)
    (report,) = cli.json("sessions", "verify", "one")
    assert {**report, "head": ""} == {
        **{"session": "one", "whole": True, "entries": 1, "forgotten": 0, "bytes": 2_048, "head": "", "findings": []},
    }
    assert cli.said("sessions", "verify", "one") == f"✓ one: 1 entry, 2.0 KB, head {report['head'][:16]}\n"
    assert [one["session"] for one in cli.json("sessions", "verify", "--all")] == ["two", "one"]
    both = cli.said("sessions", "verify", "--all").splitlines()
    assert [line.partition(", head ")[0] for line in both] == ["✓ two: 2 entries, 2 bytes", "✓ one: 1 entry, 2.0 KB"]
    assert failure(cli, "sessions", "verify", "--all", "one") == (
        "`--all` verifies every session. Leave out the name, or `--all`."
    )
    assert "contradict each other" in failure(cli, "sessions", "verify", "--all", "--session", "one")


def test_nothing_can_be_verified_in_an_empty_record(cli: Quick) -> None:
    keep(cli, "one", "x")
    cli.said("sessions", "purge", "one", "--yes")
    assert "so nothing was verified." in failure(cli, "sessions", "verify", "--all", code=3)


def test_a_changed_entry_is_found_and_named(cli: Quick) -> None:
    keep(cli, "one", "first", "second")
    with closing(sqlite3.connect(cli.folder / "home" / "record.db")) as record, record:
        for (name,) in record.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            record.execute(f"DROP TRIGGER {name}")
        record.execute("UPDATE entries SET at = at + 1 WHERE seq = 2")
    (report,) = cli.json("sessions", "verify", "one", code=1)
    assert not report["whole"]
    assert 2 in {one["entry"] for one in report["findings"]}
    done = cli("sessions", "verify", "one")
    assert done.returncode == 1
    head, *findings = done.stdout.decode().splitlines()
    assert head.startswith("✗ one: 2 entries, 11 bytes, head ")
    assert [line for line in findings if line.startswith("    entry 2: ")]
    assert all(line.startswith("    ") and not line.startswith("    entry 0") for line in findings)


def test_one_session_is_purged_and_its_tombstone_stays(cli: Quick) -> None:
    keep(cli, "one", "x" * 1_024)
    keep(cli, "two", "y")
    assert cli.said("sessions", "purge", "one", "--dry-run") == "Would purge one: 1 entry, 1.0 KB.\n"
    assert failure(cli, "sessions", "purge", "one", code=1) == (
        "Permanently purge one with 1.0 KB? Say yes with `--yes`."
    )
    assert len(cli.json("sessions", "list")) == 2
    assert cli.said("sessions", "purge", "one", "--yes") == "Purged one: 1 entry, 1.0 KB. A tombstone stays.\n"
    assert cli.json("sessions", "purge", "two", "--yes") == {"purged": ["two"], "entries": 1, "bytes": 1}
    assert cli.json("sessions", "list") == []


@pytest.mark.parametrize("words", [(), ("one", "--older-than", "1d")])
def test_a_purge_needs_a_name_or_an_age(cli: Quick, words: tuple[str, ...]) -> None:
    keep(cli, "one", "x")
    assert failure(cli, "sessions", "purge", *words) == (
        "Name one session, or an age: `keepwhole sessions purge --older-than 30d`."
    )


def test_sessions_over_an_age_are_purged_the_oldest_first(cli: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.apps.cli.sessions.time.time", lambda: NOON)
    for name, hours in (("a", 25), ("b", 30), ("c", 24)):
        keep(cli, name, "xx", at=MOMENT - hours * HOUR)
    assert cli.json("sessions", "purge", "--older-than", "1d", "--dry-run") == {
        **{"purged": ["b", "a"], "entries": 2, "bytes": 4},
    }
    lines = cli.said("sessions", "purge", "--older-than", "1d", "--yes").splitlines()
    assert [line.split("  ")[1:] for line in lines[:2]] == [["b", "2 bytes"], ["a", "2 bytes"]]
    assert lines[2] == "Purged 2 sessions: 2 entries, 4 bytes. Tombstones stay."
    assert [one["session"] for one in cli.json("sessions", "list")] == ["c"]
    assert cli.said("sessions", "purge", "--older-than", "1d") == "Purged 0 sessions: 0 entries, 0 bytes.\n"


def test_a_session_with_one_entry_of_later_is_not_old(cli: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwhole.apps.cli.sessions.time.time", lambda: NOON)
    for hours in (50, 1, 49):
        keep(cli, "back", "x", at=MOMENT - hours * HOUR)
    assert cli.json("sessions", "purge", "--older-than", "1d", "--dry-run")["purged"] == []


def test_an_export_is_a_private_new_file(cli: Quick) -> None:
    keep(cli, "one", "x", "y")
    file = cli.folder / "one.json"
    assert cli.said("sessions", "export", "one", "-o", str(file)) == ""
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert failure(cli, "sessions", "export", "one", "-o", str(file)) == f"`{file}` already exists. Name another file."
    assert "cannot be written (No such file or directory). Name another file." in failure(
        cli, "sessions", "export", "one", "-o", str(cli.folder / "none" / "x")
    )
    assert failure(cli, "sessions", "export", "one", "--steps", "1-2") == (
        "An archive has all steps. Add `--format html` or `--format json`, or leave out `--steps`."
    )
    assert cli("sessions", "export", "one").stdout == file.read_bytes()
    said = cli.said("sessions", "import", str(file), "--as", "copy")
    assert re.fullmatch(r"Imported copy: 2 entries, head [0-9a-f]{16}\n", said)
    assert cli.json("sessions", "import", str(file), "--as", "again")["entries"] == 2
    assert "cannot be opened (No such file or directory). Check the path." in failure(
        cli, "sessions", "import", str(cli.folder / "none")
    )


def test_an_export_leaves_out_what_looks_like_a_key(cli: Quick) -> None:
    key = "sk-ant-api03-" + "Ab1" * 30
    keep(cli, "one", "fine", f"the key is {key}\n", "fine too")
    done = cli("sessions", "export", "one")
    assert done.returncode == 0
    assert "keepwhole: 1 of 3 entries contain what looks like a key" in done.stderr.decode()
    raw = cli("sessions", "export", "one", "--raw")
    assert raw.stderr == b""
    assert len(raw.stdout) > len(done.stdout)
