"""Requests edited as bytes: what is outside the edits is not touched, as a parser says that is not ours."""

import copy
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.canonical.message import Path
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import RequestBody, read_request
from tests.wire.requests import ANTHROPIC, CHAT, RESPONSES
from tests.wire.slow_json import Node, parse

Edits = Mapping[int, Sequence[tuple[Path, Any]]]
CONTENT: Path = ("content",)


def spliced(data: bytes, edits: Edits) -> bytes:
    """What `splice` gives, after the slow parser has agreed to every byte of it."""
    request = reading(data)
    result = request.splice(edits)
    text = data.decode()
    messages = parse(text).at((request.key,)).value
    found: list[tuple[Node, Any]] = []
    skipped: list[tuple[int, Path]] = []
    for index in sorted(edits):
        for path, new in edits[index]:
            try:
                node = messages[index].at(path)
                if not path or isinstance(node.value, str) is not isinstance(new, str):
                    raise LookupError
                found.append((node, new))
            except LookupError:
                skipped.append((index, path))
    assert request.skipped == skipped
    check_outside(text, result.decode(), found)
    return result


def check_outside(before: str, after: str, found: list[tuple[Node, Any]]) -> None:
    """Walk both texts side by side: equal between the places, and in each place the new value."""
    ours = theirs = 0
    for node, new in sorted(found, key=lambda pair: pair[0].start):
        kept = before[theirs : node.start]
        assert after[ours : ours + len(kept)] == kept
        ours, theirs = ours + len(kept), node.stop
        written, ours = json.JSONDecoder().raw_decode(after, ours)
        assert written == (paired(new) if isinstance(new, str) else new)
    assert after[ours:] == before[theirs:]


def paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def reading(data: bytes) -> RequestBody:
    request = read_request(data)
    assert request is not None
    return request


def of(*messages: str) -> bytes:
    return ('{"model":"m","messages":[' + ",".join(messages) + "]}").encode()


@pytest.mark.parametrize(
    ("key", "messages"), [("messages", CHAT), ("input", RESPONSES), ("messages", ANTHROPIC)], ids=["c", "r", "a"]
)
@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_every_result_of_a_conversation_can_be_replaced(
    key: str, messages: list[dict[str, Any]], indent: int | None, ensure_ascii: bool
) -> None:
    whole = {"model": "m", key: messages, "tools": [{"name": "t"}], "stream": True}
    data = json.dumps(whole, indent=indent, ensure_ascii=ensure_ascii).encode()
    request = reading(data)
    assert (request.key, request.messages) == (key, messages)
    assert request.fields == {"model": "m", "tools": [{"name": "t"}], "stream": True}
    for message, start, stop in zip(messages, request.starts, request.stops, strict=True):
        assert json.loads(data.decode()[start:stop]) == message
    edits = {
        at: [
            (returned.path, returned.replacement(f"cut {number} ü"))
            for number, returned in enumerate(decode_message(message).returned)
        ]
        for at, message in enumerate(messages)
    }
    result = spliced(data, edits)
    expected = copy.deepcopy(whole)
    for at, changes in edits.items():
        for path, text in changes:
            put(expected[key][at], path, text)
    assert json.loads(result) == expected
    assert result.isascii() == ensure_ascii


