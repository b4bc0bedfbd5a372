"""The commands for the record, as a person or a script uses them."""

import json
from pathlib import Path

from keepwhole import Session
from tests.apps.cli.cli import Cli
from tests.apps.cli.test_run_and_keep import HOSTILE
from tests.build import numbered_lines


def kept(cli: Cli, text: str, tool: str = "fetch", *words: str) -> str:
    shown = cli.json("keep", "--tool", tool, *words, input=text.encode())
    return str(shown["artifact_id"] or shown["trace_id"])


def long_text(lines: int = 3_000) -> str:
    return "".join(f"line {number} of many\n" for number in range(1, lines + 1))


def test_artifacts_list_names_what_was_cut_and_nothing_else(cli: Cli) -> None:
    kept(cli, "short")
    artifact = kept(cli, long_text(), "fetch", "--arguments", '{"path": "big.txt"}')
    rows = cli.json("artifacts", "list")
    assert [row["artifact_id"] for row in rows] == [artifact]
    table = cli.said("artifacts", "list")
    assert artifact in table
    assert "big.txt" in table


def test_artifacts_show_gives_lines_and_characters(cli: Cli) -> None:
    artifact = kept(cli, long_text())
    lines = cli.said("artifacts", "show", artifact, "--lines", "100-101")
    assert lines.startswith("line 100 of many\nline 101 of many\n")
    chars = cli.said("artifacts", "show", artifact, "--chars", "0-6")
    assert chars.startswith("line 1\n")


def test_an_unknown_id_says_where_to_look(cli: Cli) -> None:
    kept(cli, "x")
    done = cli("artifacts", "show", "art_1_nope")
    assert done.returncode == 3
    assert b"keepwhole artifacts list" in done.stderr


def test_raw_does_not_write_to_a_terminal_unless_forced(cli: Cli) -> None:
    artifact = kept(cli, HOSTILE * 500)
    assert b"--force" in cli.on_a_terminal("artifacts", "show", artifact, "--raw")
    assert b"\x1b[2J" in cli.on_a_terminal("artifacts", "show", artifact, "--raw", "--force")


def test_hostile_text_is_escaped_in_every_listing(cli: Cli) -> None:
    artifact = kept(cli, HOSTILE * 500 + " needle", HOSTILE.replace("\x00", ""))
    for words in (
        ("artifacts", "list"),
        ("artifacts", "search", "needle"),
        ("search", "needle"),
        ("sessions", "show"),
        ("show", artifact),
        ("artifacts", "show", artifact),
    ):
        seen = cli.on_a_terminal(*words)
        assert seen
        plain = seen.replace(b"\x1b[1m", b"").replace(b"\x1b[2m", b"").replace(b"\x1b[0m", b"")
        assert not set(plain) & (set(range(32)) - set(b"\r\n\t")), words


def test_search_finds_the_line(cli: Cli) -> None:
    artifact = kept(cli, long_text() + "the needle is here\n")
    found = cli.json("artifacts", "search", "needle", "here")
    assert [(row["artifact_id"], row["line"]) for row in found] == [(artifact, 3_001)]
    assert cli("artifacts", "search", "absentword").returncode == 1


def test_show_tells_what_was_returned_and_what_was_shown(cli: Cli) -> None:
    kept(cli, "small result")
    artifact = kept(cli, long_text())
    first, second = cli.json("show", "1"), cli.json("show", artifact)
    assert (first["returned"], first["shown"]) == ("small result", None)
    assert second["lines"] == 3_000
    assert "omitted]" in second["shown"]
    assert second["strategy"] == "head_tail"
    words = cli.said("show", artifact)
    assert ", ok" in words.splitlines()[1]
    assert "What the tool returned" in words
    assert "What was shown" in words
    assert f"digest {second['digest']}, verified" in words
    assert second["returned"] == long_text()[:2_000]
    assert "the first 2,000 characters; all of it: keepwhole artifacts show" in words


