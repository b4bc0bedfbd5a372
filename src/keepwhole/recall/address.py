"""The part of a stored result that an address names: a value or elements of JSON, records of NDJSON, rows of CSV.

Owns: the kind of data, and pages of whole elements with the call for the next page.
Must not know: how an address is written (`json_path`), stores, sessions.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keepwhole.canonical.utf8 import encode_as, showable
from keepwhole.errors import UsageError
from keepwhole.recall import json_path
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.json_path import IndexStep, KeyStep, NoSuchValue, PathStep, SliceStep, path_text
from keepwhole.recall.table import Table
from keepwhole.store.reader import BodyReader, bytes_reader
from keepwhole.truncation.notice import quoted
from keepwhole.truncation.sniff import preface, sniff

_LARGEST = 64_000_000
"""Longer texts are not read as a whole to find something in them."""
_MOST_VALUES = 2_000_000
"""A text with more values is refused: finding one in it would take too long and too much memory."""
_LARGEST_TABLE = 12_000_000
_LONGEST_ELEMENT = 400_000
_LONGEST_PREFACE = 4_096
"""What a shell's wrapper prints before its output is within the first characters."""
_TOGETHER = 64
"""Short records that are read in one go."""
_LONGEST_KEY = 80


class AddressedValue(NamedTuple):
    """One value, to be paged as a text of its own."""

    reader: BodyReader


class AddressedElements(NamedTuple):
    """Several values: their number, the range that is asked for, and the function that reads one."""

    total: int
    start: int
    stop: int
    get: Callable[[int], str]
    what: str
    before: Sequence[PathStep]
    after: Sequence[PathStep]
    above: str = ""
    """What is printed before the elements: the header of a table."""
    between: str = ",\n"

    def at(self, start: int | None, stop: int | None = None) -> str:
        """The address of a slice of the elements."""
        return path_text([*self.before, SliceStep(start, stop), *self.after])

    def one(self, number: int) -> str:
        """The address of one element."""
        return path_text([*self.before, IndexStep(number), *self.after])


class _TooLong(Exception):
    """An element is too long for a page, so it must be addressed by itself."""


def resolve_address(reader: BodyReader, path: str) -> "AddressedValue | AddressedElements":
    """Find the value or elements that the address `path` names; `UsageError` where it names nothing."""
    steps = json_path.parse_path(path)
    kind = sniff(reader)
    if kind == "ndjson":
        return _records(reader, steps)
    if kind == "csv":
        return _rows(reader, steps)
    begin = preface(reader.text(0, _LONGEST_PREFACE)) if kind == "wrapped" else 0
    if kind == "wrapped" or reader.text(0, 200).lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        data = reader.read() if reader.facts.size <= _LARGEST else b""
        if not data or data.count(b",") > _MOST_VALUES:
            raise _too_large(reader)
        return _in_json(data[reader.byte_at(begin) :], steps)
    message = "path leads into JSON, NDJSON and CSV, and this is none of them. Leave it out, or give a pattern."
    raise UsageError(message, message)


def _too_large(reader: BodyReader) -> UsageError:
    message = f"With {reader.chars:,} characters it is too large for a path. Give a pattern or lines instead."
    return UsageError(message, message)


def _in_json(data: bytes, steps: list[PathStep]) -> "AddressedValue | AddressedElements":
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    value, found, at = json_path.find_elements(data, steps)
    if found is None:
        assert value is not None
        return _value(value)
    step = steps[at]
    assert isinstance(step, SliceStep)
    return _elements(found, step, steps[:at], steps[at + 1 :])


def _value(data: bytes) -> AddressedValue:
    """The decoded text of a JSON string; any other value as it is written."""
    if data[:1] == b'"':
        try:
            return AddressedValue(bytes_reader(encode_as(json.loads(data), "surrogates")))
        except ValueError:
            pass
    return AddressedValue(bytes_reader(data))


def _elements(found: list[Any], step: SliceStep, before: list[PathStep], after: list[PathStep]) -> AddressedElements:
    def get(number: int) -> str:
        return _inside(bytes(found[number]), after)

    start, stop, _ = slice(step.start, step.stop).indices(len(found))
    return AddressedElements(len(found), start, stop, get, "items", before, after)


def _inside(data: bytes, steps: list[PathStep]) -> str:
    """The text of the value at `steps` inside one element; `null` where the element has no such member."""
    try:
        value, found, at = json_path.find_elements(data, steps)
    except NoSuchValue:
        return "null"
    if found is None:
        return _text(value or b"")
    step = steps[at]
    assert isinstance(step, SliceStep)
    shown: list[str] = []
    size = 0
    for each in found[slice(step.start, step.stop)]:
        shown.append(_inside(bytes(each), steps[at + 1 :]))
        size += len(shown[-1]) + 2
        if size > _LONGEST_ELEMENT:
            raise _TooLong
    return "[" + ", ".join(shown) + "]"


