"""Secrets that a stream of events splits over several of them, hidden in what is recorded of the stream.

Owns: which texts of events belong together, and writing events again without parts of them.
Must not know: what a secret is (`credentials`), dialects.

Theory of operation. A provider sends a text in pieces, one in each event, so a secret in it may be in no event and
still be in the record:

    data: {"index": 0, "delta": {"text": "your key sk-a"}}
    data: {"index": 0, "delta": {"text": "nt-123 is"}}

Every string of every event is a piece. Pieces belong together by the name of their field and the indexes and item ids
around them, in order; and once more by the name alone, since a text may go on in the next block. The joined texts are
searched. An event with a part of a secret is written again without it, with `[redacted]` where the secret begins; all
others keep their bytes. A stream that breaks off inside an event has strings there whose fields are not known: each is
tried as the next piece of every text.

Nearly no stream repeats a secret, and reading all events takes longer than relaying them. So the strings are looked at
first. Of a secret of eight characters or more in two pieces or more, three characters in a row begin or end a string,
or a string of one or two characters is a part of it. Where there is no such string, nothing is split.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, cast

from keepwhole.apps.redaction import HIDDEN
from keepwhole.wire.sse import Event, Events, last_event

Path: TypeAlias = tuple[str | int, ...]
Span: TypeAlias = tuple[int, int]
_Cuts: TypeAlias = dict[Path, list[Span]]
"""What goes of each piece of one event."""
_STRING = re.compile(
    r'"(?P<json>(?>(?:[^"\\]|\\.)*))(?:"|\\?\Z)|^data: ?+(?P<text>[^{\["\n].*)', re.DOTALL | re.MULTILINE
)
"""A string of JSON, or the beginning of one at the end; or data that is plain text."""
_STRINGS = re.compile(rb'"((?>(?:[^"\\]|\\.)*))"?', re.DOTALL)
_PLAIN = re.compile(rb"^data: ?+(?!\{|\[DONE\])", re.MULTILINE)


class _Piece(NamedTuple):
    event: int
    path: Path
    """Where it is in the event's data; empty where that is the data itself."""
    text: str


class SplitMask:
    """Hides secrets that are split over events; a part of one at the end counts from `shortest` characters on."""

    def __init__(self, secrets: Sequence[bytes], shortest: int) -> None:
        """`secrets` are given as JSON spells them, too, with the longest first."""
        self._shortest = shortest
        self._secrets = [secret.decode("utf-8", "surrogateescape") for secret in secrets]
        self._edges = {secret[at : at + 3] for secret in secrets for at in range(len(secret) - 2)}
        self._parts = {secret[at : at + size] for secret in secrets for size in (1, 2) for at in range(len(secret))}

    def __call__(self, data: bytes) -> bytes:
        """The stream without split secrets; itself where there is none."""
        return self._masked(data) if self._may_have_part(data) else data

    def _may_have_part(self, data: bytes) -> bool:
        """Whether a string of an event may be a part of a secret, or begin or end with one."""
        if b"\\u00" in data or _PLAIN.search(data):
            return True
        edges, parts = self._edges, self._parts
        return any(each[:3] in edges or each[-3:] in edges or each in parts for each in set(_STRINGS.findall(data)))

    def _masked(self, data: bytes) -> bytes:
        reader = Events()
        events, rest = reader.feed(data), reader.rest()
        broken = ""
        if rest:
            last = last_event(rest)
            events += [last] if last is not None else []
            broken = rest.decode("utf-8", "surrogateescape") if last is None else ""
        values = [_value_of(event) for event in events]
        cuts: dict[int, _Cuts] = {}
        for pieces in _texts(events, values):
            text = "".join([piece.text for piece in pieces])
            spans = self._spans(text)
            broken, tail = self._without_rest(text, broken)
            _cut(pieces, _merged([*spans, *([(len(text) - tail, len(text))] if tail else [])]), cuts)
        raw = [event.raw for event in events]
        for at, own in cuts.items():
            raw[at] = _rewritten(events[at], values[at], own)
        return b"".join(raw) + broken.encode("utf-8", "surrogateescape")

    def _spans(self, text: str) -> list[Span]:
        """Where secrets are in a text, also the part of one that it ends with."""
        found: list[Span] = []
        for secret in self._secrets:
            at = text.find(secret)
            while at >= 0:
                found.append((at, at + len(secret)))
                at = text.find(secret, at + 1)
            size = _overlap(text, secret)
            if size >= self._shortest:
                found.append((len(text) - size, len(text)))
        return found

    def _without_rest(self, text: str, broken: str) -> tuple[str, int]:
        """A broken event without a string that goes on with a secret in which a text ends, and the size of that end."""
        for secret in self._secrets if broken else ():
            size = _overlap(text, secret)
            for found in _STRING.finditer(broken) if size else ():
                kind = found.lastgroup or "text"
                more = _unescaped(found[kind]) if kind == "json" else found[kind]
                more = more[: len(secret) - size]
                if more and secret.startswith(more, size) and size + len(more) >= self._shortest:
                    return broken[: found.start(kind)] + HIDDEN + broken[found.end(kind) :], size
        return broken, 0