def test_sessions_verify_proves_a_good_record_and_finds_a_changed_one(cli: Cli) -> None:
    kept(cli, "a" * 100_000)
    assert cli("sessions", "verify", "--all").returncode == 0
    blob = next((cli.folder / "home" / "blobs").rglob("*/*"))
    data = bytearray(blob.read_bytes())
    data[50_000] ^= 1
    blob.write_bytes(data)
    done = cli("sessions", "verify", "--all")
    assert done.returncode == 1
    assert "✗".encode() in done.stdout
    assert cli("doctor", "--full").returncode == 1


def test_an_exported_session_comes_back_with_the_same_head(cli: Cli, tmp_path: Path) -> None:
    kept(cli, long_text())
    kept(cli, "é" * 200_000)
    name = cli.json("sessions", "list")[0]["session"]
    head = cli.json("sessions", "verify")[0]["head"]
    assert cli("sessions", "export", name, "-o", str(tmp_path / "out.jsonl")).returncode == 0
    other = Cli(tmp_path / "other")
    (tmp_path / "other").mkdir()
    assert other("sessions", "import", str(tmp_path / "out.jsonl")).returncode == 0
    assert other.json("sessions", "verify", name)[0]["head"] == head
    assert other("sessions", "import", str(tmp_path / "out.jsonl")).returncode == 2
    assert other("sessions", "import", str(tmp_path / "out.jsonl"), "--as", "copy").returncode == 0


def test_purge_asks_first_and_leaves_nothing_to_recall(cli: Cli) -> None:
    artifact = kept(cli, long_text(20_000))
    name = cli.json("sessions", "list")[0]["session"]
    assert cli("sessions", "purge", name).returncode == 1
    assert cli("sessions", "purge", name, "--yes").returncode == 0
    assert cli("artifacts", "show", artifact).returncode == 3
    assert not list((cli.folder / "home" / "blobs").rglob("*/*"))
    assert cli.json("sessions", "list") == []


def test_clean_leaves_open_sessions_alone(cli: Cli) -> None:
    kept(cli, "x")
    assert cli.json("artifacts", "clean")["purged"] == []
    assert cli("artifacts", "clean", "--all", "--yes").returncode == 0
    assert cli.json("sessions", "list") == []


def test_doctor_is_content_with_a_good_record(cli: Cli) -> None:
    kept(cli, "x")
    done = cli("doctor", "--full")
    assert done.returncode == 0, done.stdout
    assert "✗".encode() not in done.stdout


def test_config_show_says_where_a_value_comes_from(cli: Cli) -> None:
    (cli.folder / "keepwhole.yaml").write_text("tools:\n  truncation:\n    inline_limit: 500\n")
    assert cli.json("config", "show")["tools.truncation.inline_limit"] == 500
    assert b"keepwhole.yaml" in cli("config", "show").stdout
    cli.environ["KEEPWHOLE_INLINE_LIMIT"] = "600"
    assert cli.json("config", "show")["tools.truncation.inline_limit"] == 600


def test_config_check_suggests_the_right_key(cli: Cli) -> None:
    (cli.folder / "keepwhole.yaml").write_text("tools:\n  truncation:\n    inline_limt: 500\n")
    done = cli("config", "check")
    assert done.returncode == 2
    assert b"Did you mean `inline_limit`?" in done.stderr


def test_init_gives_the_folder_its_own_ignored_record(cli: Cli) -> None:
    del cli.environ["KEEPWHOLE_HOME"]
    assert cli("init").returncode == 0
    assert (cli.folder / ".keepwhole" / ".gitignore").read_text() == "*\n"
    cli("run", "--", "echo", "hello")
    assert (cli.folder / ".keepwhole" / "record.db").exists()


def test_a_session_is_named_by_option_then_environment_then_the_newest_here(cli: Cli) -> None:
    cli("keep", "--tool", "t", "--session", "one", input=b"1")
    cli("keep", "--tool", "t", "--session", "two", input=b"2")
    assert cli.json("show", "1")["session"] == "two"
    cli.environ["KEEPWHOLE_SESSION"] = "one"
    assert cli.json("show", "1")["session"] == "one"
    assert cli.json("show", "1", "--session", "two")["session"] == "two"


def test_json_is_one_ascii_line(cli: Cli) -> None:
    done = cli("keep", "--tool", "t", "--json", input="é \x1b[0m".encode())
    assert done.stdout.isascii()
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout)["content"] == "é \x1b[0m"


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    assert b"keepwhole demo" in cli().stdout


