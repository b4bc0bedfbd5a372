"""An agent of many steps over plain HTTP, in any dialect: it asks, calls tools, and remembers what they returned.

Owns: how a client of each dialect writes its requests and reads answers, whole and streamed.
Must not know: whether a proxy is in between.
"""

import gzip
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.apps.proxy.agent_world import World
from tests.upstream.spelling import Dialect, Json

TASK = "Follow the plan: look at the files, run the checks, and write down what they tell. " * 4
SYSTEM = (
    "You are careful. You read before you write, and you write down what you were told, never what you guess.\n" * 40
)
_TEXT = {"type": "string"}
_TOOLS = {
    "read_file": ("Read a file.", {"path": _TEXT, "offset": {"type": "integer"}, "limit": {"type": "integer"}}),
    "bash": ("Run a command.", {"command": _TEXT}),
    "grep": ("Search all files.", {"pattern": _TEXT}),
    "query": ("Read a table.", {"table": _TEXT}),
    "edit_file": ("Add a line to a file.", {"path": _TEXT, "add": _TEXT}),
}
_MARK = {"cache_control": {"type": "ephemeral"}}


class Kept(NamedTuple):
    """What a tool returned."""

    call_id: str
    tool: str
    text: str


class Outcome(NamedTuple):
    """What a run came to."""

    answer: str
    files: str
    """A digest of all files."""
    results: list[Kept]
    headers: list[dict[str, str]]
    """Of every response."""


class Agent:
    """One conversation with a provider, or with what stands before it."""

    def __init__(self, dialect: Dialect, url: str, session: str, streamed: bool | None = None) -> None:
        self._wire = WIRES[dialect]()
        self._host = url.removeprefix("http://")
        self._connection = http.client.HTTPConnection(self._host, timeout=60)
        self._headers = {"content-type": "application/json", "x-keepwhole-session": session, "x-api-key": "k"}
        self._headers["authorization"] = "Bearer k"
        self._streamed = streamed
        self.world = World()
        self.results: list[Kept] = []
        self.headers: list[dict[str, str]] = []

    def run(self, before: Callable[[int], None] = lambda step: None, most: int = 10_000) -> Outcome:
        """Go on until there is nothing more to call; `before` is told of every request."""
        try:
            for step in range(most):
                before(step)
                # Every other answer comes as a stream, unless one way is asked for.
                text, calls = self._ask(step % 2 == 1 if self._streamed is None else self._streamed)
                if not calls:
                    return Outcome(text, self.world.digest(), self.results, self.headers)
                self._wire.add_results([(call_id, *self._call(call_id, *call)) for call_id, *call in calls])
        finally:
            self._connection.close()
        raise AssertionError(f"the agent is not done after {most} steps")

    def _call(self, call_id: str, tool: str, arguments: Json) -> tuple[str, bool]:
        text, failed = self.world.call(tool, arguments)
        self.results.append(Kept(call_id, tool, text))
        return text, failed

    def _ask(self, streamed: bool) -> tuple[str, list[tuple[str, str, Json]]]:
        body = json.dumps(self._wire.request() | {"stream": streamed}, ensure_ascii=False).encode()
        answer = self._sent(body)
        self.headers.append({name.lower(): value for name, value in answer.getheaders()})
        data = gzip.decompress(answer.read()) if answer.headers["content-encoding"] == "gzip" else answer.read()
        assert answer.status == 200, f"{answer.status}: {data[:500]!r}"
        return self._wire.read(list(events_of(data)) if streamed else json.loads(data))

    def _sent(self, body: bytes) -> http.client.HTTPResponse:
        try:
            self._connection.request("POST", self._wire.path, body, self._headers)
            return self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):  # a kept connection may be closed any time
            self._connection.close()
            self._connection.request("POST", self._wire.path, body, self._headers)
            return self._connection.getresponse()


def events_of(data: bytes) -> Iterator[Json]:
    """The events of a stream; those that end it say nothing."""
    for event in data.decode().split("\n\n"):
        told = [line.removeprefix("data: ") for line in event.splitlines() if line.startswith("data: ")]
        if told and told[0] != "[DONE]":
            body = json.loads("\n".join(told))
            assert not body.get("error"), body
            yield body


