"""Lines and answers in any state: what can be read is, and a call's id is found."""

import json
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

from hypothesis import given
from hypothesis import strategies as st

from keepwhole.apps.mcp.answers import valid_answer
from keepwhole.apps.mcp.line_reader import LineSplitter, LongLine, answered_id, read_line


@given(st.binary(max_size=200), st.integers(0, 10**6))
def test_the_id_of_an_answer_is_found_in_whatever_surrounds_it(noise: bytes, number: int) -> None:
    text = json.dumps(noise.decode("latin-1"))
    for line in (f'{{"id": {number}, "result": {text}', f'{{"result": {{"id": 7, "x": {text}}}, "id": {number}}}'):
        assert answered_id(line.encode()) == number
    assert answered_id(f'{{"id": {number}, "method": "ping", "x": {text}'.encode()) is None
    assert answered_id(f'[{{"id": {number}, "x": {text}}}]'.encode()) is None


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_lines_are_the_same_however_they_arrive(chunks: list[bytes], longest: int) -> None:
    splitter = LineSplitter(longest)
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    wanted = b"".join(chunks).split(b"\n")[:-1]
    assert len(found) == len(wanted)
    for line, whole in zip(found, wanted, strict=True):
        if len(whole) <= longest:
            assert line == whole
        else:
            assert isinstance(line, LongLine)
            assert whole.startswith(line.head)
            assert whole.endswith(line.tail)


@pytest.mark.parametrize("template", ['{"id": 3, "result": "%s"}', '{"result": "%s", "jsonrpc": "2.0", "id": 3}'])
def test_a_line_over_the_limit_is_not_kept_and_its_call_is_answered(template: str) -> None:
    splitter = LineSplitter(10_000)
    (line,) = splitter.feed((template % ("x" * 50_000) + "\n").encode())
    assert isinstance(line, LongLine)
    message = read_line(line, "evil")
    assert message is not None
    assert message.message.id == 3


KEYS = [
    "content",
    "type",
    "text",
    "tools",
    "name",
    "inputSchema",
    "isError",
    "structuredContent",
    "_meta",
    "nextCursor",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(KEYS), json_values), st.sampled_from(["2024-11-05", "2025-11-25", "2026-07-28"]))
def test_any_answer_to_a_call_or_a_list_can_be_passed_on(result: dict[str, Any], version: str) -> None:
    for method in ("tools/call", "tools/list"):
        made = valid_answer(method, version, result)
        assert made is not None
        assert valid_answer(method, version, made) is made


def test_an_answer_that_lacks_what_the_newest_revision_requires_is_nobodys_to_cache_or_share() -> None:
    made = valid_answer("tools/list", "2026-07-28", {"tools": []})
    assert made == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": []}
    assert valid_answer("tools/list", "2025-11-25", {"tools": []}) == {"tools": []}
