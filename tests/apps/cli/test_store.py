"""`keepwhole store copy | backup | restore` as a user runs them."""

import gzip
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from tests.apps.cli.cli import Cli, Quick
from tests.build import draft, opened
from tests.objects import fresh_bucket
from tests.postgres import fresh_url, running
from tests.transfer.test_copy import compared


def keep(cli: Cli, session: str, text: str, home: str = "home") -> None:
    """Keep a result in a record."""
    store = SqliteStore(str(cli.folder / home))
    Session(session, store=store).keep("t", None, text)
    store.close()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A record with two sessions in it."""
    cli = Quick(tmp_path)
    keep(cli, "one", "first\n" * 20_000)
    keep(cli, "two", "second\n")
    return cli


def test_a_record_goes_to_a_server_with_its_large_bodies_in_a_bucket_and_comes_back(cli: Cli) -> None:
    server, bucket = fresh_url(), fresh_bucket()
    done = cli("store", "copy", "home", server, "--to-blobs", bucket)
    assert done.returncode == 0, done.stderr
    lost = cli("store", "copy", server, "back")
    assert lost.returncode != 0
    assert b"--from-blobs" in lost.stderr + lost.stdout
    back = cli("store", "copy", server, "back", "--from-blobs", bucket)
    assert back.returncode == 0, back.stderr
    assert b"2 sessions" in back.stdout
    assert not compared(SqliteStore(str(cli.folder / "home")), SqliteStore(str(cli.folder / "back"))).differences


def test_a_record_is_copied_and_proven_equal(cli: Cli) -> None:
    done = cli("store", "copy", "home", "other")
    assert done.returncode == 0
    assert b"Copied 3 entries" in done.stdout
    assert b"2 sessions, 3 entries, heads equal" in done.stdout
    again = cli.json("store", "copy", "home", "other", "--quick")
    assert (again["copied"], again["equal"], again["differ"]) == (0, True, {})
    assert cli("sessions", "verify", "--all").returncode == 0


def test_a_copy_goes_to_a_server_and_back(cli: Cli) -> None:
    url = fresh_url()
    assert cli("store", "copy", "home", url).returncode == 0
    assert cli("store", "copy", url, "back").returncode == 0
    assert cli.json("store", "copy", "home", "back")["copied"] == 0
    cli.environ["KEEPWHOLE_STORE"] = url
    assert cli("sessions", "export", "one", "-o", "one.jsonl").returncode == 0
    assert cli("sessions", "purge", "one", "--yes").returncode == 0
    assert b"Imported one: 2 entries" in cli("sessions", "import", "one.jsonl").stdout
    assert stat.S_IMODE(os.stat(cli.folder / "one.jsonl").st_mode) == 0o600
    assert b"already exists" in cli("sessions", "export", "one", "-o", "one.jsonl").stderr
    assert b"No such file" in cli("sessions", "import", "two.jsonl").stderr
    del cli.environ["KEEPWHOLE_STORE"]
    assert cli.json("store", "copy", "home", url)["equal"]


def test_one_session_is_copied_where_one_is_named(cli: Cli) -> None:
    assert cli.json("store", "copy", "home", "other", "--session", "two")["sessions"] == 1
    missing = cli("store", "copy", "home", "other", "--session", "three")
    assert missing.returncode == 3
    assert b"`three`" in missing.stderr


def test_a_record_is_not_copied_onto_itself(cli: Cli) -> None:
    os.symlink(cli.folder / "home", cli.folder / "alias")
    for target in ("home", "./home/", "alias"):
        done = cli("store", "copy", "home", target)
        assert done.returncode == 2
        assert b"same record" in done.stderr


def test_a_server_is_the_same_however_its_address_is_spelled(cli: Cli) -> None:
    url = fresh_url()
    assert b"same record" in cli("store", "copy", url, url + "&application_name=other").stderr


def test_a_source_that_is_not_there_is_not_made(cli: Cli) -> None:
    done = cli("store", "copy", "nowhere", "other")
    assert done.returncode == 3
    assert not (cli.folder / "nowhere").exists()


def test_a_server_without_a_schema_is_refused_with_the_command_that_makes_one(cli: Cli) -> None:
    url = f"{running().get_uri()}&schema=never_made"
    done = cli("store", "copy", "home", url)
    assert done.returncode == 4
    assert b"keepwhole store migrate" in done.stderr
    assert b"KEEPWHOLE_STORE=postgresql://" in done.stderr


def test_erased_entries_are_erased_in_the_copy_only_when_asked(cli: Cli) -> None:
    cli("store", "copy", "home", "other")
    cli("sessions", "purge", "two", "--yes")
    refused = cli("store", "copy", "home", "other")
    assert refused.returncode == 1
    assert b"two: 1 entry" in refused.stderr
    assert b"--yes" in refused.stderr
    assert "✗ two: it was erased in the source".encode() in refused.stdout
    assert b"heads equal" not in refused.stdout
    asked = cli.on_a_terminal("store", "copy", "home", "other", typed=b"y\n")
    assert b"Permanently erase" in asked
    assert b"1 session, 2 entries, heads equal" in asked


def test_a_session_that_differs_is_named_and_the_rest_is_copied(cli: Cli) -> None:
    keep(cli, "two", "something else\n", "other")
    done = cli("store", "copy", "home", "other")
    assert done.returncode == 1
    assert "✗ two: entry 1 differs in the copy".encode() in done.stdout
    assert b"1 of 2 sessions differ" in done.stdout
    assert cli.json("store", "copy", "home", "other", code=1)["differ"].keys() == {"two"}


def test_an_interrupted_copy_says_that_it_can_go_on(cli: Cli) -> None:
    store = SqliteStore(str(cli.folder / "home"))
    opened(store, "large")
    store.append("large", [draft(store, b"large" * 20_000) for _ in range(100)])
    command = [sys.executable, "-m", "keepwhole", "store", "copy", "home", "other"]
    process = subprocess.Popen(command, env=cli.environ, cwd=cli.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while process.poll() is None and not any((cli.folder / "other" / "blobs").glob("?/*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode:  # the session had not ended yet
        assert process.returncode == 130
        assert b"The same command continues" in said
    assert b"heads equal" in cli("store", "copy", "home", "other").stdout
    target = SqliteStore(str(cli.folder / "other"))
    assert compared(store, target).differences == []
    store.close()
    target.close()


def test_a_terminal_sees_how_far_it_is(cli: Cli) -> None:
    assert "█".encode() in cli.on_a_terminal("store", "copy", "home", "other")


def test_a_backup_is_one_private_file_that_restores_to_equal_heads(cli: Cli) -> None:
    made = cli("store", "backup", "all.hfb")
    assert made.returncode == 0
    assert b"2 sessions, 3 entries in" in made.stdout
    assert stat.S_IMODE(os.stat(cli.folder / "all.hfb").st_mode) == 0o600
    done = cli("store", "restore", "all.hfb", "--into", "back")
    assert done.returncode == 0
    assert b"2 sessions, 3 entries, heads equal" in done.stdout
    assert cli.json("store", "copy", "home", "back")["copied"] == 0


def test_a_backup_goes_through_a_pipe(cli: Cli) -> None:
    keepwhole = shlex.join([sys.executable, "-m", "keepwhole"])
    line = f"{keepwhole} store backup - | gzip -c | gzip -dc | {keepwhole} store restore - --into back"
    done = subprocess.run(line, shell=True, env=cli.environ, cwd=cli.folder, capture_output=True, check=True)
    assert b"heads equal" in done.stdout
    assert b"is not printed on a terminal" in cli.on_a_terminal("store", "backup", "-")


def test_a_backup_replaces_an_earlier_one_and_nothing_else(cli: Cli) -> None:
    (cli.folder / "mine.txt").write_text("mine")
    done = cli("store", "backup", "mine.txt")
    assert done.returncode == 2
    assert (cli.folder / "mine.txt").read_text() == "mine"
    assert [cli("store", "backup", "all.hfb").returncode for _ in range(2)] == [0, 0]
    assert cli("store", "backup", "no/such/folder").returncode == 4
    assert sorted(path.name for path in cli.folder.iterdir()) == ["all.hfb", "home", "mine.txt"]


def test_a_lost_record_comes_back_where_it_was(cli: Cli) -> None:
    cli("store", "backup", "all.hfb")
    (cli.folder / "home").rename(cli.folder / "lost")
    assert cli("store", "restore", "all.hfb").returncode == 0
    assert cli.json("store", "copy", "lost", "home")["copied"] == 0


def test_a_backup_that_was_cut_is_refused_and_leaves_nothing(cli: Cli) -> None:
    cli("store", "backup", "all.hfb")
    data = (cli.folder / "all.hfb").read_bytes()
    (cli.folder / "cut.hfb").write_bytes(data[:-20])
    done = cli("store", "restore", "cut.hfb", "--into", "back")
    assert done.returncode == 4
    assert b"cut off or changed" in done.stderr
    assert cli.json("store", "copy", "back", "elsewhere")["sessions"] == 0
    assert cli("store", "restore", "nothing.hfb").returncode == 2


def test_a_backup_holds_lines_that_anybody_can_read(cli: Cli) -> None:
    cli("store", "backup", "all.hfb")
    first, *_, last = gzip.decompress((cli.folder / "all.hfb").read_bytes()).splitlines()
    assert first.startswith(b'{"keepwhole":1,"backup":')
    assert last.startswith(b'{"trailer":')


def test_sessions_in_the_way_of_a_restore_are_named(cli: Cli) -> None:
    cli("store", "backup", "all.hfb")
    keep(cli, "two", "more\n")
    done = cli("store", "restore", "all.hfb")
    assert done.returncode == 2
    assert b"`two`: it continues here" in done.stderr
    assert cli("store", "restore", "all.hfb", "--session", "one").returncode == 0


def test_an_erased_session_comes_back_only_when_it_is_asked_for(cli: Cli) -> None:
    cli("store", "backup", "all.hfb")
    cli("sessions", "purge", "two", "--yes")
    assert b"two: was erased here, and stays so" in cli("store", "restore", "all.hfb").stdout
    assert cli("store", "restore", "all.hfb", "--erased").returncode == 0
    assert {one["session"] for one in cli.json("sessions", "list")} == {"one", "two"}