def _text(data: bytes) -> str:
    return showable(data.decode("utf-8", "surrogateescape"))


def _records(reader: BodyReader, steps: list[PathStep]) -> "AddressedValue | AddressedElements":
    """Lines of NDJSON, counted from 0."""

    eol, read = reader.eol.encode(), dict[int, list[bytes]]()
    together = _TOGETHER if reader.facts.size < 1_024 * reader.lines else 1

    def line(number: int) -> bytes:
        first = number - number % together
        if first not in read:
            read.clear()
            read[first] = reader.read(*reader.line_bytes(first + 1, first + together)).split(eol)
        return read[first][number - first].strip()

    def get(number: int) -> str:
        return _inside(line(number), rest)

    first, *rest = steps or [SliceStep()]
    if isinstance(first, IndexStep):
        number = first.number + reader.lines if first.number < 0 else first.number
        if not 0 <= number < reader.lines:
            message = f"There is no record {first.number}: there are {reader.lines:,}, counted from 0."
            raise NoSuchValue(message, message)
        return _in_json(line(number), rest) if rest else AddressedValue(bytes_reader(line(number)))
    if isinstance(first, KeyStep):
        first, rest = SliceStep(), steps
    start, stop, _ = slice(first.start, first.stop).indices(reader.lines)
    return AddressedElements(reader.lines, start, stop, get, "records", (), rest)


def _rows(reader: BodyReader, steps: list[PathStep]) -> "AddressedValue | AddressedElements":
    """Rows of CSV, counted from 0 after the header."""
    if reader.chars > _LARGEST_TABLE:
        raise _too_large(reader)
    table = Table(reader.text(), reader.eol)
    first, *rest = steps or [SliceStep()]
    if isinstance(first, KeyStep):
        first, rest = SliceStep(), steps
    column = table.column(rest)
    if isinstance(first, IndexStep):
        return AddressedValue(bytes_reader(encode_as(table.row(first.number, column), "surrogates")))

    def get(number: int) -> str:
        return table.row(number, column)

    start, stop, _ = slice(first.start, first.stop).indices(table.rows)
    return AddressedElements(table.rows, start, stop, get, "rows", (), rest, table.header(column), between="\n")


def outline(reader: BodyReader, call: RecallCall, path: str, limit: int) -> str:
    """List the keys of an object that is too long to be shown, with the size of each value."""
    inside = json_path.children(reader.read())
    assert isinstance(inside, dict)
    steps, room = json_path.parse_path(path), call.room(limit) - len(path) - 100
    lines: list[str] = []
    for name, value in inside.items():
        key = json.dumps(name[:_LONGEST_KEY], ensure_ascii=False)
        line = quoted(showable(f"{key}: {_value_summary(bytes(value))}"))
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    largest = max(inside, key=lambda name: len(bytes(inside[name])) if len(name) <= _LONGEST_KEY else 0)
    shown = f"{len(lines):,} of {len(inside):,} keys, {reader.chars:,} characters"
    return "\n".join([*lines, f"[{shown}; next: {call.text(path=path_text([*steps, KeyStep(largest)]))}]"])


def _value_summary(data: bytes) -> str:
    kind = {b"{": "object", b"[": "array", b'"': "string"}.get(data[:1])
    return f"{kind}, {len(data):,} bytes" if kind and len(data) > 60 else _text(data)[:60]


def page_elements(found: AddressedElements, call: RecallCall, limit: int) -> str | int:
    """The elements that fit and the call for the next ones; the number of the first where not even that fits."""
    room = call.room(limit) - len(quoted(found.above)) - 8
    shown: list[str] = []
    at, size = found.start, 0
    while at < found.stop:
        try:
            text = found.get(at)
        except _TooLong:
            break
        size += len(quoted(text)) + len(found.between)
        if size > room:
            break
        shown.append(text)
        at += 1
    body = quoted(found.between.join(shown))
    while shown and len(body) > room:  # an imitation may begin in one element and end in the next
        shown.pop()
        at -= 1
        body = quoted(found.between.join(shown))
    if not shown and at < found.stop:
        return at
    body = f"[\n{body}\n]" if not found.above else f"{quoted(found.above)}{body}"
    return f"{body}\n[{_elements_note(found, call, at)}]"


def _elements_note(found: AddressedElements, call: RecallCall, at: int) -> str:
    if at == found.start:
        return f"no {found.what} there: it has {found.total:,}, counted from 0"
    note = f"{found.what} {found.start:,}-{at - 1:,} of {found.total:,}, counted from 0"
    if at < found.stop:
        return f"{note}; next: {call.text(path=found.at(at, found.stop))}"
    return f"{note}, {'all that was asked for' if at < found.total else 'the end'}"
