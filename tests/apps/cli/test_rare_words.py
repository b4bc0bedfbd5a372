"""What the commands say in cases that are rare: too many to list, something left out, a reader that has gone."""

import argparse
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.apps.cli import import_, main, replay_screen, screen, show_overview, store_backup, store_copy
from keepwhole.record.log_import import Imported
from keepwhole.replay.survey import LogTotals
from tests.apps.cli.cli import Cli
from tests.apps.cli.test_commands import kept, long_text

Printed = pytest.CaptureFixture[str]


def lines(capsys: Printed) -> list[str]:
    said = capsys.readouterr()
    return [line for line in (said.out + said.err).splitlines() if line]


def imported(runs: int, **figures: int) -> tuple[list[Imported], dict[str, Any]]:
    done = [Imported(f"s{number}", 3, 2, 0, 0) for number in range(runs)]
    none = dict.fromkeys(("truncated", "restored", "refused", "apart"), 0)
    return done, {"unread": [], "runs": runs, "results": 3 * runs, "added": 2 * runs, **none, **figures}


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("truncated", "1,200 had been cut before they were imported; they are marked `legacy_truncated`."),
        ("restored", "1,200 are complete again, from copies beside the logs."),
        ("refused", "1,200 are over `session_quota` and were left out. Raise it and import again."),
        ("apart", "1,200 have the source and id of another run; a number was added to their names."),
    ],
)
def test_import_says_what_became_of_results_that_are_not_as_usual(figure: str, words: str, capsys: Printed) -> None:
    import_._print(*imported(2, **{figure: 1_200}))
    assert words in lines(capsys)
    import_._print(*imported(2))
    assert words.partition(" ")[2] not in capsys.readouterr().out


@pytest.mark.parametrize(("runs", "more"), [(20, []), (21, ["and 1 more"]), (25, ["and 5 more"])])
def test_import_lists_twenty_sessions_and_counts_the_others(runs: int, more: list[str], capsys: Printed) -> None:
    import_._print(*imported(runs))
    said = lines(capsys)
    assert [line for line in said if line.startswith("and ")] == more
    assert f"{runs} runs, {2 * runs} results added, {runs} already in the record." in said
    assert sum(line.split()[0] in {f"s{n}" for n in range(runs)} for line in said) == min(20, runs)
    assert said[-1] == "search one: keepwhole search --session s0 WORDS"


def test_a_reader_that_has_gone_ends_a_command_quietly(cli: Cli) -> None:
    artifact = kept(cli, long_text(200_000))
    command = [sys.executable, "-m", "keepwhole", "artifacts", "show", artifact, "--raw"]
    with subprocess.Popen(
        command, env=cli.environ, cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=60)) == (b"", 141)
    assert main.EXIT_PIPE == 141


def test_nothing_is_purged_where_nobody_says_yes(cli: Cli) -> None:
    kept(cli, "x", "fetch", "--session", "mine")
    refused = cli("artifacts", "clean", "--session", "mine")
    assert refused.returncode == 1
    assert b"Permanently purge 1 session with 1 byte? Say yes with `--yes`." in refused.stderr
    assert cli.json("artifacts", "clean", "--session", "mine", "--yes") == {"purged": ["mine"], "bytes": 1}
    assert cli.json("sessions", "list") == []


def test_words_that_only_a_call_was_given_are_found_there(cli: Cli) -> None:
    artifact = kept(cli, long_text(), "fetch", "--arguments", '{"path": "zanzibar.txt"}')
    assert artifact in cli.said("search", "zanzibar")
    said = cli.said("search", "zanzibar.txt")
    assert said.startswith("fetch  in the arguments of the call\n")
    assert said.endswith(f"more: keepwhole artifacts show {artifact} --part arguments\n\n")


def test_part_of_a_trace_can_be_asked_for_by_characters(cli: Cli) -> None:
    artifact = kept(cli, long_text())
    assert cli.json("trace", "show", artifact, "--chars", "5-6")["content"].startswith("1\n[characters 5-6 of ")


def test_rolling_context_says_where_another_policy_goes_first(cli: Cli) -> None:
    other = "`KEEPWHOLE_POLICY` takes precedence over it."
    assert other not in cli.said("rolling-context", "on")
    cli.environ["KEEPWHOLE_POLICY"] = "auto"
    assert other in cli.said("rolling-context", "status")
    assert other not in cli.said("rolling-context", "off")


def test_a_program_that_cannot_be_run_is_named(cli: Cli) -> None:
    (cli.folder / "claude").write_bytes(b"\x00\x01\x02")
    (cli.folder / "claude").chmod(0o755)
    done = cli("wrap", str(cli.folder / "claude"))
    assert done.returncode == 126
    assert b"cannot be run (Exec format error). Check that it is a program for this machine." in done.stderr


