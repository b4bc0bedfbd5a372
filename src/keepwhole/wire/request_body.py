"""Requests as bytes: parsed once with the place of every message, and edited by splicing.

Owns: the spans of messages, the way to a value inside one, and how a new value is written there.
Must not know: dialects, but for the names that a list of messages has in them.

Theory of operation
-------------------

A request that is parsed and dumped again is another request: numbers, escapes, white space and repeated names change, a
provider's cache misses, and a signature over the body fails. So nothing is written anew. `read_request` parses the
values and notes where each begins and ends in the text; an edit replaces the text between two such places:

    {"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "a long result"}]}
                                ^ starts[0]             stops[0] ^  ^ starts[1]        spliced: [^           ^)

`splice({1: [(("content",), "a ...")]})` finds the string at the path inside message 1 and writes the new one in its
place, ASCII-escaped if the request is all ASCII; an object, such as an image, gives place to another object. `joined`
replaces the list of messages: those that are its own objects keep their bytes, new ones are written. `in_front` adds
elements to the front of a list (the recall tools).

An agent's next request begins as its last one did. `read_request(data, like)` compares the text up to the newest few
messages with that of the earlier request in one step, and takes over its parsed messages; a long value beside the
messages (tools, system prompt) is taken over likewise.

Invariants: every byte outside of the listed edits is as it came, and a request without edits is the same object's
bytes; starts, stops and spans are places in `text`, in characters; a request that is no JSON, not UTF-8, or has no list
of messages or two is not read at all (None) and can only be passed on; a path on which a name occurs twice is skipped,
since readers disagree on which of the two counts.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from keepwhole.canonical.json_steps import expect, skip_space
from keepwhole.canonical.json_text import Change, find_places, find_span, read_elements, read_key, read_value
from keepwhole.canonical.message import Path
from keepwhole.wire import dialects

Edits: TypeAlias = Mapping[int, Sequence[Change]]

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_BOM = "\ufeff"
_LOOSE = 4
"""Newest messages that are always read again."""
_LONG = 1_000
"""Characters of a value from which on comparing it is less work than reading it."""
_write_ascii = json.JSONEncoder().encode
_write = json.JSONEncoder(ensure_ascii=False).encode


class _EditedMessage(NamedTuple):
    """How the text of a message is edited."""

    changes: tuple[Change, ...]
    is_ascii: bool
    """Whether what is written is ASCII."""
    places: list[tuple[int, int, str]]
    """What is replaced, counted from the beginning of the message, and the text in its place; in order."""


class _Places(NamedTuple):
    """Where messages begin and end."""

    starts: list[int]
    stops: list[int]

    def first(self, many: int) -> "_Places":
        """The places of the first so many messages."""
        return _Places(self.starts[:many], self.stops[:many])


class RequestBody:
    """A request's values, and where its messages lie in its text."""

    __slots__ = (
        "_data",
        "_edited",
        "_moved",
        "_text",
        "fields",
        "key",
        "messages",
        "skipped",
        "spans",
        "starts",
        "stops",
    )

    def __init__(self, data: bytes | None, text: str) -> None:
        self._data, self._text = data, text
        self._edited: dict[int, _EditedMessage] = {}
        """How messages were edited before: the same edits are not looked for and written again."""
        self._moved: dict[tuple[int, int], _Places] = {}
        """Where messages were after so much was put in front of them at some place."""
        self.key = ""
        """The name of the list of messages."""
        self.fields: dict[str, Any] = {}
        """The other values at the top, by name; one text in place of messages too."""
        self.spans: dict[str, tuple[int, int]] = {}
        """Where each of these values lies, in characters."""
        self.messages: list[Any] = []
        self.starts: list[int] = []
        """Where each message begins, in characters."""
        self.stops: list[int] = []
        """Where each message ends."""
        self.skipped: list[tuple[int, Path]] = []
        """The edits that the last `splice` left out: nothing of that kind is there, or a key on the way is twice."""

    @property
    def head(self) -> str:
        """All up to the newest few messages, of which clients change the markers."""
        return self._text[: self.starts[-_LOOSE]]

    def remembered(self) -> "RequestBody":
        """The request to read another one like it by, without its bytes."""
        own = RequestBody(None, self._text)
        own.key, own.fields, own.spans = self.key, self.fields, self.spans
        own.messages, own.starts, own.stops = self.messages, self.starts, self.stops
        own._edited, own._moved = self._edited, self._moved
        return own

    def take_over(self, like: "RequestBody", kept: int) -> None:
        """Begin as another one does: so many of its messages, and the values before them."""
        self.key = like.key
        self.messages, self.starts, self.stops = like.messages[:kept], like.starts[:kept], like.stops[:kept]
        self.spans = {name: span for name, span in like.spans.items() if span[1] <= like.starts[0]}
        self.fields = {name: like.fields[name] for name in self.spans}
        self._moved = {place: moved.first(kept) for place, moved in like._moved.copy().items()}
        self._edited = {index: edited for index, edited in like._edited.copy().items() if index < kept}

    def name_calls(self) -> None:
        """Give calls and results ids where their dialect may leave them out; the bytes stay as they are."""
        makes_ids = dialects.TABLE.makes_ids.get(self.key)
        if makes_ids is not None:
            self.messages = list(makes_ids.with_call_ids(self.messages))

    @property
    def data(self) -> bytes:
        """The request as it is."""
        if self._data is None:
            self._data = self._text.encode()
        return self._data

    @property
    def model(self) -> str | None:
        """The model that is asked, as the client calls it."""
        model = self.fields.get("model")
        return model if isinstance(model, str) else None

    def splice(self, edits: Edits) -> bytes:
        """The request with the values at the edits' paths replaced and every other byte as it was."""
        self.skipped = []
        text, is_ascii = self._text, self._text.isascii()
        pieces: list[str] = []
        at = 0
        for index in sorted(edits):
            changes = tuple(edits[index])
            if not 0 <= index < len(self.starts):
                self.skipped += [(index, path) for path, _ in changes]
                continue
            start = self.starts[index]
            for first, last, new in self._places(index, changes, is_ascii):
                pieces += (text[at : start + first], new)
                at = start + last
        if not pieces:
            return self.data
        pieces.append(text[at:])
        return "".join(pieces).encode()

    @property
    def text(self) -> str:
        """The request as it came, as text: what spans, starts and stops are places in."""
        return self._text

    def replaced_at(self, start: int, stop: int, new: str) -> bytes:
        """The request with another piece of text at a place."""
        return (self._text[:start] + new + self._text[stop:]).encode()

    def in_front(self, path: Path, values: Sequence[Any]) -> "RequestBody":
        """The request with `values` at the front of the list at `path`, which has to have something in it."""
        name = str(path[0])
        span = find_span(self._text, self.spans[name][0], path[1:]) if path[1:] else self.spans[name]
        if span is None:
            raise ValueError("there is no such list, or a name on the way is twice")
        at = span[0] + 1
        write = _write_ascii if self._text.isascii() else _written
        added = "".join(f"{write(value)}, " for value in values)
        new = RequestBody(None, self._text[:at] + added + self._text[at:])
        new.key, new.messages, new._edited = self.key, self.messages, self._edited
        new.fields = {**self.fields, name: _with_front(self.fields[name], path[1:], values)}
        new.starts, new.stops = self._moved_places(at, len(added))
        ends = {key: _moved(span, at, len(added)) for key, span in self.spans.items()}
        new.spans = {key: (start, stop) for key, (start, stop) in ends.items()}
        return new

    def _moved_places(self, at: int, by: int) -> "_Places":
        """Where the messages are after so many characters were put in at a place: the first ones are known from the
        last time."""
        known = self._moved.get((at, by), _Places([], []))
        first = len(known.starts)
        starts = [*known.starts, *_moved(self.starts[first:], at, by)]
        stops = [*known.stops, *_moved(self.stops[first:], at, by)]
        self._moved.clear()
        self._moved[at, by] = moved = _Places(starts, stops)
        return moved

    def replaced(self, name: str, value: Any) -> bytes:
        """The request with another value of this name."""
        start, stop = self.spans[name]
        return (self._text[:start] + _written(value) + self._text[stop:]).encode()

    def joined(self, messages: Sequence[Any]) -> bytes:
        """The request with this list of messages: those that are its own keep their bytes, others are written."""
        if messages is self.messages:
            return self.data
        if messages and not self.starts and self.key in self.spans:
            start, stop = self.spans[self.key]
            written = _written([self._as_written(message) for message in messages])
            return (self._text[:start] + written + self._text[stop:]).encode()
        if not self.starts:
            return self.data
        places = {id(message): index for index, message in enumerate(self.messages)}
        write = _write_ascii if self._text.isascii() else _written
        pieces = [
            write(self._as_written(message)) if at is None else self._text[self.starts[at] : self.stops[at]]
            for message in messages
            for at in (places.get(id(message)),)
        ]
        front, back = self._text[: self.starts[0]], self._text[self.stops[-1] :]
        return (front + ",".join(pieces) + back).encode()

    def _as_written(self, message: Any) -> Any:
        makes_ids = dialects.TABLE.makes_ids.get(self.key)
        return message if makes_ids is None else makes_ids.without_made_ids(message)

    def _places(self, index: int, changes: tuple[Change, ...], is_ascii: bool) -> list[tuple[int, int, str]]:
        """What is replaced in a message, and the text in its place."""
        known = self._edited.get(index)
        if known is not None and known.changes == changes and known.is_ascii == is_ascii:
            return known.places
        write = _write_ascii if is_ascii else _written
        found = find_places(self._text[self.starts[index] : self.stops[index]], 0, changes)
        places = [(first, last, write(change[1])) for first, last, change in found]
        if len(found) < len(changes):
            reached = {id(change) for _, _, change in found}
            self.skipped += [(index, change[0]) for change in changes if id(change) not in reached]
        elif all(isinstance(new, str) for _, new in changes):  # parts that are equal may be written differently
            self._edited[index] = _EditedMessage(changes, is_ascii, places)
        return places


