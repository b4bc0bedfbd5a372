"""A pattern inside one result: literal or RE2, bounded in length and in time."""

import re
import time
from functools import partial
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.config import Settings
from keepwhole.recall import grep, patterns
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.grep import GrepQuery
from keepwhole.recall.patterns import AnyCaseFinder, ExpressionFinder, Finder, LiteralFinder
from keepwhole.recall.ranges import CharRange
from keepwhole.recall.scan import Scan
from keepwhole.store.reader import bytes_reader
from keepwhole.testing import printed_calls
from tests.build import in_memory, numbered_lines


def paged(limit: int = 2_000) -> Session:
    return in_memory(settings=Settings(home="unused", retrieval_limit=limit, policy="truncation"))


def asked(session: Session, text: str, **arguments: object) -> str:
    shown = session.keep("bash", None, text)
    return session.call_tool("get_artifact", {"id": shown.trace_id, **arguments}).content


def test_a_match_is_shown_with_its_line_number_and_the_total() -> None:
    answer = asked(paged(), numbered_lines(500), pattern="000123")
    assert answer == "123: line 000123 of the text\n[1 match shown in 500 lines, 12,000 characters, all there are]"


def test_context_shows_neighboring_lines_and_separates_groups() -> None:
    near = asked(paged(), numbered_lines(50), pattern="0003", context="1")
    assert near.startswith(
        "2- line 000002 of the text\n3: line 000003 of the text\n4- line 000004 of the text\n--\n29- "
    )
    assert "30: line 000030 of the text\n31: line 000031" in near
    apart = asked(paged(), "a\n" * 3 + "needle\n" + "a\n" * 9 + "needle\n", pattern="needle", context=1)
    assert apart.startswith("3- a\n4: needle\n5- a\n--\n13- a\n14: needle\n[2 matches shown")


def test_following_the_printed_calls_finds_every_match_once() -> None:
    session = paged(1_000)
    text = "".join(f"row {n} {'needle' if n % 3 == 0 else 'hay'} é\n" for n in range(2_000))
    shown = session.keep("bash", None, text)
    arguments, seen = {"id": shown.artifact_id, "pattern": "needle"}, list[int]()
    while True:
        answer = session.call_tool("get_artifact", arguments).content
        assert len(answer) <= 1_000
        seen += [int(line.split(":")[0]) for line in answer.splitlines() if ": row" in line]
        calls = printed_calls(answer.splitlines()[-1])
        if not calls:
            break
        arguments = calls[-1].arguments
    assert seen == [n + 1 for n in range(2_000) if n % 3 == 0]


def test_the_end_of_a_range_is_kept_from_page_to_page() -> None:
    session = paged(1_000)
    shown = session.keep("bash", None, numbered_lines(1_000))
    arguments, last = {"id": shown.artifact_id, "pattern": "line", "lines": "100-200"}, 0
    while arguments:
        answer = session.call_tool("get_artifact", arguments).content
        last = int(answer.splitlines()[-2].split(":")[0])
        calls = printed_calls(answer.splitlines()[-1])
        arguments = calls[-1].arguments if calls else {}
    assert last == 200


@pytest.mark.parametrize("between", [10, 300, 5_000])
def test_every_match_in_one_giant_line_is_found_by_its_characters(between: int) -> None:
    session = paged(1_000)
    text = ("é" * between + "needle") * 40
    shown = session.keep("bash", None, text)
    arguments, seen, calls = {"id": shown.trace_id, "pattern": "needle"}, 0, 0
    while arguments:
        answer = session.call_tool("get_artifact", arguments).content
        assert len(answer) <= 1_000
        body, _, note = answer.rpartition("\n")
        seen += body.count("needle")
        calls += 1
        arguments = printed_calls(note)[-1].arguments if printed_calls(note) else {}
    assert seen >= 40 if between < 300 else seen == 40
    assert calls <= 40


def test_no_match_says_how_much_was_looked_at_and_prints_no_call_that_reads_all_of_it() -> None:
    answer = asked(paged(), numbered_lines(500), pattern="no such line")
    assert "no match in 500 lines" in answer
    assert printed_calls(answer) == []


def test_what_is_spelled_with_other_capitals_is_found_where_nothing_is_spelled_the_same() -> None:
    text = numbered_lines(500) + "Error_42 in the parser\n" + numbered_lines(500)
    answer = asked(paged(), text, pattern="ERROR_42")
    assert answer.startswith("[Not spelled so, but with other capitals:]\n501: Error_42 in the parser\n[1 match shown")
    assert "other capitals" not in asked(paged(), text + "ERROR_42\n", pattern="ERROR_42")


def test_following_the_printed_calls_finds_every_match_with_other_capitals_once() -> None:
    session, seen = paged(), list[str]()
    shown = session.keep("fetch", None, "".join(f"{number} Needle in a Haystack\n" for number in range(300)))
    arguments: dict[str, Any] | None = {"id": shown.trace_id, "pattern": "NEEDLE"}
    while arguments:
        answer = session.call_tool("get_artifact", arguments).content
        seen += re.findall(r"^\d+: (\d+) Needle", answer, re.M)
        arguments = next((call.arguments for call in printed_calls(answer)), None)
    assert seen == [str(number) for number in range(300)]


@pytest.mark.parametrize("text", ["a.c\nabc\n", "(a+)+$\naaaa\n", "[x]\nx\n", "\\d\n1\n"])
def test_a_pattern_is_literal_unless_said_otherwise(text: str) -> None:
    first, _, _ = text.partition("\n")
    assert asked(paged(), text, pattern=first).startswith(f"1: {first}\n[1 match shown")