def _overlap(text: str, secret: str) -> int:
    """How many characters of a secret, but not all, a text ends with."""
    return next((size for size in range(len(secret) - 1, 0, -1) if text.endswith(secret[:size])), 0)


def _value_of(event: Event) -> Any:
    """The data of an event; None where it is plain text."""
    try:
        value: object = json.loads(event.text)
    except (ValueError, RecursionError):
        return None
    return cast("Any", value) if isinstance(value, dict | list) else None


def _unescaped(written: str) -> str:
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written


def _texts(events: Sequence[Event], values: Sequence[Any]) -> Iterator[list[_Piece]]:
    """The pieces of each text."""
    by_name: dict[str, dict[tuple[object, ...], list[_Piece]]] = {}
    for at, (event, value) in enumerate(zip(events, values, strict=True)):
        if value is None:
            by_name.setdefault("", {}).setdefault((), []).append(_Piece(at, (), event.text))
            continue
        for path, name, indexes, text in _strings(value):
            by_name.setdefault(name, {}).setdefault(indexes, []).append(_Piece(at, path, text))
    for groups in by_name.values():
        yield from groups.values()
        if len(groups) > 1:
            yield sorted((piece for pieces in groups.values() for piece in pieces), key=lambda piece: piece.event)


def _strings(value: Any) -> Iterator[tuple[Path, str, tuple[object, ...], str]]:
    """The strings in a value, each with its path, the name of its field and the indexes around it; in order."""
    waiting: list[tuple[Any, Path, str, tuple[object, ...]]] = [(value, (), "", ())]
    while waiting:
        inner, path, name, indexes = waiting.pop()
        if isinstance(inner, str):
            yield path, name, indexes, inner
        elif isinstance(inner, dict):
            fields = cast("dict[str, Any]", inner)
            own = [each for key, each in fields.items() if isinstance(each, int | str) and _is_index(key)]
            around = (*indexes, *own)
            waiting += [(each, (*path, key), key, around) for key, each in reversed(fields.items())]
        elif isinstance(inner, list):
            each_of = list(enumerate(cast("list[Any]", inner)))
            waiting += [(each, (*path, at), name, indexes) for at, each in reversed(each_of)]


def _is_index(name: str) -> bool:
    return name == "index" or name.endswith("_index") or name == "item_id"


def _merged(spans: Sequence[Span]) -> list[Span]:
    found: list[Span] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


def _cut(pieces: Sequence[_Piece], spans: Sequence[Span], cuts: dict[int, _Cuts]) -> None:
    """Note what goes of each piece; a span that goes on from the piece before begins below 0."""
    starts = list(accumulate((len(piece.text) for piece in pieces), initial=0))
    for start, stop in spans:
        at = bisect_right(starts, start) - 1
        while at < len(pieces) and starts[at] < stop:
            piece = pieces[at]
            cuts.setdefault(piece.event, {}).setdefault(piece.path, []).append((start - starts[at], stop - starts[at]))
            at += 1


def _without(text: str, spans: Sequence[Span]) -> str:
    shown, at = "", 0
    for start, stop in _merged(spans):
        shown += text[at : max(at, start)] + (HIDDEN if start >= 0 else "")
        at = stop
    return shown + text[at:]


def _rewritten(event: Event, value: Any, own: _Cuts) -> bytes:
    """An event without parts of its strings."""
    text = _without(event.text, own[()]) if value is None else json.dumps(_changed(value, own), ensure_ascii=True)
    head = f"event: {event.name}\n" if event.name else ""
    data = "".join(f"data: {line}\n" for line in text.split("\n"))
    return f"{head}{data}\n".encode()


def _changed(value: Any, own: _Cuts) -> Any:
    root = [value]
    for path, spans in own.items():
        inner: Any = root
        *before, last = (0, *path)
        for step in before:
            inner = inner[step]
        inner[last] = _without(inner[last], spans)
    return root[0]