def put(value: Any, path: Path, text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text


def test_without_edits_it_is_the_same_bytes_object() -> None:
    data = of('{"content":"x"}')
    for edits in ({}, {0: []}, {0: [(("missing",), "y")]}, {7: [(CONTENT, "y")]}):
        assert reading(data).splice(edits) is data


def test_a_request_can_be_spliced_again() -> None:
    request = reading(of('{"content":"x"}'))
    assert request.splice({0: [(CONTENT, "y"), (("no",), "y")]}) == of('{"content":"y"}')
    assert request.skipped == [(0, ("no",))]
    assert request.splice({0: [(CONTENT, "z")]}) == of('{"content":"z"}')
    assert request.skipped == []


@pytest.mark.parametrize(
    ("message", "path", "expected"),
    [
        ('{"note":"long","content":"long"}', CONTENT, '{"note":"long","content":"cut"}'),
        ('{"x":{"content":"long"},"content":"long"}', CONTENT, '{"x":{"content":"long"},"content":"cut"}'),
        ('{"\\u0063ontent":"long"}', CONTENT, '{"\\u0063ontent":"cut"}'),
        ('{"a\\"content":"long","content":"long"}', CONTENT, '{"a\\"content":"long","content":"cut"}'),
        ('{"content\\\\":"long","content":"long"}', CONTENT, '{"content\\\\":"long","content":"cut"}'),
        ('{"x":"\\"content\\":\\"long\\"","content":"long"}', CONTENT, None),
        ('{"content":"long \\\\"}', CONTENT, '{"content":"cut"}'),
        ('{"content":"long \\\\\\" \\\\\\\\"}', CONTENT, '{"content":"cut"}'),
        ('{"content":""}', CONTENT, '{"content":"cut"}'),
        ('{"content":"\\ud83d\\ude00 \\ud800"}', CONTENT, '{"content":"cut"}'),
        ('{"n":[1E400,-0,1.10,1e5],"content":"long"}', CONTENT, '{"n":[1E400,-0,1.10,1e5],"content":"cut"}'),
        (' {\n"content"\t: \r"long" , "e" : { } , "f" : [ ] } ', CONTENT, None),
        ('{"content":[[],{},"a",["long"]]}', ("content", 3, 0), '{"content":[[],{},"a",["cut"]]}'),
        ('{"content" : [ { "text" : "a" } , { "text" : "long" } ] }', ("content", 1, "text"), None),
        (
            '{"content":[{"content":"a","text":"long"}]}',
            ("content", 0, "text"),
            '{"content":[{"content":"a","text":"cut"}]}',
        ),
        ('{"role":"a","role":"b","content":"long"}', CONTENT, '{"role":"a","role":"b","content":"cut"}'),
        ('{"":"long"}', ("",), '{"":"cut"}'),
        ('["long"]', (0,), '["cut"]'),
    ],
)
def test_the_place_is_found_among_decoys(message: str, path: Path, expected: str | None) -> None:
    result = spliced(of(message), {0: [(path, "cut")]})
    assert b'"cut"' in result
    assert expected is None or result == of(expected)


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ('{"content":"a","content":"b"}', CONTENT),
        ('{"content":"a","\\u0063ontent":"b"}', CONTENT),
        ('{"content":"a","content":"b","content":"c"}', CONTENT),
        ('{"content":[{"text":"a"}],"content":[{"text":"b"}]}', ("content", 0, "text")),
        ('{"content":[{"text":"a","text":"b"}]}', ("content", 0, "text")),
        ('{"content":null}', CONTENT),
        ('{"content":5}', CONTENT),
        ('{"content":["a"]}', CONTENT),
        ('{"content":["a"]}', ("content", 1)),
        ('{"content":["a"]}', ("content", -1)),
        ('{"content":["a"]}', ("content", "0")),
        ('{"content":{"0":"a"}}', ("content", 0)),
        ('{"content":"a"}', ("content", 0)),
        ('{"content":"a"}', ("missing",)),
        ('{"content":"a"}', ()),
        ("5", CONTENT),
        ('"a"', CONTENT),
        ("{}", CONTENT),
    ],
)
def test_an_edit_that_is_not_clear_is_left_out_and_reported_while_others_are_made(message: str, path: Path) -> None:
    data = of('{"content":"x"}', message, '{"content":"y"}')
    result = spliced(data, {0: [(CONTENT, "1")], 1: [(path, "cut")], 2: [(CONTENT, "2")]})
    assert result == of('{"content":"1"}', message, '{"content":"2"}')


