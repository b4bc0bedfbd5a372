"""Made-up conversations in three dialects, step by step. Must not know: the package."""

import copy
import json
from random import Random
from typing import Any, NamedTuple

from tests.golden.texts import text

Json = dict[str, Any]
DIALECTS = ("anthropic", "openai_chat", "openai_responses")
PATHS = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions", "openai_responses": "/v1/responses"}
MODELS = {"anthropic": "claude-sonnet-4-5", "openai_chat": "gpt-4o", "openai_responses": "gpt-5"}
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TOOLS = ("read_file", "bash", "grep", "query", "web_fetch", "Task")
_KINDS: dict[str, tuple[str, ...]] = {
    "read_file": ("code", "plain", "csv", "unicode"),
    "bash": ("log", "ansi", "diff", "plain"),
    "grep": ("grep",),
    "query": ("json", "ndjson", "csv", "xml"),
    "web_fetch": ("html", "huge_lines", "notices"),
    "Task": ("plain",),
}
_SIZES = ((120, 3), (900, 4), (3_500, 4), (9_500, 4), (22_000, 2), (56_000, 1))


class Call(NamedTuple):
    """One call and what it returned."""

    id: str
    tool: str
    arguments: Json
    text: str
    is_error: bool = False


class Step(NamedTuple):
    """An assistant's step: words, calls with their results; and what a user says after it."""

    said: str
    calls: tuple[Call, ...]
    asked: str = ""


def steps(seed: object, count: int, scale: float = 1.0) -> list[Step]:
    """A made-up piece of work: reads, commands, repeats, errors, ids that are used again."""
    rng = Random(f"steps/{seed}")
    found: list[Step] = []
    done: list[Call] = []
    for number in range(count):
        calls: list[Call] = []
        for part in range(rng.choices((1, 2, 3), (7, 2, 1))[0]):
            name = f"call_{number}_{part}"
            if done and rng.random() < 0.12:
                again = rng.choice(done)
                calls.append(again._replace(id=name))
                continue
            tool = rng.choice(_TOOLS)
            chars = int(rng.choices([size for size, _ in _SIZES], [weight for _, weight in _SIZES])[0] * scale)
            words = text(rng.choice(_KINDS[tool]), chars, f"{seed}/{number}/{part}")
            is_error = rng.random() < 0.1
            given: Json = {"path": f"/srv/file_{rng.randint(1, 9)}.py"} if tool == "read_file" else {}
            given |= {"command": f"make step_{number}"} if tool == "bash" else {}
            if done and rng.random() < 0.3:
                given["about"] = " ".join(done[-1].text.split()[:4])
            calls.append(Call(name, tool, given, f"error: it failed\n{words}" if is_error else words, is_error))
        done += calls
        asked = f"And now number {number}, please." if rng.random() < 0.2 else ""
        found.append(Step(f"Step {number}: I look." if rng.random() < 0.7 else "", tuple(calls), asked))
    return found


