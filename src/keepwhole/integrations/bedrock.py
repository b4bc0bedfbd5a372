"""Amazon Bedrock with boto3: the calls of a client are edited before botocore signs them.

A signature of AWS covers the body and the host, so nothing between a program and Bedrock can edit a signed request.
`attach` edits the bodies that botocore has written for `converse`, `converse_stream`, `invoke_model`,
`invoke_model_with_response_stream` and `count_tokens`; botocore then signs what is sent with the caller's own
credentials, which are never seen here.

Owns: boto3's events, bodies and streams. The exchange does everything else.

Theory of operation
-------------------

    client.converse(…) ──▶ before-call: the body as it would be sent ──▶ the view of it ──▶ signed and sent
                                                                                               │
    the caller ◀── the answer of all rounds ◀── after-call: its bytes; another round? ◀────────┘
                                                              │ client.converse(…) again, with the next body

A further round is an ordinary call of the same client with the same parameters: `before-call` puts the body of the
round in the place of what botocore wrote, and `after-call` notes the bytes that came.
"""

import base64
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from importlib import import_module
from typing import Any, cast

from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.integrations.clients import router_options
from keepwhole.session import Session
from keepwhole.wire.event_stream import chunk_event, written_event
from keepwhole.wire.sse import Event, Events

_SERVICE = "bedrock-runtime"
_WHOLE = ("Converse", "InvokeModel")
_STREAMED = ("ConverseStream", "InvokeModelWithResponseStream")
_COUNTED = ("CountTokens",)
_KEPT = "keepwhole"
_BYTES = ("bytes", "redactedContent")
"""Fields of Converse's events that boto3 gives as bytes, and JSON has in base64."""


