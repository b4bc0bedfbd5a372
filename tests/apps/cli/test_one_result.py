"""One result by every command that prints it: `show`, `trace show`, `artifacts show`, `explain`, `undo`; and lists."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.canonical.media import MediaBytes
from tests.apps.cli.cli import Quick
from tests.build import NOON
from tests.canonical.pictures import png

LINES = "".join(f"line {number}\n" for number in range(1, 4_001))


class Record(Quick):
    """The command line with a session in which the first result was cut."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self.open("work") as work:
            self.cut = work.keep("fetch", {"path": "a.txt"}, LINES)
            self.whole = work.keep("ls", {"path": "é"}, "short\n", is_error=True, exit_code=3)
        self.artifact = self.cut.artifact_id or ""

    def open(self, name: str, at: int = NOON) -> Session:
        return Session(name, store=str(self.folder / "home"), clock=lambda: at)

    def fails(self, *words: str, code: int = 2) -> str:
        done = self(*words)
        assert done.returncode == code
        return done.stderr.decode().removeprefix("keepwhole: ").strip()


@pytest.fixture
def cli(tmp_path: Path) -> Record:
    return Record(tmp_path)


def test_a_result_is_known_by_its_number_and_its_ids(cli: Record) -> None:
    for name in ("1", cli.cut.trace_id, cli.artifact):
        assert cli.json("show", name)["trace_id"] == cli.cut.trace_id
    assert cli.json("show", "2")["trace_id"] == cli.whole.trace_id
    assert cli.fails("show", "3", code=3) == (
        "Session work has no result 3. `keepwhole sessions show work` lists its results."
    )
    assert cli.fails("show", "0", code=3).startswith("Session work has no result 0.")


def test_the_overview_has_the_facts_and_what_was_shown(cli: Record) -> None:
    shown = cli.json("show", "1")
    facts = ("session", "tool", "arguments", "is_error", "exit_code", "bytes", "chars", "lines", "media_type", "flags")
    assert {name: shown[name] for name in facts} == {
        **{"session": "work", "tool": "fetch", "arguments": '{"path": "a.txt"}', "is_error": False, "exit_code": None},
        **{"bytes": len(LINES), "chars": len(LINES), "lines": 4_000, "media_type": "text/plain", "flags": []},
    }
    assert shown["returned"] == LINES[:2_000]
    assert shown["shown"] == cli.cut.content
    assert shown["shown_chars"] == len(cli.cut.content)
    text = cli.said("show", "1").splitlines()
    assert text[0] == 'fetch  {"path": "a.txt"}'
    assert re.fullmatch(r"entry \d of work, .*, ok", text[1])
    assert text[2] == f"trace {cli.cut.trace_id}, artifact {cli.artifact}"
    assert text[4] == "What the tool returned  38.0 KB, 38,893 characters, 4,000 lines"
    assert re.fullmatch(r"digest [0-9a-f]{64}, verified", text[5])
    rest = f"… the first 2,000 characters; all of it: keepwhole artifacts show {cli.artifact} --raw"
    assert rest in text
    assert any(
        line.startswith("What was shown  ") and f"{len(cli.cut.content):,} characters, rule " in line for line in text
    )


def test_a_short_result_was_shown_whole(cli: Record) -> None:
    shown = cli.json("show", "2")
    assert (shown["shown"], shown["returned"], shown["is_error"]) == (None, "short\n", True)
    assert "rule" not in shown
    text = cli.said("show", "2")
    assert ", error, exit code 3\n" in text
    assert "all of it: keepwhole" not in text
    assert text.endswith("\nWhat was shown  all of it\n")


