"""pydantic-ai: a capability that keeps results as they come, shows the view, and offers the recall tools.

Owns: how their messages and parts are spelled. Must not know: what is kept or shown, and why.

Their message history keeps the truth: only the request that goes to the model is changed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from holdfast.session import Session

try:
    from pydantic_ai import FunctionToolset, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturn,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
except ImportError as error:
    raise ImportError("Holdfast for pydantic-ai needs `pip install 'holdfast[pydantic-ai]'`.") from error

_AT = "holdfast_at"
"""The key under which a block says whose part it is: the message's place and the part's."""


@dataclass
class Holdfast(AbstractCapability[Any]):
    """What goes into `Agent(capabilities=[…])`: one session for all runs of the agent."""

    session: Session

    def get_toolset(self) -> FunctionToolset[Any]:
        """The tools with which a model reads back."""
        return recall_toolset(self.session)

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Mapping[str, Any], result: Any
    ) -> Any:
        """Put a result on record as soon as it is there, and hand it on as it is."""
        value = result.return_value if isinstance(result, ToolReturn) else result
        text = _text(ToolReturnPart(tool_name=call.tool_name, content=value, tool_call_id=call.tool_call_id))
        if text is not None:
            await self.session.akeep(call.tool_name, call.args, text, call_id=call.tool_call_id)
        return result

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Show what fits to the model that is about to be asked."""
        model = request_context.model.model_name
        messages = await asyncio.to_thread(_shown, self.session, request_context.messages, model)
        return replace(request_context, messages=messages)


def recall_toolset(session: Session) -> FunctionToolset[Any]:
    """The tools with which a model reads back, for agents that take toolsets."""
    return FunctionToolset(
        [
            Tool.from_schema(_answering(session, tool["name"]), tool["name"], tool["description"], tool["inputSchema"])
            for tool in session.tools("mcp")
        ]
    )


def history_processor(session: Session) -> Callable[[list[ModelMessage]], Awaitable[list[ModelMessage]]]:
    """The same view as a processor of histories; results that it showed before are known again by what was shown."""

    async def shown(messages: list[ModelMessage]) -> list[ModelMessage]:
        return await asyncio.to_thread(_shown, session, messages, None)

    return shown


def _answering(session: Session, name: str) -> Callable[..., Awaitable[str]]:
    async def answer(**arguments: Any) -> str:
        return (await session.acall_tool(name, arguments)).content

    return answer


def _shown(session: Session, messages: Sequence[ModelMessage], model: str | None) -> list[ModelMessage]:
    """The messages to send: the same objects where nothing is left out."""
    spelled = [_spelled(at, message) for at, message in enumerate(messages)]
    same = {id(each): message for each, message in zip(spelled, messages, strict=True)}
    sent = session.view(spelled, model=model)
    return [same.get(id(each)) or _read_back(each, messages) for each in sent]


def _spelled(at: int, message: ModelMessage) -> dict[str, Any]:
    """A message as blocks, each with its part's place."""
    role = "assistant" if isinstance(message, ModelResponse) else "user"
    blocks = [{**_block(part), _AT: (at, number)} for number, part in enumerate(message.parts)]
    return {"role": role, "content": blocks}


def _block(part: Any) -> dict[str, Any]:
    if isinstance(part, ToolReturnPart):
        text = _text(cast("ToolReturnPart[Any]", part))
        if text is not None:
            failed = part.outcome != "success"
            return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": text, "is_error": failed}
        return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": [{"type": "image"}]}
    if isinstance(part, ToolCallPart):
        return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": part.args}
    content = getattr(part, "content", None)
    if not isinstance(content, str):
        words = cast("list[object]", content) if isinstance(content, list) else []
        content = "\n".join(word for word in words if isinstance(word, str))
    return {"type": "text", "text": content}


def _text(part: "ToolReturnPart[Any]") -> str | None:
    """The text of a result; None where it is more than text."""
    return None if part.files else part.model_response_str(wrap_if_error=False)


def _read_back(spelled: Mapping[str, Any], messages: Sequence[ModelMessage]) -> ModelMessage:
    """The message that edited or joined blocks stand for, with what else their own message says."""
    places = [block[_AT][0] for block in spelled["content"] if _AT in block]
    if spelled["role"] == "assistant":
        return messages[places[0]] if places else ModelResponse([TextPart(spelled["content"][0]["text"])])
    parts = [_part(block, messages) for block in spelled["content"]]
    own = messages[places[-1]] if places else None
    return replace(own, parts=parts) if isinstance(own, ModelRequest) else ModelRequest(parts)


def _part(block: Mapping[str, Any], messages: Sequence[ModelMessage]) -> Any:
    if _AT not in block:
        text = block.get("text", block.get("content"))
        if block.get("type") == "tool_result":
            return ToolReturnPart(tool_name="tool", content=text, tool_call_id=block["tool_use_id"])
        return UserPromptPart(text)
    at, number = block[_AT]
    part = messages[at].parts[number]
    if not isinstance(part, ToolReturnPart) or (text := _text(part)) is None or text == block["content"]:
        return part
    return replace(part, content=block["content"])
