"""Made-up sessions as the log files of clients.

Owns: how Claude Code, Codex and a plain chat API write a session.
Must not know: what happens in a session.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from keepwhole.replay.samples.coding_agent import coding_session
from keepwhole.replay.samples.session import Client, SampleSession, SampleTurn
from keepwhole.replay.samples.support_agent import support_session

_DAY = "2026-11-02T"


def sample_sessions() -> list[SampleSession]:
    """Return the sessions, the longest first."""
    return [
        coding_session(1, "claude-code", 20),
        coding_session(2, "codex", 16),
        support_session(3, 34),
        coding_session(4, "claude-code", 2),
    ]


def write_samples(folder: Path) -> list[Path]:
    """Write the sessions as their clients would."""
    return [_write(folder / _PATHS[one.client].format(one.id), _WRITERS[one.client](one)) for one in sample_sessions()]


def _write(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def _clock(number: int) -> str:
    """Return the time of the record with that number: a step takes eight seconds."""
    minutes, seconds = divmod(number * 8, 60)
    return f"{_DAY}{9 + minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.000Z"


def _claude_code(session: SampleSession) -> Iterator[dict[str, Any]]:
    parent = None
    for number, message in enumerate(anthropic_messages(session)):
        own = str(UUID(int=number + 1))
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/harbour",
            "sessionId": session.id,
            "version": "2.0.30",
            "gitBranch": "main",
            "type": message["role"],
            "message": message,
            "uuid": own,
            "timestamp": _clock(number),
        }
        parent = own


def anthropic_messages(session: SampleSession) -> Iterator[dict[str, Any]]:
    """Yield the session as the messages of Anthropic's API."""
    for number, turn in enumerate(session.turns):
        if turn.role == "user":
            yield {"role": "user", "content": turn.said}
            continue
        parts: list[dict[str, Any]] = [{"type": "text", "text": turn.said}] if turn.said else []
        call = f"toolu_{number:04d}"
        if turn.tool:
            parts.append({"type": "tool_use", "id": call, "name": turn.tool, "input": turn.arguments})
        yield {
            "id": f"msg_{number:04d}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": parts,
        }
        if turn.tool:
            answer = {"type": "tool_result", "tool_use_id": call, "content": turn.result, "is_error": turn.is_error}
            yield {"role": "user", "content": [answer]}


def _codex(session: SampleSession) -> Iterator[dict[str, Any]]:
    about = {"id": session.id, "cwd": "/srv/harbour", "originator": "codex_cli_rs", "cli_version": "0.50.0"}
    heads = [("session_meta", about), ("turn_context", {"cwd": "/srv/harbour", "model": "gpt-5-codex"})]
    items = [("response_item", item) for number, turn in enumerate(session.turns) for item in _items(number, turn)]
    for number, (kind, payload) in enumerate([*heads, *items]):
        yield {"timestamp": _clock(number), "type": kind, "payload": payload}


def _items(number: int, turn: SampleTurn) -> Iterator[dict[str, Any]]:
    if turn.said:
        kind = "input_text" if turn.role == "user" else "output_text"
        yield {"type": "message", "role": turn.role, "content": [{"type": kind, "text": turn.said}]}
    if turn.tool:
        call = f"call_{number:04d}"
        arguments = json.dumps(turn.arguments)
        yield {"type": "function_call", "name": turn.tool, "arguments": arguments, "call_id": call}
        yield {"type": "function_call_output", "call_id": call, "output": turn.result}


def _chat(session: SampleSession) -> Iterator[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You refund cancelled crossings of a ferry line."}]
    for number, turn in enumerate(session.turns):
        messages.append({"role": turn.role, "content": turn.said or None})
        if turn.tool:
            call = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
            messages[-1]["tool_calls"] = [{"id": f"call_{number:04d}", "type": "function", "function": call}]
            messages.append({"role": "tool", "tool_call_id": f"call_{number:04d}", "content": turn.result})
    yield {"source": "chat", "id": session.id, "messages": messages, "meta": {"model": "gpt-5"}}


_WRITERS: dict[Client, Callable[[SampleSession], Iterator[dict[str, Any]]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "chat": _chat,
}
_PATHS: dict[Client, str] = {
    "claude-code": ".claude/projects/-srv-harbour/{}.jsonl",
    "codex": ".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{}.jsonl",
    "chat": "chat/{}.jsonl",
}
