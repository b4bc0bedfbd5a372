"""Whatever happens to a log: nothing raises, what is whole is given, what is broken is counted."""

import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.logs.lines import UnreadPart, repaired_characters
from keepwhole.logs.reader import read_runs
from tests.logs.log_files import (
    all_text,
    chat_messages,
    opencode_database,
    opencode_session,
    read,
    response_items,
)
from tests.logs.test_reader import LOGS

MARK = re.compile(r"mark-[\w-]+")
BROKEN = st.one_of(
    st.floats(0, 0.999).map(lambda share: lambda line: line[: int(len(line) * share)].rstrip() or "{"),
    st.sampled_from(["", "\x00", "}", "null", "[]", "7", '"x"', "{]", "\x1b[0m", "not json"]).map(
        lambda words: lambda line: words or "{"
    ),
)
"""Ways to break a line so that it is no JSON object."""
STRANGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
GROWING = [{"model": "m", "messages": chat_messages()[:end]} for end in range(1, 6)]
ALL = {**LOGS, "loose messages": chat_messages(), "loose items": response_items(), "growing requests": GROWING}
every_log = pytest.mark.parametrize("source", ALL)


def read_text(text: str | bytes) -> tuple[list[Any], list[UnreadPart]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(path)


def good_lines(source: str) -> list[str]:
    return [json.dumps(line) for line in ALL[source]]


@every_log
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_line_is_used_or_counted_or_none_of_our_business(source: str, data: st.DataObject) -> None:
    lines = good_lines(source)
    broken = {at: data.draw(BROKEN)(lines[at]) for at in data.draw(st.sets(st.integers(0, len(lines) - 1)))}
    runs, unread = read_text("\n".join(broken.get(at, line) for at, line in enumerate(lines)))
    whole = [line for at, line in enumerate(lines) if at not in broken]
    marks = {mark for line in whole if said(line) for mark in MARK.findall(line)}
    if runs:
        assert sum(one.count for one in unread) == len(broken)
    else:
        assert unread
    assert marks <= set(MARK.findall(all_text(runs))) or not runs


def said(line: str) -> bool:
    """Whether a line is one that is sent; events say the same once more."""
    return json.loads(line).get("type") not in ("event_msg", "last-prompt", "queue-operation")


def replaced(value: Any, path: list[int], strange: Any) -> Any:
    """A value with something strange at a place in it."""
    if not path or not isinstance(value, dict | list) or not value:
        return strange
    if isinstance(value, list):
        at = path[0] % len(value)
        return [replaced(one, path[1:], strange) if n == at else one for n, one in enumerate(value)]
    key = sorted(value)[path[0] % len(value)]
    return {**value, key: replaced(value[key], path[1:], strange)}


@every_log
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_values_of_any_type_anywhere_raise_nothing(source: str, data: st.DataObject) -> None:
    lines = ALL[source]
    at = data.draw(st.integers(0, len(lines) - 1))
    path = data.draw(st.lists(st.integers(0, 30), max_size=7))
    strange = replaced(lines[at], path, data.draw(STRANGE))
    read_text("\n".join(json.dumps(strange if n == at else line) for n, line in enumerate(lines)))
    read_text(json.dumps([strange if n == at else line for n, line in enumerate(lines)], indent=1))


@every_log
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_bytes_that_are_changed_cut_or_packed_and_cut_raise_nothing(source: str, data: st.DataObject) -> None:
    text = bytearray("\n".join(good_lines(source)).encode())
    for at in data.draw(st.lists(st.integers(0, len(text) - 1), max_size=6)):
        text[at] = data.draw(st.integers(0, 255))
    cut = bytes(text[: data.draw(st.integers(0, len(text)))])
    read_text(cut)
    packed = gzip.compress(bytes(text))
    read_text(packed[: data.draw(st.integers(0, len(packed)))])


@settings(max_examples=15, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(100, 12_000), st.integers(0, 255)), max_size=30))
@example([(3_817, 128)])  # SQLite's own words about it are no UTF-8
def test_a_database_with_changed_bytes_raises_nothing(changes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = opencode_database(Path(folder) / "opencode.db", {"s": opencode_session()})
        data = bytearray(path.read_bytes())
        for at, byte in changes:
            data[at % len(data)] = byte
        path.write_bytes(data)
        list(read_runs(path))


@pytest.mark.parametrize("pair", [rb"\ud83d\ude00", rb"\uD83D\uDE00"])
def test_a_lone_surrogate_is_replaced_however_it_is_spelled_and_a_pair_stays(pair: bytes) -> None:
    half = pair[:6]
    assert repaired_characters(b'"' + half + b'"') == b'"\\ufffd"'
    assert repaired_characters(b'"' + pair + b'"') is None
    assert repaired_characters(b'"' + pair + half + b" \\" + half + b'"') == b'"' + pair + b"\\ufffd \\" + half + b'"'