def test_several_edits_of_one_message_are_found_in_one_walk_in_any_order() -> None:
    message = '{"b":["x","y"],"a":"z","c":{"d":"w"}}'
    edits: Edits = {0: [(("c", "d"), "4"), (("a",), "3"), (("b", 1), "2"), (("b", 0), "1"), (("e",), "5")]}
    assert spliced(of(message), edits) == of('{"b":["1","2"],"a":"3","c":{"d":"4"}}')


def test_of_two_edits_at_one_place_the_later_one_counts_and_below_a_text_is_no_place() -> None:
    request = reading(of('{"a":"x","b":["y"]}'))
    assert request.splice({0: [(("a",), "1"), (("a",), "2")]}) == of('{"a":"2","b":["y"]}')
    for edits in ([(("b",), "1"), (("b", 0), "2")], [(("b", 0), "2"), (("b",), "1")]):
        request.splice({0: edits})
        assert (0, ("b",)) in request.skipped


def test_a_byte_order_mark_is_kept() -> None:
    data = b"\xef\xbb\xbf" + of('{"content":"x"}')
    assert reading(data).splice({}) is data
    assert spliced(data, {0: [(CONTENT, "y")]}) == b"\xef\xbb\xbf" + of('{"content":"y"}')


@pytest.mark.parametrize("text", ["ü🎉", "\ud800", "a\udfffü", '"\\\n\x00\x7f\u2028', ""])
def test_new_text_is_written_as_the_request_writes(text: str) -> None:
    assert spliced(of('{"content":"x"}'), {0: [(CONTENT, text)]}) == of('{"content":' + json.dumps(text) + "}")
    result = spliced(of('{"content":"x","name":"é"}'), {0: [(CONTENT, text)]})
    assert json.loads(result)["messages"][0] == {"content": text, "name": "é"}
    if "🎉" in text:
        assert text.encode() in result


def test_an_input_that_is_one_string_has_no_messages() -> None:
    request = reading(b'{"model":"m","input":"Hello"}')
    assert (request.key, request.messages, request.fields) == ("input", [], {"model": "m", "input": "Hello"})
    assert request.splice({0: [((), "x")]}) == b'{"model":"m","input":"Hello"}'
    assert request.skipped == [(0, ())]


@pytest.mark.parametrize("list_of", ["[]", "[ ]", "[\n]"])
def test_a_request_may_have_no_messages_yet(list_of: str) -> None:
    assert reading(f'{{"messages":{list_of}}}'.encode()).messages == []


def test_white_space_is_allowed_everywhere() -> None:
    data = b' \n{ "model" : "m" ,\t"messages" :\r[ { "content" : "x" } , { "content" : "y" }\n,{}  ] , "a" : [ ] } \n '
    assert reading(data).messages == [{"content": "x"}, {"content": "y"}, {}]
    spliced(data, {0: [(CONTENT, "1")], 1: [(CONTENT, "2")]})


def test_another_key_may_be_there_twice_and_the_last_counts() -> None:
    assert reading(b'{"model":"a","messages":[],"model":"b"}').fields == {"model": "b"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf",
        b"{}",
        b"[]",
        b"null",
        b'"messages"',
        b'{"model":"m"}',
        b'{"messages":null}',
        b'{"messages":"x"}',
        b'{"messages":{}}',
        b'{"input":{}}',
        b'{"input":5}',
        b'{"messages":[],"messages":[]}',
        b'{"messages":[],"\\u006dessages":[]}',
        b'{"messages":[],"input":[]}',
        b'{"input":"x","input":"x"}',
        b'{"messages":[]} x',
        b'{"messages":[]}}',
        b'{"messages":[]',
        b'{"messages":[',
        b'{"messages":[{}',
        b'{"messages":[{}}',
        b'{"messages":[{},]}',
        b'{"messages":[,{}]}',
        b'{"messages":[{} {}]}',
        b'{"messages":[],}',
        b'{,"messages":[]}',
        b'{"messages" []}',
        b"{messages:[]}",
        b'{"messages":[NaN]}',
        b'{"messages":[],"t":NaN}',
        b'{"messages":[{"a":[-Infinity]}]}',
        b'{"messages":[{"content":"a\nb"}]}',
        b'{"messages":[{"content":"\\x"}]}',
        b'{"messages":[{"content":"\xff"}]}',
        b'{"messages":[{"content":"\xed\xa0\x80"}]}',
        b'\xc2\xa0{"messages":[]}',
        '{"messages":[]}'.encode("utf-16"),
        '{"messages":[]}'.encode("utf-16-le"),
        '{"messages":[]}'.encode("utf-32"),
        b'{"messages":[' + b"9" * 5000 + b"]}",
        b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":' + b'{"a":' * 200_000,
    ],
    ids=lambda data: repr(data[:40]),
)
def test_what_cannot_be_understood_is_none_and_never_an_exception(data: bytes) -> None:
    assert read_request(data) is None


