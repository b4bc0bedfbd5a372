# pyright: basic, reportMissingImports=false
"""An agent of LangChain with its fake model, with the middleware and without."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

from keepwhole.integrations.langchain import KeepwholeMiddleware
from keepwhole.session import Session


class _Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> "_Model":
        return self


class _Nothing(AgentMiddleware):
    """Middleware that changes nothing, since having any middleware has a cost in the framework."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)


def agent(session: Session | None, tool: str, outputs: Sequence[str]) -> Callable[[], int]:
    def look(number: int) -> str:
        """Look."""
        return outputs[number]

    middleware = [_Nothing() if session is None else KeepwholeMiddleware(session)]
    tools = [StructuredTool.from_function(look, name=tool)]

    def run() -> int:
        calls = [{"name": tool, "args": {"number": n}, "id": f"call_{n}"} for n in range(len(outputs))]
        turns = [*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("done")]
        made = create_agent(_Model(messages=iter(turns)), tools=tools, middleware=middleware)
        state = made.invoke({"messages": [("user", "go")]}, {"recursion_limit": 10_000})
        return len(state["messages"])

    return run
