"""Previews for screens and streams: a bounded part of a result, for people who watch a tool at work.

Owns: limits per event and per result, and the marks by which a preview is recognized.
Must not know: the record. It gets a trace id to name the original by and cannot access it:
`transport_truncation_must_not_mutate_canonical_history`.

The last grapheme of a chunk is held back until the next chunk or the end, since the next chunk may continue it.
"""

import json
from collections.abc import Mapping
from typing import Any

from keepwhole.canonical.utf8 import showable
from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.edges import head_edge, joined
from keepwhole.truncation.notice import remainder_omitted

_LEAST = 256
_NOTICE = 80
"""Characters reserved for the notice of what is left out."""
_LONGEST = 4_096
_SMALL = 200
"""A value of an event up to this length is an id or a flag, and is sent unchanged if it fits."""


class TransportLimiter(Value):
    """How much of a result goes to a screen: `max_chars` per event, `max_total` per result. For display only."""

    max_chars: int = 2_000
    max_total: int = 20_000

    def _check(self) -> None:
        for name in self.fields:
            limit: object = getattr(self, name)
            if type(limit) is not int or limit < _LEAST:
                raise ConfigError(f"`{name}` is {limit!r}; give a whole number of characters, at least {_LEAST}.")

    def stream(self, trace_id: str, chars: int | None = None) -> "PreviewStream":
        """Return the stream of previews of one result; `chars` is its length, if known."""
        return PreviewStream(self, trace_id, chars)

    def preview(self, trace_id: str, result: str | Mapping[str, Any], chars: int | None = None) -> dict[str, Any]:
        """Return one preview of a whole result or event."""
        stream = self.stream(trace_id, chars)
        if isinstance(result, str):
            return stream.last(result)
        return stream.event(result) or stream.last()


class PreviewStream:
    """The previews of one result, chunk by chunk."""

    def __init__(self, limiter: TransportLimiter, trace_id: str, chars: int | None = None) -> None:
        self._limiter = limiter
        self._trace_id = trace_id
        self._chars = chars
        self._seen = self._shown = self._hidden = 0
        self._silent = self._silent_lines = 0
        self._held = ""

    def event(self, event: str | Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the preview of the next chunk of text, or of an event; None where there is nothing new to show."""
        if not isinstance(event, str):
            return self._of_event(event)
        self._seen += len(event)
        text = self._held + event
        at = _last_grapheme(text)
        self._held = text[at:]
        return self._of_text(text[:at]) if at else None

    def last(self, chunk: str = "") -> dict[str, Any]:
        """Return the last preview, which counts what all of them left out."""
        self._seen += len(chunk)
        text, self._held = self._held + chunk, ""
        shown = self._of_text(text) or self._marked({"text": ""})
        if self._silent:
            shown["text"] += remainder_omitted(self._silent_lines, self._silent)
        return {**shown, "ended": True, "left_out": self._hidden}

    @property
    def _room(self) -> int:
        """Return the characters that the next preview may show; room for the last notice is reserved."""
        return min(self._limiter.max_chars, self._limiter.max_total - _NOTICE - self._shown)

    def _of_text(self, text: str) -> dict[str, Any] | None:
        if len(text) <= self._room:
            self._shown += len(text)
            return self._marked({"text": showable(text)}) if text else None
        if self._room <= _NOTICE:
            self._hide(text)
            return None
        body, rest = _split(text, self._room)
        self._hidden += len(rest)
        said = body + remainder_omitted(_lines(rest), len(rest))
        self._shown += len(said)
        return self._marked({"text": showable(said), "left_out": len(rest)})

    def _hide(self, text: str) -> None:
        """Count text that is left out without a notice; the last preview reports it."""
        self._hidden += len(text)
        self._silent += len(text)
        self._silent_lines += _lines(text)

    def _of_event(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the event with its long values cut; short ones, which identify it, go first."""
        given = {str(key): value for key, value in event.items()}
        written = {key: _written(value) for key, value in given.items()}
        self._seen += sum(map(len, written.values()))
        room, left_out = self._room, 0
        shown: dict[str, Any] = {}
        for key in sorted(written, key=lambda key: len(written[key]) > _SMALL):
            value, own = written[key], room - len(key)
            if len(value) <= own:
                shown[key] = _copied(given[key], value)
            elif own > _NOTICE:
                body, rest = _split(value, own)
                shown[key] = showable(body + remainder_omitted(_lines(rest), len(rest)))
                left_out += len(rest)
            else:
                left_out += len(value)
                continue
            room = max(own - len(value), 0)
        self._hidden += left_out
        if not shown:
            self._silent += left_out
            return None
        self._shown += self._room - room
        ordered = {key: shown[key] for key in written if key in shown}
        return self._marked({**ordered, "left_out": left_out} if left_out else ordered)

    def _marked(self, shown: dict[str, Any]) -> dict[str, Any]:
        chars = self._seen if self._chars is None else self._chars
        return {**shown, "preview": True, "canonical": {"trace_id": self._trace_id, "chars": chars}}


def _split(text: str, room: int) -> tuple[str, str]:
    """Split a text between two graphemes into the part that fits beside a notice, and the rest."""
    at = head_edge(TextSource(text), max(room - _NOTICE, 0))
    return text[:at], text[at:]


def _last_grapheme(text: str) -> int:
    """Return where the last grapheme of a text begins; one longer than `_LONGEST` is not waited for."""
    at = max(len(text) - 1, 0)
    least = max(len(text) - _LONGEST, 0)
    while at > least and joined(text, at):
        at -= 1
    return len(text) if least and at == least else at


def _lines(text: str) -> int:
    return TextSource(text).lines


def _copied(value: object, written: str) -> Any:
    """Return a copy of a value that is shown as it is, so that a change of the preview stays there."""
    if isinstance(value, str):
        return showable(value)
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return showable(written)


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)