def test_a_path_that_is_too_deep_is_reported() -> None:
    depth = sys.getrecursionlimit() - 200
    request = read_request(of("[" * depth + '"x"' + "]" * depth))
    if request is not None:
        path: Path = (0,) * depth
        data = request.splice({0: [(path, "y")]})
        assert request.skipped in ([], [(0, path)])
        assert (b'"y"' in data) == (request.skipped == [])


NAMES = st.sampled_from(["content", "text", "output", "role", "a", "", '"', "\\", "ü", "messages"])
TEXTS = st.text(max_size=8) | st.sampled_from(["long", '"long"', "\\", '\\"', "\ud800", "ü🎉", '{"content":"long"}'])


class Pairs(tuple[Any, ...]):
    """An object as pairs, so that it may have a name twice."""


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.lists(st.tuples(NAMES, inner), max_size=4).map(Pairs)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    containers,
    max_leaves=12,
)


class Writer:
    """Writes a value as JSON with white space and escapes here and there."""

    def __init__(self, seed: int, ascii_only: bool) -> None:
        self.random, self.ascii_only = Random(seed), ascii_only

    def write(self, value: Any) -> str:
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, Pairs):
            members = (f"{self.string(name)}{self.space()}:{self.space()}{self.write(part)}" for name, part in value)
            return "{" + self.space() + self.joined(members) + "}"
        if isinstance(value, list):
            return "[" + self.space() + self.joined(self.write(part) for part in value) + "]"
        return json.dumps(value)

    def joined(self, parts: Iterable[str]) -> str:
        return ",".join(f"{self.space()}{part}{self.space()}" for part in parts)

    def space(self) -> str:
        return self.random.choice(["", "", "", " ", "\n", "\r\n\t "])

    def string(self, text: str) -> str:
        if self.random.random() < 0.2:
            units = text.encode("utf-16-be", "surrogatepass").hex()
            return '"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"'
        lone = any("\ud800" <= char <= "\udfff" for char in text)
        return json.dumps(text, ensure_ascii=self.ascii_only or lone)


def strings_in(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, list | Pairs):
        for at, part in enumerate(value):
            name, inner = part if isinstance(value, Pairs) else (at, part)
            yield from strings_in(inner, (*path, name))


