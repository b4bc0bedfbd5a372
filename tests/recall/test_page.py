"""Pages: the call that an answer prints, run as printed, leads through the whole text."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import Session
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.truncation.notice import MARK
from tests.build import in_memory, numbered_lines, printed_call

NOTE = re.compile(r"\[(lines|characters) ([\d,]+)-([\d,]+) of [\d,]+(, the end|; next: get_artifact\([^()\n]*\))\]$")


def paged(limit: int) -> Session:
    return in_memory(settings=Settings(home="unused", retrieval_limit=limit, policy="truncation"))


def read_through(session: Session, artifact_id: str) -> tuple[str, int]:
    """Follow every printed call; return the whole text and the number of calls."""
    arguments, parts = {"id": artifact_id}, []
    while True:
        answer = session.call_tool("get_artifact", arguments)
        assert not answer.is_error, answer.content
        assert len(answer.content) <= session.settings.retrieval_limit
        note = NOTE.search(answer.content)
        if note is None:
            assert not parts
            return answer.content, 1
        text = answer.content[: note.start()]
        if note[1] == "characters":
            size = int(note[3].replace(",", "")) - int(note[2].replace(",", ""))
            assert text[size:] in ("", "\n")
            text = text[:size]
        parts.append(text)
        if note[4] == ", the end":
            return "".join(parts), len(parts)
        arguments = printed_call(note[0])
        assert len(parts) < 5_000, "the pages do not come to an end"


TEXTS = {
    "many lines": numbered_lines(5_000),
    "no last line end": numbered_lines(3_000) + "the end",
    "one giant line": "abcdefghij" * 12_000,
    "one giant line of emoji": "😀é" * 40_000,
    "a giant line among short ones": "short\n" * 50 + "x" * 90_000 + "\n" + "short\n" * 50,
    "two giant lines": "x" * 70_000 + "\n" + "y" * 70_000 + "\n",
    "empty lines": "\n" * 60_000,
    "CRLF": numbered_lines(4_000).replace("\n", "\r\n"),
    "carriage returns only": numbered_lines(4_000).replace("\n", "\r"),
    "not ASCII": "Grüße, 世界, नमस्ते 😀\n" * 4_000,
    "notes that look like ours": "[lines 1-2 of 3, the end]\n" * 4_000,
    "half surrogates": "\ud800 alone\n" * 9_000,
}


@pytest.mark.parametrize("limit", [1_000, 8_000, 32_000])
@pytest.mark.parametrize("kind", TEXTS)
def test_following_the_printed_calls_reads_the_whole_text(kind: str, limit: int) -> None:
    text = TEXTS[kind]
    session = paged(limit)
    shown = session.keep("fetch", None, text)
    got, calls = read_through(session, str(shown.artifact_id))
    assert got.replace(MARK, "") in (showable(text), showable(text) + "\n")
    assert calls <= 2.5 * len(text) / (limit - 300) + 3


def test_invalid_bytes_are_paged_through_like_characters() -> None:
    data = b"caf\xe9 latin-1, all of it\n" * 5_000
    session = paged(8_000)
    shown = session.keep("fetch", None, data)
    got, _ = read_through(session, str(shown.artifact_id))
    assert got == data.decode("utf-8", "replace")


LINES = ("", "short", "a line with some words in it", "é😀", "x" * 150, "y" * 1_500)


@settings(max_examples=40)
@given(st.binary(min_size=10, max_size=150), st.sampled_from(("\n", "\r\n", "\r", "")), st.integers(600, 3_000))
def test_any_text_is_read_through_under_any_limit(raw: bytes, end: str, limit: int) -> None:
    text = "".join(LINES[byte % len(LINES)] + end for byte in raw)
    session = paged(limit)
    shown = session.keep("t", None, text)
    got, _ = read_through(session, str(shown.trace_id))
    assert got in (text, text + "\n")


def test_a_page_breaks_at_line_ends_where_there_are_any() -> None:
    session = paged(1_000)
    shown = session.keep("fetch", None, numbered_lines(1_000))
    page, _, note = session.call_tool("get_artifact", {"id": shown.artifact_id}).content.rpartition("[lines ")
    assert page == numbered_lines(page.count("\n"))
    assert note.startswith("1-")


def test_no_next_call_is_printed_beyond_what_was_asked_for() -> None:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=2_000))
    shown = session.keep("fetch", None, numbered_lines(400))
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "101-120"}).content
    assert answer.endswith("[lines 101-120 of 400, all that was asked for]")
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "start_char": 50, "length": 100}).content
    assert answer.endswith(", all that was asked for]")
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "101-300"}).content
    assert printed_call(answer)["lines"].endswith("-300"), "what does not fit is asked for up to the same end"
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "lines": "351-400"}).content
    assert answer.endswith("[lines 351-400 of 400, the end]")
    answer = session.call_tool("get_artifact", {"id": shown.artifact_id, "from_end": 20}).content
    assert answer.endswith("[lines 381-400 of 400, the end]")


def test_no_next_call_is_printed_beyond_the_elements_that_were_asked_for() -> None:
    session = paged(2_000)
    shown = session.keep("list", {}, json.dumps([{"id": number, "note": "x" * 50} for number in range(900)]))
    ids = {"id": shown.artifact_id}
    few = session.call_tool("get_artifact", {**ids, "path": "$[3:5].id"}).content
    assert few.endswith("[items 3-4 of 900, counted from 0, all that was asked for]")
    assert session.call_tool("get_artifact", {**ids, "path": "$[898:950].id"}).content.endswith(", the end]")
    assert 'path="$[3:' not in session.call_tool("get_artifact", {**ids, "path": "$[3:400]"}).content
    assert ":400]" in session.call_tool("get_artifact", {**ids, "path": "$[3:400]"}).content.rpartition("next: ")[2]