class _Round:
    """A further round while its call is made."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.answer = b""


_round: ContextVar[_Round | None] = ContextVar("_round", default=None)


def attach(
    client: Any, session: Session | str | None = None, *, store: Any = None, agent: str | None = None
) -> SessionRouter:
    """Keep the tool results of a boto3 client of `bedrock-runtime`, and send views of its conversations.

    `invoke_model` is read where its body is one of Anthropic's; other vendors' bodies are sent as they are. What
    `count_tokens` counts is what `converse` or `invoke_model` would send. Close the router when the client is done.
    """
    router = SessionRouter(session, **router_options(session, store, agent, None))
    calls = _Calls(client, router)
    for operation in (*_WHOLE, *_STREAMED, *_COUNTED):
        client.meta.events.register(f"provide-client-params.{_SERVICE}.{operation}", calls.note_parameters)
        client.meta.events.register(f"before-call.{_SERVICE}.{operation}", calls.edit)
    for operation in _WHOLE:
        client.meta.events.register(f"after-call.{_SERVICE}.{operation}", calls.answer)
    for operation in _STREAMED:
        client.meta.events.register(f"after-call.{_SERVICE}.{operation}", calls.stream)
    return router


class _Calls:
    """The calls of one client."""

    def __init__(self, client: Any, router: SessionRouter) -> None:
        self._client, self._router = client, router

    def note_parameters(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Note with what a call was made, so that it can be made again."""
        context[_KEPT] = params

    def edit(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Put the view of a call's body in its place."""
        own, body = context.pop(_KEPT, None), params.get("body")
        if (again := _round.get()) is not None:
            params["body"] = again.body
            return
        data = body.encode() if isinstance(body, str) else body
        if own is None or not isinstance(data, bytes | bytearray):
            return
        # botocore takes a stream out of its frames, so the exchange is that of an answer without frames.
        path = params["url_path"].removesuffix("-stream").removesuffix("-with-response")
        exchange = self._router.begin("POST", path, {}, bytes(data))
        if isinstance(exchange, Exchange):
            params["body"] = exchange.body
            context[_KEPT] = exchange, own

    def answer(self, http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        """Put the answer of all rounds in the place of the first one's."""
        if (again := _round.get()) is not None:
            again.answer = _bytes_of(http_response, parsed)
            return
        if _KEPT not in context or http_response.status_code != 200:
            return
        exchange, params = context.pop(_KEPT)
        came = data = _bytes_of(http_response, parsed)
        while (shown := exchange.read_answer(data)) is None:
            exchange.learn_bill(200, data, complete=True)
            data = self._send(model.name, exchange, params)[1]
        exchange.learn_bill(200, data, complete=True)
        if "body" in parsed:
            parsed["body"] = _streaming_body(shown)
        elif shown != came:
            parsed.update({**_parse(shown, model), "ResponseMetadata": parsed["ResponseMetadata"]})

    def stream(self, http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        """Put a stream of all rounds in the place of the first one's."""
        if _KEPT in context and http_response.status_code == 200:
            exchange, params = context.pop(_KEPT)
            name = "stream" if "stream" in parsed else "body"

            def go_on() -> Any:
                return self._send(model.name, exchange, params)[0][name]

            convert = _Chunks() if name == "body" else _ConverseEvents()
            parsed[name] = _AnswerStream(exchange, parsed[name], convert, go_on)

    def _send(self, operation: str, exchange: Exchange, params: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Make the call of a further round; what boto3 returns of it, and the bytes that came."""
        method = next(name for name, known in self._client.meta.method_to_api_mapping.items() if known == operation)
        again = _Round(exchange.body)
        token = _round.set(again)
        try:
            return getattr(self._client, method)(**params), again.answer
        finally:
            _round.reset(token)


class _Chunks:
    """Chunks of `invoke_model_with_response_stream` as Anthropic's events, and events as chunks."""

    def event_of(self, given: dict[str, Any]) -> bytes | None:
        """The server-sent event that a chunk carries; None for what is no chunk."""
        return chunk_event(given["chunk"]["bytes"]) if "chunk" in given else None

    def given_for(self, event: Event) -> dict[str, Any]:
        """What boto3 gives for an event."""
        return {"chunk": {"bytes": event.text.encode()}}


class _ConverseEvents:
    """Events of `converse_stream` as server-sent ones, and back."""

    def event_of(self, given: dict[str, Any]) -> bytes | None:
        """An event with its name; what boto3 has as bytes is base64."""
        [(name, data)] = given.items()
        return written_event(name, json.dumps(data, default=_as_base64).encode())

    def given_for(self, event: Event) -> dict[str, Any]:
        """What boto3 gives for an event."""
        return {event.name: json.loads(event.text, object_hook=_with_bytes)}


def _as_base64(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes | bytearray) else str(value)


def _with_bytes(fields: dict[str, Any]) -> dict[str, Any]:
    found = {name: base64.b64decode(value) for name in _BYTES if isinstance(value := fields.get(name), str)}
    return {**fields, **found}


class _AnswerStream:
    """A streamed answer as boto3 gives it, round after round."""

    def __init__(
        self, exchange: Exchange, stream: Any, convert: _Chunks | _ConverseEvents, go_on: Callable[[], Any]
    ) -> None:
        self._exchange, self._stream, self._convert, self._go_on = exchange, stream, convert, go_on

    def __iter__(self) -> Iterator[dict[str, Any]]:
        exchange = self._exchange
        while True:
            pieces: list[bytes] = []
            for given in self._stream:
                event = self._convert.event_of(given)
                if event is None or not exchange.offers:
                    pieces += [] if event is None else [event]
                    yield given
                    continue
                pieces.append(event)
                yield from self._given(exchange.feed_chunk(event))
            last = exchange.end_stream() if exchange.offers else b""
            exchange.learn_bill(200, b"".join(pieces), complete=True)
            if last is not None:
                yield from self._given(last)
                return
            self._stream = self._go_on()

    def _given(self, events: bytes) -> Iterable[dict[str, Any]]:
        return map(self._convert.given_for, Events().feed(events))

    def close(self) -> None:
        """Close the stream that is read."""
        self._stream.close()


def _bytes_of(http_response: Any, parsed: dict[str, Any]) -> bytes:
    """The bytes of an answer; those that boto3 gives as a stream of their own can be read once."""
    return cast("bytes", parsed["body"].read() if "body" in parsed else http_response.content)


def _parse(data: bytes, model: Any) -> dict[str, Any]:
    """An answer as boto3 gives it."""
    parser = import_module("botocore.parsers").create_parser(model.metadata["protocol"])
    return parser.parse({"body": data, "headers": {}, "status_code": 200}, model.output_shape)


def _streaming_body(data: bytes) -> Any:
    response: Any = import_module("botocore.response")  # it comes with the client, and has no types
    return response.StreamingBody(io.BytesIO(data), len(data))
