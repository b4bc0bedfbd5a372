# pyright: basic, reportMissingImports=false
"""pydantic-ai: a capability that keeps results, shows the view and offers the recall tools.

Owns: the forms of its messages and parts. Must not know: what is kept or shown, and why.

The message history stays unchanged: only the request that goes to the model is edited. Results are recorded when a
request first contains them, because only then a policy knows the model and the rest of the step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, NamedTuple, cast

from keepwhole.install import install_hint
from keepwhole.session import Session
from keepwhole.wire.media import IMAGE_TYPES, encoded

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        BinaryContent,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import RunContext, Tool
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise ImportError(f"Keepwhole for pydantic-ai needs {install_hint('pydantic-ai')}.") from error

_HAS_LATER = hasattr(AbstractCapability, "prepare_model_request")
_AT = "keepwhole_at"
"""The key in a block for the place of its part: the index of the message and of the part."""


@dataclass
class Keepwhole(AbstractCapability[Any]):
    """The capability for `Agent(capabilities=[…])`: one session for all runs of the agent."""

    session: Session

    def __post_init__(self) -> None:
        """Start without a conversation."""
        self._shower = _MessageViewer(self.session)

    def get_toolset(self) -> FunctionToolset[Any]:
        """The recall tools."""
        return recall_toolset(self.session)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Show the model what fits."""
        return await self._with_view(request_context)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The same for versions of pydantic-ai without a later hook."""
        return request_context if _HAS_LATER else await self._with_view(request_context)

    async def _with_view(self, request: ModelRequestContext) -> ModelRequestContext:
        messages = await asyncio.to_thread(self._shower.view, request.messages, request.model.model_name)
        return replace(request, messages=messages)


def recall_toolset(session: Session) -> FunctionToolset[Any]:
    """The recall tools, for agents that take toolsets."""
    return FunctionToolset(
        [
            Tool.from_schema(
                _tool_handler(session, tool["name"]), tool["name"], tool["description"], tool["inputSchema"]
            )
            for tool in session.tools("mcp")
        ]
    )


def history_processor(session: Session) -> Callable[[list[ModelMessage]], Awaitable[list[ModelMessage]]]:
    """The same view as a history processor; results that it changed before are recognized by their shown text."""

    shower = _MessageViewer(session)

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        return await asyncio.to_thread(shower.view, messages, None)

    return process


def _tool_handler(session: Session, name: str) -> Callable[..., Awaitable[Any]]:
    """A recall tool; an image comes as one, which pydantic-ai sends in the result or beside it."""

    async def answer(**arguments: Any) -> Any:
        found = await session.acall_tool(name, arguments)
        if found.media is None or found.media.media_type not in IMAGE_TYPES:
            return found.content
        return [found.beside_media, BinaryContent(found.media.data, media_type=found.media.media_type)]

    return answer


class _MessageViewer:
    """The view of a session as pydantic-ai's messages; the converted messages are cached between calls."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: dict[int, _SpelledMessage] = {}

    def view(self, messages: Sequence[ModelMessage], model: str | None) -> list[ModelMessage]:
        """The messages to send: the same objects where nothing is left out."""
        spelled = [self._spell(at, message) for at, message in enumerate(messages)]
        self._held = {id(each.message): each for each in spelled}
        same = {id(each.wire): each.message for each in spelled}
        sent = self._session.view([each.wire for each in spelled], model=model)
        return [same.get(id(each)) or _read(each, messages) for each in sent]

    def _spell(self, at: int, message: ModelMessage) -> "_SpelledMessage":
        """A message as blocks, each with the place of its part; cached while message and place are the same."""
        held, parts = self._held.get(id(message)), message.parts
        if held is not None and held.at == at and held.is_still(message):
            return held
        role = "assistant" if isinstance(message, ModelResponse) else "user"
        blocks = [{**_block(part), _AT: (at, number)} for number, part in enumerate(parts)]
        return _SpelledMessage(message, at, tuple(parts), {"role": role, "content": blocks})


