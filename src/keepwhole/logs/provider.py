"""Logs of requests to a provider, in any dialect: which of them belong to one run.

Owns: recognizing the dialect of a record, taking request and answer out of their wrappings, and deciding which request
continues which run.
Must not know: how a dialect spells the content of a message; `wire` decodes it.

Theory of operation
-------------------
A client resends the whole history with every request, so a log of requests repeats itself:

    line 1   messages: [system, user]                              answer: a1
    line 2   messages: [system, user, a1, result]                  answer: a2
    line 3   messages: [system, other user]                        answer: b1     (another agent, at the same time)
    line 4   messages: [system, user, a1, result, a2, result 2]    answer: a3

A request continues a run if the run's sent messages are a prefix of it: line 2 and line 4 continue line 1, line 3 does
not, so it begins a run of its own. Of a request that continues a run only the messages after that prefix are new. The
answer of the last exchange is appended when the run ends, since no later request repeats it. The result is two runs:
`[system, user, a1, result, a2, result 2, a3]` and `[system, other user, b1]`.

OpenAI's Responses API also allows a request that names the answer it continues (`previous_response_id`) and sends only
the new items. Such a request continues the run whose last answer has that id, and the answer, which nothing repeats, is
appended at once.

A line may also be one message by itself. All such lines of a file are one run.

Invariants:
- Messages are compared decoded, never as bytes: clients move cache markers and reorder keys between requests.
- The newest run that matches is taken, so of two runs with the same beginning the later one goes on.
- At most `_OPEN` runs are open at a time; the oldest is yielded when there are more. Memory does not grow with the log.
- Messages that all dialects spell alike say nothing: a run has the dialect of its first message that only one has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from keepwhole.canonical.message import Message
from keepwhole.logs.lines import DECODE_ERRORS, LogLines
from keepwhole.logs.message_order import Timed, build_run, epoch_seconds, merge_responses
from keepwhole.logs.run import Run
from keepwhole.wire.as_dict import fields_of, kind_of_part, parts_of, text_of
from keepwhole.wire.decode import decode_message, dialect_of
from keepwhole.wire.dialect import Dialect

_OPEN = 8
"""Runs that are open at a time: agents work side by side."""
_TIME_FIELDS = ("timestamp", "time", "created_at", "created", "start_time")
_REQUEST_FIELDS = ("request", "body", "kwargs", "params")
"""Fields in which a record wraps its request."""
_UNDECIDED: Dialect = "openai_chat"
"""The dialect of messages that could be of any."""
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(object)


class _Exchange(NamedTuple):
    """One request, and its answer where the log has it."""

    sent: Sequence[Any]
    answer: Sequence[Any] = ()
    model: str = ""
    id: str = ""
    """The id of the answer; a later request may name it instead of repeating the history."""
    continues: str = ""
    """The id of the answer that this request continues, where it names one."""


def _chat_exchange(request: dict[str, Any], response: dict[str, Any]) -> _Exchange:
    """Return the messages of a request and the first choice of its answer."""
    choices = [fields_of(fields_of(choice).get("message")) for choice in parts_of(response.get("choices"))[:1]]
    answer = [message for message in choices if message]
    return _Exchange(parts_of(request.get("messages")), answer, _model(request, response), text_of(response.get("id")))


def _messages_exchange(request: dict[str, Any], response: dict[str, Any]) -> _Exchange:
    """Return the messages of a request, its system prompt first, and the message of its answer."""
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    sent = [*system, *parts_of(request.get("messages"))]
    answer = [{"role": "assistant", "content": response.get("content")}] if kind_of_part(response) == "message" else []
    return _Exchange(sent, answer, _model(request, response), text_of(response.get("id")))


def _responses_exchange(request: dict[str, Any], response: dict[str, Any]) -> _Exchange:
    """Return the items of a request, its instructions first, and the items of its answer."""
    given, continues = request.get("input"), text_of(request.get("previous_response_id"))
    # Every request repeats the instructions; a request that continues an answer needs them no second time.
    system: list[Any] = []
    if request.get("instructions") and not continues:
        system.append({"role": "system", "content": request["instructions"]})
    items = [{"role": "user", "content": given}] if isinstance(given, str) else parts_of(given)
    answer = parts_of(response.get("output"))
    return _Exchange([*system, *items], answer, _model(request, response), text_of(response.get("id")), continues)


class _LoggedDialect(NamedTuple):
    """What differs between the dialects in a log."""

    exchange: Callable[[dict[str, Any], dict[str, Any]], _Exchange]
    merges_items: bool = False
    """Whether one response of the model is several items, which have to be merged into one message."""


_DIALECTS: Mapping[Dialect, _LoggedDialect] = MappingProxyType(
    {
        "openai_chat": _LoggedDialect(_chat_exchange),
        "openai_responses": _LoggedDialect(_responses_exchange, merges_items=True),
        "anthropic": _LoggedDialect(_messages_exchange),
    }
)


class _Conversation:
    """A run to which later exchanges may still be added."""

    def __init__(self) -> None:
        self.sent: list[Timed] = []
        self.answer: list[Timed] = []
        self.model = self.last_id = ""
        self.dialect: Dialect = _UNDECIDED

    def is_continued_by(self, exchange: _Exchange, sent: list[Message]) -> bool:
        """Return whether the exchange is a later one of this run."""
        if exchange.continues:
            return exchange.continues == self.last_id
        return sent[: len(self.sent)] == [one.message for one in self.sent]

    def add(self, exchange: _Exchange, sent: list[Message], at: float | None) -> None:
        """Append the new messages of the next exchange."""
        if exchange.continues and self.last_id:
            self.sent += self.answer
            new = sent
        else:
            new = sent[len(self.sent) :]
        self.sent += [Timed(message, at) for message in new]
        self.answer = [Timed(message, at) for message in map(_decode, exchange.answer)]
        self.model, self.last_id = exchange.model or self.model, exchange.id


def recognizes(value: object) -> bool:
    """Return whether a decoded line is a request, a message, or a list of messages."""
    return _dialect(value) is not None


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the runs of a log, in the order in which they end."""
    stem = lines.path.name.partition(".")[0]
    for number, one in enumerate(_conversations(lines), 1):
        name = one.dialect.replace("_", "-")
        messages = one.sent + one.answer
        if _DIALECTS[one.dialect].merges_items:
            messages = merge_responses(messages)
        meta = {"format": name, "path": str(lines.path), "model": one.model}
        if run := build_run(name, f"{stem}:{number}", messages, meta):
            yield run


