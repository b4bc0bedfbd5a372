"""`keepwhole run` and `keepwhole keep`: all is recorded, what fits is printed, the exit code is the command's."""

import os
import signal
import subprocess
import sys
import time

from tests.apps.cli.cli import Cli

HOSTILE = "\x1b]52;c;aGFja2Vk\x07\x1b[2J\r\x9b31m\u202eevil\x00"


def test_a_short_output_is_printed_as_it_is(cli: Cli) -> None:
    assert cli("run", "--", "printf", "one\ntwo\n").stdout == b"one\ntwo\n"


def test_run_exits_with_the_code_of_its_command(cli: Cli) -> None:
    assert cli("run", "--", "sh", "-c", "exit 3").returncode == 3


def test_a_command_killed_by_a_signal_exits_as_a_shell_says(cli: Cli) -> None:
    assert cli("run", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_a_command_that_does_not_exist_is_reported(cli: Cli) -> None:
    done = cli("run", "--", "no-such-command-here")
    assert done.returncode == 127
    assert b"no-such-command-here" in done.stderr


def test_both_streams_are_kept_in_the_order_written(cli: Cli) -> None:
    done = cli("run", "--", "sh", "-c", "echo a; echo b >&2; echo c")
    assert done.stdout == b"a\nb\nc\n"


def test_a_long_output_is_cut_and_its_reference_brings_all_of_it_back(cli: Cli) -> None:
    shown = cli.json("run", "--", "seq", "1", "20000")
    assert shown["is_cut"]
    assert len(shown["content"]) <= 8_000
    whole = "".join(f"{number}\n" for number in range(1, 20_001)).encode()
    assert cli("artifacts", "show", shown["artifact_id"], "--raw").stdout == whole


def test_the_exit_code_is_recorded_and_makes_the_result_an_error(cli: Cli) -> None:
    shown = cli.json("run", "--", "sh", "-c", "echo no; exit 7", code=7)
    report = cli.json("show", shown["trace_id"])
    assert (report["exit_code"], report["is_error"]) == (7, True)
    assert ", error" in cli.said("show", shown["trace_id"]).splitlines()[1]


def test_keep_takes_any_bytes_from_a_pipe(cli: Cli) -> None:
    data = bytes(range(256)) * 1_000
    shown = cli.json("keep", "--tool", "dump", input=data)
    assert cli("artifacts", "show", shown["artifact_id"], "--raw").stdout == data


def test_keep_knows_a_call_that_comes_again(cli: Cli) -> None:
    first = cli.json("keep", "--tool", "t", "--call-id", "c1", input=b"same")
    again = cli.json("keep", "--tool", "t", "--call-id", "c1", input=b"same")
    assert first["trace_id"] == again["trace_id"]


def test_where_the_record_cannot_be_written_the_output_is_passed_on_whole(cli: Cli) -> None:
    (cli.folder / "home").write_text("a file where the folder should be")
    text = b"line\n" * 50_000
    done = cli("keep", "--tool", "t", input=text)
    assert done.stdout == text
    assert b"KEEPWHOLE_HOME" in done.stderr
    run = cli("run", "--", "sh", "-c", "seq 1 30000; exit 5")
    assert run.stdout.count(b"\n") == 30_000
    assert run.returncode == 5


def test_no_control_byte_of_a_tool_reaches_a_terminal(cli: Cli) -> None:
    script = cli.folder / "hostile.txt"
    script.write_text(HOSTILE + "\n" + "x\n" * 10, encoding="utf-8")
    seen = cli.on_a_terminal("run", "--", "cat", str(script))
    assert b"evil" in seen
    assert not set(seen) & (set(range(32)) - set(b"\r\n\t"))
    assert "\u202e".encode() not in seen
    assert b"\r" not in seen.replace(b"\r\n", b"")


def test_a_stopped_run_keeps_what_was_written_until_then(cli: Cli) -> None:
    command = [sys.executable, "-m", "keepwhole", "run", "--", "sh", "-c", "echo before; exec sleep 60"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=cli.environ, cwd=cli.folder)
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert out == b"before\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert cli.json("show", "1")["returned"] == "before\n"


def test_the_record_of_a_run_is_private_whatever_the_umask(cli: Cli) -> None:
    previous = os.umask(0)
    try:
        cli("run", "--", "seq", "1", "20000")
    finally:
        os.umask(previous)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (cli.folder / "home").rglob("*")}
    assert modes
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes
