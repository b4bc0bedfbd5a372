"""What a server writes is split into lines, and no call waits for an answer that cannot be read."""

import json
from typing import Any

import pytest

from keepwhole.apps.mcp.line_reader import LineSplitter, LongLine, answered_id, read_line


def said(line: bytes | LongLine) -> dict[str, Any] | None:
    message = read_line(line, "git")
    return None if message is None else message.message.model_dump(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_lines_are_the_same_however_they_arrive(step: int) -> None:
    data = b"one\n\n" + b"x" * 10 + b"\n" + b"y" * 11 + b"\nlast\nrest"
    splitter = LineSplitter(10)
    found = [line for at in range(0, len(data), step) for line in splitter.feed(data[at : at + step])]
    long = found[3]
    assert found == [b"one", b"", b"x" * 10, long, b"last"]
    assert isinstance(long, LongLine)
    assert long.tail == b"y" * 11
    assert long.head == b"y" * len(long.head)
    assert list(splitter.feed(b"\n")) == [b"rest"]


@pytest.mark.parametrize("step", [1_000, 4_096, 5_000, 20_000])
def test_of_a_line_over_the_limit_both_ends_are_kept(step: int) -> None:
    line = bytes(range(97, 123)) * 1_000
    assert list(LineSplitter(10).feed(b"x" * 10 + b"\n")) == [b"x" * 10]
    splitter = LineSplitter(9_000)
    data = line + b"\n"
    (found,) = (one for at in range(0, len(data), step) for one in splitter.feed(data[at : at + step]))
    assert found == LongLine(line[:4_096], line[-4_096:])
    assert list(splitter.feed(b"next\n")) == [b"next"]


@pytest.mark.parametrize(
    ("line", "call"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"id":9}}', 7),
        (b'{"result":{"id":9},"id":-7', -7),
        (b'{"id" : "a-b","result":[{"id":1}]}', "a-b"),
        (b'{"result":"\\"id\\":3 \xff","id":4}', 4),
        (b'{"id":1,"id":2}', 2),
        (b'{"id":1,"method":"ping"}', None),
        (b'{"method":1.5,"id":1}', None),
        (b'{"result":{"method":"x"},"id":1}', 1),
        (b'{"id":null}', None),
        (b'{"id":"' + b"x" * 200 + b'"}', "x" * 200),
        (b'{"id":"' + b"x" * 201 + b'"}', None),
        (b'{"id":' + b"9" * 18 + b"}", int("9" * 18)),
        (b'[{"id":1}]', None),
        (b'"id":1', None),
        (b"", None),
    ],
)
def test_the_call_that_a_broken_line_answers_is_known(line: bytes, call: int | str | None) -> None:
    assert answered_id(line) == call


def test_a_message_is_passed_on_and_wrong_characters_are_repaired() -> None:
    assert said(b'{"jsonrpc":"2.0","id":7,"result":{"a":1}}') == {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}
    repaired = said(b'{"jsonrpc":"2.0","id":7,"result":{"a":"\\ud800"}}')
    assert repaired is not None
    assert repaired["result"]["a"] == "\ufffd"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"id":7,"result":{}', "an answer that is not valid JSON-RPC"),
        (LongLine(b'{"id":7,"result":"xx', b'xx"}'), "an answer of more than 64 MB"),
        (LongLine(b'{"result":"xx', b'xx","id":7}'), "an answer of more than 64 MB"),
        (LongLine(b'{"id":9,"result":"xx', b'xx" , "id" : 7 , "jsonrpc" : "2.0" } '), "an answer of more than 64 MB"),
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_call(line: bytes | LongLine, what: str) -> None:
    found = said(line)
    assert found == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32700, "message": f"The MCP server `git` gave {what}, which cannot be passed on."},
    }


def test_what_is_no_answer_is_dropped() -> None:
    assert read_line(b"Listening on port 80", "git") is None
    assert read_line(LongLine(b'{"method":"log","params":"xx', b'xx"}'), "git") is None


def test_a_text_id_of_a_long_line_is_read_at_its_end() -> None:
    found = said(LongLine(b'{"result":"xx', b'xx", "id": "call-\xff"}'))
    assert found is not None
    assert json.dumps(found["id"]) == '"call-\\ufffd"'
