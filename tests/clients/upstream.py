"""A model on loopback that every client takes for its provider: it calls the shell as scripted, then is done."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from tests.upstream.scripted import Scripted, serving
from tests.upstream.spelling import SPELLINGS, Dialect, Part, Text, Tool, dialect_of, gemini_usage, responses_usage

Call: TypeAlias = tuple[str, dict[str, Any]]
Move: TypeAlias = str | Call | Callable[[str], str | Call]
"""A command for the shell; a tool and its arguments; or a function that makes one of them of the newest result."""
Script: TypeAlias = Sequence[Sequence[Move]]
SCRIPT: Script = (("seq 1 9",), ("cat no-such-file", "echo second"), ("seq 1 10500",))
"""The moves of each step; those of one step are called in parallel."""
Fault: TypeAlias = int | Literal["cut"]
"""The status with which a request is refused, or an answer that breaks off in its middle."""
AGENT = "Agent"
"""As a command: start a sub-agent, which follows the rest of the script (Claude Code)."""
_COMMAND = "command"
_SHELLS = {
    **dict.fromkeys(("Bash", "bash", "run_shell_command", "shell", "terminal"), _COMMAND),
    "exec_command": "cmd",
    "run_commands": "commands",
}
"""The tools that run a command, and the argument that it is in."""
COMPACTED = "Another language model started to solve this problem"
"""How Codex goes on after a compaction, without any result; what the script asks for is done by then."""
_NUMBERS = itertools.count()
_USAGE: dict[Dialect, dict[str, Any]] = {
    "anthropic": {"input_tokens": 10, "output_tokens": 5},
    "openai_chat": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    "openai_responses": responses_usage(10, 5),
    "gemini": gemini_usage(10, 5),
}
"""Far from any window, so that no client compacts by itself."""


@contextmanager
def upstream(
    script: Script = SCRIPT,
    log: list[Any] | None = None,
    usage: Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    faults: Sequence[Fault] = (),
) -> Iterator[int]:
    """Its port, while it answers; requests that offer tools go to `log`. `usage` is what each request is billed, and
    `faults` are what the first requests meet."""
    bill = staticmethod(usage if callable(usage) else lambda body: usage)
    with serving(_Client, script=script, log=[] if log is None else log, bill=bill, faults=[*faults]) as port:
        yield port


class _Client(Scripted):
    script: Script = ()
    log: list[Any]
    bill: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    faults: list[Fault]

    def answer(self, status: int, kind: str, body: bytes) -> None:
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int):
            super().answer(fault, "application/json", b'{"type": "error", "error": {"type": "any", "message": "no"}}')
        elif fault == "cut":
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            super().answer(status, kind, body)

    def events(self, path: str, body: dict[str, Any]) -> Iterable[bytes] | bytes | None:
        dialect = dialect_of(path)
        if dialect is None:
            return None
        if body.get("tools"):
            self.log.append(body)
        calls = _calls(body, self.script)
        usage = dict(self.bill(body) or _USAGE[dialect])
        spelling, said = SPELLINGS[dialect], (_parts(calls), next(_NUMBERS), usage)
        is_streamed = body.get("stream") or path.endswith(":streamGenerateContent")
        return spelling.events(*said) if is_streamed else json.dumps(spelling.whole(*said)).encode()


def _calls(body: Mapping[str, Any], script: Script) -> list[tuple[str, str, dict[str, Any]]]:
    """What to call next, by how many results the request holds: ids, tools and arguments; none where all is done."""
    messages = body.get("messages") or body.get("input") or body.get("contents") or []
    tools = json.dumps(body.get("tools") or [])
    shell = next((name for name in _SHELLS if f'"name": "{name}"' in tools), None)
    texts = results(messages)
    if COMPACTED in json.dumps(messages):
        return []
    is_agent = "cc_is_subagent=true" in json.dumps(body.get("system"))
    script = [moves for moves in script if moves[0] != AGENT or not is_agent]
    for number, moves in enumerate(script):
        if shell and len(texts) == sum(map(len, script[:number])):
            newest = texts[-1] if texts else ""
            made = [move(newest) if callable(move) else move for move in moves]
            return [(f"toolu_call_{number}_{at}", *_call(shell, move)) for at, move in enumerate(made)]
    return []


def results(messages: Any) -> list[str]:
    """The texts of all tool results in a conversation of any of these wires, in order."""
    found: list[str] = []
    if isinstance(messages, list):
        for one in messages:
            found += results(one)
    elif isinstance(messages, dict):
        if messages.get("type") == "tool_result" or messages.get("role") == "tool":
            return [_text(messages.get("content"))]
        if messages.get("type") in ("function_call_output", "custom_tool_call_output"):
            return [_text(messages.get("output"))]
        if "functionResponse" in messages:
            response = messages["functionResponse"]["response"]
            return [_text(response.get("output", response))]
        for one in messages.values():
            found += results(one) if isinstance(one, dict | list) else []
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(one.get("text", "") for one in content)
    return content if isinstance(content, str) else json.dumps(content)


def _call(shell: str, move: str | Call) -> Call:
    if not isinstance(move, str):
        return move
    if move == AGENT:
        return AGENT, {"description": "look", "prompt": "look deeper", "subagent_type": "general-purpose"}
    extra = {"description": "look"} if shell in ("Bash", "bash") else {}
    extra |= {"security_risk": "LOW", "summary": "look"} if shell == "terminal" else {}
    return shell, {_SHELLS[shell]: [move] if shell == "run_commands" else move} | extra


def _parts(calls: Any) -> list[Part]:
    """What is said with these calls, or when there are none left."""
    made: list[Part] = [Tool(tool, arguments, call_id) for call_id, tool, arguments in calls]
    return [Text("Looking." if calls else "All done."), *made]