def test_an_image_has_no_text_to_print(cli: Record) -> None:
    with cli.open("pictures", NOON + 1) as session:
        (image,) = session.keep_media("see", {}, [MediaBytes("image/png", png(3, 2))])
    assert cli.json("show", image)["returned"] is None
    assert "\n(not text: image/png)\n" in cli.said("show", image)
    assert cli("artifacts", "show", image, "--raw").stdout == png(3, 2)


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("--lines", "2-3"), "line 2\nline 3\n"),
        (("--lines", "4000-4010"), "line 4000\n"),
        (("--chars", "0-6"), "line 1\n"),
        (("--chars", "7-14"), "line 2\n"),
        (("--from-end", "1"), "line 4000\n"),
        (("--raw",), LINES),
        (("--raw", "--part", "arguments"), '{"path": "a.txt"}'),
    ],
)
@pytest.mark.parametrize("command", [("show",), ("artifacts", "show")])
def test_a_part_is_printed_as_it_is(
    cli: Record, command: tuple[str, ...], words: tuple[str, ...], content: str
) -> None:
    printed = cli.said(*command, "1", *words)
    assert printed == content or printed.startswith(content.rstrip("\n"))


def test_many_lines_that_are_asked_for_come_all_and_a_page_has_its_limit(cli: Record) -> None:
    assert cli.said("artifacts", "show", "1", "--lines", "1-4000") == LINES + "[lines 1-4,000 of 4,000, the end]\n"
    page = cli.said("artifacts", "show", "1")
    assert page.startswith("line 1\nline 2\n")
    assert len(page) < len(LINES)
    assert f"keepwhole artifacts show {1 if '1 --' in page else cli.artifact}" in page
    call = cli.said("trace", "show", "1", "--lines", "1-4000")
    assert len(call) < len(LINES)
    assert "line 1\n" in call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--raw", "--json"), "`--raw` prints bytes, and `--json` prints text. Give one of them."),
        (("--force",), "`--force` is for `--raw`. Add `--raw`, or leave `--force` out."),
        (("--regex",), "`--regex` needs a pattern. Add `--pattern TEXT`."),
        (("--context", "0"), "`--context` needs a pattern. Add `--pattern TEXT`."),
        (("--lines", "0-2"), '"0-2" is not a range of lines. Give it as `--lines 100-200`, counted from 1.'),
        (("--chars", "x"), '"x" is not a range of characters. Give it as `--chars 0-5000`, counted from 0.'),
    ],
)
def test_options_that_would_be_ignored_are_refused(cli: Record, words: tuple[str, ...], said: str) -> None:
    assert cli.fails("artifacts", "show", "1", *words) == said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--lines", "4001-4002"), "There is no line 4,001: the result has 4,000. Ask for `--lines 1-4000`."),
        (
            ("--chars", "38894-38895"),
            "There is no character 38,894: the result has 38,893. Ask for `--chars 0-38893`.",
        ),
    ],
)
def test_a_part_behind_the_end_is_not_there(cli: Record, words: tuple[str, ...], said: str) -> None:
    assert cli.fails("artifacts", "show", "1", *words, code=3) == said


def test_a_part_is_printed_for_programs_with_the_facts_of_its_call(cli: Record) -> None:
    shown = cli.json("artifacts", "show", "1", "--lines", "2-2")
    assert {**shown, "artifact_id": "", "content": shown["content"][:7]} == {
        **{"session": "work", "trace_id": cli.cut.trace_id, "artifact_id": "", "tool": "fetch"},
        **{"arguments": '{"path": "a.txt"}', "turn": None, "call_id": None, "exit_code": None, "is_error": False},
        **{"part": "result", "call": None, "content": "line 2\n"},
    }
    assert "line 7\n" in cli.json("trace", "show", "1", "--pattern", "line 7", "--context", "0")["content"]
    assert "a.txt" in cli.json("trace", "show", "1")["call"]
    assert cli.json("artifacts", "show", "1", "--part", "arguments")["part"] == "arguments"


