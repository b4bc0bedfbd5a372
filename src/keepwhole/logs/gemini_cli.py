"""Gemini CLI: `tmp/{project}/chats/session-{time}-{id}.jsonl`, and the `.json` of earlier versions.

Owns: its lines. A message that comes again with the same id replaces the earlier one; `$rewindTo` takes back; `$set`
updates, and where it brings messages again, with outputs that were masked since, the first version stands.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from keepwhole.canonical.message import Message
from keepwhole.logs.lines import Lines
from keepwhole.logs.message_order import TASK_CHARS, Timed, run_from, seconds
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import Outputs
from keepwhole.wire.content import fields_of, json_text, kind_of_part, parts_of, text_of
from keepwhole.wire.dialects import decode_message

NAME = "gemini-cli"
_SPOKEN = frozenset(("user", "gemini"))
_TYPES = frozenset((*_SPOKEN, "info", "error", "warning"))
_TOO_LARGE = "Output too large."
_NAMED = re.compile(r"For full output see: (.+)")
_WHAT = "a line of Gemini CLI"
_DECODER = msgspec.json.Decoder(dict[str, Any])


def knows(value: object) -> bool:
    """Whether it is such a line, or such a document."""
    fields = fields_of(value)
    if "sessionId" in fields and "projectHash" in fields:
        return True
    return "$set" in fields or "$rewindTo" in fields or ("id" in fields and kind_of_part(fields) == "gemini")


def runs(lines: Lines) -> Iterator[Run]:
    """The one run of a file."""
    messages: dict[str, dict[str, Any]] = {}
    meta: dict[str, Any] = {"format": NAME, "path": str(lines.path)}
    for record in lines.decoded(_DECODER, _WHAT):
        if isinstance(back := record.get("$rewindTo"), str):
            _rewind(messages, back)
        elif kind_of_part(record) in _TYPES and isinstance(record.get("id"), str):
            messages[record["id"]] = record
        elif knows(record):
            changed = fields_of(record.get("$set")) or record
            meta |= {key: changed[key] for key in ("sessionId", "kind") if key in changed}
            for message in map(fields_of, parts_of(changed.get("messages"))):
                messages.setdefault(str(message.get("id") or len(messages)), message)
        else:
            lines.unreadable(f"not {_WHAT}")
    id = text_of(meta.pop("sessionId", "")) or lines.path.name.partition(".")[0]
    said = list(messages.values())
    meta["model"] = next((one["model"] for one in reversed(said) if isinstance(one.get("model"), str)), "")
    meta["task_id"] = next((prompt for one in said if (prompt := _prompt(one))), "")
    outputs = Outputs(*(folder / "tool-outputs" / f"session-{id}" for folder in lines.path.parents[1:3]))
    found = list(_said(said, outputs))
    if run := run_from(NAME, id, found, meta | outputs.found()):
        yield run


def _rewind(messages: dict[str, dict[str, Any]], back: str) -> None:
    """Forget that message and all after it; all, where it is unknown."""
    ids = list(messages)
    for id in ids[ids.index(back) if back in messages else 0 :]:
        del messages[id]


def _said(messages: Iterable[Mapping[str, Any]], outputs: Outputs) -> Iterator[Timed]:
    """The messages; a result is told by its call, and once more by the user, and counts once."""
    answered: set[str] = set()
    for message in messages:
        at, kind = seconds(message.get("timestamp")), kind_of_part(message)
        if kind not in _SPOKEN:
            continue
        parts = [fields_of(part) for part in parts_of(message.get("content"))]
        calls = [fields_of(call) for call in parts_of(message.get("toolCalls"))]
        content = _words(message.get("content"), parts) + [_call(call) for call in calls]
        yield Timed(decode_message({"role": "assistant" if kind == "gemini" else "user", "content": content}), at)
        for call in calls:
            told = [fields_of(part) for part in parts_of(call.get("result"))]
            yield Timed(_results(told, answered, outputs), seconds(call.get("timestamp")))
        yield Timed(_results(parts, answered, outputs), at)


def _words(content: object, parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    said = [{"type": "text", "text": part["text"]} for part in parts if "text" in part and not part.get("thought")]
    return said + [{"type": "image"} for part in parts if "inlineData" in part or "fileData" in part]


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args") or {}}


def _results(parts: Iterable[Mapping[str, Any]], answered: set[str], outputs: Outputs) -> Message:
    blocks: list[dict[str, Any]] = []
    for part in parts:
        told = fields_of(part.get("functionResponse"))
        call_id, response = told.get("id"), fields_of(told.get("response"))
        if isinstance(call_id, str) and call_id not in answered:
            answered.add(call_id)
            text = json_text(response.get("output", response.get("error", response)))
            if text.startswith(_TOO_LARGE) and (named := _NAMED.search(text)):
                text = outputs.whole(call_id, text, named[1])
            failed = "error" in response
            blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": failed})
    return decode_message({"role": "user", "content": blocks})


def _prompt(message: Mapping[str, Any]) -> str:
    """What a user asked; not what the program tells in a user's name."""
    if kind_of_part(message) != "user":
        return ""
    parts = [fields_of(part) for part in parts_of(message.get("content"))]
    said = "\n".join(text_of(one["text"]) for one in _words(message.get("content"), parts) if "text" in one)
    return "" if said.startswith("<session_context>") else said.strip()[:TASK_CHARS]
