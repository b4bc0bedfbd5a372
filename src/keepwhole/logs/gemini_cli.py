"""Gemini CLI: `tmp/{project}/chats/session-{time}-{id}.jsonl`, and the `.json` of earlier versions.

Owns: its lines. A message with the id of an earlier one replaces it. `$rewindTo` removes messages. `$set` updates the
session; where it repeats messages, with outputs that the client has masked since, the first version is kept.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from keepwhole.canonical.message import Message
from keepwhole.clients.gemini_cli import GEMINI_CLI
from keepwhole.logs.lines import LogLines
from keepwhole.logs.message_order import TASK_CHARS, Timed, build_run, epoch_seconds
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import SavedOutputs
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of, json_text, kind_of_part, parts_of, text_of

NAME = GEMINI_CLI.name
_SENT = frozenset(("user", "gemini"))
_TYPES = frozenset((*_SENT, "info", "error", "warning"))
_TOO_LARGE = "Output too large."
_SAVED_TO = re.compile(GEMINI_CLI.saved_to)
_WHAT = "a line of Gemini CLI"
_DECODER = msgspec.json.Decoder(dict[str, Any])


def recognizes(value: object) -> bool:
    """Return whether a decoded line or document was written by Gemini CLI."""
    fields = fields_of(value)
    if "sessionId" in fields and "projectHash" in fields:
        return True
    return "$set" in fields or "$rewindTo" in fields or ("id" in fields and kind_of_part(fields) == "gemini")


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the one run of a file."""
    messages: dict[str, dict[str, Any]] = {}
    meta: dict[str, Any] = {"format": NAME, "path": str(lines.path)}
    for record in lines.decode_all(_DECODER, _WHAT):
        if isinstance(back := record.get("$rewindTo"), str):
            _rewind(messages, back)
        elif kind_of_part(record) in _TYPES and isinstance(record.get("id"), str):
            messages[record["id"]] = record
        elif recognizes(record):
            changed = fields_of(record.get("$set")) or record
            meta |= {key: changed[key] for key in ("sessionId", "kind") if key in changed}
            for message in map(fields_of, parts_of(changed.get("messages"))):
                messages.setdefault(str(message.get("id") or len(messages)), message)
        else:
            lines.note_unreadable(f"not {_WHAT}")
    id = text_of(meta.pop("sessionId", "")) or lines.path.name.partition(".")[0]
    sent = list(messages.values())
    meta["model"] = next((one["model"] for one in reversed(sent) if isinstance(one.get("model"), str)), "")
    meta["task_id"] = next((prompt for one in sent if (prompt := _prompt(one))), "")
    outputs = SavedOutputs(*(folder / "tool-outputs" / f"session-{id}" for folder in lines.path.parents[1:3]))
    timed = list(_timed_messages(sent, outputs))
    if run := build_run(NAME, id, timed, meta | outputs.as_meta()):
        yield run


def _rewind(messages: dict[str, dict[str, Any]], back: str) -> None:
    """Remove a message and all after it; remove all messages if it is unknown."""
    ids = list(messages)
    for id in ids[ids.index(back) if back in messages else 0 :]:
        del messages[id]


def _timed_messages(messages: Iterable[Mapping[str, Any]], outputs: SavedOutputs) -> Iterator[Timed]:
    """Yield the messages; a result is stored with its call and again with the user's message, and is yielded once."""
    answered: set[str] = set()
    for message in messages:
        at, kind = epoch_seconds(message.get("timestamp")), kind_of_part(message)
        if kind not in _SENT:
            continue
        parts = [fields_of(part) for part in parts_of(message.get("content"))]
        calls = [fields_of(call) for call in parts_of(message.get("toolCalls"))]
        content = _content(message.get("content"), parts) + [_call(call) for call in calls]
        yield Timed(decode_logged({"role": "assistant" if kind == "gemini" else "user", "content": content}), at)
        for call in calls:
            result = [fields_of(part) for part in parts_of(call.get("result"))]
            yield Timed(_results(result, answered, outputs), epoch_seconds(call.get("timestamp")))
        yield Timed(_results(parts, answered, outputs), at)


def _content(content: object, parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    text = [{"type": "text", "text": part["text"]} for part in parts if "text" in part and not part.get("thought")]
    return text if any("functionResponse" in part for part in parts) else text + _media(parts)


def _media(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks of images and documents among these parts."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        inside, named = fields_of(part.get("inlineData")), fields_of(part.get("fileData"))
        source = {"type": "base64", "media_type": inside.get("mimeType"), "data": inside.get("data")}
        if inside or named:
            mime = text_of((inside or named).get("mimeType"))
            kind = "audio" if mime.startswith("audio/") else "document" if mime == "application/pdf" else "image"
            blocks.append({"type": kind, "source": source if inside else {"type": "url", "url": named.get("fileUri")}})
    return blocks


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args") or {}}


def _results(parts: Iterable[Mapping[str, Any]], answered: set[str], outputs: SavedOutputs) -> Message:
    """Return the results among these parts; images stand behind the result that they belong to, or inside of it."""
    blocks: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for part in parts:
        content += _media([part])
        returned = fields_of(part.get("functionResponse"))
        call_id, response = text_of(returned.get("id")), fields_of(returned.get("response"))
        content = [] if returned else content
        if returned and call_id not in answered:
            answered.update([call_id] if call_id else [])
            text = json_text(response.get("output", response.get("error", response)))
            if text.startswith(_TOO_LARGE) and (named := _SAVED_TO.search(text)):
                text = outputs.restore(call_id, text, named[1])
            failed, media = "error" in response, _media(map(fields_of, parts_of(returned.get("parts"))))
            content = [{"type": "text", "text": text}, *media]
            blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": failed})
    return decode_logged({"role": "user", "content": blocks})


def _prompt(message: Mapping[str, Any]) -> str:
    """Return the prompt of a user message; empty for one that the program wrote."""
    if kind_of_part(message) != "user":
        return ""
    parts = [fields_of(part) for part in parts_of(message.get("content"))]
    said = "\n".join(text_of(one["text"]) for one in _content(message.get("content"), parts) if "text" in one)
    return "" if said.startswith("<session_context>") else said.strip()[:TASK_CHARS]
