"""A model that plays plans with the tools of the client that asks, and decides from the request alone.

A prompt names a plan, and each answer says which step of it it is, so that retries, resumed sessions, forks, sub-agents
and compactions all find their place.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from keepwhole.testing import printed_calls
from tests.clients.plan import Delegate, EditFile, Move, Plan, ReadBack, ReadFile, Shell, WriteFile
from tests.clients.upstream import results
from tests.upstream.spelling import Custom, Json, Part, Text, Thinking, Tool

_PLACE = re.compile(r"plan `(\w+)`|Step (\w+) (\d+)\.")
_SUMMARIES = (
    "Respond with TEXT ONLY",
    "CONTEXT CHECKPOINT COMPACTION",
    "Here is the conversation so far",
    "Create a new anchored summary",
)
"""How clients ask for a summary."""
_SHELLS = {"Bash", "bash", "exec_command"}
"""Requests that offer none of these are asides: titles, summaries."""
_TYPED = re.compile(r"^.*left out(?: in part)?: ((?:cat|sed|tail) .*)$", re.MULTILINE)
_PATCH = "*** Begin Patch\n*** {} File: {}\n{}\n*** End Patch\n"
DONE = "All done with {}."


def prompt_for(plan: str) -> str:
    """The words by which a client is sent to work."""
    return f"Follow plan `{plan}`."


class Player:
    """Plays these plans. Safe from threads: it remembers nothing."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self.plans = dict(plans)
        self.before: Callable[[Json], None] = lambda body: None
        """Told of every request before it is answered."""

    def __call__(self, body: Json) -> list[Part]:
        self.before(body)
        name, step = _place(body)
        if not offered(body) & _SHELLS or asks_for_summary(body):
            return [Text(f"The work so far: plan `{name}`, Step {name} {step}." if step >= 0 else "A title")]
        plan = self.plans.get(name, [])
        if step + 1 >= len(plan):
            return [Text(DONE.format(name))]
        step += 1
        spell = _speller(body)
        calls = [spell(move, f"toolu_{name}_{step}_{at}", body) for at, move in enumerate(plan[step])]
        thought: list[Part] = [Thinking(f"Thinking of step {step}.")] if step % 7 == 0 and _thinks(body) else []
        return [*thought, Text(f"Step {name} {step}."), *calls]


def _place(body: Json) -> tuple[str, int]:
    """The plan that is followed, and the last step of it that was begun."""
    name, step = "", -1
    for text in _texts(body):
        for told, own, number in _PLACE.findall(text):
            if told and told != name:
                name, step = told, -1
            elif own and own == name:
                step = int(number)
    return name, step


def _texts(body: Json) -> Iterator[str]:
    """What was said, without what tools returned."""
    for message in _messages(body):
        if message.get("role") not in ("user", "assistant"):
            continue
        content = message.get("content")
        yield from [content] if isinstance(content, str) else (part.get("text") or "" for part in content or ())


def _messages(body: Json) -> list[Json]:
    return body["messages"] if "messages" in body else body["input"]


def asks_for_summary(body: Json) -> bool:
    """Whether a client asks for a summary with which it will go on."""
    words = [message for message in _messages(body) if message.get("role") == "user"]
    return any(mark in json.dumps(words[-1:]) for mark in _SUMMARIES)


def _thinks(body: Json) -> bool:
    return "input" in body or (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def offered(body: Json) -> set[str]:
    """The names of the tools that a request offers."""
    return {tool.get("name") or tool.get("function", {}).get("name", "") for tool in body.get("tools") or ()}


def _speller(body: Json) -> Callable[[Move, str, Json], Part]:
    tools = offered(body)
    return _codex if "exec_command" in tools else _claude if "Bash" in tools else _opencode


class _Names(NamedTuple):
    """How a client's tools and their arguments are called."""

    shell: str
    read: str
    write: str
    edit: str
    delegate: str
    path: str
    old: str
    new: str
    agent: str


_CLAUDE = _Names("Bash", "Read", "Write", "Edit", "Agent", "file_path", "old_string", "new_string", "general-purpose")
_OPENCODE = _Names("bash", "read", "write", "edit", "task", "filePath", "oldString", "newString", "general")


def _claude(move: Move, call_id: str, body: Json) -> Part:
    return Tool(*_named(_CLAUDE, move, body), call_id)


def _opencode(move: Move, call_id: str, body: Json) -> Part:
    return Tool(*_named(_OPENCODE, move, body), call_id)


def _named(names: _Names, move: Move, body: Json) -> tuple[str, dict[str, Any]]:
    if isinstance(move, ReadFile):
        return names.read, {names.path: move.path}
    if isinstance(move, WriteFile):
        return names.write, {names.path: move.path, "content": move.text}
    if isinstance(move, EditFile):
        return names.edit, {names.path: move.path, names.old: move.old, names.new: move.new}
    if isinstance(move, Delegate):
        told = {"description": "look", "prompt": prompt_for(move.plan), "subagent_type": names.agent}
        return names.delegate, told | ({"run_in_background": False} if names is _CLAUDE else {})
    if isinstance(move, ReadBack):
        calls = [call for text in results(_messages(body))[-1:] for call in printed_calls(text)]
        if calls:
            return calls[-1].name, calls[-1].arguments
        move = _NOTHING
    return names.shell, {"command": move.command, "description": "look"}


_NOTHING = Shell("echo nothing was left out")


def _codex(move: Move, call_id: str, body: Json) -> Part:
    """Codex writes with a patch, and does the rest in its shell."""
    if isinstance(move, WriteFile):
        added = "\n".join(f"+{line}" for line in move.text.splitlines())
        return Custom("apply_patch", _PATCH.format("Add", move.path, added), call_id)
    if isinstance(move, EditFile):
        changed = f"@@\n-{move.old} a file\n+{move.new} a file"
        return Custom("apply_patch", _PATCH.format("Update", move.path, changed), call_id)
    if isinstance(move, ReadBack):
        typed = [line for text in results(_messages(body))[-1:] for line in _TYPED.findall(text)]
        move = Shell(typed[-1]) if typed else _NOTHING
    assert not isinstance(move, Delegate), "Codex has no sub-agents"
    command = f"cat {move.path}" if isinstance(move, ReadFile) else move.command
    return Tool("exec_command", {"cmd": command}, call_id)
