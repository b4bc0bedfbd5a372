# pyright: basic, reportMissingImports=false
"""Microsoft's Agent Framework: a chat middleware that keeps results and shows the view, and the recall tools.

Owns: the forms of its messages, contents and tools. Must not know: what is kept or shown, and why.

The history of the agent's session stays unchanged: only what a call of the model gets is edited. Results are recorded
when a request first contains them, because only then a policy knows the model and the rest of the step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from keepwhole.install import install_hint
from keepwhole.integrations.blocks import Block, PartsViewer, call_block, media_block, result_block, text_block
from keepwhole.session import Session
from keepwhole.wire.embedded_media import read_data_url

try:
    from agent_framework import ChatContext, ChatMiddleware, Content, FunctionTool, Message
except ImportError as error:
    raise ImportError(f"Keepwhole for Microsoft's Agent Framework needs {install_hint('agent-framework')}.") from error


class KeepwholeMiddleware(ChatMiddleware):
    """The middleware for `Agent(middleware=[…])`: one session for all runs of the agent."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Show the model what fits."""
        model = (context.options or {}).get("model") or getattr(context.client, "model", None)
        context.messages = await asyncio.to_thread(_VIEWER.view, self._session, context.messages, model)
        await call_next()


def recall_tools(session: Session) -> list[FunctionTool]:
    """The recall tools; add them to the agent's own."""
    return [
        FunctionTool(
            name=tool["name"],
            description=tool["description"],
            func=_tool_handler(session, tool["name"]),
            input_model=tool["inputSchema"],
        )
        for tool in session.tools("mcp")
    ]


def _tool_handler(session: Session, name: str) -> Callable[..., Awaitable[str]]:
    """A recall tool; images are described in words."""

    async def answer(**arguments: Any) -> str:
        return (await session.acall_tool(name, arguments)).content

    return answer


class _Spelling:
    """Messages with contents."""

    def is_answer(self, message: Any) -> bool:
        return message.role == "assistant"

    def parts(self, message: Any) -> Sequence[Any]:
        return message.contents

    def block(self, part: Any) -> Block:
        if part.type == "function_call":
            return call_block(part.call_id, part.name, part.parse_arguments() or {})
        if part.type == "function_result":
            media = [block for item in part.items or () if (block := _media(item)) is not None]
            return result_block(part.call_id, _text(part), part.exception is not None, media)
        return text_block(part.text or "")

    def edited(self, part: Any, content: str, media: Sequence[str | None]) -> Any:
        """Texts are shown as one; images and files come behind it."""
        words = iter(media)
        shown = [Content.from_text(content)] if content or not media else []
        for item in part.items or ():
            if item.type != "text":
                instead = next(words, None) if _media(item) is not None else None
                shown.append(item if instead is None else Content.from_text(instead))
        return Content.from_function_result(
            part.call_id,
            result=shown,
            exception=part.exception,
            additional_properties=part.additional_properties,
        )

    def lost_result(self, call_id: str, name: str, content: str) -> Any:
        return Content.from_function_result(call_id, result=content)

    def words(self, text: str) -> Any:
        return Content.from_text(text)

    def message(self, own: Any, parts: list[Any]) -> Any:
        role = "tool" if all(part.type == "function_result" for part in parts) else "user"
        if own is None:
            return Message(role, parts)
        return Message(
            own.role,
            parts,
            author_name=own.author_name,
            message_id=own.message_id,
            additional_properties=own.additional_properties,
        )


def _media(item: Any) -> Block | None:
    """The block of an image or a file whose bytes are there; None for any other content."""
    found = read_data_url(item.uri) if item.type == "data" and isinstance(item.uri, str) else None
    return None if found is None else media_block(found.facts.media_type, found.body())


def _text(part: Any) -> str:
    """What a result says: its texts, or its result in words."""
    if part.items:
        return "\n".join(item.text or "" for item in part.items if item.type == "text")
    return part.result if isinstance(part.result, str) else str(part.result or "")


_VIEWER = PartsViewer(_Spelling())