def read_request(data: bytes, like: RequestBody | None = None) -> RequestBody | None:
    """The request, or `None` for one that can only be passed on: no JSON, not UTF-8, no messages or twice.

    Where it begins as `like` does, the messages there are taken over and only the rest is read.
    """
    try:
        text = data.decode()
        request = RequestBody(data, text)
        at = _taken_over(text, like, request) if like is not None else 0
        if at and like is not None:
            at = _read_members(text, _read_messages(text, at, request), request, like)
            request.name_calls()
            _share_equal(request.messages, like.messages)
        else:
            at = _read_members(text, expect(text, skip_space(text, int(text.startswith(_BOM))), "{"), request, like)
            request.name_calls()
        return request if skip_space(text, at) == len(text) else None
    except (ValueError, StopIteration, IndexError, RecursionError):
        return None


def _taken_over(text: str, like: RequestBody, request: RequestBody) -> int:
    """Take over the messages that both begin with; gives where the next one begins, or 0 where they do not."""
    kept = len(like.starts) - _LOOSE
    if kept < 1 or not text.startswith(like.head):
        return 0
    request.take_over(like, kept)
    return like.starts[kept]


def _share_equal(messages: list[Any], known: Sequence[Any]) -> None:
    """Put the objects of the earlier request in the place of equal ones that were read again, so that whoever compares
    the messages of both need not look into them."""
    for index in range(len(known) - _LOOSE, min(len(known), len(messages))):
        if messages[index] == known[index]:
            messages[index] = known[index]