@given(
    messages=st.lists(st.lists(st.tuples(NAMES, VALUES), max_size=5).map(Pairs) | VALUES, max_size=5),
    key=st.sampled_from(["messages", "input"]),
    others=st.lists(st.tuples(st.sampled_from(["model", "tools", "x"]), VALUES), max_size=2),
    seed=st.integers(0, 10_000),
    ascii_only=st.booleans(),
    data=st.data(),
)
@settings(max_examples=80)
def test_only_the_edited_strings_of_any_request_change(
    messages: list[Any], key: str, others: list[Any], seed: int, ascii_only: bool, data: st.DataObject
) -> None:
    members = [*others, (key, messages)]
    writer = Writer(seed, ascii_only)
    writer.random.shuffle(members)
    text = writer.space() + writer.write(Pairs(members)) + writer.space()
    edits: dict[int, list[tuple[Path, str]]] = {}
    for at, message in enumerate(messages):
        paths = list(dict.fromkeys(strings_in(message)))
        chosen = data.draw(st.lists(st.sampled_from(paths), unique=True, max_size=4)) if paths else []
        edits[at] = [(path, data.draw(TEXTS)) for path in chosen]
        edits[at] += [((*path[:-1], "nowhere"), "x") for path in chosen[:1] if path]
    before, after = json.loads(text), json.loads(spliced(text.encode(), edits))
    request = reading(text.encode())
    assert (request.key, request.messages) == (key, before[key])
    request.splice(edits)
    for at, changes in edits.items():
        for path, new in changes:
            if (at, path) not in request.skipped:
                before[key][at] = replaced(before[key][at], path, paired(new))
    assert after == before


def replaced(value: Any, path: Path, text: str) -> Any:
    if path:
        value[path[0]] = replaced(value[path[0]], path[1:], text)
    return value if path else text


@given(st.binary(max_size=40) | VALUES.map(lambda value: Writer(1, False).write(value).encode()))
@example(b'{"messages":[')
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for body in (data, b'{"messages":' + data + b"}", b'{"input":[{"a":' + data + b"}]}"):
        request = read_request(body)
        if request is not None:
            assert json.loads(body)[request.key] == (request.messages or request.fields.get("input", []))


@given(VALUES, st.integers(0, 10_000), st.data())
def test_a_request_cut_off_or_garbled_is_understood_only_if_it_is_json(
    value: Any, seed: int, data: st.DataObject
) -> None:
    text = Writer(seed, True).write(Pairs([("messages", [value])]))
    at = data.draw(st.integers(0, len(text) - 1))
    garbled = text[:at] + data.draw(st.sampled_from(["", ",", "}", "]", '"', ":", "\\", "x", "\x00"])) + text[at + 1 :]
    try:
        json.loads(garbled, parse_constant=int)
        valid = True
    except ValueError:
        valid = False
    assert valid or read_request(garbled.encode()) is None


def test_values_in_front_of_a_list_leave_every_other_byte() -> None:
    data = b'{"tools" : [ {"name":"a"}], "x":1E5, "messages":[]}'
    assert (
        reading(data).in_front(("tools",), [{"n": 1}, "é"]).data
        == b'{"tools" : [{"n": 1}, "\\u00e9",  {"name":"a"}], "x":1E5, "messages":[]}'
    )


@pytest.mark.parametrize("tools_last", [False, True])
def test_a_request_with_values_in_front_is_the_one_that_its_bytes_are(tools_last: bool) -> None:
    tools, messages = b'"tools":[{"name":"a"}]', '"messages": [{"c":"é"},\n {"c": "b"}]'.encode()
    parts = [messages, b'"x": 1', tools] if tools_last else [tools, b'"x": 1', messages]
    new = reading(b"{" + b", ".join(parts) + b"}").in_front(("tools",), [{"n": "ü"}, {"n": 2}])
    again = reading(new.data)
    for name in ("fields", "spans", "messages", "starts", "stops", "key"):
        assert getattr(new, name) == getattr(again, name), name
    assert new.splice({1: [(("c",), "other")]}) == again.splice({1: [(("c",), "other")]})


def test_a_value_is_replaced_where_it_stands() -> None:
    data = b'{"previous_response_id":"a", "x": 1.0, "input":"go"}'
    assert reading(data).replaced("previous_response_id", "b") == data.replace(b'"a"', b'"b"')


def test_an_input_that_is_one_string_gives_way_to_messages() -> None:
    data = b'{"model": "m", "input": "go", "x": 1.0}'
    assert reading(data).joined([{"a": 1}]) == b'{"model": "m", "input": [{"a": 1}], "x": 1.0}'
    assert reading(data).joined([]) == data
