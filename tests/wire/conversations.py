"""Conversations of every shape in every dialect, and what a provider would say to them. None of it uses our code."""

import itertools
import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.policies.transcript import Transcript
from tests.wire import in_blocks
from tests.wire.in_blocks import as_anthropic, content_of, respelled

DIALECTS = ("openai_chat", "openai_responses", *in_blocks.DIALECTS)
Wire = dict[str, Any]


class Made(NamedTuple):
    """One call and what came back."""

    call_id: str
    text: str
    is_there: bool = True
    """Whether the call itself is in the conversation."""
    results: int = 1
    differs: bool = False
    """Whether a second result says something else."""


class Turn(NamedTuple):
    kind: str
    said: str = ""
    calls: tuple[Made, ...] = ()
    pinned: bool = False


words = st.text(alphabet="abc é\n👍/._", max_size=40)
outputs = st.one_of(words, st.just("x" * 4_000), st.just("Error: it broke"), st.just("see src/a/b.py and 1f2e3d4c5b"))


@st.composite
def turns(draw: st.DrawFn, broken: bool = False, pinned: bool = True) -> list[Turn]:
    """Turns with ids of their own; `broken` ones lack calls or results, or have two."""
    number = 0
    found = [Turn("system", "Be brief.")] if draw(st.booleans()) else []
    found.append(Turn("user", "The task: mend it. " + draw(words)))
    for kind in draw(st.lists(st.sampled_from(["step", "step", "step", "user", "assistant"]), max_size=12)):
        pin = pinned and draw(st.integers(0, 9)) == 0
        if kind != "step":
            found.append(Turn(kind, f"{kind} says {draw(words)}", pinned=pin))
            continue
        made: list[Made] = []
        for _ in range(draw(st.integers(1, 3))):
            number += 1
            shape = draw(st.sampled_from([(True, 1), (True, 0), (False, 1), (True, 2)])) if broken else (True, 1)
            made.append(Made(f"call_{number}", f"r{number}. {draw(outputs)}", *shape, draw(st.booleans())))
        found.append(Turn("step", draw(words), tuple(made), pin))
    if draw(st.booleans()):
        found.append(Turn("pending", "", (Made("call_p1", ""), Made("call_p2", ""))[: draw(st.integers(1, 2))]))
    return found


def spelled(turns: list[Turn], dialect: str) -> tuple[list[Wire], set[int]]:
    """The conversation as it is sent, and the places of the pinned messages."""
    messages: list[Wire] = []
    pinned: set[int] = set()
    for turn in turns:
        for message in _spelled(turn, dialect):
            if dialect in in_blocks.DIALECTS and messages and messages[-1]["role"] == message["role"]:
                content_of(messages[-1]).extend(content_of(message))
            else:
                messages.append(message)
            if turn.pinned:
                pinned.add(len(messages) - 1)
    return messages, pinned


def _texts(made: Made) -> list[str]:
    return [made.text, made.text + ("!" if made.differs else "")][: made.results]


def _in_chat(turn: Turn) -> list[Wire]:
    if turn.kind not in ("step", "pending"):
        return [{"role": turn.kind, "content": turn.said}]
    calls = [
        {
            "id": made.call_id,
            "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"n": made.call_id})},
        }
        for made in turn.calls
        if made.is_there
    ]
    said: Wire = {"role": "assistant", "content": turn.said or None}
    results = [
        {"role": "tool", "tool_call_id": made.call_id, "content": text}
        for made in turn.calls
        for text in (_texts(made) if turn.kind == "step" else ())
    ]
    return [{**said, "tool_calls": calls} if calls else said, *results]


