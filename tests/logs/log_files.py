"""Small logs in each client's own format, and how to read them."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keepwhole.logs.lines import UnreadPart
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run, texts

Line = dict[str, Any]


def written(path: Path, lines: Iterable[Line | str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def read(path: Path) -> tuple[list[Run], list[UnreadPart]]:
    found = list(read_runs(path))
    return [one for one in found if isinstance(one, Run)], [one for one in found if isinstance(one, UnreadPart)]


def the_run(path: Path) -> Run:
    """The one run of a log in which everything can be read."""
    (run,), unread = read(path)
    assert unread == []
    return run


def shape(run: Run) -> list[tuple[str, str, list[str], list[str]]]:
    """Role, words, calls and results of each message."""
    return [
        (one.role, one.said, [call.call_id for call in one.calls], [result.text for result in one.returned])
        for one in run.messages
    ]


def all_text(runs: Sequence[Run]) -> str:
    return "\n".join(text for run in runs for message in run.messages for text in texts(message))


class ClaudeCode:
    """A log that is written line by line; each line follows the last unless it is told otherwise."""

    def __init__(self, session: str = "S", **always: Any) -> None:
        self.lines: list[Line] = []
        self._always = {"sessionId": session, "cwd": "/w", "version": "2.1.197", "isSidechain": False, **always}

    def add(self, **fields: Any) -> str:
        number = len(self.lines)
        last = next((line["uuid"] for line in reversed(self.lines) if "uuid" in line), None)
        stamp = f"2030-01-01T00:00:{number % 60:02}.000Z"
        self.lines.append({"parentUuid": last, **self._always, "uuid": f"u{number}", "timestamp": stamp, **fields})
        return f"u{number}"

    def user(self, content: Any, **more: Any) -> str:
        return self.add(type="user", message={"role": "user", "content": content}, **more)

    def assistant(self, id: str, *blocks: Line, **more: Any) -> str:
        message = {"id": id, "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks)}
        return self.add(type="assistant", message={**message, "usage": {"input_tokens": 1}}, **more)

    def result(self, call_id: str, content: Any, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": False}
        return self.user([block], **{"toolUseResult": {"stdout": content, "stderr": ""}, **more})


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def use(id: str, **arguments: Any) -> Line:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": arguments}


def claude_code() -> list[Line]:
    log = ClaudeCode()
    log.lines.append({"type": "queue-operation", "operation": "enqueue", "sessionId": "S"})
    log.user("mark-prompt")
    log.assistant("m1", {"type": "thinking", "thinking": "hm", "signature": "s"})
    log.assistant("m1", text("mark-said"))
    first = log.assistant("m1", use("t1", command="mark-first"))
    second = log.assistant("m1", use("t2", command="mark-second"))
    log.result("t2", "mark-result-2", parentUuid=second)
    log.result("t1", "mark-result-1", parentUuid=first)
    log.add(type="attachment", attachment={"type": "todo"})
    log.assistant("m2", text("mark-answer"))
    log.lines.append({"type": "last-prompt", "lastPrompt": "p", "leafUuid": "u9", "sessionId": "S"})
    return log.lines


def rollout(*payloads: tuple[str, Line]) -> list[Line]:
    stamp = "2030-01-01T00:00:{:02}.000Z"
    return [
        {"timestamp": stamp.format(number % 60), "ordinal": number, "type": kind, "payload": payload}
        for number, (kind, payload) in enumerate(payloads)
    ]


def item(type: str, **fields: Any) -> tuple[str, Line]:
    return "response_item", {"type": type, **fields}


def codex() -> list[Line]:
    call = {"name": "exec_command", "arguments": '{"cmd": "ls"}'}
    return rollout(
        ("session_meta", {"id": "T", "cwd": "/w", "base_instructions": {"text": "mark-told"}}),
        ("turn_context", {"model": "gpt-x", "cwd": "/w"}),
        item("message", role="user", content=[{"type": "input_text", "text": "mark-prompt"}]),
        ("event_msg", {"type": "user_message", "message": "mark-prompt"}),
        item("reasoning", summary=[], encrypted_content="AAAA"),
        item("message", role="assistant", content=[{"type": "output_text", "text": "mark-said"}]),
        item("function_call", call_id="c1", **call),
        item("custom_tool_call", call_id="c2", name="apply_patch", input="mark-patch"),
        ("event_msg", {"type": "token_count", "info": {}}),
        item("function_call_output", call_id="c1", output="mark-result-1"),
        item("custom_tool_call_output", call_id="c2", output="mark-result-2"),
        item("message", role="assistant", content=[{"type": "output_text", "text": "mark-answer"}]),
    )


def gemini_cli() -> list[Line]:
    def told(id: str, output: str) -> Line:
        return {"functionResponse": {"id": id, "name": "shell", "response": {"output": output}}}

    calls = [
        {
            "id": f"g{n}",
            "name": "shell",
            "args": {"command": f"mark-{n}"},
            "result": [told(f"g{n}", f"mark-result-{n}")],
        }
        for n in (1, 2)
    ]
    said = {
        "id": "2",
        "type": "gemini",
        "content": "mark-said",
        "model": "gemini-x",
        "timestamp": "2030-01-01T00:00:02Z",
    }
    return [
        {"sessionId": "G", "projectHash": "h", "startTime": "2030-01-01T00:00:00Z", "kind": "main"},
        {"$set": {"messages": [{"id": "0", "type": "user", "content": [{"text": "<session_context>x"}]}]}},
        {"id": "1", "type": "user", "content": [{"text": "mark-prompt"}], "timestamp": "2030-01-01T00:00:01Z"},
        said,
        {**said, "toolCalls": calls},
        {"id": "3", "type": "user", "content": [told("g1", "mark-result-1"), told("g2", "mark-result-2")]},
        {"$set": {"lastUpdated": "2030-01-01T00:00:03Z"}},
        {"id": "4", "type": "info", "content": "the program says"},
        {"id": "5", "type": "gemini", "content": "mark-answer", "timestamp": "2030-01-01T00:00:05Z"},
    ]


def chat_messages() -> list[Line]:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "shell", "arguments": "{}"}} for n in (1, 2)]
    return [
        {"role": "user", "content": "mark-prompt"},
        {"role": "assistant", "content": "mark-said", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "mark-result-1"},
        {"role": "tool", "tool_call_id": "c2", "content": "mark-result-2"},
        {"role": "assistant", "content": "mark-answer"},
    ]


def anthropic_messages() -> list[Line]:
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"mark-result-{n}"} for n in (1, 2)]
    return [
        {"role": "user", "content": "mark-prompt"},
        {"role": "assistant", "content": [text("mark-said"), use("t1"), use("t2")]},
        {"role": "user", "content": results},
        {"role": "assistant", "content": [text("mark-answer")]},
    ]


def response_items() -> list[Line]:
    return [line["payload"] for line in codex() if line["type"] == "response_item"]


def opencode_database(path: Path, sessions: dict[str, list[tuple[Line, list[Line]]]]) -> Path:
    """A database with the columns that are read, as version 1.18 has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id, parent_id, directory, time_created)")
        database.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)")
        for session, messages in sessions.items():
            parent = session.partition("<")[2] or None
            database.execute("INSERT INTO session VALUES (?, ?, '/w', 0)", (session, parent))
            for number, (info, parts) in enumerate(messages):
                id = f"{session}-m{number}"
                database.execute("INSERT INTO message VALUES (?, ?, ?, 0, ?)", (id, session, number, json.dumps(info)))
                for at, part in enumerate(parts):
                    row = (f"{id}-p{at}", id, session, at, 0, part if isinstance(part, str) else json.dumps(part))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    database.close()
    return path


