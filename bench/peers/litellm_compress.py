"""`python -m bench.peers.litellm_compress`: Keepwhole beside LiteLLM's own `compress`, request by request.

A made-up agent works for 24 steps. Each step reads a file of about 12,000 characters with one fact in it; from the
fifth step on its call uses a fact that one of the steps before has read. Every system sees the same whole history
before each request, and sends what it sends. Printed are: the tokens sent in all requests, how many of the facts that
are used next are in the request, how many more can be read back, and how many tokens begin as the request before did
(tools first, then messages): what a prompt cache serves. The cost is in tokens of input, a cached one at a tenth.
"""

import argparse
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from keepwhole.config import Settings
from keepwhole.models.tokens import estimate
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.wire.content import fields_of

STEPS, LINES, FIRST_USE, REACH = 24, 240, 4, 12
TRIGGER = 30_000
"""Tokens above which `compress` is told to compress, and the window in which Keepwhole is tried once more."""
Json: TypeAlias = dict[str, Any]
_HEAD = "| system | tokens sent | facts in the request | more to read back | from the cache | cost |"


class Sent(NamedTuple):
    """What one system sends of a request."""

    tools: list[Json]
    messages: list[Json]
    readable: str
    """The text that the model can read back with a call."""


Sender: TypeAlias = Callable[[list[Json], str], Sent]


class Step(NamedTuple):
    """One step of the agent: what it is asked with, and the fact that its next call uses."""

    messages: list[Json]
    fact: str | None


def work(dialect: str) -> Iterator[Step]:
    """The requests of one conversation."""
    draw = random.Random(26)
    messages: list[Json] = [
        {"role": "user", "content": "Find out which services of the cluster disagree, file by file."}
    ]
    facts: list[str] = []
    for number in range(STEPS):
        used = facts[-draw.randint(1, min(REACH, len(facts)))] if number >= FIRST_USE else None
        yield Step([*messages], used)
        facts.append(f"port_{number} = {draw.randint(10_000, 99_999)}")
        lines = [
            f"service_{number}_{line} listens at {draw.randint(10_000, 99_999)} for clients" for line in range(LINES)
        ]
        lines[draw.randrange(LINES)] = facts[-1]
        messages += exchange(dialect, number, used or "", "\n".join(lines))


def exchange(dialect: str, number: int, used: str, text: str) -> list[Json]:
    """A call and its result."""
    given = {"path": f"services/{number}.conf", "because": used}
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": f"c{number}", "name": "read_file", "input": given}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    function = {"name": "read_file", "arguments": json.dumps(given)}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }
    return [asked, {"role": "tool", "tool_call_id": f"c{number}", "content": text}]


def keepwhole_sender(dialect: str, window: int | None = None) -> Sender:
    """Keepwhole as users have it, with the policy `auto`; with a `window`, for a model that has no more."""
    models = {} if window is None else {"gpt-5": {"window": window}, "claude-sonnet-5": {"window": window}}
    session = Session("bench", store=MemoryStore(), settings=Settings(home="unused", models=models))
    tools = session.tools("anthropic" if dialect == "anthropic" else "openai_chat")

    def send(messages: list[Json], model: str) -> Sent:
        return Sent(tools, session.view(messages, model=model), json.dumps(messages))

    return send


def litellm_sender(dialect: str, python: str, trigger: int) -> Sender:
    """LiteLLM's `compress` with a trigger, in its own environment."""
    command = [python, "-m", "bench.peers.litellm_worker"]
    environ = {**os.environ, "PYTHONPATH": os.getcwd()}
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)
    kind = "anthropic_messages" if dialect == "anthropic" else "completion"

    def send(messages: list[Json], model: str) -> Sent:
        assert worker.stdin is not None
        assert worker.stdout is not None
        asked = {"messages": messages, "model": model, "call_type": kind, "trigger": trigger}
        worker.stdin.write(json.dumps(asked) + "\n")
        worker.stdin.flush()
        done = json.loads(worker.stdout.readline())
        return Sent(done["tools"], done["messages"], json.dumps(done["cache"]))

    return send


def everything(messages: list[Json], model: str) -> Sent:
    """All of it."""
    return Sent([], messages, "")


def row(name: str, dialect: str, send: Sender) -> str:
    """The line of the table for one system."""
    model = "claude-sonnet-5" if dialect == "anthropic" else "gpt-5"
    sent = used = shown = readable = cached = 0
    before: Sequence[str] = ()
    for step in work(dialect):
        out = send(step.messages, model)
        pieces = [json.dumps(each, ensure_ascii=False) for each in (out.tools, *out.messages)]
        sizes = [estimate(piece) for piece in pieces]
        sent += sum(sizes)
        same = next((at for at, (old, new) in enumerate(zip(before, pieces, strict=False)) if old != new), len(before))
        cached += sum(sizes[: min(same, len(pieces))])
        before = pieces
        if step.fact is not None:
            used += 1
            is_shown = any(step.fact in result_text(each) for each in out.messages)
            shown += is_shown
            readable += not is_shown and step.fact in out.readable
    cells = (name, f"{sent:,}", f"{shown} of {used}", f"{readable}", f"{cached:,} ({cached / sent:.0%})")
    return f"| {' | '.join(cells)} | {sent - 0.9 * cached:,.0f} |"


def result_text(message: Json) -> str:
    """The results in a message; a fact that the agent wrote into a call of its own is no evidence of it."""
    if message["role"] == "tool":
        return str(message["content"])
    content: object = message["content"]
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return "".join(str(fields_of(part).get("content")) for part in parts)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=".venvs/litellm-current/bin/python", help="the Python with LiteLLM")
    args = parser.parse_args()
    for dialect in ("openai_chat", "anthropic"):
        print(f"\n{dialect}\n\n{_HEAD}")
        print("|---|---|---|---|---|---|")
        print(row("everything", dialect, everything))
        litellm = litellm_sender(dialect, args.python, TRIGGER)
        print(row(f"LiteLLM `compress`, trigger {TRIGGER:,}", dialect, litellm), flush=True)
        print(row("Keepwhole `auto`", dialect, keepwhole_sender(dialect)), flush=True)
        print(row(f"Keepwhole `auto`, window {TRIGGER:,}", dialect, keepwhole_sender(dialect, TRIGGER)), flush=True)


if __name__ == "__main__":
    main()