def _in_responses(turn: Turn) -> list[Wire]:
    if turn.kind not in ("step", "pending"):
        return [{"type": "message", "role": turn.kind, "content": turn.said}]
    items: list[Wire] = [{"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "opaque"}]
    items.append({"type": "message", "role": "assistant", "content": turn.said or "..."})
    items += [
        {"type": "function_call", "call_id": made.call_id, "name": "read", "arguments": "{}"}
        for made in turn.calls
        if made.is_there
    ]
    return items + [
        {"type": "function_call_output", "call_id": made.call_id, "output": text}
        for made in turn.calls
        for text in (_texts(made) if turn.kind == "step" else ())
    ]


def _in_anthropic(turn: Turn) -> list[Wire]:
    if turn.kind == "system":
        return []
    if turn.kind in ("user", "assistant"):
        return [{"role": turn.kind, "content": [{"type": "text", "text": turn.said or "..."}]}]
    thought = [{"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text", "text": turn.said or "..."}]
    calls = [
        {"type": "tool_use", "id": made.call_id, "name": "read", "input": {}} for made in turn.calls if made.is_there
    ]
    results = [
        {"type": "tool_result", "tool_use_id": made.call_id, "content": text}
        for made in turn.calls
        for text in (_texts(made) if turn.kind == "step" else ())
    ]
    said: list[Wire] = [{"role": "assistant", "content": [*thought, *calls]}]
    return said + ([{"role": "user", "content": results}] if results else [])


def _spelled(turn: Turn, dialect: str) -> list[Wire]:
    if dialect in in_blocks.DIALECTS:
        return [respelled(message, dialect) for message in _in_anthropic(turn)]
    return _in_chat(turn) if dialect == "openai_chat" else _in_responses(turn)


def transcript_of(messages: list[Wire], dialect: str, pinned: set[int]) -> Transcript:
    """The conversation decoded."""
    transcript = Transcript()
    decode = {"openai_chat": _from_chat, "openai_responses": _from_responses}.get(dialect, _from_blocks)
    transcript.extend(decode(message)._replace(pinned=place in pinned) for place, message in enumerate(messages))
    return transcript


def _from_chat(message: Wire) -> Message:
    if message["role"] == "tool":
        return Message("tool", returned=(ResultText(message["tool_call_id"], ("content",), message["content"]),))
    calls = tuple(Call(call["id"], "read", call["function"]["arguments"]) for call in message.get("tool_calls", ()))
    return Message(message["role"], message["content"] or "", calls)


def _from_responses(item: Wire) -> Message:
    if item["type"] == "function_call":
        return Message("assistant", calls=(Call(item["call_id"], "read", item["arguments"]),))
    if item["type"] == "function_call_output":
        return Message("tool", returned=(ResultText(item["call_id"], ("output",), item["output"]),))
    return Message(item.get("role", "other"), item.get("content", ""))


def _from_blocks(message: Wire) -> Message:
    message = as_anthropic(message)
    blocks = message["content"]
    said = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    calls = tuple(Call(block["id"], "read", "{}") for block in blocks if block["type"] == "tool_use")
    returned = tuple(
        ResultText(block["tool_use_id"], ("content", place, "content"), block["content"])
        for place, block in enumerate(blocks)
        if block["type"] == "tool_result"
    )
    return Message(message["role"], said, calls, returned)


def complaints(messages: list[Wire], dialect: str) -> list[str]:
    """What the provider would say: every call answered once and in its place, nothing answered that was not asked."""
    if dialect in in_blocks.DIALECTS:
        return _anthropic([as_anthropic(message) for message in messages])
    return _chat(messages) if dialect == "openai_chat" else _responses(messages)


def _chat(messages: list[Wire]) -> list[str]:
    found: list[str] = []
    place = 0
    while place < len(messages):
        calls = sorted(call["id"] for call in messages[place].get("tool_calls", ()))
        if messages[place]["role"] == "tool":
            found.append(f"{place}: a result without a call before it")
        place += 1
        results: list[str] = []
        while calls and place < len(messages) and messages[place]["role"] == "tool":
            results.append(messages[place]["tool_call_id"])
            place += 1
        if sorted(results) != calls and (results or place < len(messages)):
            found.append(f"{place}: asked {calls}, answered {results}")
    return found


def _responses(items: list[Wire]) -> list[str]:
    found: list[str] = []
    asked: dict[str, int] = {}
    for place, item in enumerate(items):
        if item["type"] == "function_call":
            asked[item["call_id"]] = place
        elif item["type"] == "function_call_output" and asked.pop(item["call_id"], None) is None:
            found.append(f"{place}: an output without its call")
        elif item["type"] == "reasoning":
            after = items[place + 1] if place + 1 < len(items) else {}
            if after.get("type") != "function_call" and after.get("role") != "assistant":
                found.append(f"{place}: reasoning without what it led to")
    last = max((place for place, item in enumerate(items) if _is_no_call(item)), default=-1)
    return found + [f"{place}: {call_id} has no output" for call_id, place in asked.items() if place < last]


def _is_no_call(item: Wire) -> bool:
    return item["type"] == "function_call_output" or item.get("role") in ("user", "system")


def _anthropic(messages: list[Wire]) -> list[str]:
    found: list[str] = []
    asked: list[str] = []
    for place, message in enumerate(messages):
        blocks = message["content"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(asked):
            found.append(f"{place}: asked {asked}, answered {results}")
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            found.append(f"{place}: results must come first")
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not blocks or any(block.get("text") == "" for block in blocks):
            found.append(f"{place}: empty")
    return found


def alternates(messages: list[Wire]) -> bool:
    """Whether users and assistants take turns, a user first."""
    roles = ["assistant" if message["role"] == "model" else message["role"] for message in messages]
    return roles[:1] == ["user"] and all(one != other for one, other in itertools.pairwise(roles))
