"""A request that is read like the one before it is what it would be if it were read from its beginning."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical import json_text
from keepwhole.wire import request_body
from keepwhole.wire.request_body import RequestBody, read_request

_TEXTS = st.sampled_from(["", "a", "é", '"', "\\", "x" * 1_500, "]", "},{", "12", "\U0001f600"])
_MESSAGES = st.lists(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "tool"]), _TEXTS), max_size=9
)
_TOOLS = st.lists(st.builds(lambda text: {"name": text}, _TEXTS), max_size=3)
_REQUESTS = st.builds(
    lambda before, messages, after, tools: {**before, "messages": messages, **after, "tools": tools},
    st.dictionaries(st.sampled_from(["model", "system", "max_tokens"]), _TEXTS | st.integers(), max_size=2),
    _MESSAGES,
    st.dictionaries(st.sampled_from(["stream", "n", "system"]), _TEXTS | st.integers(), max_size=2),
    _TOOLS,
)


def _parts(request: RequestBody | None) -> Any:
    if request is None:
        return None
    spans = sorted(request.spans.items())
    return request.key, request.fields, spans, request.messages, request.starts, request.stops, request.data


@given(_REQUESTS, _REQUESTS, st.booleans(), st.integers(0, 9), st.sampled_from([None, (", ", ": "), (",", ":")]))
def test_reading_like_another_gives_the_same(
    first: dict[str, Any], other: dict[str, Any], is_ascii: bool, shared: int, spaces: tuple[str, str] | None
) -> None:
    second = {**other, **{key: first[key] for key in first if key != "messages"}}
    second["messages"] = [*first["messages"][:shared], *other["messages"]]
    for one, two in ((first, second), (second, first), (first, {**first, "messages": second["messages"]})):
        like = read_request(json.dumps(one, ensure_ascii=is_ascii, separators=spaces).encode())
        data = json.dumps(two, ensure_ascii=is_ascii, separators=spaces).encode()
        assert like is not None
        assert _parts(read_request(data, like)) == _parts(read_request(data))


@given(_REQUESTS, st.integers(0, 400), st.binary(max_size=3))
def test_a_request_that_is_broken_is_broken_whatever_came_before(
    request: dict[str, Any], at: int, garbage: bytes
) -> None:
    data = json.dumps(request).encode()
    broken = data[:at] + garbage + data[at:]
    assert _parts(read_request(broken, read_request(data))) == _parts(read_request(broken))


def test_messages_that_both_begin_with_are_taken_over_and_not_read_again() -> None:
    messages = [{"role": "user", "content": f"message {number}"} for number in range(20)]
    like = read_request(json.dumps({"messages": messages[:12]}).encode())
    assert like is not None
    request = read_request(json.dumps({"messages": messages}).encode(), like)
    assert request is not None
    assert [a is b for a, b in zip(request.messages, like.messages, strict=False)][:8] == [True] * 8


def test_a_number_that_goes_on_is_another_number() -> None:
    messages = [{"role": "user", "content": "x"}] * 9
    like = read_request(json.dumps({"messages": messages, "max_tokens": 1}).encode())
    request = read_request(json.dumps({"messages": messages, "max_tokens": 12}).encode(), like)
    assert request is not None
    assert request.fields == {"max_tokens": 12}


def test_a_second_list_of_messages_is_refused_whatever_came_before() -> None:
    messages = [{"role": "user", "content": "x"}] * 9
    like = read_request(json.dumps({"messages": messages}).encode())
    data = json.dumps({"messages": messages, "input": messages}).encode()
    assert read_request(data, like) is None


@given(st.lists(st.tuples(st.integers(0, 11), _TEXTS), max_size=6), st.integers(5, 12), st.booleans())
def test_edits_are_made_at_the_same_places_whatever_was_found_before(
    wanted: list[tuple[int, str]], many: int, is_ascii: bool
) -> None:
    def data(count: int) -> bytes:
        blocks = [{"type": "tool_result", "content": f"é result {number}" * 3} for number in range(count)]
        messages = [{"role": "user", "content": [{"type": "text", "text": "x"}, block]} for block in blocks]
        return json.dumps({"messages": messages, "tools": [{"name": "a"}]}, ensure_ascii=is_ascii).encode()

    edits = {index: [(("content", 1, "content"), text)] for index, text in wanted}
    first = read_request(data(many))
    assert first is not None
    first.in_front(("tools",), [{"name": "b"}]).splice(edits)
    for count in (many, many + 3):
        plain, like = read_request(data(count)), read_request(data(count), first.remembered())
        assert plain is not None
        assert like is not None
        assert like.splice(edits) == plain.splice(edits)
        assert like.skipped == plain.skipped
        assert like.splice(edits) == plain.splice(edits), "and a second time"


@given(st.lists(st.dictionaries(st.integers(0, 9), _TEXTS, max_size=4), min_size=2, max_size=4), st.booleans())
def test_edits_are_written_as_in_a_request_that_nothing_came_before(
    wanted: list[dict[int, str]], is_ascii_at_last: bool
) -> None:
    """Each request has other edits than the one before, and some that are the same."""
    like: RequestBody | None = None
    for number, texts in enumerate(wanted):
        count = 9 + 2 * number
        blocks = [{"type": "tool_result", "content": f"result {each}" * 3} for each in range(count)]
        if number == len(wanted) - 1 and not is_ascii_at_last:
            blocks.append({"type": "tool_result", "content": "é"})
        messages = [{"role": "user", "content": [block]} for block in blocks]
        data = json.dumps({"messages": messages, "tools": [{"name": "a"}]}, ensure_ascii=False).encode()
        plain, own = read_request(data), read_request(data, like)
        assert plain is not None
        assert own is not None
        like = own.remembered()
        plain, own = (request.in_front(("tools",), [{"name": "b"}]) for request in (plain, own))
        edits = {index: [(("content", 0, "content"), text)] for index, text in texts.items()}
        assert own.splice(edits) == plain.splice(edits)
        assert (own.starts, own.stops, own.data) == (plain.starts, plain.stops, plain.data)


def test_edits_that_were_made_before_are_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def find_places(text: str, at: int, changes: Any) -> Any:
        searched.append(at)
        return json_text.find_places(text, at, changes)

    monkeypatch.setattr(request_body, "find_places", find_places)
    like: RequestBody | None = None
    for count in (50, 52, 54):
        blocks = [{"type": "tool_result", "content": f"result {each}" * 3} for each in range(count)]
        data = json.dumps({"messages": [{"role": "user", "content": [block]} for block in blocks]}).encode()
        request = read_request(data, like)
        assert request is not None
        like = request.remembered()
        searched.clear()
        request.splice({index: [(("content", 0, "content"), "cut")] for index in range(count)})
    assert len(searched) == 6, "the newest messages, which are read anew"