class _SpelledMessage(NamedTuple):
    """One message as `Session.view` reads it."""

    message: ModelMessage
    at: int
    parts: tuple[Any, ...]
    wire: dict[str, Any]

    def is_still(self, message: ModelMessage) -> bool:
        """Whether a message is this one, with the same parts."""
        same = self.message is message and len(self.parts) == len(message.parts)
        return same and all(map(is_, self.parts, message.parts))


def _block(part: Any) -> dict[str, Any]:
    if isinstance(part, ToolCallPart):
        return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": part.args}
    if _is_result(part):
        failed = getattr(part, "outcome", "failed") != "success"
        return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": _returned(part), "is_error": failed}
    content = getattr(part, "content", None)
    if not isinstance(content, str):
        words = cast("list[object]", content) if isinstance(content, list) else []
        content = "\n".join(word for word in words if isinstance(word, str))
    return {"type": "text", "text": content}


def _is_result(part: Any) -> bool:
    """Whether a part answers a call; before pydantic-ai 2 a request to retry was a part of its own."""
    return isinstance(part, ToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def _returned(part: Any) -> str | list[dict[str, Any]]:
    """What a result says: its text, or a block for each of its texts and files."""
    if not isinstance(part, ToolReturnPart):
        return part.model_response()
    if isinstance(part.content, str):
        return part.content
    if not part.files:
        return part.model_response_str(wrap_if_error=False)
    return [_item_block(item) for item in part.content_items(mode="str", wrap_if_error=False)]


def _item_block(item: Any) -> dict[str, Any]:
    """A text, an image or another file of a result; a provider's own file is named by its id."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    kind = item.media_type.partition("/")[0] if isinstance(item, BinaryContent) else item.kind.partition("-")[0]
    if isinstance(item, BinaryContent):
        source = {"type": "base64", "media_type": item.media_type, "data": encoded(item.data)}
    elif url := getattr(item, "url", None):
        source = {"type": "url", "url": url}
    else:
        source = {"type": "file", "file_id": getattr(item, "file_id", "")}
    return {"type": kind if kind in ("image", "audio") else "document", "source": source}


def _read(spelled: Mapping[str, Any], messages: Sequence[ModelMessage]) -> ModelMessage:
    """The message that blocks were made from, edited or joined; other fields are those of the newest one."""
    blocks = spelled["content"]
    places = [block[_AT][0] for block in blocks if _AT in block]
    if not places:
        return ModelRequest([_part(block, messages) for block in blocks])
    own = messages[places[-1]]
    if isinstance(own, ModelResponse):
        return own
    parts = [_part(block, messages) for block in blocks]
    same = len(parts) == len(own.parts) and all(map(is_, parts, own.parts))
    return own if same else replace(own, parts=parts)


def _part(block: Mapping[str, Any], messages: Sequence[ModelMessage]) -> Any:
    """The part that a block was made from; a block without a place was inserted."""
    if _AT not in block:
        return UserPromptPart(block["text"]) if "text" in block else _put_in(block, messages)
    at, number = block[_AT]
    part: Any = messages[at].parts[number]
    if not _is_result(part) or block["content"] == (returned := _returned(part)):
        return part
    if isinstance(part, ToolReturnPart):
        return replace(part, content=_edited(part.content, block["content"], returned))
    return ToolReturnPart(tool_name=part.tool_name, content=block["content"], tool_call_id=part.tool_call_id)


def _edited(content: Any, shown: Any, returned: Any) -> Any:
    """The content of a result as it is shown: its own items, but those that are shown otherwise as text."""
    if not isinstance(shown, list) or len(shown) != len(returned):
        return shown if isinstance(shown, str) else content
    items = content if isinstance(content, list) else [content]
    edited = [
        item if block == before else block["text"] for item, block, before in zip(items, shown, returned, strict=True)
    ]
    return edited if isinstance(content, list) else edited[0]


def _put_in(block: Mapping[str, Any], messages: Sequence[ModelMessage]) -> ToolReturnPart:
    """The result that is inserted for a call without one."""
    call_id = block["tool_use_id"]
    calls = (part for message in messages for part in message.parts if isinstance(part, ToolCallPart))
    name = next((call.tool_name for call in calls if call.tool_call_id == call_id), "tool")
    return ToolReturnPart(tool_name=name, content=block["content"], tool_call_id=call_id)
