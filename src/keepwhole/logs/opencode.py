"""opencode: sessions, messages and parts in `opencode.db`, or as `opencode export` writes them.

Owns: its parts. A tool's part holds the call and the result. Left out: reasoning, snapshots, marks of steps.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.logs.lines import Lines
from keepwhole.logs.message_order import Timed, run_from, seconds
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import Outputs
from keepwhole.wire.content import fields_of, kind_of_part, parts_of, text_of
from keepwhole.wire.dialects import decode_message

NAME = "opencode"
_DECODER = msgspec.json.Decoder(dict[str, Any])


def knows(value: object) -> bool:
    """Whether it is an exported session."""
    fields = fields_of(value)
    first = next(iter(parts_of(fields.get("messages"))), None)
    return isinstance(fields.get("info"), dict) and (first is None or "parts" in fields_of(first))


def runs(lines: Lines) -> Iterator[Run]:
    """A run an exported session."""
    for record in lines.decoded(_DECODER, "a session of opencode"):
        session = Session(fields_of(record.get("info")), lines.path)
        for message in map(fields_of, parts_of(record.get("messages"))):
            session.add(fields_of(message.get("info")), [fields_of(part) for part in parts_of(message.get("parts"))])
        if run := session.run():
            yield run


class Session:
    """The messages of one session, as they come."""

    def __init__(self, info: Mapping[str, Any], path: Path) -> None:
        self._info, self._path = info, path
        self._said: list[Timed] = []
        self._model = ""
        self._compactions = 0
        self._outputs = Outputs(path.parent / "tool-output")

    def add(self, info: Mapping[str, Any], parts: list[dict[str, Any]]) -> None:
        """Take the next message."""
        at = seconds(fields_of(info.get("time")).get("created"))
        self._model = text_of(info.get("modelID")) or self._model
        self._compactions += any(kind_of_part(part) == "compaction" for part in parts)
        # A summary is what the model is told from then on.
        role = "user" if info.get("summary") is True else info.get("role")
        said = [block for part in parts for block in _BLOCKS.get(kind_of_part(part), _nothing)(part)]
        self._said.append(Timed(decode_message({"role": role, "content": said}), at))
        for part in parts:
            if kind_of_part(part) == "tool" and _is_done(part):
                ended = fields_of(fields_of(part.get("state")).get("time")).get("end")
                self._said.append(
                    Timed(decode_message({"role": "user", "content": [self._result(part)]}), seconds(ended))
                )

    def _result(self, part: Mapping[str, Any]) -> dict[str, Any]:
        state = fields_of(part.get("state"))
        failed = state.get("status") == "error"
        text = text_of(state.get("error" if failed else "output"))
        more = fields_of(state.get("metadata"))
        if more.get("truncated") is True and not failed:
            text = self._outputs.whole(text_of(part.get("callID")), text, more.get("outputPath"))
        media = [{"type": "image"} for _ in parts_of(state.get("attachments"))]
        content = [{"type": "text", "text": text}, *media]
        return {"type": "tool_result", "tool_use_id": part.get("callID"), "content": content, "is_error": failed}

    def run(self) -> Run | None:
        """The run of the session."""
        info = self._info
        meta = {"format": NAME, "path": str(self._path), "model": self._model, "compactions": self._compactions}
        meta |= {
            "project": info.get("directory"),
            "parent": info.get("parentID") or info.get("parent_id"),
            **self._outputs.found(),
        }
        return run_from(NAME, text_of(info.get("id")) or self._path.stem, self._said, meta)


def _is_done(part: Mapping[str, Any]) -> bool:
    return fields_of(part.get("state")).get("status") in ("completed", "error")


def _nothing(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return []


def _text(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [] if part.get("ignored") is True else [{"type": "text", "text": text_of(part.get("text"))}]


def _file(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Files that are text come again as a part of their own."""
    return [] if text_of(part.get("mime")).startswith(("text/", "application/x-directory")) else [{"type": "image"}]


def _call(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = fields_of(part.get("state")).get("input")
    return [{"type": "tool_use", "id": part.get("callID"), "name": part.get("tool"), "input": given}]


_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], list[dict[str, Any]]]] = {
    "text": _text,
    "file": _file,
    "tool": _call,
}
