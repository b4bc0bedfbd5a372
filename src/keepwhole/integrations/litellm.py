# pyright: basic, reportMissingImports=false
"""LiteLLM's proxy: a callback that edits requests before they are sent and answers the recall tools on the way back.

Owns: which request of the proxy is which exchange, and its answers as bytes and back.
Must not know: what is kept or shown, and why; `Exchange` does everything between a request and its answer.

Theory of operation. The proxy calls three hooks for a request: `async_pre_call_hook` with its fields before it is
routed, and with the answer either `async_post_call_success_hook` or, for a stream, an iterator hook. The first begins
an exchange; the others hand it the answer. Where the model called a recall tool, the next round goes through the
proxy's own router with the fields of the first, so that budgets, logs, fallbacks and load balancing apply to it.

Invariants
- A request that Keepwhole does not understand, and one whose record fails, goes on as it came.
- Every session belongs to one virtual key: no key can read what another one's agents were shown.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from keepwhole import events
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.install import install_hint
from keepwhole.wire.sse import DONE, Events

try:
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise ImportError(f"Keepwhole for LiteLLM needs {install_hint('litellm')}.") from error

_CHAT, _MESSAGES, _RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
_PATHS = {
    "completion": _CHAT,
    "acompletion": _CHAT,
    "anthropic_messages": _MESSAGES,
    "responses": _RESPONSES,
    "aresponses": _RESPONSES,
}
"""The path in the dialect of each kind of call; calls of other kinds are not conversations."""
_ROUTED_BY = {_CHAT: "acompletion", _MESSAGES: "aanthropic_messages", _RESPONSES: "aresponses"}
"""The router's method for each path."""
_ONCE = ("litellm_logging_obj", "litellm_call_id")
"""Fields of the proxy that belong to one round alone."""
_PROXYS = frozenset(("proxy_server_request", "secret_fields", "litellm_metadata", *_ONCE))
"""Fields that the proxy adds for itself."""
_LOGGING = "litellm_logging_obj"


class KeepwholeCallback(CustomLogger):
    """The callback for `litellm_settings: callbacks`. The record is opened with the first request."""

    def __init__(self, **options: Any) -> None:
        """`options` are those of a session: `store`, `settings`, `recall`."""
        super().__init__()
        self._options = {"agent": "litellm", **options}
        self._opened: SessionRouter | None = None
        self._lock = threading.Lock()
        self._begun: WeakKeyDictionary[Any, _Begun] = WeakKeyDictionary()
        """Exchanges by the proxy's logging object, which every request has one of and no client can name."""

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> Any:
        """Edit a conversation before the proxy routes it."""
        path = _PATHS.get(getattr(call_type, "value", call_type))
        if path is None or data.get(_LOGGING) is None:
            return None
        try:
            exchange = await asyncio.to_thread(self._begin, path, data, _owner(user_api_key_dict))
        except Exception as error:  # a conversation is worth more than our part in it
            events.log_passed_on("request", type(error).__name__)
            return None
        if exchange is None:
            return None
        self._begun[data[_LOGGING]] = _Begun(exchange, path, _fields_to_send_again(data))
        return _with_body(data, exchange)

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Answer recall tools in an answer that was not streamed."""
        begun = self._take(data)
        if begun is None:
            return None
        exchange, first = begun.exchange, response
        while True:
            raw = _as_json(response)
            out = await asyncio.to_thread(exchange.read_answer, raw)
            await asyncio.to_thread(exchange.learn_bill, 200, raw, True)
            if out is not None:
                return None if response is first and out is raw else _like(response, json.loads(out))
            response = await _route(begun)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Answer recall tools in a streamed answer."""
        begun = self._take(request_data)
        if begun is None:
            async for chunk in response:
                yield chunk
            return
        while True:
            answer = _StreamedRound(begun)
            async for chunk in answer.relay(response):
                yield chunk
            last = await answer.end()
            if last is not None:
                for chunk in last:
                    yield chunk
                return
            response = await _route(begun)

    def _begin(self, path: str, data: Mapping[str, Any], owner: str) -> Exchange | None:
        headers = (data.get("proxy_server_request") or {}).get("headers") or {}
        body = json.dumps(_body_fields(data)).encode()
        begun = self._router().begin("POST", path, headers, body, lambda _: partial(_scoped, owner))
        return begun if isinstance(begun, Exchange) else None

    def _router(self) -> SessionRouter:
        with self._lock:
            self._opened = self._opened or SessionRouter(each=True, **self._options)
            return self._opened

    def _take(self, data: Mapping[str, Any]) -> "_Begun | None":
        """What was begun with a request; None where it went on as it came."""
        logging = data.get(_LOGGING)
        return None if logging is None else self._begun.pop(logging, None)


class _Begun(NamedTuple):
    """An exchange of the proxy."""

    exchange: Exchange
    path: str
    fields: dict[str, Any]
    """The proxy's fields of the request, for further rounds."""


