# pyright: basic, reportMissingImports=false
"""LangChain and LangGraph: a middleware. The model sees the view; the graph's state keeps what the tools returned.

Owns: LangChain's messages as chat messages and back, and which session a thread belongs to.
Must not know: what is shown and why (`Session.view`).
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from keepwhole.canonical.ids import is_session_id
from keepwhole.canonical.media import MediaBytes
from keepwhole.install import install_hint
from keepwhole.recall.names import DEFINITIONS, NAMES
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.wire.dialects import dialect_named
from keepwhole.wire.media import IMAGE_TYPES, encoded, read_media

try:
    from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ToolCallRequest
    from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.config import get_config
    from langgraph.types import Command
except ImportError as error:
    raise ImportError(f"This needs LangChain 1.2 or newer: {install_hint('langchain')}.") from error

_INDEX = "langchain_index"
"""The key in a chat message for the index of its original message."""
_THREADS = 256
"""Threads whose sessions stay open; that of another thread is opened again from the record."""


class KeepwholeMiddleware(AgentMiddleware):
    """Keep every tool result in full, send the model what fits, give it the tools to read the rest.

    `session` is one session for everything, or a function that returns one for a thread's id. Without it each thread
    has a session of its name, so that a resumed thread continues its record.
    """

    def __init__(self, session: Session | Callable[[str], Session] | None = None) -> None:
        super().__init__()
        if session is None:
            session = Session(agent="langchain")
            self._session_of = _by_thread(session)
        else:
            self._session_of = _always(session) if isinstance(session, Session) else session
        offers = not isinstance(session, Session) or session.recall_by == "tools"
        self.tools = recall_tools(self.session) if offers else []

    def session(self) -> Session:
        """The session of the current thread."""
        return self._session_of(_thread())

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Record a result that arrives; the state keeps it in full, with its ids in `artifact`."""
        session, call = self.session(), request.tool_call
        if call["name"] in NAMES and self.tools:
            return _answer_message(request, session.call_tool(call["name"], call["args"]))
        result = handler(request)
        for each in _arriving_media(call, result):
            session.keep_media(*each.what, **each.how)
        shown = [session.keep(*each.what, **each.how) for each in _arrivals(call, result)]
        return _mark(result, session.id, shown)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """The same for event loops."""
        session, call = self.session(), request.tool_call
        if call["name"] in NAMES and self.tools:
            return _answer_message(request, await session.acall_tool(call["name"], call["args"]))
        result = await handler(request)
        for each in _arriving_media(call, result):
            await session.akeep_media(*each.what, **each.how)
        shown = [await session.akeep(*each.what, **each.how) for each in _arrivals(call, result)]
        return _mark(result, session.id, shown)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Send the model the view of the messages; the state is not changed."""
        messages = view_messages(self.session(), request.messages, model=_name_of(request.model))
        return handler(request.override(messages=messages))

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        """The same for event loops."""
        messages = await aview_messages(self.session(), request.messages, model=_name_of(request.model))
        return await handler(request.override(messages=messages))


def view_messages(session: Session, messages: Sequence[AnyMessage], *, model: str | None = None) -> list[AnyMessage]:
    """The messages to send, for a node of your own in a graph; the given messages are not changed."""
    if session.settings.mode == "off":
        return [*messages]
    chat = to_chat(messages)
    return from_chat(session.view(chat, model=model), chat, messages)


async def aview_messages(
    session: Session, messages: Sequence[AnyMessage], *, model: str | None = None
) -> list[AnyMessage]:
    """The same for event loops."""
    if session.settings.mode == "off":
        return [*messages]
    chat = to_chat(messages)
    return from_chat(await session.aview(chat, model=model), chat, messages)


def recall_tools(session: Callable[[], Session]) -> list[BaseTool]:
    """The recall tools for a graph of your own; `session` is called for each tool call."""
    return [_tool(*definition, session) for definition in DEFINITIONS]


def to_chat(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages in the form of OpenAI Chat, with the fields that `Session.view` reads and their places."""
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    return [_chat(message, at, answered) for at, message in enumerate(messages)]


