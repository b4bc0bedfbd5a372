"""A client whose model writes long arguments, in any dialect: files, patches and scripts, each with a short result."""

import json
from typing import Any

from tests.upstream.spelling import Thinking, gemini_signature

Json = dict[str, Any]
DIALECTS = ("anthropic", "openai_chat", "openai_responses", "gemini", "converse")
WITH_FREE_TEXT = ("openai_chat", "openai_responses")
"""The dialects with tools whose input is free text."""
MODEL = {"anthropic": "claude-sonnet-5", "openai_chat": "gpt-5", "openai_responses": "gpt-5"}
_FIELDS = {"openai_responses": "input", "gemini": "contents"}
TOOLS = ("write", "patch", "bash")


def script(number: int, lines: int = 120) -> str:
    """The content of one file; no two have a line in common."""
    return "".join(f"value_{number}_{line} = compute({number * 1_000 + line})  # é {line}\n" for line in range(lines))


class WritingAgent:
    """One conversation and its requests."""

    def __init__(self, dialect: str, thinks: bool = False) -> None:
        self.dialect, self.thinks = dialect, thinks
        self.field = _FIELDS.get(dialect, "messages")
        self.messages: list[Json] = []
        self.ask("Write the files.")

    def ask(self, words: str) -> None:
        """The user says something; in Converse, whose roles alternate, after the model did."""
        if self.dialect == "converse" and self.messages:
            self.messages.append({"role": "assistant", "content": [{"text": "Done."}]})
        words_alone: Json = {"gemini": {"parts": [{"text": words}]}, "converse": {"content": [{"text": words}]}}
        self.messages.append({"role": "user", **words_alone.get(self.dialect, {"content": words})})

    def asked(self) -> list[int]:
        """The places of the messages in which the user says something."""
        first = [(at, [*_parts_of(message), {}][0]) for at, message in enumerate(self.messages)]
        return [at for at, part in first if self.messages[at].get("role") == "user" and "text" in part]

    def write(
        self, number: int, content: str | None = None, result: str = "File written.", failed: bool = False
    ) -> str:
        """One call that writes a file, and its result; returns what it wrote."""
        content = content or script(number)
        self.call(f"call_{number}", {"path": f"src/part_{number}.py", "content": content, "mode": 420}, result, failed)
        return content

    def patch(self, number: int, text: str, result: str = "Done!") -> None:
        """One call of a custom tool, whose input is free text."""
        call_id = f"call_{number}"
        if self.dialect == "openai_responses":
            self.messages.append({"type": "custom_tool_call", "call_id": call_id, "name": "patch", "input": text})
            self.messages.append({"type": "custom_tool_call_output", "call_id": call_id, "output": result})
        else:
            custom = {"id": call_id, "type": "custom", "custom": {"name": "patch", "input": text}}
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [custom]})
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    def call(self, call_id: str, arguments: Json, result: str, failed: bool = False) -> None:
        """One call and its result."""
        written = json.dumps(arguments)
        if self.dialect == "anthropic":
            thought = (
                [{"type": "thinking", "thinking": "hm", "signature": Thinking("hm").signature}] if self.thinks else []
            )
            use = {"type": "tool_use", "id": call_id, "name": "write", "input": arguments}
            done = {"type": "tool_result", "tool_use_id": call_id, "content": result}
            self.messages.append({"role": "assistant", "content": [*thought, use]})
            self.messages.append({"role": "user", "content": [{**done, "is_error": True} if failed else done]})
        elif self.dialect == "gemini":
            asked = {"name": "write", "args": arguments, "id": call_id}
            signed = {"thoughtSignature": gemini_signature(asked)} if self.thinks else {}
            answer = {"name": "write", "id": call_id, "response": {"error" if failed else "output": result}}
            self.messages.append({"role": "model", "parts": [{"functionCall": asked, **signed}]})
            self.messages.append({"role": "user", "parts": [{"functionResponse": answer}]})
        elif self.dialect == "converse":
            reasoning = {"reasoningText": {"text": "hm", "signature": Thinking("hm").signature}}
            use = {"toolUse": {"toolUseId": call_id, "name": "write", "input": arguments}}
            done = {"toolUseId": call_id, "content": [{"text": result}], **({"status": "error"} if failed else {})}
            thought = [{"reasoningContent": reasoning}] if self.thinks else []
            self.messages.append({"role": "assistant", "content": [*thought, use]})
            self.messages.append({"role": "user", "content": [{"toolResult": done}]})
        elif self.dialect == "openai_chat":
            made: Json = {"id": call_id, "type": "function", "function": {"name": "write", "arguments": written}}
            if self.thinks:
                made["extra_content"] = {"google": {"thought_signature": "sig"}}
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})
        else:
            if self.thinks:
                self.messages.append(
                    {
                        "type": "reasoning",
                        "id": "rs",
                        "summary": [],
                        "encrypted_content": f"{Thinking('hm').signature}:hm",
                    }
                )
            self.messages.append({"type": "function_call", "call_id": call_id, "name": "write", "arguments": written})
            self.messages.append({"type": "function_call_output", "call_id": call_id, "output": result})

    def body(self) -> bytes:
        """The next request."""
        if self.dialect == "gemini":
            offered: Json = {"tools": [{"functionDeclarations": [{"name": name} for name in TOOLS]}]}
            return json.dumps({"contents": self.messages, **offered}).encode()
        if self.dialect == "converse":
            specs = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in TOOLS]
            return json.dumps({"messages": self.messages, "toolConfig": {"tools": specs}}).encode()
        tools = [{"name": name} for name in TOOLS]
        made = {"model": MODEL[self.dialect], "max_tokens": 100, "tools": tools, self.field: self.messages}
        return json.dumps(made).encode()


