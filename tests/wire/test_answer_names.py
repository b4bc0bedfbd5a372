"""What an answer says of itself is found in every dialect, whole and streamed, and never raises."""

import json

import pytest

from keepwhole.wire.answer_names import AnswerNames, answer_names
from tests.upstream.spelling import SPELLINGS, Text, Tool


@pytest.mark.parametrize("dialect", sorted(SPELLINGS))
@pytest.mark.parametrize("part", [Text("hello " * 9_000), Tool("look", {})], ids=["words", "a call"])
def test_a_stream_says_what_the_whole_answer_says(dialect: str, part: Text | Tool) -> None:
    spelling = SPELLINGS[dialect]  # type: ignore[index]
    whole = answer_names(json.dumps(spelling.whole([part], 1, None)).encode(), is_stream=False)
    streamed = answer_names(b"".join(spelling.events([part], 1, None)), is_stream=True)
    assert whole == streamed
    assert whole.id or dialect == "converse", "answers of Converse have no id"
    assert whole.reasons


def test_gemini_has_other_names() -> None:
    body = {"responseId": "r", "modelVersion": "gemini-3-pro", "candidates": [{"finishReason": "STOP"}]}
    assert answer_names(json.dumps(body).encode(), is_stream=False) == AnswerNames("r", "gemini-3-pro", ("STOP",))


@pytest.mark.parametrize("data", [b"", b"[1, null]", b"{", b"\xff\n\n", b"data: 1\n\n", b'{"choices": [3]}'])
@pytest.mark.parametrize("is_stream", [False, True])
def test_what_is_not_understood_says_nothing(data: bytes, is_stream: bool) -> None:
    assert answer_names(data, is_stream) == AnswerNames()
