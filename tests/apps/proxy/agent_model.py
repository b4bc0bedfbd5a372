"""A model that decides from the request alone: it follows a plan, and looks up what it needs and is not shown.

Owns: which step comes next, where a value is found, and the ways back to one that a view left out.
Must not know: how a proxy hides things, but for what its notices say.
"""

import json
import re
import threading
from collections import Counter
from typing import Any, NamedTuple

from tests.apps.proxy.agent_world import Move, plan, token_of
from tests.upstream.spelling import Json, Part, Text, Thinking, Tool

_STEP = re.compile(r"Step (\d+)\.$")
_LOST = re.compile(r"I need (.+)\.$")
_ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]+")
_FILE = re.compile(r'read_file\(path="([^"]+)"(?:, offset=(\d+), limit=(\d+))?\)')
THOUGHT = "I weigh what the last results say before I go on. "


class Turn(NamedTuple):
    """What a model said at once, and what it was told."""

    text: str
    calls: list[tuple[str, str, Json]]
    """Ids, tools, arguments."""
    results: dict[str, str]
    """By ids of calls."""


class Model:
    """Follows the plan of so many steps. Safe from threads: it remembers nothing but what it had to do."""

    def __init__(self, steps: int) -> None:
        self.plan = plan(steps)
        self.last = next(token_of(move) for moves in self.plan for move in moves if move.tool == "query")
        """The token of which the last answer speaks: the first that a table told, long ago."""
        self.did: Counter[str] = Counter()
        """How values were found: `shown`, or by which tool."""
        self._lock = threading.Lock()

    def __call__(self, body: Json) -> list[Part]:
        turns = turns_of(body)
        step = _newest_step(turns) + 1
        moves = self.plan[step] if step < len(self.plan) else []
        needs = [move.needs for move in moves if move.needs] if moves else [self.last]
        values: dict[str, str] = {}
        for token in needs:
            value = _told(turns, token)
            if value is None:
                return self._look_up(turns, token, offered(body))
            values[token] = value
        self._count("shown" if needs and not _is_looking(turns) else "")
        if not moves:
            return [Text(f"Done: {self.last} is {values[self.last]}.")]
        calls: list[Part] = [Tool(move.tool, move.made(values.get(move.needs, ""))) for move in moves]
        thought: list[Part] = [Thinking(THOUGHT * (1 + step % 3))] if step % 5 == 0 else []
        return [*thought, Text(f"Step {step}."), *calls]

    def _look_up(self, turns: list[Turn], token: str, tools: set[str]) -> list[Part]:
        """A call that may tell a value: as the notice says, by a search, or by doing the step again."""
        tries = sum(1 for turn in turns[_newest_turn(turns) :] if _LOST.search(turn.text))
        ways = [way for way in (self._by_notice(turns, token, tools), *_by_search(token, tools)) if way]
        ways.append(Tool(*self._again(token)))
        if tries >= len(ways):
            raise LookupError(f"`{token}` was not found by {[way.name for way in ways]}")
        self._count(ways[tries].name)
        return [Text(f"I need {token}."), ways[tries]]

    def _by_notice(self, turns: list[Turn], token: str, tools: set[str]) -> Tool | None:
        """What the newest result that told the token says about where the rest of it is."""
        for turn in reversed(turns):
            for call_id, tool, arguments in turn.calls:
                if tool != "edit_file" and token_of(Move(tool, arguments)) == token:
                    text = turn.results.get(call_id, "")
                    if (file := _FILE.search(text)) and "read_file" in tools:
                        return Tool("read_file", {"path": file[1]})
                    if (found := _ARTIFACT.search(text)) and "get_artifact" in tools:
                        return Tool("get_artifact", {"id": found[0], "pattern": f"token {token}:"})
        return None

    def _again(self, token: str) -> tuple[str, Json]:
        return next((move.tool, move.arguments) for moves in self.plan for move in moves if token_of(move) == token)

    def _count(self, how: str) -> None:
        with self._lock:
            self.did[how] += 1


def _by_search(token: str, tools: set[str]) -> list[Tool]:
    return [Tool("search_artifacts", {"query": f"token {token}:"})] if "search_artifacts" in tools else []


def _told(turns: list[Turn], token: str) -> str | None:
    """The value of a token, if any result that is shown tells it."""
    told = re.compile(rf"token {re.escape(token)}: ([0-9a-f]{{12}})\b")
    texts = (text for turn in reversed(turns) for text in turn.results.values())
    return next((found[1] for text in texts if (found := told.search(text))), None)


def _newest_turn(turns: list[Turn]) -> int:
    """The newest turn that begins a step; -1 before the first."""
    return next((at for at in range(len(turns) - 1, -1, -1) if _STEP.search(turns[at].text)), -1)


def _newest_step(turns: list[Turn]) -> int:
    at = _newest_turn(turns)
    return int(_STEP.search(turns[at].text)[1]) if at >= 0 else -1  # type: ignore[index]


def _is_looking(turns: list[Turn]) -> bool:
    return bool(turns) and bool(_LOST.search(turns[-1].text))


def offered(body: Json) -> set[str]:
    """The names of the tools that a request offers."""
    return {tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())}


def turns_of(body: Json) -> list[Turn]:
    """A conversation of any dialect as turns."""
    turns: list[Turn] = []
    is_open = False
    for item in body["messages"] if "messages" in body else body["input"]:
        kind = item.get("type", "")
        if item.get("role") == "assistant" or kind in ("function_call", "reasoning"):
            if not is_open:
                turns.append(Turn("", [], {}))
            turns[-1] = _said(turns[-1], item)
            is_open = True
        elif turns:
            turns[-1].results.update(_results(item))
            is_open = False
    return turns


def _said(turn: Turn, item: Json) -> Turn:
    """A turn with what one message or item adds to it."""
    calls = [(call["id"], call["function"]["name"], _loads(call)) for call in item.get("tool_calls") or ()]
    if item.get("type") == "function_call":
        calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
    content = item.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls += [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    text = "".join(block["text"] for block in blocks if block["type"] in ("text", "output_text"))
    return Turn(turn.text + text, turn.calls + calls, turn.results)


def _loads(call: Json) -> Json:
    return json.loads(call["function"]["arguments"])


def _results(item: Json) -> dict[str, str]:
    if item.get("role") == "tool":
        return {item["tool_call_id"]: text_of(item["content"])}
    if item.get("type") == "function_call_output":
        return {item["call_id"]: text_of(item["output"])}
    content = item.get("content")
    blocks = content if isinstance(content, list) else []
    return {
        block["tool_use_id"]: text_of(block.get("content", "")) for block in blocks if block["type"] == "tool_result"
    }


def text_of(content: Any) -> str:
    """A result's text, however it is spelled."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