class Talk:
    """A conversation as a client of one dialect has it."""

    def __init__(self, dialect: str, style: str = "plain", words: str = "Find out what is wrong.") -> None:
        """`style` is `plain` for strings, `blocks` for lists of blocks, `rich` with images and thinking beside."""
        self.dialect, self.style = dialect, style
        self.messages: list[Json] = []
        if dialect == "openai_chat":
            self.messages.append({"role": "system", "content": "You are careful."})
        self.ask(words)

    def copy(self) -> "Talk":
        """A conversation that goes on from here by itself."""
        other = Talk(self.dialect, self.style)
        other.messages = copy.deepcopy(self.messages)
        return other

    def ask(self, words: str) -> None:
        """The user says something."""
        self.messages.append({"role": "user", "content": self._content(words, "user")})

    def say(self, words: str) -> None:
        """The assistant says something."""
        self.messages.append({"role": "assistant", "content": self._content(words, "assistant")})

    def take(self, step: Step) -> None:
        """A whole step."""
        self.call(step)
        self.give(step)
        if step.asked:
            self.say("Done so far.")
            self.ask(step.asked)

    def call(self, step: Step) -> None:
        """The assistant calls tools."""
        if self.dialect == "anthropic":
            blocks: list[Json] = []
            if self.style == "rich":
                blocks.append({"type": "thinking", "thinking": f"Hm. {step.said}", "signature": "c2lnbmVk"})
            blocks += [{"type": "text", "text": step.said}] if step.said else []
            blocks += [{"type": "tool_use", "id": c.id, "name": c.tool, "input": c.arguments} for c in step.calls]
            self.messages.append({"role": "assistant", "content": blocks})
        elif self.dialect == "openai_chat":
            calls = [
                {"id": c.id, "type": "function", "function": {"name": c.tool, "arguments": json.dumps(c.arguments)}}
                for c in step.calls
            ]
            self.messages.append({"role": "assistant", "content": step.said or None, "tool_calls": calls})
        else:
            if self.style == "rich":
                self.messages.append({"type": "reasoning", "id": f"rs_{len(self.messages)}", "summary": []})
            if step.said:
                self.messages.append({"role": "assistant", "content": self._content(step.said, "assistant")})
            for c in step.calls:
                own = {"type": "function_call", "call_id": c.id, "name": c.tool}
                self.messages.append({**own, "arguments": json.dumps(c.arguments)})

    def give(self, step: Step) -> None:
        """The results of a step."""
        if self.dialect == "anthropic":
            blocks = [
                {"type": "tool_result", "tool_use_id": c.id, "content": self._result(c)}
                | ({"is_error": True} if c.is_error else {})
                for c in step.calls
            ]
            self.messages.append({"role": "user", "content": blocks})
        elif self.dialect == "openai_chat":
            self.messages += [{"role": "tool", "tool_call_id": c.id, "content": self._result(c)} for c in step.calls]
        else:
            self.messages += [
                {"type": "function_call_output", "call_id": c.id, "output": self._result(c)} for c in step.calls
            ]

    def request(self, *, marked: bool = False, spelling: str = "plain", **more: Any) -> bytes:
        """The request that sends it, as a client spells it; `marked` with a cache marker on the newest message."""
        messages = copy.deepcopy(self.messages)
        if marked:
            last = messages[-1]
            if isinstance(last.get("content"), str):
                last["content"] = [{"type": "text", "text": last["content"]}]
            last["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body: Json = {"model": MODELS[self.dialect]}
        if self.dialect == "anthropic":
            body |= {"system": [{"type": "text", "text": "You are careful."}], "max_tokens": 1_000}
        elif self.dialect == "openai_responses":
            body |= {"instructions": "You are careful.", "store": False}
        body["input" if self.dialect == "openai_responses" else "messages"] = messages
        body["tools"] = tools(self.dialect)
        return json.dumps(body | more, **_SPELLINGS[spelling]).encode("utf-8", "surrogatepass")

    def _content(self, words: str, role: str) -> Any:
        if self.style == "plain":
            return words
        kind = "text"
        if self.dialect == "openai_responses":
            kind = "input_text" if role == "user" else "output_text"
        return [{"type": kind, "text": words}]

    def _result(self, call: Call) -> Any:
        if self.style == "plain":
            return call.text
        kind = "input_text" if self.dialect == "openai_responses" else "text"
        half = len(call.text) // 2
        if self.style == "blocks":
            if len(call.text) % 3 == 0:
                return [{"type": kind, "text": call.text[:half]}, {"type": kind, "text": call.text[half:]}]
            return [{"type": kind, "text": call.text}]
        return [{"type": kind, "text": call.text}, self._image()]

    def _image(self) -> Json:
        if self.dialect == "anthropic":
            return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
        address = f"data:image/png;base64,{_PIXEL}"
        if self.dialect == "openai_chat":
            return {"type": "image_url", "image_url": {"url": address}}
        return {"type": "input_image", "image_url": address, "detail": "auto"}


_SPELLINGS: dict[str, Json] = {
    "plain": {},
    "tight": {"separators": (",", ":")},
    "utf8": {"ensure_ascii": False},
    "wide": {"indent": 1},
}


def tools(dialect: str) -> list[Json]:
    """The client's own tools."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    if dialect == "anthropic":
        return [{"name": name, "description": f"Does {name}.", "input_schema": schema} for name in _TOOLS]
    if dialect == "openai_chat":
        return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in _TOOLS]
    return [{"type": "function", "name": name, "parameters": schema} for name in _TOOLS]


def cleared(talk: Talk, text: str = "[Old tool result content cleared]", newest: int = 2) -> Talk:
    """The same conversation after a client has put marks of its own in place of old results."""
    other = talk.copy()
    found = [
        (part, key)
        for message in other.messages
        for part in (message["content"] if isinstance(message.get("content"), list) else [message])
        for key in ("content", "output")
        if isinstance(part, dict)
        and (part.get("type") in ("tool_result", "function_call_output") or part.get("role") == "tool")
        and key in part
    ]
    for part, key in found[:-newest]:
        part[key] = text
    return other