@pytest.mark.parametrize("speed", [True, False])
@pytest.mark.parametrize("needle", ["needle", "nécessaire", "two\nlines", "n"])
def test_a_literal_is_found_across_windows(needle: str, speed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not speed:
        monkeypatch.setattr(patterns, "stringzilla", lambda: None)
    data = needle.encode()
    for at in (0, 262_144 - len(data), 262_144 - 3, 262_144, 300_000, 600_000 - len(data)):
        body = bytearray(b"x" * 600_000)
        body[at : at + len(data)] = data
        reader = bytes_reader(bytes(body))
        scan = Scan(reader, LiteralFinder(data), len(body))
        assert scan.find(0) == (at, at + len(data))
        assert scan.find(at + 1) is None
        assert Scan(reader, LiteralFinder(data), len(body)).count(0) == 1


@pytest.mark.parametrize("searched", [LiteralFinder(b"needle"), AnyCaseFinder(b"NEEDLE"), ExpressionFinder("ne+dle")])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_every_match_is_found_once_wherever_windows_end(searched: Finder, end: bytes) -> None:
    body = (b"x" * 995 + b"needle" + end) * 900
    reader, places, start = bytes_reader(body), [], 0
    scan = Scan(reader, searched, len(body), seconds=60)
    while found := scan.find(start):
        places.append(found[0])
        start = found[1]
    assert places == [995 + number * (1001 + len(end)) for number in range(900)]
    assert scan.reached == len(body)
    assert Scan(reader, searched, len(body), seconds=60).count(0) == 900


def test_a_search_that_runs_out_of_time_says_how_far_it_got_and_continues_there() -> None:
    ticks = iter(range(10_000))
    reader = bytes_reader(b"x" * 3_000_000 + b"needle")
    scan = Scan(reader, LiteralFinder(b"needle"), 3_000_006, seconds=10, clock=lambda: float(next(ticks)))
    assert scan.find(0) is None
    assert scan.is_over
    assert 0 < scan.reached < 3_000_000
    assert Scan(reader, LiteralFinder(b"needle"), 3_000_006).find(scan.reached) == (3_000_000, 3_000_006)


def test_an_answer_whose_time_was_up_names_the_character_to_go_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, start, found = bytes_reader(("é" * 2_000_000 + "needle").encode()), 0, list[str]()
    while start is not None:
        ticks = iter(range(10_000))
        monkeypatch.setattr(grep, "Scan", partial(Scan, seconds=10, clock=lambda ticks=ticks: float(next(ticks))))
        answer = grep.grep(reader, RecallCall("art_1_x"), GrepQuery("needle"), CharRange(start, None), 2_000)
        found.append(re.sub(r"[\d,]{5,}", "#", answer))
        (start,) = [call.arguments.get("start_char") for call in printed_calls(answer)] or [None]
    whole = "in 1 lines, # characters"
    call = 'get_artifact(id="art_1_x", pattern="needle", start_char=#)'
    assert set(found[:-1]) == {f"[no match {whole}; looked at up to character #; next: {call}]"}
    assert found[-1].endswith(f"needle\n[1 match shown {whole}, all there are]")


def test_a_hostile_literal_in_a_hostile_text_takes_no_time() -> None:
    session = paged()
    shown = session.keep("bash", None, "a" * 20_000_000)
    began = time.perf_counter()
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "pattern": "a" * 150 + "b" + "a" * 149})
    assert time.perf_counter() - began < 2
    assert len(answer.content) <= 2_000


def test_without_re2_a_regular_expression_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "re2", None)
    answer = asked(paged(), "abc\n", pattern="a.c", regex=True)
    assert "extra `search`" in answer


def test_with_re2_a_regular_expression_is_matched_within_lines() -> None:
    pytest.importorskip("re2")
    answer = asked(paged(), numbered_lines(500), pattern="^line 0+12[35] of", regex=True)
    assert [line.split(":")[0] for line in answer.splitlines()[:-1]] == ["123", "125"]
    assert "not a regular expression" in asked(paged(), "abc\n", pattern="(((", regex=True)
    assert "empty text" in asked(paged(), "abc\n", pattern="x*", regex=True)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "((a?){90}){90}b", "(.*)*x", "\\C+b", "(?i)É+z"])
def test_with_re2_no_pattern_takes_long(pattern: str) -> None:
    pytest.importorskip("re2")
    session = paged()
    shown = session.keep("bash", None, ("aé" * 2_000 + "\n") * 1_000 + "a" * 1_000_000)
    began = time.perf_counter()
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "pattern": pattern, "regex": True})
    assert time.perf_counter() - began < 2
    assert len(answer.content) <= 2_000


def test_a_damaged_block_is_not_shown_though_it_was_found(tmp_path: object) -> None:
    session = Session("s", store=str(tmp_path))
    shown = session.keep("bash", None, numbered_lines(10_000))
    (blob,) = [path for path in __import__("pathlib").Path(str(tmp_path)).rglob("blobs/*/*")]
    data = blob.read_bytes()
    blob.write_bytes(data.replace(b"line 005000", b"line 00needle")[: len(data)])
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "pattern": "needle"})
    assert answer.is_error
    assert "damaged" in answer.content
    session.close()


@pytest.mark.parametrize("pattern", ["\\C", "x\\C", "\\Cx"])
def test_with_re2_a_match_of_single_bytes_is_widened_to_whole_characters(pattern: str) -> None:
    pytest.importorskip("re2")
    data = bytearray("éxé".encode())
    spans = [ExpressionFinder(pattern).find(data, start, len(data)) for start in (0, 2)]
    for span in spans:
        assert span is None or data[span[0] : span[1]].decode()
