"""Requests as real clients send them: their headers, where they put cache markers, how they spell a prompt."""

import copy
import json
from typing import Any, NamedTuple

Json = dict[str, Any]
SUMMARISE = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nWrite <analysis> and <summary>."
CHECKPOINT = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary."
SO_FAR = "Here is the conversation so far:\n\n<conversation>\nuser: go\n</conversation>"


class Sent(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def data(self) -> bytes:
        return json.dumps(self.body, separators=(",", ":")).encode()

    @property
    def messages(self) -> list[Json]:
        return self.body.get("messages") or self.body["input"]


class ClaudeCode:
    """Claude Code: one cache marker that moves, a prompt as one block while it bears the marker, as text later."""

    dialect = "anthropic"
    tools = ({"name": "Bash", "description": "Run it.", "input_schema": {"type": "object"}},)

    def __init__(self, session: str = "5f0c-claude", agent: str | None = None) -> None:
        self.session, self.agent = session, agent

    def request(self, history: list[Json], path: str = "/v1/messages", **more: Any) -> Sent:
        user = {"device_id": "d", "account_uuid": "", "session_id": self.session}
        headers = {"x-claude-code-session-id": self.session, "x-app": "cli"}
        headers |= {"x-claude-code-agent-id": self.agent} if self.agent else {}
        body = {
            "model": "claude-sonnet-4-5",
            "messages": marked(history),
            "system": [{"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}}],
            "tools": list(self.tools),
            "metadata": {"user_id": json.dumps(user)},
            "max_tokens": 32_000,
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        }
        return Sent(path, headers, body | more)

    def title(self, words: str) -> Sent:
        prompt = [{"role": "user", "content": f"<session>{words}</session>"}]
        return self.request(prompt, tools=[], thinking={"type": "disabled"})

    def prompt(self, words: str) -> Json:
        return {"role": "user", "content": [{"type": "text", "text": words}]}

    def calls(self, *ids: str) -> list[Json]:
        made = [{"type": "tool_use", "id": one, "name": "Bash", "input": {"command": f"run {one}"}} for one in ids]
        return [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, *made]}]

    def results(self, **texts: str) -> list[Json]:
        blocks = [
            {"type": "tool_result", "tool_use_id": one, "content": text, "is_error": False}
            for one, text in texts.items()
        ]
        return [{"role": "user", "content": blocks}]

    def said(self, words: str) -> Json:
        return {"role": "assistant", "content": [{"type": "text", "text": words}]}

    def compaction(self, history: list[Json]) -> Sent:
        last = {"role": "user", "content": [{"type": "text", "text": SUMMARISE}]}
        if history[-1]["role"] == "user":
            last = {"role": "user", "content": [*history[-1]["content"], *last["content"]]}
            history = history[:-1]
        return self.request([*history, last])


class Codex:
    """Codex: developer messages, items with ids of their own, sub-agents as threads of one session."""

    dialect = "openai_responses"

    def __init__(self, session: str = "0199-codex", thread: str | None = None) -> None:
        self.session, self.thread = session, thread or session

    def request(self, history: list[Json], kind: str = "turn", path: str = "/v1/responses", **more: Any) -> Sent:
        turn = {"session_id": self.session, "thread_id": self.thread, "request_kind": kind}
        headers = {"session-id": self.session, "thread-id": self.thread, "x-codex-turn-metadata": json.dumps(turn)}
        first = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are Codex."}]}
        body = {
            "model": "gpt-5.5",
            "input": [first, *copy.deepcopy(history)],
            "tools": [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}],
            "store": False,
            "prompt_cache_key": self.session,
            "client_metadata": {"x-codex-turn-metadata": json.dumps(turn)},
        }
        return Sent(path, headers, body | more)

    def prompt(self, words: str) -> Json:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}

    def calls(self, *ids: str) -> list[Json]:
        return [
            {
                "type": "function_call",
                "id": f"fc_{one}",
                "call_id": one,
                "name": "exec_command",
                "arguments": json.dumps({"cmd": f"run {one}"}),
            }
            for one in ids
        ]

    def results(self, **texts: str) -> list[Json]:
        return [
            {"type": "function_call_output", "id": f"fco_{one}", "call_id": one, "output": text}
            for one, text in texts.items()
        ]

    def said(self, words: str) -> Json:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}

    def compaction(self, history: list[Json]) -> Sent:
        return self.request([*history, self.prompt(CHECKPOINT)], "compaction")


class Opencode:
    """opencode on Chat Completions: sub-agents have sessions of their own and name their parent."""

    dialect = "openai_chat"

    def __init__(self, session: str = "ses_1", parent: str | None = None) -> None:
        self.session, self.parent = session, parent

    def request(self, history: list[Json], **more: Any) -> Sent:
        headers = {"x-session-id": self.session, "x-session-affinity": self.session}
        headers |= {"x-parent-session-id": self.parent} if self.parent else {}
        body = {
            "model": "gpt-4o",
            "messages": [{"role": "system", "content": "You are opencode."}, *copy.deepcopy(history)],
            "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
        }
        return Sent("/v1/chat/completions", headers, body | more)

    def title(self, words: str) -> Sent:
        sent = self.request([{"role": "user", "content": f"Generate a title: {words}"}])
        del sent.body["tools"]
        return sent

    def prompt(self, words: str) -> Json:
        return {"role": "user", "content": words}

    def calls(self, *ids: str) -> list[Json]:
        made = [
            {"id": one, "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": one})}}
            for one in ids
        ]
        return [{"role": "assistant", "content": "", "tool_calls": made}]

    def results(self, **texts: str) -> list[Json]:
        return [{"role": "tool", "tool_call_id": one, "content": text} for one, text in texts.items()]

    def said(self, words: str) -> Json:
        return {"role": "assistant", "content": words}

    def compaction(self, history: list[Json]) -> Sent:
        sent = self.request([{"role": "user", "content": SO_FAR}])
        del sent.body["tools"]
        return sent


class Nameless(ClaudeCode):
    """A program that says nothing of itself."""

    def request(self, history: list[Json], path: str = "/v1/messages", **more: Any) -> Sent:
        sent = super().request(history, path, **more)
        del sent.body["metadata"]
        return sent._replace(headers={})


CLIENTS = (ClaudeCode, Codex, Opencode)


def marked(history: list[Json]) -> list[Json]:
    """The messages with one marker on the user's last block; a prompt that has lost it is plain text."""
    messages = copy.deepcopy(history)
    last = max((at for at, one in enumerate(messages) if one["role"] == "user"), default=-1)
    for at, message in enumerate(messages):
        content = message["content"]
        if at == last and isinstance(content, list):
            content[-1]["cache_control"] = {"type": "ephemeral"}
        elif message["role"] == "user" and len(content) == 1 and content[0]["type"] == "text":
            message["content"] = content[0]["text"]
    return messages


def bare(messages: list[Json]) -> list[Json]:
    """The messages without what a client moves: markers gone, text as one block."""
    found = json.loads(json.dumps(messages), object_hook=_unmarked)
    for message in found:
        if isinstance(message.get("content"), str) and message.get("role") == "user":
            message["content"] = [{"type": "text", "text": message["content"]}]
    return found


def _unmarked(fields: Json) -> Json:
    fields.pop("cache_control", None)
    return fields
