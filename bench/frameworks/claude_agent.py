# pyright: basic, reportMissingImports=false
"""The hooks of Claude's Agent SDK, called as its client calls them; the client itself is another process."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions

from keepwhole.integrations.claude_agent import with_keepwhole
from keepwhole.session import Session


def agent(session: Session | None, tool: str, outputs: Sequence[str]) -> Callable[[], int]:
    async def do_nothing(*_: Any) -> Any:
        return {}

    hooks: Any = with_keepwhole(ClaudeAgentOptions(), session).hooks if session is not None else {}
    hook = hooks["PostToolUse"][0].hooks[0] if hooks else do_nothing

    async def send_all() -> int:
        for number, output in enumerate(outputs):
            response = [{"type": "text", "text": output}]
            event = {"tool_name": f"mcp__own__{tool}", "tool_input": {"number": number}, "tool_response": response}
            await hook({**event, "tool_use_id": f"call_{number}"}, None, None)
        return len(outputs)

    return lambda: asyncio.run(send_all())
