"""Cache markers are counted wherever they are, and one more is put in without touching another byte."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.wire.cache_markers import Marker, cache_markers, unmarked, with_cache_marker
from keepwhole.wire.request_body import RequestBody, read_request

EPHEMERAL = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "done"}
CALL = {"type": "tool_use", "id": "c1", "name": "work", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def request(messages: list[Any], **fields: Any) -> RequestBody:
    read = read_request(json.dumps({"model": "claude-sonnet-5", **fields, "messages": messages}).encode())
    assert read is not None
    return read


def marked(block: Any, marker: Any = EPHEMERAL) -> Any:
    return {**block, "cache_control": marker}


def put(made: RequestBody, index: int, most: int = 4) -> Any:
    data = with_cache_marker(made, index, most)
    return None if data is None else json.loads(data)["messages"]


def without(value: Any) -> Any:
    """A message as a provider's cache sees it."""
    if isinstance(value, dict):
        return {key: without(part) for key, part in value.items() if key != "cache_control"}  # pyright: ignore
    return [without(part) for part in value] if isinstance(value, list) else value  # pyright: ignore


def test_markers_are_found_on_tools_system_messages_results_and_at_the_top() -> None:
    inner = {**RESULT, "content": [marked({"type": "text", "text": "x"})]}
    made = request(
        [{"role": "user", "content": "a"}, {"role": "user", "content": [RESULT, marked(RESULT, LONG), inner]}],
        tools=[{"name": "a"}, marked({"name": "b"})],
        system=[{"type": "text", "text": "s"}, marked({"type": "text", "text": "t"})],
        cache_control=EPHEMERAL,
    )
    found = [Marker(-2, 1, None), Marker(-1, 1, None), Marker(1, 1, "1h"), Marker(1, 2, None), Marker(2, 0, None)]
    assert cache_markers(made) == found
    assert found[2].seconds == 3_600


def test_a_text_that_quotes_a_marker_has_none() -> None:
    quoted = {"role": "user", "content": [{"type": "text", "text": 'he wrote {"cache_control": {"type": 1}}'}]}
    assert cache_markers(request([quoted])) == []
    assert unmarked(json.dumps(quoted)) == json.dumps(quoted)


def test_a_marker_goes_on_the_last_block() -> None:
    messages = [{"role": "user", "content": [RESULT, {"type": "text", "text": "x"}]}, {"role": "user", "content": "b"}]
    made = request(messages)
    data = with_cache_marker(made, 0, 4)
    assert data is not None
    assert json.loads(data)["messages"][0]["content"] == [RESULT, marked({"type": "text", "text": "x"})]
    assert data.decode().replace(', "cache_control": {"type": "ephemeral"}', "") == made.text


def test_a_string_becomes_one_block_with_its_own_bytes() -> None:
    text = '{"messages": [{"role": "user", "content": "caf\\u00e9 \\ud83d\\ude00"}, {"role":"user","content":"b"}]}'
    made = read_request(text.encode())
    assert made is not None
    data = with_cache_marker(made, 0, 4)
    assert data is not None
    assert '[{"type": "text", "text": "caf\\u00e9 \\ud83d\\ude00", "cache_control"' in data.decode()
    assert data.decode().endswith('{"role":"user","content":"b"}]}')


@pytest.mark.parametrize(
    "content",
    [
        "",
        "  ",
        [],
        [THOUGHT],
        [{"type": "text", "text": ""}],
        [{"type": "redacted_thinking", "data": "x"}],
        None,
        ["x"],
    ],
)
def test_nothing_goes_where_no_marker_may_be(content: Any) -> None:
    assert put(request([{"role": "assistant", "content": content}, {"role": "user", "content": "b"}]), 0) is None


def test_a_message_has_one_marker_at_most_and_a_request_as_many_as_allowed() -> None:
    messages = [{"role": "user", "content": [marked(RESULT)]}, {"role": "assistant", "content": [CALL]}]
    made = request(messages, system=[marked({"type": "text", "text": "s"})])
    assert put(made, 0) is None
    assert put(made, 1, most=2) is None
    assert put(made, 1, most=3)[1]["content"] == [marked(CALL)]
    assert put(made, 5) is None
    assert put(made, -1) is None


def test_a_marker_lives_as_long_as_the_next_one() -> None:
    messages: list[Any] = [{"role": "user", "content": "a"}, {"role": "user", "content": [marked(RESULT)]}]
    system = [marked({"type": "text", "text": "s"}, LONG)]
    assert put(request(messages, system=system), 0)[0]["content"][0]["cache_control"] == EPHEMERAL
    messages[1]["content"] = [RESULT]
    assert put(request(messages, system=system), 0)[0]["content"][0]["cache_control"] == LONG


BLOCKS = st.sampled_from([RESULT, CALL, THOUGHT, {"type": "text", "text": "ä"}, {"type": "text", "text": ""}])
CONTENTS = st.text(max_size=5) | st.lists(BLOCKS.flatmap(lambda one: st.sampled_from([one, marked(one)])), max_size=3)
MESSAGES = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": CONTENTS}))


@given(MESSAGES, st.integers(0, 6), st.integers(0, 4), st.booleans())
def test_never_more_than_allowed_and_nothing_else_changes(
    messages: list[Any], index: int, most: int, narrow: bool
) -> None:
    text = json.dumps({"messages": copy.deepcopy(messages)}, separators=(",", ":") if narrow else None)
    made = read_request(text.encode())
    assert made is not None
    before = len(cache_markers(made))
    assert before == text.count('"cache_control"')
    data = with_cache_marker(made, index, most)
    if data is None:
        return
    again = read_request(data)
    assert again is not None
    assert len(cache_markers(again)) == before + 1 <= most
    content = messages[index]["content"]
    was = [{"type": "text", "text": content}] if isinstance(content, str) else content
    assert without(again.messages[index]["content"]) == without(was)
    assert [one for at, one in enumerate(again.messages) if at != index] == [
        one for at, one in enumerate(messages) if at != index
    ]


@given(MESSAGES, st.booleans())
def test_a_message_without_its_markers_is_what_it_was_before_it_had_any(messages: list[Any], narrow: bool) -> None:
    separators = (",", ":") if narrow else None
    for message in messages:
        made = unmarked(json.dumps(message, separators=separators))
        assert made == json.dumps(without(message), separators=separators)


@pytest.mark.parametrize(("ttl", "seconds"), [("5m", 300), ("1h", 3_600), ("2h", None), (None, None), (7, None)])
def test_a_marker_says_how_long_the_cache_is_to_live(ttl: object, seconds: int | None) -> None:
    marker = EPHEMERAL if ttl is None else {**EPHEMERAL, "ttl": ttl}
    (found,) = cache_markers(request([{"role": "user", "content": [marked({"type": "text", "text": "x"}, marker)]}]))
    assert found.seconds == seconds