def test_results_that_were_cut_are_listed(cli: Record) -> None:
    (one,) = cli.json("artifacts", "list")
    assert {**one, "source": ""} == {
        **{"artifact_id": cli.artifact, "bytes": len(LINES), "lines": 4_000, "source": "", "session": "work"},
        **{"at": NOON * 1_000, "trace_id": cli.cut.trace_id},
    }
    heads, _, row = cli.said("artifacts", "list").splitlines()
    assert heads.split() == ["ID", "Size", "Lines", "Source"]
    assert re.split(r"\s{2,}", row)[:3] == [cli.artifact, "38.0 KB", "4,000"]
    with cli.open("other", NOON + 1) as other:
        other.keep("ls", None, "x")
    assert cli.said("artifacts", "list") == "No artifacts: every result so far was shown in full.\n"
    assert len(cli.json("artifacts", "list", "--all")) == 1
    assert "contradict each other" in cli.fails("artifacts", "list", "--all", "--session", "work")


def test_the_newest_artifacts_are_listed_up_to_the_limit(cli: Record) -> None:
    with cli.open("work") as work:
        newest = work.keep("fetch", {"path": "b.txt"}, LINES + "b").artifact_id
    done = cli("artifacts", "list", "--limit", "1")
    assert newest in done.stdout.decode()
    assert cli.artifact not in done.stdout.decode()
    assert done.stderr.decode() == (
        "keepwhole: the list of work ends after the newest 1 artifact; `--limit N` lists more\n"
    )
    both = cli("artifacts", "list", "--limit", "2")
    assert both.stderr == b""
    assert [row["artifact_id"] for row in cli.json("artifacts", "list")] == [cli.artifact, newest]


def test_a_cut_is_explained_and_undone(cli: Record) -> None:
    (edit,) = cli.json("explain", "work")["edits"]
    assert {name: edit[name] for name in ("step", "tool", "artifact_id", "at", "undo")} == {
        **{"step": 1, "tool": "fetch", "artifact_id": cli.artifact, "at": NOON * 1_000},
        **{"undo": f"keepwhole undo {cli.artifact}"},
    }
    assert edit["tokens_saved"] == edit["tokens_before"] - edit["tokens_after"] > 0
    assert len(edit["history"]) == 1
    assert (
        cli.json("explain", cli.artifact) == cli.json("explain", cli.cut.trace_id) == cli.json("explain", "work", "1")
    )
    assert cli.fails("explain", "work", "2", code=3) == (
        "Result 2 of session `work` was not shortened by any rule. `keepwhole explain work` lists those that were."
    )
    undone = cli.json("undo", cli.artifact)
    assert (undone["session"], undone["trace_id"]) == ("work", cli.cut.trace_id)
    assert cli.said("undo", cli.artifact) == (
        f"{cli.artifact} is already shown in full in session work; nothing was changed.\n"
    )


def test_an_undo_tells_what_it_takes(cli: Record) -> None:
    assert re.fullmatch(
        rf"{cli.artifact} is shown in full again in session work: about [\d,]+ tokens more in each request\.\n",
        cli.said("undo", cli.artifact),
    )


def test_all_that_is_hidden_is_shown_again_at_once(cli: Record) -> None:
    with cli.open("work") as work:
        work.keep("fetch", {"path": "b.txt"}, LINES + "b")
    said = cli.said("undo")
    assert re.fullmatch(
        r"Shown in full again in session work: 2 results, about [\d,]+ tokens more in each request\.\n",
        said,
    )
    assert cli.said("undo") == "Nothing was hidden in session work.\n"
    again = cli.json("undo")
    assert (again["session"], again["results"], again["tokens"], again["reread"]) == ("work", 0, 0, 0)