def _parts_of(message: Json) -> list[Json]:
    content = message.get("parts", message.get("content"))
    return [{"text": content}] if isinstance(content, str) else content or []


def messages_of(body: bytes) -> list[Json]:
    """The messages of a request."""
    request = json.loads(body)
    return next(request[name] for name in ("messages", "input", "contents") if name in request)


def arguments_in(body: bytes) -> dict[str, Any]:
    """The arguments of each call in a request, parsed as the provider parses them; free text as it is."""
    found: dict[str, Any] = {}
    for message in messages_of(body):
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if block.get("type") == "tool_use":
                found[block["id"]] = block["input"]
            elif "toolUse" in block:
                found[block["toolUse"]["toolUseId"]] = block["toolUse"]["input"]
        calls = [part["functionCall"] for part in message.get("parts", ()) if "functionCall" in part]
        found |= {call.get("id") or f"call without an id {len(found)}": call["args"] for call in calls}
        for call in message.get("tool_calls") or ():
            called = call.get("function") or call["custom"]
            found[call["id"]] = json.loads(called["arguments"]) if "arguments" in called else called["input"]
        if message.get("type") == "function_call":
            found[message["call_id"]] = json.loads(message["arguments"])
        elif message.get("type") == "custom_tool_call":
            found[message["call_id"]] = message["input"]
    return found


def results_in(body: bytes) -> dict[str, str]:
    """The result of each call in a request."""
    found: dict[str, str] = {}
    for message in messages_of(body):
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if block.get("type") == "tool_result":
                found[block["tool_use_id"]] = block["content"]
            elif "toolResult" in block:
                found[block["toolResult"]["toolUseId"]] = block["toolResult"]["content"][0]["text"]
        answers = [part["functionResponse"] for part in message.get("parts", ()) if "functionResponse" in part]
        found |= {answer["id"]: "".join(answer["response"].values()) for answer in answers}
        if message.get("role") == "tool":
            found[message["tool_call_id"]] = message["content"]
        elif str(message.get("type")).endswith("_output"):
            found[message["call_id"]] = message["output"]
    return found
