"""Logs of requests to a provider: which of them are one run.

Owns: the wrappings that such logs have, and that a request which begins with all that an earlier one had goes on from
it. Loose messages, one a line, are one run. A few runs are open at a time, since agents may work side by side.
Must not know: how a dialect names what it sends and gets.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from holdfast.projection.transcript import Message
from holdfast.replay.importers.lines import BAD, Lines
from holdfast.replay.importers.sequence import Timed, joined, run_from, seconds
from holdfast.replay.run import Run
from holdfast.wire.decode import decode_message, dialect_of
from holdfast.wire.dialect import Dialect
from holdfast.wire.fields import fields_of, kind_of_part, parts_of, text_of

_OPEN = 8
_STAMPS = ("timestamp", "time", "created_at", "created", "start_time")
_WRAPPED = ("request", "body", "kwargs", "params")
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(object)


class Exchange(NamedTuple):
    """A request, and its answer where the log has it."""

    sent: Sequence[Any]
    answer: Sequence[Any] = ()
    model: str = ""
    id: str = ""
    """Of the answer; a later request may name it instead of repeating everything."""
    after: str = ""
    """The answer that this request goes on from, where it names one."""


Reader: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Exchange | None]
"""Reads a dialect's request and its answer."""


class _Conversation:
    """A run that may go on."""

    def __init__(self) -> None:
        self.sent: list[Timed] = []
        self.answer: list[Timed] = []
        self.model = self.last = ""

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


def runs(lines: Lines, source: Dialect, read: Reader) -> Iterator[Run]:
    """The runs of a log in that dialect."""
    name = source.replace("_", "-")
    stem = lines.path.name.partition(".")[0]
    for number, conversation in enumerate(_conversations(lines, read), 1):
        meta = {"format": name, "path": str(lines.path), "model": conversation.model}
        said = conversation.sent + conversation.answer
        if run := run_from(name, f"{stem}:{number}", joined(said) if name == "openai-responses" else said, meta):
            yield run


def _conversations(lines: Lines, read: Reader) -> Iterator[_Conversation]:
    open_ones: list[_Conversation] = []
    loose = _Conversation()
    for value in lines.decoded(_DECODER, "JSON"):
        fields = fields_of(value)
        at = _moment(fields)
        if is_message(fields):
            loose.sent.append(Timed(_decoded(fields), at))
            continue
        exchange = Exchange(parts_of(value)) if is_messages(value) else read(*_unwrapped(fields))
        if exchange is None:
            lines.unreadable("neither a request nor a message")
            continue
        sent = [_decoded(message) for message in exchange.sent]
        found = next((one for one in reversed(open_ones) if one.goes_on(exchange, sent)), None)
        if found is None:
            open_ones.append(found := _Conversation())
        found.add(exchange, sent, at)
        if len(open_ones) > _OPEN:
            yield open_ones.pop(0)
    yield from (*open_ones, loose)


def dialect(value: object) -> Dialect | None:
    """The dialect of a request, a message, or a list of messages; None where it is nothing of the kind."""
    if is_messages(value):
        return dialect_of(parts_of(value)) or "openai_chat"
    fields = fields_of(value)
    if is_message(fields):
        return dialect_of([fields]) or "openai_chat"
    request, response = _unwrapped(fields)
    if isinstance(request.get("input"), list | str) and ("model" in request or "output" in response):
        return "openai_responses"
    if not isinstance(request.get("messages"), list):
        return None
    if "system" in request or (kind_of_part(response) == "message" and "content" in response):
        return "anthropic"
    return dialect_of(parts_of(request["messages"])) or "openai_chat"


def is_message(fields: dict[str, Any]) -> bool:
    """Whether it is one message or item by itself, not wrapped in anything."""
    if isinstance(fields.get("role"), str) and ("content" in fields or "tool_calls" in fields):
        return "choices" not in fields and "usage" not in fields
    return isinstance(fields.get("call_id"), str) and kind_of_part(fields).endswith(("_call", "_call_output"))


def is_messages(value: object) -> bool:
    """Whether it is a list of nothing but messages."""
    parts = parts_of(value)
    return bool(parts) and all(
        is_message(fields_of(part)) or kind_of_part(fields_of(part)) == "reasoning" for part in parts
    )


def _unwrapped(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request and the answer to it; each is the record itself where it is not wrapped."""
    request = fields
    for _ in range(2):
        request = next((inner for key in _WRAPPED if (inner := _object(request.get(key)))), request)
    response = _object(fields.get("response"))
    return request, _object(response.get("body")) or response or fields


def _object(value: object) -> dict[str, Any]:
    """An object, also where a log has it as JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return fields_of(msgspec.json.decode(value))
        except BAD:
            return {}
    return fields_of(value)


def _decoded(message: object) -> Message:
    """What no dialect's decoder makes words of was still written by the model."""
    decoded = decode_message(message)
    return decoded._replace(role="assistant") if decoded.role == "other" else decoded


def _moment(fields: dict[str, Any]) -> float | None:
    return next((at for key in _STAMPS if (at := seconds(fields.get(key))) is not None), None)


def model_of(request: dict[str, Any], response: dict[str, Any]) -> str:
    """The model that was asked."""
    return text_of(request.get("model")) or text_of(response.get("model"))