class _StreamedRound:
    """One round of a streamed answer: the proxy's chunks as bytes for the exchange, and back."""

    def __init__(self, begun: _Begun) -> None:
        self._exchange, self._path = begun.exchange, begun.path
        self._pieces: list[bytes] = []
        self._out = Events()
        self._kind: Any = bytes

    async def relay(self, response: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The chunks for the client; those that are unchanged are the proxy's own objects."""
        async for chunk in response:
            self._kind = type(chunk)
            piece = _as_event(chunk)
            self._pieces.append(piece)
            out = self._exchange.feed_chunk(piece)
            if out == piece:
                yield chunk
            else:
                for each in self._as_chunks(out):
                    yield each

    async def end(self) -> list[Any] | None:
        """What the client still gets; None where another round follows."""
        done = f"data: {DONE}\n\n".encode() if self._path == _CHAT else b""
        out = self._exchange.feed_chunk(done) if done else b""
        last = await asyncio.to_thread(self._exchange.end_stream)
        await asyncio.to_thread(self._exchange.learn_bill, 200, b"".join(self._pieces) + done, True)
        return None if last is None else self._as_chunks(out + last)

    def _as_chunks(self, data: bytes) -> list[Any]:
        """What the exchange wrote, as the proxy takes it; it writes the end of a stream itself."""
        if self._kind in (bytes, str):
            return [data if self._kind is bytes else data.decode()] if data else []
        found = self._out.feed(data)
        return [_event_like(self._kind, each.data()) for each in found if each.text != DONE and each.text]


async def _route(begun: _Begun) -> Any:
    """Send another round through the proxy's router."""
    from litellm.proxy import proxy_server

    fields = _fields_to_send_again(_with_body(begun.fields, begun.exchange))
    return await getattr(proxy_server.llm_router, _ROUTED_BY[begun.path])(**fields)


def _fields_to_send_again(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request as they are now; the router writes into them and into those that are dicts."""
    fields = {name: value for name, value in data.items() if name not in _ONCE}
    return {name: {**value} if isinstance(value, dict) else value for name, value in fields.items()}


def _body_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that a provider may get; what the proxy adds for itself is left out.

    The model is named as the provider names it, so that its window and its prices are found.
    """
    fields = {name: value for name, value in data.items() if name not in _PROXYS and _is_json(value)}
    return {**fields, "model": _provider_model(data.get("model"))}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
        return True
    except (TypeError, ValueError):
        return False


def _provider_model(name: Any) -> str:
    """The provider's name of the model behind a name in the proxy's `model_list`."""
    from litellm.proxy import proxy_server

    found = proxy_server.llm_router.get_model_list(model_name=name) if proxy_server.llm_router else None
    return str(found[0]["litellm_params"]["model"] if found else name).rpartition("/")[2]


def _with_body(data: Mapping[str, Any], exchange: Exchange) -> dict[str, Any]:
    """The proxy's fields of a request, with those that the exchange may edit."""
    dialect, body = exchange.dialect, json.loads(exchange.body)
    editable = (dialect.messages_field, dialect.tools_fields[0], dialect.previous_answer_field)
    return {**data, **{name: body[name] for name in editable if name in body}}


def _owner(key: Any) -> str:
    """Whose a request is: a digest of the virtual key's hash; empty where the proxy has no keys."""
    token = getattr(key, "token", None) or getattr(key, "api_key", None) or ""
    return hashlib.sha256(str(token).encode()).hexdigest()[:16] if token else ""


def _scoped(owner: str, session: str) -> str:
    return f"{session}@{owner}" if owner else session


def _as_json(response: Any) -> bytes:
    if isinstance(response, Mapping):
        return json.dumps(response, default=_dumped).encode()
    return response.model_dump_json(exclude_none=True).encode()


def _dumped(value: Any) -> Any:
    return value.model_dump(exclude_none=True)


def _like(response: Any, fields: dict[str, Any]) -> Any:
    """An answer of the same kind with other fields; what the proxy knows of it beside them stays."""
    if isinstance(response, Mapping):
        return fields
    made = type(response)(**fields)
    if hasattr(response, "_hidden_params"):
        made._hidden_params = response._hidden_params
    return made


def _as_event(chunk: Any) -> bytes:
    """A chunk of a stream as the bytes of an event; some come as bytes."""
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, str):
        return chunk.encode()
    fields = chunk if isinstance(chunk, dict) else chunk.model_dump(mode="json", exclude_none=True)
    named = f"event: {fields['type']}\n" if "type" in fields else ""
    return f"{named}data: {json.dumps(fields)}\n\n".encode()


def _event_like(kind: Any, fields: dict[str, Any]) -> Any:
    """A chunk for the proxy: one of Chat of its own kind, an event of Responses of the kind that takes any fields."""
    if issubclass(kind, dict):
        return fields
    if "type" not in fields:
        return kind(**fields)
    from litellm.types.llms.openai import GenericEvent

    return GenericEvent(**fields)


callback = KeepwholeCallback()
"""For a configuration: `callbacks: keepwhole.integrations.litellm.callback`."""
