"""The words of a notice, and that the call it prints fetches exactly what is missing."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import Session
from keepwhole.canonical.utf8 import showable
from keepwhole.testing import PrintedCall, printed_calls
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import Segment, TextSource
from keepwhole.truncation.notice import (
    LONGEST_RANGE,
    how_to_fetch,
    omitted,
    reference,
    remainder_omitted,
    size_text,
)
from keepwhole.truncation.recall_link import RecallLink
from tests.build import TRUNCATION, in_memory, numbered_lines


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1_023, "1023 bytes"),
        (1_024, "1.0 KB"),
        (1_536, "1.5 KB"),
        (1_048_524, "1023.9 KB"),
        (1_048_575, "1.0 MB"),
        (1_048_576, "1.0 MB"),
        (2_411_725, "2.3 MB"),
        (1_073_741_823, "1.0 GB"),
        (5_368_709_120, "5.0 GB"),
        (1 << 40, "1.0 TB"),
        (5_000 << 40, "5000.0 TB"),
    ],
)
def test_a_size_is_given_in_bytes_of_1024_with_one_decimal(size: int, text: str) -> None:
    assert size_text(size) == text


def test_the_markers_are_spelled_exactly_as_documented() -> None:
    assert omitted(150, 12_340) == "\n... [150 lines / 12,340 chars omitted] ...\n"
    assert remainder_omitted(300, 25_000) == "\n... [Remainder omitted: 300 lines / 25,000 chars] ..."


def test_a_reference_names_the_artifact_what_it_is_and_its_size() -> None:
    assert reference("art_1_x", "read_file", 1_536) == "[Artifact: art_1_x] read_file (1.5 KB)"


def test_a_gap_of_whole_lines_is_fetched_by_lines() -> None:
    source = TextSource("one\ntwo\nthree\nfour\n")
    text = how_to_fetch(RecallLink("art_1_x"), Segment("gap", 4, 14), source)
    assert text == 'Lines 2-3 of 4 are left out: get_artifact(id="art_1_x", lines="2-3")'


def test_a_gap_inside_a_line_is_fetched_by_characters() -> None:
    source = TextSource("one two three four")
    text = how_to_fetch(RecallLink("art_1_x"), Segment("gap", 4, 14), source)
    assert text == 'Characters 4-14 of 18 are left out: get_artifact(id="art_1_x", start_char=4, length=10)'


TEXTS = {
    "many lines": numbered_lines(1_000),
    "one endless line": "abcdefgh " * 2_000,
    "a few long lines": ("x" * 1_900 + "\n") * 5,
    "CRLF": numbered_lines(1_000).replace("\n", "\r\n"),
    "carriage returns only": numbered_lines(1_000).replace("\n", "\r"),
    "no last line end": numbered_lines(1_000) + "the end",
    "not ASCII": "Grüße, 世界 😀 é\n" * 900,
    "flags": "🇨🇭" * 6_000,
    "half surrogates": "\ud800 alone\n" * 1_200,
}


NOTE = re.compile(r"\[(lines|characters) ([\d,]+)-([\d,]+) of [^\n]*\]$")


def read_by(session: Session, calls: Sequence[PrintedCall]) -> str:
    """What calls return one after another, and those for the next pages, without the notes of pages."""
    parts: list[str] = []
    for call in calls:
        answer = session.call_tool(call.name, call.arguments)
        assert not answer.is_error
        note = NOTE.search(answer.content)
        if note is None:
            return answer.content
        first, last = (int(number.replace(",", "")) for number in note.group(2, 3))
        ends = last - first if note[1] == "characters" else note.start()
        parts += [answer.content[:ends], read_by(session, printed_calls(note[0]))]
    return "".join(parts)


@pytest.mark.parametrize("strategy", ["head", "head_tail"])
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("limit", [7_000, 15_000])
def test_the_printed_calls_fetch_the_gap_by_no_long_range(kind: str, strategy: str, limit: int) -> None:
    limits = TruncationConfiguration(default_strategy=strategy, inline_limit=limit)
    session = in_memory(settings=TRUNCATION.replace(truncation=limits))
    text = TEXTS[kind]
    shown = session.keep("read_file", None, text)
    if shown.cut is None or not shown.cut.gaps:
        return
    (gap,) = shown.cut.gaps
    hidden = gap.stop - gap.start
    (call,) = printed_calls(shown.content)
    given = call.arguments.keys() - {"id"}
    if hidden <= LONGEST_RANGE:
        wanted = text[gap.start : gap.stop]
        assert given in ({"lines"}, {"start_char", "length"})
    elif len(text) - hidden <= min(hidden, 10_000):
        wanted = text
        assert not given
    else:
        wanted = text[gap.start :]
        assert given == {"start_char"} or str(call.arguments["lines"]).endswith("-")
    assert read_by(session, [call]).removesuffix("\n") == showable(wanted).removesuffix("\n")


def test_a_long_gap_in_what_is_mostly_shown_is_read_from_where_it_begins() -> None:
    session = in_memory(
        settings=TRUNCATION.replace(truncation=TruncationConfiguration(inline_limit=40_000, artifact_threshold=900_000))
    )
    text = numbered_lines(6_000)[:75_000]
    shown = session.keep("read_file", None, text)
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    (call,) = printed_calls(shown.content)
    assert str(call.arguments["lines"]).endswith("-")
    assert read_by(session, [call]).removesuffix("\n") == text[gap.start :].removesuffix("\n")


def test_files_are_read_by_one_range_of_any_length() -> None:
    source = TextSource(numbered_lines(3_000))
    for reader in ("Read", "sed"):
        text = how_to_fetch(RecallLink("art_1_x", "/f.txt", reader), Segment("gap", 0, source.chars), source)
        assert text.count("/f.txt") == 1
        assert "3000" in text


LINES = ("short", "a longer line with words", "", "é€😀", "x" * 200)


@settings(max_examples=60)
@given(st.binary(min_size=20, max_size=300), st.integers(256, 1_000), st.sampled_from(("\n", "\r\n", "\r", " ")))
def test_kept_text_and_the_fetched_gap_make_the_original(raw: bytes, limit: int, end: str) -> None:
    text = "".join(LINES[byte % len(LINES)] + end for byte in raw)
    session = in_memory(policy=TruncationConfiguration(inline_limit=limit))
    shown = session.keep("t", None, text)
    if shown.metadata.strategy_used != "head_tail":
        return
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    calls = printed_calls(shown.content)
    found = read_by(session, calls)
    if calls[0].arguments == {"id": shown.artifact_id}:
        assert found == text
    else:
        assert text[: gap.start] + found[: gap.stop - gap.start] + text[gap.stop :] == text