def from_chat(
    sent: Sequence[Mapping[str, Any]], chat: Sequence[Mapping[str, Any]], messages: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """The messages that chat messages were made from: the same objects, except results with changed content."""
    return [_message(each, chat, messages) for each in sent]


def _chat(message: BaseMessage, at: int, answered: set[str]) -> dict[str, Any]:
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": _result(message), _INDEX: at}
    said = {"role": "other", "content": _parts(message.content), _INDEX: at}
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *(call for call in message.invalid_tool_calls if call["id"] in answered)]
        called = {"tool_calls": [_call(call) for call in calls]} if calls else {}
        return {**said, "role": "assistant", **called}
    if isinstance(message, HumanMessage | SystemMessage):
        said["role"] = "user" if isinstance(message, HumanMessage) else "system"
    return said


def _result(message: ToolMessage) -> Any:
    """The content of a result; a block without text where LangChain's own middleware cleared it."""
    cleared = message.response_metadata.get("context_editing", {}).get("cleared")
    return [{"type": "cleared"}] if cleared else message.content


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}


def _parts(content: Any) -> Any:
    """The texts, with a placeholder for each other part, so that no provider's own block is taken for a dialect."""
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part} if isinstance(part, str) else part if part.get("type") == "text" else _MEDIA
        for part in content
        if isinstance(part, str) or part.get("type") not in _CALLS
    ]


_MEDIA = {"type": "image_url"}
_CALLS = ("tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta", "invalid_tool_call")
"""Blocks that repeat `tool_calls`."""


def _message(sent: Mapping[str, Any], chat: Sequence[Mapping[str, Any]], messages: Sequence[AnyMessage]) -> AnyMessage:
    at = sent.get(_INDEX)
    if at is None:
        if sent["role"] == "tool":
            return ToolMessage(content=sent["content"], tool_call_id=sent["tool_call_id"])
        return HumanMessage(content=sent["content"])
    if sent["content"] == chat[at]["content"]:
        return messages[at]
    return messages[at].model_copy(update={"content": sent["content"]})


class _Arrival(NamedTuple):
    """One text that a tool returned, or its images, as `Session.keep` and `keep_media` take them."""

    what: tuple[Any, ...]
    how: dict[str, Any]


def _arrivals(call: Mapping[str, Any], result: Any) -> list[_Arrival]:
    return [
        _Arrival(
            (call["name"], call["args"], text), {"call_id": message.tool_call_id, "is_error": message.status == "error"}
        )
        for message in _results(result)
        if message.tool_call_id == call["id"]
        for text in _texts(message.content)
    ]


def _arriving_media(call: Mapping[str, Any], result: Any) -> list[_Arrival]:
    """The images and documents in what a tool returned, by message; the view records one that is only named."""
    arriving: list[_Arrival] = []
    for message in _results(result):
        blocks = message.content if isinstance(message.content, list) else []
        parts = filter(None, (read_media(block) for block in blocks if isinstance(block, dict)))
        media = [MediaBytes(part.facts.media_type, part.body()) for part in parts if not part.facts.is_reference]
        if media and message.tool_call_id == call["id"]:
            how = {"call_id": message.tool_call_id, "is_error": message.status == "error"}
            arriving.append(_Arrival((call["name"], call["args"], media), how))
    return arriving


def _results(result: Any) -> list[ToolMessage]:
    """The results in what a tool returned: a message, or a command with messages in it."""
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else {}
        given = update.get("messages", ())
        return [message for message in given if isinstance(message, ToolMessage)] if isinstance(given, list) else []
    return [result] if isinstance(result, ToolMessage) else []