def tool_part(call_id: str, output: str, **more: Any) -> Line:
    state = {"status": "completed", "input": {"command": "x"}, "output": output, "time": {"start": 1, "end": 2}}
    return {"type": "tool", "tool": "bash", "callID": call_id, "state": {**state, **more}}


def opencode_session() -> list[tuple[Line, list[Line]]]:
    def info(role: str, at: int) -> Line:
        return {"role": role, "modelID": "m1", "time": {"created": 1_900_000_000_000 + at}}

    return [
        (info("user", 0), [text("mark-prompt")]),
        (
            info("assistant", 1),
            [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                text("mark-said"),
                tool_part("c1", "mark-result-1"),
                tool_part("c2", "mark-result-2"),
                {"type": "step-finish", "tokens": {}},
            ],
        ),
        (info("assistant", 2), [text("mark-answer")]),
    ]


USUAL = [
    ("user", "mark-prompt", [], []),
    ("assistant", "mark-said", ["1", "2"], []),
    ("tool", "", [], ["mark-result-1"]),
    ("tool", "", [], ["mark-result-2"]),
    ("assistant", "mark-answer", [], []),
]
"""What all of them tell, with calls by their last character."""


def told(run: Run) -> list[tuple[str, str, list[str], list[str]]]:
    """A run as `USUAL` has it: one result a message, in the order of the calls."""
    found: list[tuple[str, str, list[str], list[str]]] = []
    for role, said, calls, results in shape(run):
        rows = [("tool", "", [], [one]) for one in results] or [(role, said, [call[-1] for call in calls], [])]
        found += rows if role in ("user", "assistant", "tool") and "<session_context>" not in said else []
    first = next(at for at, row in enumerate(found) if row[3])
    return [*found[:first], *sorted(found[first : first + 2]), *found[first + 2 :]]