def _conversations(lines: LogLines) -> Iterator[_Conversation]:
    """Yield the conversations of a log; one that is full of loose messages comes last."""
    open_ones: list[_Conversation] = []
    loose = _Conversation()
    for value in lines.decode_all(_DECODER, "JSON"):
        fields = fields_of(value)
        dialect, at = _dialect(value), _time(fields)
        if dialect is None:
            lines.note_unreadable("neither a request nor a message")
            continue
        if _is_message(fields):
            loose.sent.append(Timed(_decode(fields), at))
            conversation = loose
        else:
            is_bare_list = _is_message_list(value)
            exchange = _Exchange(parts_of(value)) if is_bare_list else _DIALECTS[dialect].exchange(*_unwrapped(fields))
            conversation = _add_exchange(exchange, at, open_ones)
        if dialect != _UNDECIDED:
            conversation.dialect = dialect
        if len(open_ones) > _OPEN:
            yield open_ones.pop(0)
    yield from (*open_ones, loose)


def _add_exchange(exchange: _Exchange, at: float | None, open_ones: list[_Conversation]) -> _Conversation:
    """Add an exchange to the conversation that it continues, or to a new one; return that conversation."""
    sent = [_decode(message) for message in exchange.sent]
    found = next((one for one in reversed(open_ones) if one.is_continued_by(exchange, sent)), None)
    if found is None:
        open_ones.append(found := _Conversation())
    found.add(exchange, sent, at)
    return found


def _dialect(value: object) -> Dialect | None:
    """Return the dialect of a decoded line; None if it is neither a request nor messages."""
    if _is_message_list(value):
        return dialect_of(parts_of(value)) or _UNDECIDED
    fields = fields_of(value)
    if _is_message(fields):
        return dialect_of([fields]) or _UNDECIDED
    request, response = _unwrapped(fields)
    if isinstance(request.get("input"), list | str) and ("model" in request or "output" in response):
        return "openai_responses"
    if not isinstance(request.get("messages"), list):
        return None
    if "system" in request or (kind_of_part(response) == "message" and "content" in response):
        return "anthropic"
    return dialect_of(parts_of(request["messages"])) or _UNDECIDED


def _unwrapped(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the request and the answer in a record; each is the record itself where it is not wrapped."""
    request = fields
    for _ in range(2):
        request = next((inner for key in _REQUEST_FIELDS if (inner := _object(request.get(key)))), request)
    response = _object(fields.get("response"))
    return request, _object(response.get("body")) or response or fields


def _is_message(fields: dict[str, Any]) -> bool:
    """Return whether a record is one message or item by itself, without a wrapping."""
    if isinstance(fields.get("role"), str) and ("content" in fields or "tool_calls" in fields):
        return "choices" not in fields and "usage" not in fields
    kind = kind_of_part(fields)
    return kind == "reasoning" or kind.endswith(("_call", "_call_output"))


def _is_message_list(value: object) -> bool:
    """Return whether a decoded line is a list of messages and nothing else."""
    parts = parts_of(value)
    return bool(parts) and all(_is_message(fields_of(part)) for part in parts)


def _model(request: dict[str, Any], response: dict[str, Any]) -> str:
    return text_of(request.get("model")) or text_of(response.get("model"))


def _object(value: object) -> dict[str, Any]:
    """Return a JSON object; some logs store it as text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return fields_of(msgspec.json.decode(value))
        except DECODE_ERRORS:
            return {}
    return fields_of(value)


def _decode(message: object) -> Message:
    """Return the decoded message; an item of an unknown kind was written by the model."""
    decoded = decode_message(message)
    return decoded._replace(role="assistant") if decoded.role == "other" else decoded


def _time(fields: dict[str, Any]) -> float | None:
    return next((at for key in _TIME_FIELDS if (at := epoch_seconds(fields.get(key))) is not None), None)
