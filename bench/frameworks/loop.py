"""A loop written by hand, with `on_tool_end` and `Session.view`."""

from collections.abc import Callable, Sequence
from typing import Any

from keepwhole.integrations.loop import on_tool_end
from keepwhole.session import Session


def agent(session: Session | None, tool: str, outputs: Sequence[str]) -> Callable[[], int]:
    def run() -> int:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        ended = on_tool_end(session) if session is not None else None
        for number, output in enumerate(outputs):
            if session is not None:
                session.view(messages)
            block = {"type": "tool_use", "id": f"call_{number}", "name": tool, "input": {"number": number}}
            bare = {"type": "tool_result", "tool_use_id": block["id"], "content": output}
            result = ended(block, output) if ended is not None else bare
            messages += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
        return len(messages)

    return run
