"""Claude Code's hook inputs as recorded: what they say, and replacements in the shape they came in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.apps.hooks.claude_code import parse
from keepwhole.apps.hooks.payload import Boundary, ToolReturn
from tests.apps.hooks.recorded import event, events

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["stdout", "stderr", "type", "file", "content", "mode", "filenames", "text"])


def returned(one: dict[str, Any]) -> ToolReturn:
    heard = parse(one)
    assert isinstance(heard, ToolReturn)
    return heard


def replaced(one: dict[str, Any], words: str = "a view\nof it") -> Any:
    replace = returned(one).replace
    assert replace is not None
    return replace(words)["hookSpecificOutput"]["updatedToolOutput"]


@pytest.mark.parametrize("one", [one for one in events("claude-code") if one["hook_event_name"] == "PostToolUse"])
def test_every_recorded_result_is_heard_with_its_call(one: dict[str, Any]) -> None:
    heard = returned(one)
    assert (heard.tool, heard.arguments, heard.call_id) == (one["tool_name"], one["tool_input"], one["tool_use_id"])
    assert heard.agent == one.get("agent_id")
    assert not heard.is_error


def test_a_replaced_bash_result_has_its_keys_but_for_the_clients_own_frame() -> None:
    small, long = event("claude-code", "Bash"), event("claude-code", "Bash", persistedOutputSize=51_894)
    assert returned(small).output == "hi\nerr"
    assert returned(long).file == long["tool_response"]["persistedOutputPath"]
    assert replaced(long) == {**small["tool_response"], "stdout": "a view\nof it", "stderr": ""}


def test_standard_error_is_part_of_the_result() -> None:
    one = event("claude-code", "Bash")
    one["tool_response"] |= {"stdout": "out", "stderr": "err"}
    assert returned(one).output == "out\nerr"
    assert replaced(one)["stderr"] == ""


def test_a_replaced_read_keeps_its_file_and_its_first_line() -> None:
    one = event("claude-code", "Read", type="text")
    file = one["tool_response"]["file"]
    assert returned(one).output == file["content"]
    assert replaced(one) == {"type": "text", "file": {**file, "content": "a view\nof it", "numLines": 2}}


def test_a_read_that_the_client_refused_can_be_answered_with_a_text() -> None:
    one = event("claude-code", "Read", type="file_unchanged")
    assert returned(one).unchanged
    file = {"filePath": one["tool_input"]["file_path"], "startLine": 1, "totalLines": 2, "numLines": 2}
    assert replaced(one) == {"type": "text", "file": {**file, "content": "a view\nof it"}}


@pytest.mark.parametrize("mode", ["content", "count"])
def test_a_replaced_grep_keeps_its_keys(mode: str) -> None:
    one = event("claude-code", "Grep", mode=mode)
    assert returned(one).output == one["tool_response"]["content"]
    assert replaced(one) == {**one["tool_response"], "content": "a view\nof it"}


def test_names_that_grep_or_glob_found_are_one_a_line() -> None:
    grep, glob = event("claude-code", "Grep", mode="files_with_matches"), event("claude-code", "Glob")
    assert returned(grep).output == "a.txt"
    assert replaced(grep) == {"mode": "content", "numFiles": 0, "filenames": [], "content": "a view\nof it"}
    assert returned(glob).output == "\n".join(glob["tool_response"]["filenames"])
    assert replaced(glob) == {**glob["tool_response"], "filenames": ["a view", "of it"]}


def test_texts_of_an_mcp_result_become_one() -> None:
    one = event("claude-code", "mcp__big__two")
    assert returned(one).output == "\n".join(block["text"] for block in one["tool_response"])
    assert replaced(one) == [{"type": "text", "text": "a view\nof it"}]


@pytest.mark.parametrize(
    "one",
    [
        event("claude-code", "Write"),
        event("claude-code", "Agent"),
        event("claude-code", "Read", type="notebook"),
        {**event("claude-code", "mcp__big__plain"), "tool_response": [{"type": "image", "data": "AA=="}]},
        {**event("claude-code", "Bash"), "tool_response": {"stdout": "AA==", "stderr": "", "isImage": True}},
    ],
    ids=lambda one: one["tool_name"],
)
def test_what_has_no_shape_that_was_tried_is_only_kept(one: dict[str, Any]) -> None:
    assert returned(one).replace is None
    assert returned(one).output


def test_a_failure_is_kept_as_an_error() -> None:
    one = next(one for one in events("claude-code") if one["hook_event_name"] == "PostToolUseFailure")
    heard = returned(one)
    assert (heard.is_error, heard.replace) == (True, None)
    assert heard.output.startswith("Exit code 1\n")


def test_boundaries_are_heard_and_the_model_is_told_after_resume_and_compaction() -> None:
    heard = [parse(one) for one in events("claude-code")]
    boundaries = [one for one in heard if isinstance(one, Boundary)]
    assert [(one.event, *one.details.values(), one.tell is not None) for one in boundaries] == [
        ("SessionStart", "startup", False),
        ("SessionStart", "resume", True),
        ("PreCompact", "manual", False),
        ("SessionStart", "compact", True),
    ]


@given(
    st.sampled_from(["Bash", "Read", "Grep", "Glob", "mcp__x__y", "New"]),
    JSON | st.dictionaries(KEYS, JSON, max_size=4),
)
def test_any_response_is_heard_and_whatever_is_replaced_keeps_the_words(tool: str, response: Any) -> None:
    heard = returned({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_response": response})
    if heard.replace is not None:
        assert "some words" in str(heard.replace("some words"))


def test_other_events_are_nothing_to_us() -> None:
    assert parse({"hook_event_name": "Stop"}) is None
    assert parse({}) is None
