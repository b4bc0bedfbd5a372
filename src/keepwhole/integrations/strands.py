# pyright: basic, reportMissingImports=false
"""Strands Agents: a plugin that keeps results, shows the view and offers the recall tools.

Owns: the forms of Strands' messages and tools, which are those of Bedrock's Converse.
Must not know: what is kept or shown, and why.

The agent's messages stay unchanged: a middleware edits only what a call of the model gets. Results are recorded when a
request first contains them, because only then a policy knows the model and the rest of the step.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from keepwhole.install import install_hint
from keepwhole.integrations.blocks import Block, PartsViewer, call_block, media_block, result_block, text_block
from keepwhole.session import Session
from keepwhole.wire.converse.media import media_type_of

try:
    from strands.middleware import InvokeModelStage
    from strands.plugins import Plugin
    from strands.tools.tools import PythonAgentTool
except ImportError as error:
    raise ImportError(f"Keepwhole for Strands Agents needs {install_hint('strands')}.") from error


class KeepwholePlugin(Plugin):
    """The plugin for `Agent(plugins=[…])`: one session for all calls of the agent."""

    name = "keepwhole"

    def __init__(self, session: Session | None = None) -> None:
        super().__init__()
        self.session = session or Session(agent="strands")

    def init_agent(self, agent: Any) -> None:
        """Edit what the model gets, and offer the recall tools."""
        agent.add_middleware(InvokeModelStage.Input, self._show)
        for tool in self.session.tools("mcp"):
            agent.tool_registry.register_tool(_recall_tool(self.session, tool))

    async def _show(self, context: Any) -> Any:
        model = (context.model.get_config() or {}).get("model_id")
        messages = await asyncio.to_thread(_VIEWER.view, self.session, context.messages, model)
        return context.replace(messages=messages)


def _recall_tool(session: Session, tool: dict[str, Any]) -> Any:
    """A recall tool; images are described in words."""

    async def answer(tool_use: Any, **_: Any) -> Any:
        found = await session.acall_tool(tool["name"], tool_use["input"])
        status = "error" if found.is_error else "success"
        return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": found.content}]}

    spec = {"name": tool["name"], "description": tool["description"], "inputSchema": {"json": tool["inputSchema"]}}
    return PythonAgentTool(tool["name"], spec, answer)


class _Spelling:
    """Messages of Converse."""

    def is_answer(self, message: Any) -> bool:
        return message["role"] == "assistant"

    def parts(self, message: Any) -> Sequence[Any]:
        return message["content"]

    def block(self, part: Any) -> Block:
        if call := part.get("toolUse"):
            return call_block(call["toolUseId"], call["name"], call["input"])
        if result := part.get("toolResult"):
            content = result["content"]
            media = [block for each in content if (block := _media(each)) is not None]
            return result_block(result["toolUseId"], _text(content), result.get("status") == "error", media)
        return text_block(part.get("text") or "")

    def edited(self, part: Any, content: str, media: Sequence[str | None]) -> Any:
        """Texts and data are shown as one text; images and documents come behind it."""
        words = iter(media)
        shown = [{"text": content}] if content else []
        for each in part["toolResult"]["content"]:
            if not each.keys() & {"text", "json"}:
                instead = next(words, None) if _media(each) is not None else None
                shown.append(each if instead is None else {"text": instead})
        return {**part, "toolResult": {**part["toolResult"], "content": shown}}

    def lost_result(self, call_id: str, name: str, content: str) -> Any:
        return {"toolResult": {"toolUseId": call_id, "status": "error", "content": [{"text": content}]}}

    def words(self, text: str) -> Any:
        return {"text": text}

    def message(self, own: Any, parts: list[Any]) -> Any:
        return {"role": "user", "content": parts} if own is None else {**own, "content": parts}


def _media(part: Any) -> Block | None:
    """The block of an image or a document whose bytes are there; None for any other part."""
    for kind in ("image", "document"):
        inside = part.get(kind) or {}
        data = inside.get("source", {}).get("bytes")
        if isinstance(data, bytes) and data:
            return media_block(media_type_of(kind, inside.get("format", "")), data)
    return None


def _text(content: Sequence[Any]) -> str:
    """What a result says: its texts, and its data as JSON."""
    texts = (
        each["text"] if "text" in each else json.dumps(each["json"], ensure_ascii=False, default=str)
        for each in content
        if "text" in each or "json" in each
    )
    return "\n".join(texts)


_VIEWER = PartsViewer(_Spelling())
