"""What clients put around results is taken off, and what is left joined with it is what came, whatever the text is."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.message import Message, ResultText
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.clients.codex import CODEX
from keepwhole.clients.facts import ClientFacts
from keepwhole.clients.opencode import OPENCODE
from keepwhole.clients.table import CLIENTS
from keepwhole.truncation.notice import imitates
from keepwhole.wire.frames import split_frame, without_frames

TASKS = (
    "\n\n<system-reminder>\nThe task tools haven't been used recently. If you're working on tasks that would benefit "
    "from tracking progress, consider using TaskCreate to add new tasks and TaskUpdate to update task status (set to "
    "in_progress when starting, completed when done). Also consider cleaning up the task list if it has become stale. "
    "Only use these if relevant to the current work. This is just a gentle reminder - ignore if not applicable.\n\n"
    "</system-reminder>"
)
PARTIAL = (
    "[Truncated: PARTIAL view — /w/app/[id]/page.tsx: showing lines 1-1397 of 3601 total (54742 tokens, cap 25000). "
    "Call Read with offset=1398 limit=1397 for the next page, or Grep to find a specific section. To read it anyway, "
    "up to what still fits in your context, call Read again with allow_large: true — only if you genuinely need all of "
    "it or the user asked for the whole file. Do NOT answer from this page alone if the answer may be further in the "
    "file.]"
)


def tokens_left(count: int | str) -> str:
    return f"\n\n<system-reminder>\n<total_tokens>{count} tokens left</total_tokens>\n</system-reminder>"


def chunk(code: int, name: str = "8ecf88", seconds: str = "0.0000") -> str:
    lines = (f"Chunk ID: {name}", f"Wall time: {seconds} seconds", f"Process exited with code {code}")
    return "\n".join((*lines, "Original token count: 1349", "Output:\n"))


class Written(NamedTuple):
    """A frame as the real program wrote it."""

    client: ClientFacts
    before: str
    behind: str


WRITTEN = (
    Written(CLAUDE_CODE, "", tokens_left(14_975_025)),
    Written(CLAUDE_CODE, "", tokens_left("Infinite")),
    Written(CLAUDE_CODE, "", TASKS + tokens_left(7)),
    Written(CLAUDE_CODE, "", f"\n\n<system-reminder>\n{PARTIAL}\n</system-reminder>{tokens_left(7)}"),
    Written(CLAUDE_CODE, f"<system-reminder>{PARTIAL}</system-reminder>\n\n", ""),
    Written(CODEX, chunk(0), ""),
    Written(CODEX, chunk(-1, "0", "10.0016"), ""),
    Written(
        CODEX, "Chunk ID: d1ff41\nWall time: 10.0016 seconds\nProcess running with session ID 28004\nOutput:\n", ""
    ),
)
written = pytest.mark.parametrize("frame", WRITTEN)
PIECES = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "x",
            "<system-reminder>",
            "</system-reminder>",
            "<total_tokens>",
            " tokens left</total_tokens>",
        ),
        *("12", "Chunk ID: ", "8ecf88", "\nWall time: ", "0.1 seconds", "\nProcess exited with code ", "\nOutput:\n"),
        *("[Truncated: PARTIAL view — ", "]", "The task tools haven't been used recently. ", tokens_left(3), chunk(1)),
        *("\ud800", "\x00", "é", TASKS),
    ]
)
imitations = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))


def taken_off(text: str, client: ClientFacts) -> ResultText:
    (returned,) = without_frames(Message("tool", returned=(ResultText("c", ("content",), text),)), client.name).returned
    return returned


@written
def test_a_frame_is_taken_off_as_its_client_writes_it(frame: Written) -> None:
    text = "line 1\nline 2"
    found = taken_off(f"{frame.before}{text}{frame.behind}", frame.client)
    assert (found.before, found.text, found.behind) == (frame.before, text, frame.behind)
    assert split_frame(f"{frame.before}{text}{frame.behind}") == (frame.before, text, frame.behind)


@written
def test_another_client_has_no_such_frame(frame: Written) -> None:
    text = f"{frame.before}line 1{frame.behind}"
    for client in {CLAUDE_CODE, CODEX, OPENCODE} - {frame.client}:
        assert taken_off(text, client).text == text


@written
def test_a_frame_around_nothing_is_all_that_the_client_says(frame: Written) -> None:
    text = frame.before + frame.behind
    assert not taken_off(text, frame.client).is_framed


@written
def test_a_frame_in_the_middle_of_a_text_is_a_part_of_it(frame: Written) -> None:
    text = f"before\n{frame.before}line 1{frame.behind}\nbehind"
    assert taken_off(text, frame.client).text == text


@given(imitations, st.sampled_from(CLIENTS))
def test_before_and_text_and_behind_are_always_what_came(text: str, client: ClientFacts) -> None:
    found = taken_off(text, client)
    assert found.around(found.text) == found.before + found.text + found.behind == text
    assert found.text or not text
    assert "".join(split_frame(text)) == text


@given(imitations, st.sampled_from(WRITTEN))
def test_the_frame_of_any_text_is_taken_off_and_nothing_that_is_no_frame(text: str, frame: Written) -> None:
    found = taken_off(f"{frame.before}{text}{frame.behind}", frame.client)
    assert found.around(found.text) == f"{frame.before}{text}{frame.behind}"
    if found.is_framed:
        assert len(found.text) <= len(text)
        assert found.text in text


@pytest.mark.parametrize(
    "text",
    [
        "text" + tokens_left("<many>"),
        "text" + tokens_left("7 [Artifact: art_1] 3"),
        "text" + tokens_left(7) + "\n",
        "text" + tokens_left(7)[1:],
        "text\n\n<system-reminder>\nRead art_1 again.\n</system-reminder>",
        "text" + TASKS.replace("recently. ", "recently. [Artifact: art_1] "),
        "text" + TASKS.replace("recently. ", "recently. \n"),
        "text" + TASKS.replace("recently. ", "recently. " + "x" * 4_000),
        chunk(0).replace("8ecf88", "not hex") + "text",
        chunk(0).replace("0.0000", "[Artifact: art_1]") + "text",
        chunk(0).replace("Output:\n", "") + "text",
        "Output:\ntext",
    ],
)
def test_what_only_looks_like_a_frame_is_a_part_of_the_text(text: str) -> None:
    assert split_frame(text) == ("", text, "")


def test_a_frame_that_imitates_a_notice_is_a_part_of_the_text() -> None:
    notice = "120 lines (90 to 210) are left out: get_artifact(id=art_1700000000_abcdefgh, lines=90-210)"
    assert imitates(notice)
    forged = [
        f"text\n\n<system-reminder>\n{PARTIAL.replace('offset', words)}\n</system-reminder>"
        for words in ("offset", "other words", notice)
    ]
    assert [split_frame(text)[1] == "text" for text in forged] == [True, True, False]
    assert taken_off(forged[2], CLAUDE_CODE).text == forged[2]


def test_the_exit_code_in_a_frame_is_understood() -> None:
    failed, ended = taken_off(chunk(127) + "text", CODEX), taken_off(chunk(0) + "text", CODEX)
    assert (failed.exit_code, failed.is_error) == (127, True)
    assert (ended.exit_code, ended.is_error) == (0, False)
    assert taken_off("Process exited with code 1\nOutput:\ntext", CODEX).exit_code is None


def test_a_message_without_frames_is_the_same_object() -> None:
    message = Message("tool", returned=(ResultText("c", ("content",), "text"),))
    assert all(without_frames(message, client.name) is message for client in CLIENTS)


@pytest.mark.parametrize(
    "part", ["\n\n<system-reminder>\n", "</system-reminder>", "[", TASKS[:300], "Chunk ID: 8", "\n"]
)
def test_many_beginnings_of_frames_are_read_in_no_time(part: str) -> None:
    text = part * (2_000_000 // len(part)) + "\n</system-reminder>"
    assert split_frame(text) == ("", text, "")
