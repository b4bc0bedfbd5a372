"""SWE-agent: `trajectories/…/{instance}.traj`, one JSON document per run.

Owns: its history, in which an action is a tool call or plain text. A text action becomes a call of the command that it
names, or of `bash`, so that its observation is a tool result.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from keepwhole.clients.swe_agent import SWE_AGENT
from keepwhole.logs.lines import DECODE_ERRORS, LogLines
from keepwhole.logs.message_order import Timed, build_run
from keepwhole.logs.run import Run
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of, json_text, parts_of, text_of

NAME = SWE_AGENT.name
_FILES = ("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "str_replace_editor", "view_image")
_SEARCH = ("search_dir", "search_file", "find_file", "filemap")
_COMMANDS = frozenset((*_FILES, *_SEARCH, "submit"))
"""The commands that SWE-agent adds to the shell."""
_DECODER = msgspec.json.Decoder(dict[str, Any])


def recognizes(value: object) -> bool:
    """Return whether a decoded document is a trajectory."""
    fields = fields_of(value)
    return isinstance(fields.get("trajectory"), list) and ("history" in fields or "info" in fields)


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the run of each document."""
    for number, record in enumerate(lines.decode_all(_DECODER, "a trajectory")):
        name = lines.path.name.partition(".")[0]
        meta = {"format": NAME, "path": str(lines.path), "model": _model(record)}
        meta["task_id"] = text_of(record.get("instance_id")) or name
        messages = _history(record) or _steps(record)
        run = build_run(NAME, f"{name}:{number}" if number else name, map(Timed, map(decode_logged, messages)), meta)
        if run:
            yield run
        else:
            lines.note_unreadable("not a trajectory")


def _model(record: Mapping[str, Any]) -> str:
    """Return the model from the settings of the run, which are stored as JSON text."""
    try:
        settings = fields_of(msgspec.json.decode(text_of(record.get("replay_config"))))
    except DECODE_ERRORS:
        return ""
    return text_of(fields_of(fields_of(settings.get("agent")).get("model")).get("name"))


def _history(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages as they were sent; an observation answers the text action before it."""
    found: list[dict[str, Any]] = []
    call_id = ""
    for number, item in enumerate(map(fields_of, parts_of(record.get("history")))):
        role, content = item.get("role"), item.get("content")
        action = text_of(item.get("action")).strip()
        if item.get("is_demo"):
            found.append({"role": "user", "content": content})
        elif role == "tool":
            ids = parts_of(item.get("tool_call_ids")) or [item.get("tool_call_id")]
            found.append({"role": "tool", "tool_call_id": ids[0], "content": content})
        elif role == "assistant" and action and not item.get("tool_calls"):
            call_id = f"action-{number}"
            found.append(_call_message(call_id, content, action))
        elif role == "user" and call_id:
            found.append({"role": "tool", "tool_call_id": call_id, "content": content})
            call_id = ""
        else:
            found.append(item)
    return found


def _steps(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a trajectory that has no history."""
    found: list[dict[str, Any]] = []
    for number, step in enumerate(map(fields_of, parts_of(record.get("trajectory")))):
        said, action = step.get("response") or step.get("thought"), text_of(step.get("action")).strip()
        if action:
            found.append(_call_message(f"action-{number}", said, action))
            found.append({"role": "tool", "tool_call_id": f"action-{number}", "content": step.get("observation")})
        else:
            found.append({"role": "assistant", "content": said})
    return found


def _call_message(call_id: str, said: object, action: str) -> dict[str, Any]:
    command = action.split(maxsplit=1)[0]
    function = {"name": command if command in _COMMANDS else "bash", "arguments": json_text({"command": action})}
    return {"role": "assistant", "content": said, "tool_calls": [{"id": call_id, "function": function}]}
