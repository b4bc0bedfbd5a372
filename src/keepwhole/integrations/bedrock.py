"""Amazon Bedrock with boto3: the calls of a client are edited before botocore signs them.

A signature of AWS covers the body and the host, so nothing between a program and Bedrock can edit a signed request.
`attach` edits the parameters of `invoke_model` and `invoke_model_with_response_stream` with bodies of Anthropic's
models; botocore then signs what is sent with the caller's own credentials, which are never seen here.

Owns: boto3's events, bodies and streams. The exchange does everything else.
"""

import io
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.integrations.clients import router_options
from keepwhole.session import Session
from keepwhole.wire.event_stream import chunk_event
from keepwhole.wire.sse import Events

_CALL, _STREAM = "InvokeModel", "InvokeModelWithResponseStream"
_SERVICE = "bedrock-runtime"
_KEPT = "keepwhole"
_is_hidden_round: ContextVar[bool] = ContextVar("_is_hidden_round", default=False)


def attach(
    client: Any, session: Session | str | None = None, *, store: Any = None, agent: str | None = None
) -> SessionRouter:
    """Keep the tool results of a boto3 client of `bedrock-runtime`, and send views of its `invoke_model` calls.

    Calls with bodies of other vendors, and `converse`, are sent as they are. Close the router when the client is done.
    """
    router = SessionRouter(session, **router_options(session, store, agent, None))
    calls = _Calls(client, router)
    for operation in (_CALL, _STREAM):
        client.meta.events.register(f"provide-client-params.{_SERVICE}.{operation}", calls.edit)
    client.meta.events.register(f"after-call.{_SERVICE}.{_CALL}", calls.answer)
    client.meta.events.register(f"after-call.{_SERVICE}.{_STREAM}", calls.stream)
    return router


class _Calls:
    """The calls of one client."""

    def __init__(self, client: Any, router: SessionRouter) -> None:
        self._client, self._router = client, router

    def edit(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any] | None:
        """Give a call the view of its body; None for one that is sent as it is."""
        body = params.get("body")
        data = body.encode() if isinstance(body, str) else body
        if _is_hidden_round.get() or not isinstance(data, bytes | bytearray):
            return None
        exchange = self._router.begin("POST", f"/model/{params.get('modelId')}/invoke", {}, bytes(data))
        if not isinstance(exchange, Exchange):
            return None
        context[_KEPT] = exchange, params
        return {**params, "body": exchange.body}

    def answer(self, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Put the answer of all rounds in the place of the first one's."""
        if _KEPT not in context or http_response.status_code != 200:
            return
        exchange, params = context.pop(_KEPT)
        data = parsed["body"].read()
        while (shown := exchange.read_answer(data)) is None:
            exchange.learn_bill(200, data, complete=True)
            data = self.send(self._client.invoke_model, exchange, params)["body"].read()
        exchange.learn_bill(200, data, complete=True)
        self._router.counts["rounds"] += exchange.count
        parsed["body"] = _streaming_body(shown)

    def stream(self, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Put a stream of all rounds in the place of the first one's."""
        if _KEPT in context and http_response.status_code == 200:
            exchange, params = context.pop(_KEPT)
            parsed["body"] = _AnswerStream(self, exchange, params, parsed["body"])

    def send(self, call: Any, exchange: Exchange, params: dict[str, Any]) -> Any:
        """Make the call of a hidden round."""
        token = _is_hidden_round.set(True)
        try:
            return call(**{**params, "body": exchange.body})
        finally:
            _is_hidden_round.reset(token)

    def next_stream(self, exchange: Exchange, params: dict[str, Any]) -> Any:
        """The stream of the next round."""
        return self.send(self._client.invoke_model_with_response_stream, exchange, params)["body"]


class _AnswerStream:
    """A streamed answer as boto3 gives it, round after round."""

    def __init__(self, calls: _Calls, exchange: Exchange, params: dict[str, Any], stream: Any) -> None:
        self._calls, self._exchange, self._params, self._stream = calls, exchange, params, stream

    def __iter__(self) -> Iterator[dict[str, Any]]:
        exchange = self._exchange
        while True:
            pieces: list[bytes] = []
            for event in self._stream:
                if "chunk" not in event:
                    yield event
                    continue
                pieces.append(chunk_event(event["chunk"]["bytes"]))
                yield from [event] if not exchange.offers else _as_chunks(exchange.feed_chunk(pieces[-1]))
            last = exchange.end_stream() if exchange.offers else b""
            exchange.learn_bill(200, b"".join(pieces), complete=True)
            if last is not None:
                yield from _as_chunks(last)
                return
            self._stream = self._calls.next_stream(exchange, self._params)

    def close(self) -> None:
        """Close the stream that is read."""
        self._stream.close()


def _as_chunks(events: bytes) -> Iterable[dict[str, Any]]:
    return ({"chunk": {"bytes": event.text.encode()}} for event in Events().feed(events))


def _streaming_body(data: bytes) -> Any:
    response: Any = import_module("botocore.response")  # it comes with the client, and has no types
    return response.StreamingBody(io.BytesIO(data), len(data))
