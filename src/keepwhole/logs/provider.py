"""Logs of requests to a provider, in any dialect: which of them are one run.

Owns: telling the dialects apart, record by record, and that a request which begins with all that an earlier one had
goes on from it. Loose messages, one a line, are one run. A few runs are open at a time, since agents work side by side.
Must not know: how a dialect names what it sends and gets.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from keepwhole.canonical.message import Message
from keepwhole.logs.lines import LogLines
from keepwhole.logs.message_order import Timed, build_run, epoch_seconds, merge_responses
from keepwhole.logs.provider_exchange import Exchange, is_message, is_messages, read_exchange, unwrapped
from keepwhole.logs.run import Run
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of, parts_of
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import DEFAULT, dialect_of, dialect_of_log

_OPEN = 8
_STAMPS = ("timestamp", "time", "created_at", "created", "start_time")
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(object)


class _Conversation:
    """A run that may go on."""

    def __init__(self) -> None:
        self.sent: list[Timed] = []
        self.answer: list[Timed] = []
        self.model = self.last = ""
        self.dialect = DEFAULT
        """Plain messages could be of any dialect; the first that could not tells."""

    def goes_on(self, exchange: Exchange, sent: list[Message]) -> bool:
        """Whether that exchange is a later one of this run."""
        if exchange.after:
            return exchange.after == self.last
        return sent[: len(self.sent)] == [one.message for one in self.sent]

    def add(self, exchange: Exchange, sent: list[Message], at: float | None) -> None:
        """Take the next exchange."""
        if exchange.after and self.last:
            self.sent += self.answer
            new = sent
        else:
            new = sent[len(self.sent) :]
        self.sent += [Timed(message, at) for message in new]
        self.answer = [Timed(message, at) for message in map(_decoded, exchange.answer)]
        self.model, self.last = exchange.model or self.model, exchange.id


def recognizes(value: object) -> bool:
    """Whether it is a request, a message, or a list of messages."""
    return _dialect(value) is not None


def read_log(lines: LogLines) -> Iterator[Run]:
    """The runs of a log, in the order in which they ended."""
    stem = lines.path.name.partition(".")[0]
    for number, one in enumerate(_conversations(lines), 1):
        name = one.dialect.name.replace("_", "-")
        said = one.sent + one.answer
        meta = {"format": name, "path": str(lines.path), "model": one.model}
        messages = merge_responses(said) if one.dialect.is_answer_in_items else said
        if run := build_run(name, f"{stem}:{number}", messages, meta):
            yield run


def _conversations(lines: LogLines) -> Iterator[_Conversation]:
    open_ones: list[_Conversation] = []
    loose = _Conversation()
    for value in lines.decode_all(_DECODER, "JSON"):
        fields = fields_of(value)
        dialect, at = _dialect(value), _moment(fields)
        if dialect is None:
            lines.note_unreadable("neither a request nor a message")
            continue
        if is_message(fields):
            loose.sent.append(Timed(_decoded(fields), at))
            found = loose
        else:
            whole = is_messages(value)
            exchange = Exchange(parts_of(value)) if whole else read_exchange(dialect, *unwrapped(fields))
            found = _taken(exchange, at, open_ones)
        found.dialect = dialect if dialect is not DEFAULT else found.dialect
        if len(open_ones) > _OPEN:
            yield open_ones.pop(0)
    yield from (*open_ones, loose)


def _taken(exchange: Exchange, at: float | None, open_ones: list[_Conversation]) -> _Conversation:
    """The conversation that the exchange belongs to, a new one where it goes on from none."""
    sent = [_decoded(message) for message in exchange.sent]
    found = next((one for one in reversed(open_ones) if one.goes_on(exchange, sent)), None)
    if found is None:
        open_ones.append(found := _Conversation())
    found.add(exchange, sent, at)
    return found


def _dialect(value: object) -> Dialect | None:
    """The dialect; None where it is nothing of the kind."""
    if is_messages(value):
        return dialect_of(parts_of(value)) or DEFAULT
    fields = fields_of(value)
    if is_message(fields):
        return dialect_of([fields]) or DEFAULT
    return dialect_of_log(*unwrapped(fields))


def _decoded(message: object) -> Message:
    """What no dialect's decoder makes words of was still written by the model."""
    decoded = decode_logged(message)
    return decoded._replace(role="assistant") if decoded.role == "other" else decoded


def _moment(fields: dict[str, Any]) -> float | None:
    return next((at for key in _STAMPS if (at := epoch_seconds(fields.get(key))) is not None), None)
