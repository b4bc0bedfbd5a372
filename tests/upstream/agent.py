"""A client that goes on step by step, in any dialect, with its markers where clients put them."""

import json
from typing import Any

Json = dict[str, Any]
SYSTEM = "You work in a repository. " * 120
TOOLS = [{"name": f"tool_{number}", "description": "does something " * 20} for number in range(6)]


class Agent:
    """One conversation and its requests."""

    def __init__(self, dialect: str, model: str | None = None) -> None:
        self.dialect = dialect
        self.model = model or ("claude-sonnet-5" if dialect == "anthropic" else "gpt-5")
        self.messages: list[Json] = [{"role": "user", "content": "do the work"}]

    def step(self, number: int, result: str) -> None:
        """One more call and its result."""
        call = f"call_{number}"
        arguments = {"path": f"src/part_{number}.py"}
        if self.dialect == "anthropic":
            use = {"type": "tool_use", "id": call, "name": "tool_1", "input": arguments}
            done = {"type": "tool_result", "tool_use_id": call, "content": result}
            self.messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [done]}]
        elif self.dialect == "openai_chat":
            function = {"name": "tool_1", "arguments": json.dumps(arguments)}
            asked = {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]}
            self.messages += [asked, {"role": "tool", "tool_call_id": call, "content": result}]
        else:
            use = {"type": "function_call", "call_id": call, "name": "tool_1", "arguments": json.dumps(arguments)}
            self.messages += [use, {"type": "function_call_output", "call_id": call, "output": result}]

    def body(self) -> bytes:
        """The next request."""
        if self.dialect == "anthropic":
            system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
            last = self.messages[-1]
            blocks = last["content"]
            blocks = blocks if isinstance(blocks, list) else [{"type": "text", "text": blocks}]
            marked = {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}
            made = {"tools": TOOLS, "system": system, "messages": [*self.messages[:-1], marked]}
        elif self.dialect == "openai_chat":
            tools = [{"type": "function", "function": tool} for tool in TOOLS]
            made = {"tools": tools, "messages": [{"role": "system", "content": SYSTEM}, *self.messages]}
        else:
            tools = [{"type": "function", **tool} for tool in TOOLS]
            made = {"tools": tools, "instructions": SYSTEM, "input": self.messages}
        return json.dumps({"model": self.model, "max_tokens": 100, **made}).encode()