class Anthropic:
    """Messages, with markers as coding agents set them: on the system's end and on the newest message, which moves."""

    path = "/v1/messages?beta=true"

    def __init__(self) -> None:
        self._messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]

    def request(self) -> Json:
        newest = self._messages[-1]
        marked = {**newest, "content": [*newest["content"][:-1], newest["content"][-1] | _MARK]}
        return {
            "model": "claude-sonnet-5",
            "max_tokens": 8_000,
            "system": [{"type": "text", "text": SYSTEM, **_MARK}],
            "tools": [
                {"name": name, "description": words, "input_schema": _schema(given)}
                for name, (words, given) in _TOOLS.items()
            ],
            "messages": [*self._messages[:-1], marked],
        }

    def read(self, told: Any) -> tuple[str, list[tuple[str, str, Json]]]:
        blocks = told["content"] if isinstance(told, dict) else _blocks(told)
        for block in blocks:
            block.pop("citations", None)
        self._messages.append({"role": "assistant", "content": blocks})
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        return text, [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]

    def add_results(self, done: list[tuple[str, str, bool]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call_id, "content": text} | ({"is_error": True} if failed else {})
            for call_id, text, failed in done
        ]
        self._messages.append({"role": "user", "content": blocks})


def _blocks(events: list[Json]) -> list[Json]:
    """The blocks of a streamed message."""
    blocks: list[Json] = []
    for event in events:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks), event
            blocks.append(dict(event["content_block"]) | {"json": ""})
        elif event["type"] == "content_block_delta":
            for key, value in event["delta"].items():
                if key != "type":
                    place = "json" if key == "partial_json" else key
                    blocks[event["index"]][place] = blocks[event["index"]].get(place, "") + value
    assert events[-1]["type"] == "message_stop", events[-1]
    for block in blocks:
        arguments = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(arguments or "{}")
    return blocks


class Chat:
    """Chat Completions."""

    path = "/v1/chat/completions"

    def __init__(self) -> None:
        self._messages: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]

    def request(self) -> Json:
        functions = [
            {"name": name, "description": words, "parameters": _schema(given)}
            for name, (words, given) in _TOOLS.items()
        ]
        return {
            "model": "gpt-5",
            "messages": self._messages,
            "tools": [{"type": "function", "function": function} for function in functions],
            "stream_options": {"include_usage": True},
        }

    def read(self, told: Any) -> tuple[str, list[tuple[str, str, Json]]]:
        text, calls = _of_message(told["choices"][0]["message"]) if isinstance(told, dict) else _of_chunks(told)
        self._messages.append({"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {}))
        made = [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
        return text, made

    def add_results(self, done: list[tuple[str, str, bool]]) -> None:
        self._messages += [{"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text, _ in done]


def _of_message(message: Json) -> tuple[str, list[Json]]:
    return message["content"] or "", message.get("tool_calls", [])


def _of_chunks(chunks: list[Json]) -> tuple[str, list[Json]]:
    """The words and the calls of a streamed message."""
    words, calls = "", dict[int, Json]()
    for delta in (choice["delta"] for chunk in chunks for choice in chunk["choices"]):
        words += delta.get("content") or ""
        for part in delta.get("tool_calls") or ():
            call = calls.setdefault(part["index"], {"id": "", "type": "function", "function": {"arguments": ""}})
            call["id"] = part.get("id") or call["id"]
            call["function"]["name"] = part["function"].get("name") or call["function"].get("name")
            call["function"]["arguments"] += part["function"].get("arguments") or ""
    return words, [calls[index] for index in sorted(calls)]


class Responses:
    """Responses, without a conversation at the provider's."""

    path = "/v1/responses"

    def __init__(self) -> None:
        self._items: list[Json] = [{"role": "user", "content": [{"type": "input_text", "text": TASK}]}]

    def request(self) -> Json:
        return {
            "model": "gpt-5",
            "instructions": SYSTEM,
            "input": self._items,
            "tools": [
                {"type": "function", "name": name, "description": words, "parameters": _schema(given)}
                for name, (words, given) in _TOOLS.items()
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def read(self, told: Any) -> tuple[str, list[tuple[str, str, Json]]]:
        items = told["output"] if isinstance(told, dict) else _items(told)
        self._items += items
        words = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
        calls = [item for item in items if item["type"] == "function_call"]
        return "".join(words), [(call["call_id"], call["name"], json.loads(call["arguments"])) for call in calls]

    def add_results(self, done: list[tuple[str, str, bool]]) -> None:
        self._items += [
            {"type": "function_call_output", "call_id": call_id, "output": text} for call_id, text, _ in done
        ]


def _items(events: list[Json]) -> list[Json]:
    """The items of a streamed response, as coding agents read them: each when it is done."""
    assert events[-1]["type"] == "response.completed", events[-1]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["id"] for item in done] == [item["id"] for item in events[-1]["response"]["output"]]
    return done


def _schema(properties: Json) -> Json:
    return {"type": "object", "properties": properties}


WIRES: dict[Dialect, Any] = {"anthropic": Anthropic, "openai_chat": Chat, "openai_responses": Responses}
