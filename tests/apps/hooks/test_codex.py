"""Codex' hook inputs as recorded, and what its log adds to them."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.apps.hooks.codex import parse
from keepwhole.apps.hooks.payload import Boundary, ToolReturn
from tests.apps.hooks.recorded import events

SMALL, FAILED, CUT, *_ = [one for one in events("codex") if one["hook_event_name"] == "PostToolUse"]


def logged(call_id: str, output: str, code: int = 0) -> list[bytes]:
    item = {"type": "CommandExecution", "id": call_id, "aggregated_output": output, "exit_code": code}
    lines = [{"type": "event_msg", "payload": {"type": "item_completed", "item": item}}, {"type": "other"}]
    return [json.dumps(line).encode() for line in lines] + [b"{half a li"]


def returned(one: dict[str, Any], lines: list[bytes]) -> ToolReturn:
    heard = parse(one, lines)
    assert isinstance(heard, ToolReturn)
    return heard


def test_a_result_is_replaced_with_its_exit_code_before_it() -> None:
    heard = returned(FAILED, logged(FAILED["tool_use_id"], FAILED["tool_response"], 1))
    assert (heard.exit_code, heard.output) == (1, FAILED["tool_response"])
    assert heard.replace is not None
    answer = heard.replace("a view")
    assert answer == {"decision": "block", "reason": "Process exited with code 1\nOutput:\na view"}


def test_what_the_client_cut_is_taken_whole_from_its_log() -> None:
    heard = returned(CUT, logged(CUT["tool_use_id"], "1\n2\n" * 10_000))
    assert heard.output == "1\n2\n" * 10_000
    assert heard.replace is not None


def test_what_even_the_log_has_cut_is_only_kept() -> None:
    heard = returned(CUT, logged(CUT["tool_use_id"], "1\n2\n" * 20_000))
    assert (heard.output, heard.replace) == (CUT["tool_response"], None)


def test_without_the_exit_code_nothing_is_replaced() -> None:
    assert returned(SMALL, logged("another_call", "hi")).replace is None
    assert returned(SMALL, []).replace is None


def test_an_mcp_result_is_replaced_unless_there_is_more_in_it_than_text() -> None:
    one = {**SMALL, "tool_name": "mcp__big__table"}
    texts = {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    heard = returned({**one, "tool_response": texts}, [])
    assert heard.output == "a\nb"
    assert heard.replace is not None
    image = {"content": [{"type": "image", "data": "AA=="}]}
    assert returned({**one, "tool_response": image}, []).replace is None
    assert returned({**one, "tool_response": {**texts, "structuredContent": {"rows": 1}}}, []).replace is None


def test_boundaries_are_heard() -> None:
    heard = parse(events("codex")[0])
    assert isinstance(heard, Boundary)
    assert (heard.event, heard.details, heard.tell) == ("SessionStart", {"source": "startup"}, None)
    resumed = parse({"hook_event_name": "SessionStart", "source": "resume"})
    assert isinstance(resumed, Boundary)
    assert resumed.tell is not None
    assert parse({"hook_event_name": "PreCompact", "trigger": "auto"}) == Boundary("PreCompact", {"trigger": "auto"})
    assert parse({"hook_event_name": "Stop"}) is None


@given(st.lists(st.binary(max_size=40) | st.just(b'{"item_completed": "call_0_0", "payload": 1}'), max_size=5))
def test_any_log_is_survived(lines: list[bytes]) -> None:
    assert returned(SMALL, lines).replace is None


def test_a_shells_result_that_is_not_text_is_read_like_that_of_another_tool() -> None:
    lines = logged(SMALL["tool_use_id"], "out")
    heard = returned({**SMALL, "tool_response": {"content": [{"type": "text", "text": "a"}]}}, lines)
    assert (heard.output, heard.exit_code) == ("a", None)
    assert heard.replace is not None
    assert heard.replace("shorter") == {"decision": "block", "reason": "shorter"}


def test_an_output_of_64_kb_in_the_log_may_be_cut_there_too() -> None:
    for size, output in ((65_535, "x" * 65_535), (65_536, CUT["tool_response"])):
        heard = returned(CUT, logged(CUT["tool_use_id"], "x" * size))
        assert heard.output == output
        assert (heard.replace is not None) is (size == 65_535)


def test_another_entry_of_the_log_that_names_the_call_is_not_its_result() -> None:
    item = {"type": "CommandExecution", "id": "other", "command": SMALL["tool_use_id"], "exit_code": 3}
    other = json.dumps({"payload": {"type": "item_completed", "item": item}}).encode()
    deep = b'{"item_completed": "' + SMALL["tool_use_id"].encode() + b'", "x": ' + b"[" * 9_000
    assert returned(SMALL, [other, deep, *logged(SMALL["tool_use_id"], "out", 7)]).exit_code == 7
    assert returned(SMALL, [other]).exit_code is None
    assert returned({**SMALL, "tool_use_id": None}, logged("", "out", 7)).exit_code is None