def test_demo_ends_by_itself_and_proves_its_point(cli: Cli) -> None:
    done = cli("demo")
    words = done.stdout.decode()
    assert done.returncode == 0, words
    assert "0 lost" in words
    assert "✗" not in words


def test_search_prints_the_unit_and_a_command_that_reads_more(cli: Cli) -> None:
    kept(cli, long_text(500) + "the quokka crossed at 4,417\n" + long_text(500), "read_file", "--arguments", '{"p": 1}')
    found = cli.json("search", "where", "did", "quokkas", "cross?")
    (unit, *_) = found["units"]
    assert "the quokka crossed" in unit["text"]
    assert unit["first_line"] <= 501 <= unit["last_line"]
    words = unit["command"].split()
    assert words[:3] == ["keepwhole", "artifacts", "show"]
    assert b"the quokka crossed" in cli(*words[1:]).stdout
    printed = cli.said("search", "4417")
    assert unit["artifact_id"] in printed
    assert "the quokka crossed" in printed


def test_a_long_session_that_nobody_searched_is_read_newest_first_and_nothing_is_missed(cli: Cli) -> None:
    session = Session("s", store=str(cli.folder / "home"))
    for number in range(40):
        session.keep("bash", {"command": "make"}, f"needle no{number}\n{numbered_lines(9_000)}rare{number} thing\n")
    session.store.close()
    printed = cli.said("artifacts", "search", "needle", "--limit", "3")
    assert [line.split()[-1] for line in printed.splitlines()[1:4]] == ["no39", "no38", "no37"]
    assert printed.splitlines()[4] == "Searched 3 of 40 results so far, newest first"
    assert [row["line"] for row in cli.json("artifacts", "search", "rare0", "thing")] == [9_002]
    assert cli("artifacts", "search", "absentword").stdout == (
        b"No line in session s has all of: absentword. Try fewer words, or beginnings of words.\n"
    )
    first, _, answer = cli.said("search", "where is rare39?").partition("\n\n")
    assert first.startswith("First lines, from the newest results")
    assert "line 9,002: rare39 thing\nmore: keepwhole artifacts show art_" in first
    assert "rare39 thing" in answer
    assert "First lines" not in cli.said("search", "where is rare39?")


def test_search_for_unknown_words_reports_no_match_and_exits_with_one(cli: Cli) -> None:
    kept(cli, "some words")
    done = cli("search", "zebra")
    assert (done.returncode, b"Nothing in session" in done.stdout) == (1, True)
    assert cli.json("search", "zebra", code=1)["units"] == []
    assert cli("search", "words", "--budget", "0").returncode == 2


def test_search_in_one_endless_line_gives_a_command_by_characters(cli: Cli) -> None:
    kept(cli, json.dumps([{"id": n, "note": f"ordinary {n}"} for n in range(900)]).replace("ordinary 450", "quokka"))
    (unit, *_) = cli.json("search", "quokka")["units"]
    assert "--chars" in unit["command"]
    assert b"quokka" in cli(*unit["command"].split()[1:]).stdout


def test_trace_show_tells_the_call_and_pages_its_output(cli: Cli) -> None:
    artifact = kept(cli, long_text(), "fetch", "--arguments", '{"path": "big.txt"}')
    shown = cli.said("trace", "show", artifact)
    assert shown.startswith('[Call: fetch {"path": "big.txt"}]\n[Status: ok; output ')
    following = shown.rstrip().rpartition("next: ")[2].rstrip("]").split()
    assert following[:3] == ["keepwhole", "trace", "show"]
    assert cli.said(*following[1:]).count("of many") > 100
    lines = cli.json("trace", "show", artifact, "--lines", "5-6")
    assert lines["tool"] == "fetch"
    assert lines["content"].startswith("line 5 of many\nline 6 of many\n")
    found = cli.said("trace", "show", artifact, "--pattern", "line 77 ", "--context", "1")
    assert "76- line 76 of many\n77: line 77 of many\n78- line 78 of many\n" in found
    assert cli("trace", "show", "trace_none").returncode == 3