def test_the_first_totals_of_a_replay_name_the_three_largest_tools(capsys: Printed) -> None:
    totals = LogTotals()
    totals.runs, totals.tokens, totals.result_tokens = 3, 2_000_000, 1_000_000
    totals.tools.update(bash=500_000, read=300_000, grep=100_000, ls=1)
    replay_screen.print_first_totals(totals)
    said = " ".join(lines(capsys))
    assert (
        said
        == "So far 2.0M tokens in 3 runs, 50 % of them tool results (bash 500k, read 300k, grep 100k). Reading on …"
    )


@pytest.mark.parametrize(("missed", "more"), [(5, []), (3, ["  and 2 more"])])
def test_what_a_policy_hid_is_listed_and_the_rest_counted(
    missed: int, more: list[str], capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {"policy": "auto", "hidden": 5, "evidence": 9, "brought_back": 0}
    made: Any = SimpleNamespace(hidden=hidden, missed=[{}] * missed)
    monkeypatch.setattr(replay_screen, "_print_missed", lambda found: None)
    replay_screen.print_hidden(made, listed=True)
    assert [line for line in lines(capsys) if line.startswith("  and")] == more


def test_a_backup_names_what_was_left_out(capsys: Printed) -> None:
    made: Any = SimpleNamespace(sessions=2, entries=1, head="f" * 64, left_out=[("bad", "it is damaged")])
    store_backup._say(argparse.Namespace(json=False, file="out.gz"), made, 2_048)
    assert lines(capsys) == [
        "✗ bad was left out: it is damaged",
        f"✓ out.gz: 2 sessions, 1 entry in 2.0 KB, head {'f' * 16}",
    ]


@pytest.mark.parametrize(("erased", "more"), [(20, 0), (21, 1)])
def test_erasing_in_a_copy_lists_twenty_sessions(
    erased: int, more: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: Any = [SimpleNamespace(name=f"s{n}", here=SimpleNamespace(entries=2)) for n in range(erased)]
    monkeypatch.setattr(screen, "confirm", lambda question, yes: True)
    assert store_copy._confirm_erasure(steps, argparse.Namespace(target="to", yes=True))
    said = lines(capsys)
    assert said[0] == "  s0: 2 entries that FROM has erased"
    assert said[20:] == ["  and 1 session more"] * more


def shown(capsys: Printed, **fields: object) -> list[str]:
    known = {"tool": "bash", "arguments": None, "seq": 3, "session": "s", "at": 0, "is_error": False, "exit_code": None}
    known |= {"trace_id": "trace_x", "artifact_id": "art_x", "flags": [], "bytes": 5, "chars": 5, "lines": 1}
    known |= {"digest": "d1", "returned": "hello", "media_type": "text/plain", "frame": None, "shown": None}
    show_overview._print({**known, **fields})
    return lines(capsys)


def test_a_result_is_shown_with_what_it_is(capsys: Printed) -> None:
    told = shown(capsys)
    assert told[1].startswith("entry 3 of s, ")
    assert told[1].endswith(", ok")
    assert told[2:] == [
        "trace trace_x, artifact art_x",
        "What the tool returned  5 bytes, 5 characters, 1 lines",
        "digest d1, verified",
        "hello",
        "What was shown  all of it",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is_error": True, "exit_code": 2}, ", error, exit code 2"),
        ({"flags": ["a", "b"]}, "flags: a, b"),
        ({"flags": ["client_cut"]}, "What the client left of what the tool returned  5 bytes"),
        ({"returned": None, "media_type": "image/png"}, "(not text: image/png)"),
        ({"chars": 2_001}, "… the first 2,000 characters; all of it: keepwhole artifacts show art_x --raw"),
        ({"frame": {"before": " header ", "behind": ""}}, "before: header"),
        ({"frame": {"before": "", "behind": "footer"}}, "behind: footer"),
        (
            {"shown": "he…", "shown_chars": 3, "rule": "arrival", "strategy": "head"},
            "What was shown  3 characters, rule arrival, strategy head",
        ),
    ],
)
def test_what_is_not_as_usual_is_told_too(fields: dict[str, object], words: str, capsys: Printed) -> None:
    assert any(words in line for line in shown(capsys, **fields)), words
    assert not any(words in line for line in shown(capsys))


def test_nothing_is_said_of_a_frame_that_is_not_there(capsys: Printed) -> None:
    told = shown(capsys, frame={"before": "header", "behind": ""}, chars=2_000)
    assert not [line for line in told if line.startswith(("behind:", "… the first"))]