def _texts(content: Any) -> list[str]:
    """The texts of a result, those that `Session.view` will find in it."""
    if isinstance(content, str):
        return [content]
    texts = (part if isinstance(part, str) else part.get("text") for part in content)
    return [text for text in texts if isinstance(text, str)]


def _mark(result: Any, session: str, shown: Sequence[KeptResult]) -> Any:
    """The same result with its ids beside the content, where no model sees them."""
    if not shown or shown[0].problem is not None:
        return result
    ids = {"session": session, "trace_id": shown[0].trace_id, "artifact_id": shown[0].artifact_id}
    if not isinstance(result, Command):
        return _with_ids(result, ids)
    mine = {id(message) for message in _results(result)}
    messages = [_with_ids(each, ids) if id(each) in mine else each for each in result.update["messages"]]
    return replace(result, update={**result.update, "messages": messages})


def _with_ids(message: ToolMessage, ids: Mapping[str, Any]) -> ToolMessage:
    """The message with ids in `artifact`, or in `response_metadata` where the tool has its own artifact."""
    if message.artifact is None:
        return message.model_copy(update={"artifact": {"keepwhole": ids}})
    return message.model_copy(update={"response_metadata": {**message.response_metadata, "keepwhole": ids}})


def _answer_message(request: ToolCallRequest, answer: Any) -> ToolMessage:
    call, status = request.tool_call, "error" if answer.is_error else "success"
    content: Any = answer.content
    if answer.media is not None and answer.media.media_type in IMAGE_TYPES & _shown_types(request):
        image = {"type": "image", "base64": encoded(answer.media.data), "mime_type": answer.media.media_type}
        content = [{"type": "text", "text": answer.beside_media}, image]
    return ToolMessage(content=content, tool_call_id=call["id"], name=call["name"], status=status)


def _shown_types(request: ToolCallRequest) -> frozenset[str]:
    """What the API of the model that made a call takes in a result besides text; nothing where that is not known."""
    messages = request.state.get("messages", ()) if isinstance(request.state, Mapping) else ()
    said = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    about = {} if said is None else {"id": said.id, **said.response_metadata}
    is_responses = str(about.get("id")).startswith("resp_")
    dialect = (_RESPONSES if is_responses else _DIALECTS).get(about.get("model_provider", ""))
    return dialect_named(dialect).shown_types if dialect else frozenset()


_DIALECTS = {"anthropic": "anthropic", "openai": "openai_chat"}
_RESPONSES = {"openai": "openai_responses"}
"""The API that a provider of LangChain speaks; ids of OpenAI's Responses tell that it is this one."""


def _tool(name: str, description: str, parameters: dict[str, Any], session: Callable[[], Session]) -> BaseTool:
    def answer(**arguments: Any) -> str:
        return session().call_tool(name, arguments).content

    async def aanswer(**arguments: Any) -> str:
        return (await session().acall_tool(name, arguments)).content

    return StructuredTool(name=name, description=description, args_schema=parameters, func=answer, coroutine=aanswer)


def _always(session: Session) -> Callable[[str], Session]:
    return lambda _: session


def _by_thread(first: Session) -> Callable[[str], Session]:
    """A function from threads to sessions, all in the store of the first; without a thread it is the first."""

    @lru_cache(maxsize=_THREADS)
    def open_session(thread: str) -> Session:
        name = thread if is_session_id(thread) else f"thread-{hashlib.sha256(thread.encode()).hexdigest()[:32]}"
        return Session(name, agent="langchain", store=first.store, settings=first.settings)

    return lambda thread: open_session(thread) if thread else first


def _thread() -> str:
    """The id of the current thread; empty where there is none."""
    try:
        return str(get_config().get("configurable", {}).get("thread_id") or "")
    except RuntimeError:  # outside of a graph
        return ""


def _name_of(model: Any) -> str | None:
    """The name of the model that a chat model uses."""
    names = (getattr(model, field, None) for field in ("model_name", "model"))
    return next((name for name in names if isinstance(name, str)), None)
