# pyright: basic, reportMissingImports=false
"""An agent of OpenAI's SDK with a scripted model and a session: Keepwhole's with the filter, or the SDK's."""

import asyncio
from collections.abc import Callable, Sequence

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from keepwhole.integrations.openai_agents import KeepwholeSession, input_filter, recall_tools
from keepwhole.session import Session

set_tracing_disabled(True)


def agent(session: Session | None, tool: str, outputs: Sequence[str]) -> Callable[[], int]:
    def look(number: int) -> str:
        """Look."""
        return outputs[number]

    tools = [function_tool(look, name_override=tool), *(recall_tools(session) if session is not None else ())]
    config = RunConfig(call_model_input_filter=input_filter(session)) if session is not None else RunConfig()

    def run() -> int:
        calls = [[function_call(tool, {"number": n}, call_id=f"call_{n}")] for n in range(len(outputs))]
        made = Agent(name="a", model=ScriptedModel([*calls, [assistant_message("done")]]), tools=tools)
        items = KeepwholeSession(session) if session is not None else SQLiteSession("bare")
        done = asyncio.run(Runner.run(made, "go", session=items, run_config=config, max_turns=1_000))
        return len(done.new_items)

    return run