def test_rolling_context_is_remembered(cli: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KEEPWHOLE_")]:
        monkeypatch.delenv(name)
    before = cli.json("rolling-context", "status")
    assert before["rolling_context_enabled"] is False
    assert cli.json("rolling-context", "on") == {"rolling_context_enabled": True, "policy": "rolling"}
    assert cli.said("rolling-context", "status") == ("Rolling context is on; the policy in effect here is `rolling`.\n")
    monkeypatch.setenv("KEEPWHOLE_POLICY", "truncation")
    assert cli.said("rolling-context", "status") == (
        "Rolling context is on; the policy in effect here is `truncation`.\n"
        "`KEEPWHOLE_POLICY` takes precedence over it.\n"
    )
    assert cli.json("rolling-context", "off")["rolling_context_enabled"] is False


def test_sessions_that_are_over_are_cleaned_and_others_only_when_named(cli: Record) -> None:
    with cli.open("other", NOON + 1) as other:
        other.keep("ls", None, "x" * 1_024)
    assert cli.said("artifacts", "clean") == "Purged 0 sessions, 0 bytes.\n"
    assert cli.fails("artifacts", "clean", "--session", "other", code=1) == (
        "Permanently purge 1 session with 1.0 KB? Say yes with `--yes`."
    )
    assert cli.said("artifacts", "clean", "--session", "other", "--yes") == "Purged 1 session, 1.0 KB.\n"
    (work,) = cli.json("sessions", "list")
    assert cli.json("artifacts", "clean", "--all", "--yes") == {"purged": ["work"], "bytes": work["bytes"]}
    assert cli.json("sessions", "list") == []
    assert cli.said("artifacts", "collect") == "Every body has an entry; nothing was moved.\n"
    assert cli.json("artifacts", "collect") == {"collected": 0}


@pytest.mark.parametrize("by", ["words", "relevance"])
def test_a_search_finds_lines_or_passages(cli: Record, by: str) -> None:
    found: Any = cli.json("search", "short", "--by", by)
    if by == "words":
        (match,) = found
        assert {name: match[name] for name in ("tool", "line", "text", "part")} == {
            **{"tool": "ls", "line": 1, "text": "short", "part": "result"},
        }
        heads, _, row = cli.said("artifacts", "search", "short").splitlines()
        assert heads.split() == ["ID", "Tool", "Line", "Text"]
        assert row.split()[1:] == ["ls", "1", "short"]
    else:
        (unit,) = found["units"]
        assert (found["session"], found["query"], found["is_all"], found["calls"]) == ("work", "short", True, [])
        assert unit["command"] == f"keepwhole artifacts show {unit['artifact_id']} --lines 1-1"
        said = cli.said("search", "short").splitlines()
        assert "short" in said
        assert said[-1].startswith("1 unit, about ")


def test_a_search_without_a_match_says_so_and_names_the_calls_that_have_the_words(cli: Record) -> None:
    assert cli("search", "nowhere").returncode == cli("artifacts", "search", "nowhere").returncode == 1
    none = "No line in session work has all of: nowhere. Try fewer words, or beginnings of words.\n"
    assert cli("artifacts", "search", "nowhere").stdout.decode() == none
    assert b"Nothing in session work is relevant to that." in cli("search", "nowhere").stdout
    (given,) = cli.json("search", "a.txt")["calls"]
    assert (given["tool"], given["artifact_id"]) == ("fetch", cli.artifact)
    assert f"more: keepwhole artifacts show {cli.artifact} --part arguments" in cli.said("search", "a.txt")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((" ",), 'Say what to search for: `keepwhole search "where is the timeout set?"`.'),
        (("x", "--limit", "3"), "`--limit` is for `--by words`. Give both, or leave `--limit` out."),
        (("x", "--by", "words", "--budget", "3"), "`--budget` is for `--by relevance`. Give both, or leave"),
        (("x", "--by", "words", "--query-id", "3"), "`--query-id` is for `--by relevance`. Give both, or leave"),
        (("x", "--by", "words", "--task", "3"), "`--task` is for `--by relevance`. Give both, or leave"),
    ],
)
def test_options_of_the_other_way_of_searching_are_refused(cli: Record, words: tuple[str, ...], said: str) -> None:
    assert cli.fails("search", *words).startswith(said)


def test_lines_are_found_up_to_the_limit(cli: Record) -> None:
    assert len(cli.json("search", "line", "--by", "words", "--limit", "3")) <= 3
    assert cli.json("search", "line", "--by", "words", "--limit", "1")[0]["tool"] == "fetch"
