"""`keepwhole cut`: what a model would see of a file, what is left out and why."""

import csv
import json
from pathlib import Path

from keepwhole.truncation.strategy import STRATEGIES
from tests.apps.cli.cli import Cli
from tests.promises.recorded_outputs import read_output

ITEMS = json.dumps([{"id": number, "name": f"item {number}"} for number in range(1_000)])
TABLE = "id,name,size\n" + "".join(f"{number},row {number},{number * 7}\n" for number in range(2_000))
STEPS = "".join(f"2026-01-01 12:00:00 INFO step {number} done\n" for number in range(1_000))
LOG = STEPS.replace("INFO step 500 done", "ERROR disk is full")


def test_cut_shows_json_that_parses_and_counts_what_it_left_out(cli: Cli) -> None:
    (cli.folder / "items.json").write_text(ITEMS)
    done = cli("cut", "items.json")
    assert done.returncode == 0
    body = done.stdout.decode().partition("\n[Artifact: ")[0]
    shown = json.loads(body)
    assert (shown[0]["id"], shown[-1]["id"]) == (0, 999)
    assert any("items omitted" in str(item) for item in shown)
    assert "it is JSON" in done.stderr.decode()


def test_cut_shows_whole_rows_of_a_table(cli: Cli) -> None:
    (cli.folder / "table.csv").write_text(TABLE)
    body = cli.said("cut", "table.csv").partition("... [")[0]
    rows = list(csv.reader(body.splitlines()))
    assert rows[0] == ["id", "name", "size"]
    assert {len(row) for row in rows} == {3}


def test_cut_keeps_the_error_of_a_log(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    done = cli("cut", "run.log", "--limit", "1000")
    assert b"ERROR disk is full" in done.stdout
    assert b"it looks like log" in done.stderr


def test_cut_says_what_it_did_beside_the_view(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    told = cli("cut", "run.log").stderr.decode()
    for name in ("kind", "strategy", "because", "original", "shown", "left out"):
        assert name in told


def test_cut_keeps_to_the_given_limit(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    assert len(cli.json("cut", "run.log", "--limit", "600")["content"]) <= 600


def test_cut_refuses_a_limit_that_is_too_small(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    done = cli("cut", "run.log", "--limit", "255")
    assert done.returncode == 2
    assert b"at least 256" in done.stderr


def test_cut_uses_the_strategy_that_is_named(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    report = cli.json("cut", "run.log", "--strategy", "tail")
    assert (report["strategy"], report["because"]) == ("tail", "you asked for it")
    assert report["content"].startswith("... [Beginning omitted: ")


def test_cut_keeps_what_the_question_is_about(cli: Cli) -> None:
    (cli.folder / "table.csv").write_text(TABLE.replace("row 1234", "zanzibar"))
    asked = cli.json("cut", "table.csv", "--limit", "800", "--question", "how large is zanzibar?")
    assert "1234,zanzibar,8638" in asked["content"]
    assert "zanzibar" not in cli.json("cut", "table.csv", "--limit", "800")["content"]


def test_cut_cuts_by_the_tool_it_came_from(cli: Cli) -> None:
    (cli.folder / "words.txt").write_text("some words of no kind\n" * 1_000)
    assert cli.json("cut", "words.txt", "--tool", "execute_command")["strategy"] == "tail"
    assert cli.json("cut", "words.txt", "--tool", "read_file")["strategy"] == "head_tail"


def test_compare_puts_every_strategy_side_by_side(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    table = cli.said("cut", "run.log", "--compare")
    rows = cli.json("cut", "run.log", "--compare")
    assert [row["asked_for"] for row in rows] == list(STRATEGIES)
    assert all(name in table for name in STRATEGIES)
    assert all(row["shown_chars"] <= 8_000 for row in rows)


def test_cut_prints_json_for_programs(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    report = cli.json("cut", "run.log")
    assert report["kind"] == "log"
    assert report["chars"] == len(LOG) > report["shown_chars"] == len(report["content"])
    assert report["left_out_chars"] > 0 < report["gaps"]


def test_cut_reads_standard_input(cli: Cli) -> None:
    assert cli("cut", "-", input=b"short").stdout.strip() == b"short"
    assert cli.json("cut", "-", input=ITEMS.encode())["kind"] == "json"


def test_cut_shows_what_fits_whole(cli: Cli) -> None:
    (cli.folder / "short.txt").write_text("short\n")
    report = cli.json("cut", "short.txt")
    assert (report["content"], report["strategy"], report["because"]) == ("short\n", "none", "it fits")


def test_an_unknown_strategy_is_refused_with_the_list(cli: Cli) -> None:
    (cli.folder / "short.txt").write_text("short\n")
    done = cli("cut", "short.txt", "--strategy", "middle")
    assert done.returncode == 2
    assert all(f"`{name}`" in done.stderr.decode() for name in STRATEGIES)


def test_a_missing_file_is_reported(cli: Cli) -> None:
    done = cli("cut", "nowhere.txt")
    assert done.returncode == 2
    assert b"nowhere.txt" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_folder_is_no_file(cli: Cli) -> None:
    done = cli("cut", ".")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_binary_file_is_shown_as_type_size_and_digest(cli: Cli) -> None:
    (cli.folder / "picture.png").write_bytes(read_output("gradient.png"))
    done = cli("cut", "picture.png")
    assert done.returncode == 0
    assert done.stdout.startswith(b"[Binary: image/png, ")
    assert cli("cut", "picture.png", "--compare").returncode == 0


def test_cut_stores_nothing(cli: Cli) -> None:
    (cli.folder / "run.log").write_text(LOG)
    cli("cut", "run.log")
    assert not Path(cli.folder / "home").exists()
