# pyright: basic, reportMissingImports=false
"""An agent of pydantic-ai with its function model, with the capability and without."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.agent import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import Tool
from pydantic_ai.usage import UsageLimits

from keepwhole.integrations.pydantic_ai import Keepwhole
from keepwhole.session import Session


def agent(session: Session | None, tool: str, outputs: Sequence[str]) -> Callable[[], int]:
    def look(number: int) -> str:
        """Look."""
        return outputs[number]

    given: Any = [Keepwhole(session)] if session is not None else []

    def run() -> int:
        numbers = iter(range(len(outputs)))

        def model(messages: Any, info: Any) -> ModelResponse:
            number = next(numbers, None)
            if number is None:
                return ModelResponse([TextPart("done")])
            return ModelResponse([ToolCallPart(tool, {"number": number}, tool_call_id=f"call_{number}")])

        made = Agent(FunctionModel(model), tools=[Tool(look, name=tool)], capabilities=given)
        done = asyncio.run(made.run("go", usage_limits=UsageLimits(request_limit=None)))
        return len(done.all_messages())

    return run
