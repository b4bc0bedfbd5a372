"""Requests and answers as messages: who said what, which tools were called, what they returned.

Owns: what is shown of a message, and how a request differs from the one before it.
Must not know: stores, sockets, how a provider spells a message (`wire`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole.canonical.message import Call, Message
from keepwhole.canonical.utf8 import showable
from keepwhole.models.tokens import estimate
from keepwhole.wire import dialects
from keepwhole.wire.content import Json, fields_of, parts_of
from keepwhole.wire.declarations import declarations_in
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import DEFAULT, conversation_dialect, decode_message
from keepwhole.wire.request_body import read_request
from keepwhole.wire.sse import Events, last_event

State: TypeAlias = Literal["same", "changed", "new"]
_REASONING_KEYS = ("thinking", "reasoning_content", "reasoning", "summary", "text")
_REASONING_KINDS = ("thinking", "reasoning")
_MOST_TOOLS = 500


class SentMessage(NamedTuple):
    """One message of a request or an answer."""

    message: Message
    thinking: str = ""
    """The reasoning in it that can be read."""


class RequestMessages(NamedTuple):
    """A request as messages."""

    system: str
    tools: tuple[tuple[str, int], ...]
    """Each tool that is offered, with the tokens of its definition."""
    messages: tuple[SentMessage, ...]

    def calls(self) -> dict[str, Call]:
        """Every call in it by its id."""
        return {call.call_id: call for sent in self.messages for call in sent.message.calls}


class Answer(NamedTuple):
    """An answer as messages."""

    messages: tuple[SentMessage, ...] = ()
    error: str = ""
    """What the provider said instead; empty where it answered."""
    is_readable: bool = True


def read_messages(body: bytes) -> RequestMessages | None:
    """The messages of a request; None where it cannot be read."""
    request = read_request(body)
    if request is None:
        return None
    system = "\n\n".join(
        _words(request.fields[key]) for key in dialects.TABLE.instructions_fields if request.fields.get(key)
    )
    tools = tuple((tool.name, tool.tokens) for tool in declarations_in(request.fields)[:_MOST_TOOLS])
    text = request.fields.get(request.key)
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else request.messages
    return RequestMessages(system, tools, tuple(map(_read_message, messages)))


def read_answer(dialect: str, data: bytes) -> Answer:
    """The messages of an answer, streamed or whole."""
    known = _dialect(dialect)
    if data.lstrip()[:6].startswith((b"event:", b"data:")):
        return _read_stream(known, data)
    try:
        body = fields_of(json.loads(data))
    except (ValueError, RecursionError):
        return Answer(is_readable=not data)
    if body.get("error"):
        return Answer(error=_error_words(body["error"]))
    return Answer(tuple(map(_read_message, known.read_reply(body, ()).said)))


def states(now: Sequence[SentMessage], before: Sequence[SentMessage] | None) -> list[State]:
    """For each message whether the request before has the same one, has it with other words, or has none like it."""
    if before is None:
        return ["new"] * len(now)
    known = {_key(sent.message): sent.message for sent in before}
    return [_state(sent.message, at, known, before) for at, sent in enumerate(now)]


def runs(of: Sequence[State]) -> list[dict[str, Any]]:
    """Messages in a row with the same state."""
    found: list[dict[str, Any]] = []
    for at, state in enumerate(of):
        if not found or found[-1]["state"] != state:
            found.append({"state": state, "from": at, "count": 0})
        found[-1]["count"] += 1
    return found


def text_fields(text: str, most: int) -> dict[str, Any]:
    """A text, no longer than the page shows."""
    return {"text": showable(text[:most]), "chars": len(text), "more": len(text) > most}


def call_fields(call: Call, most: int) -> dict[str, Any]:
    """A call of a tool."""
    return {
        "kind": "call",
        "tool": showable(call.tool),
        "call_id": showable(call.call_id),
        **text_fields(call.arguments, most),
    }


def _read_message(message: Any) -> SentMessage:
    return SentMessage(decode_message(message), "\n\n".join(_reasoning(fields_of(message))))


def _read_stream(dialect: Dialect, data: bytes) -> Answer:
    stream, events = dialect.stream(()), Events()
    last = None
    try:
        for event in events.feed(data):
            stream.feed(event)
        last = last_event(events.rest())
        if last is not None:
            stream.feed(last)
        reply = stream.reply()
    except Exception:  # a stream that nobody understands is shown as it came
        return Answer(is_readable=False)
    return Answer(is_readable=False) if reply is None else Answer(tuple(map(_read_message, reply.said)))


def _reasoning(message: Json) -> Iterator[str]:
    """The readable reasoning of a message: its own, or that of its parts."""
    if message.get("type") in _REASONING_KINDS:
        yield from _reasoning_words(message)
    elif isinstance(own := message.get("reasoning_content"), str):
        yield own
    for part in parts_of(message.get("content")):
        fields = fields_of(part)
        if fields.get("type") in _REASONING_KINDS:
            yield from _reasoning_words(fields)


def _reasoning_words(part: Json) -> Iterator[str]:
    for key in _REASONING_KEYS:
        value = part.get(key)
        words = value if isinstance(value, str) else "\n\n".join(filter(None, map(_part_words, parts_of(value))))
        if words:
            yield words
            return


def _words(value: object) -> str:
    """The words of a system prompt: a text, or parts with text."""
    if isinstance(value, str):
        return value
    inside: Any = fields_of(value).get("parts")
    one = fields_of(inside)  # Google takes one part in place of a list
    parts = [one] if one else parts_of(inside) or parts_of(value)
    return "\n\n".join(filter(None, map(_part_words, parts)))


def _part_words(part: object) -> str:
    text = part if isinstance(part, str) else fields_of(part).get("text")
    return text if isinstance(text, str) else ""


def _error_words(error: object) -> str:
    message = fields_of(error).get("message")
    return showable(message if isinstance(message, str) else json.dumps(error, default=str))[:2_000]


def _dialect(name: str) -> Dialect:
    try:
        return conversation_dialect(name)
    except Exception:  # a record of another release may name one that is not known here
        return DEFAULT


def _key(message: Message) -> object:
    """By what a message is found again although its words were changed: the calls that it makes or answers."""
    ids = tuple(call.call_id for call in message.calls), tuple(one.call_id for one in message.returned)
    return ids if any(ids) else (message.role, message.said)


def _state(message: Message, at: int, known: Mapping[object, Message], before: Sequence[SentMessage]) -> State:
    found = known.get(_key(message))
    if found is not None:
        return "same" if found == message else "changed"
    was = before[at].message if at < len(before) else None
    is_edited = was is not None and was.role == message.role and not (was.calls or was.returned or message.calls)
    return "changed" if is_edited and not message.returned else "new"


def tokens_of(message: Message) -> int:
    """About how many tokens a message has."""
    words = estimate(message.said) if message.said else 0
    calls = sum(estimate(call.tool) + estimate(call.arguments) for call in message.calls)
    return words + calls + sum(estimate(one.text) for one in message.returned) + message.other
