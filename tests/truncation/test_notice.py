"""The words of a notice, and that the call it prints fetches exactly what is missing."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.canonical.utf8 import showable
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import Segment, TextSource
from keepwhole.truncation.notice import how_to_fetch, omitted, reference, remainder_omitted, size_text
from keepwhole.truncation.recall_link import RecallLink
from tests.build import TRUNCATION, in_memory, numbered_lines, printed_call


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


@pytest.mark.parametrize("strategy", ["head", "head_tail"])
@pytest.mark.parametrize("kind", TEXTS)
def test_the_printed_call_fetches_exactly_the_gap(kind: str, strategy: str) -> None:
    session = in_memory(settings=TRUNCATION.replace(truncation=TruncationConfiguration(default_strategy=strategy)))
    text = TEXTS[kind]
    shown = session.keep("read_file", None, text)
    assert shown.cut is not None
    (gap,) = shown.cut.gaps
    missing = showable(text[gap.start : gap.stop])
    answer = session.call_tool("get_artifact", printed_call(shown.content))
    assert not answer.is_error
    assert answer.content.startswith(missing)
    assert re.fullmatch(r"\n?\[[^\n]*\]", answer.content[len(missing) :])


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
    answer = session.call_tool("get_artifact", printed_call(shown.content)).content
    assert text[: gap.start] + answer[: gap.stop - gap.start] + text[gap.stop :] == text