def _read_members(text: str, at: int, request: RequestBody, like: RequestBody | None) -> int:
    """Read the rest of the top-level object, from before a name or after the list of messages; gives where it ends."""
    fields = dialects.TABLE.messages_fields
    lists = int(bool(request.starts))
    if lists:
        at = skip_space(text, at)
        if text[at] != ",":
            return expect(text, at, "}")
        at += 1
    while True:
        name, at = read_key(text, at)
        if name in fields:
            lists += 1
            at = _read_list(text, at, name, request, fields[name])
        else:
            at = _read_field(text, at, name, request, like)
        at = skip_space(text, at)
        if text[at] != ",":
            break
        at += 1
    if lists != 1:
        raise ValueError("no list of messages, or more than one")
    return expect(text, at, "}")


def _read_field(text: str, at: int, name: str, request: RequestBody, like: RequestBody | None) -> int:
    """Read a value beside the messages, or take over a long one that is the same; gives where it ends."""
    start, stop = like.spans.get(name, (0, 0)) if like is not None else (0, 0)
    length = stop - start
    if like is not None and length > _LONG and text[at] in "[{" and text.startswith(like.text[start:stop], at):
        value, end = like.fields[name], at + length
    else:
        value, end = read_value(text, at)
    request.fields[name], request.spans[name] = value, (at, end)
    return end


def _read_list(text: str, at: int, key: str, request: RequestBody, takes_text: bool) -> int:
    """Read the list of messages, or a text in its place; gives where it ends."""
    request.key = key
    if takes_text and text[at] == '"':
        start = at
        request.fields[key], at = read_value(text, at)
        request.spans[key] = start, at
        return at
    at = skip_space(text, expect(text, at, "["))
    return at + 1 if text[at] == "]" else _read_messages(text, at, request)


def _read_messages(text: str, at: int, request: RequestBody) -> int:
    """Read the list of messages from the one at `at` on; returns where the list ends."""
    return read_elements(text, at, request.messages, request.starts, request.stops)


def _with_front(value: Any, path: Path, values: Sequence[Any]) -> Any:
    """A copy of a value with `values` at the front of the list at `path`."""
    if not path:
        return [*values, *value]
    copied = value.copy()
    copied[path[0]] = _with_front(value[path[0]], path[1:], values)
    return copied


def _moved(places: Sequence[int], at: int, by: int) -> list[int]:
    """The places, which are in order, those after `at` further on."""
    first = bisect_right(places, at)
    return [*places[:first], *[place + by for place in places[first:]]]


def _written(value: Any) -> str:
    """A value for a request that is not all ASCII; half a surrogate pair has no UTF-8 and is escaped."""
    written = _write(value)
    if written.isascii():
        return written
    return _LONE_SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
