"""Words of a log are on record as notes that say who said them, and nothing else is taken for one."""

import pytest

from keepwhole.canonical.entry import Result
from keepwhole.record.words_note import TOOL, SaidWords, read_words


def note(arguments: str | None, tool: str = TOOL) -> Result:
    return Result(at=1, trace_id="trace_" + "0" * 22, artifact_id="art_1_x", tool=tool, arguments=arguments)


def test_what_is_written_is_read_again() -> None:
    said = SaidWords("user", 7)
    assert said.as_arguments() == '{"v": 1, "role": "user", "message": 7}'
    assert read_words(note(said.as_arguments())) == said


@pytest.mark.parametrize("arguments", [None, "", "{", "[]", "7", '{"role": "user"}', '{"role": "u", "message": "x"}'])
def test_what_cannot_be_read_is_no_note(arguments: str | None) -> None:
    assert read_words(note(arguments)) is None


def test_a_result_of_a_tool_is_no_note() -> None:
    assert read_words(note(SaidWords("user", 7).as_arguments(), tool="bash")) is None
