"""Codex: `sessions/YYYY/MM/DD/rollout-{time}-{thread}.jsonl`, one file a thread, sub-agents in files of their own.

Owns: which lines were sent. `response_item` is what the provider got; `event_msg` says the same once more for the
screen, except that it has more of a long output. Left out: reasoning, counts of tokens, what only the program needs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.canonical.message import Message, ResultText
from keepwhole.logs.lines import Lines
from keepwhole.logs.message_order import Timed, first_prompt, joined, run_from, seconds
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import Outputs
from keepwhole.wire.content import fields_of, kind_of_part, text_of
from keepwhole.wire.dialects import decode_message

NAME = "codex"
_TYPES = frozenset(
    ("session_meta", "turn_context", "world_state", "response_item", "event_msg", "token_usage_record", "compacted")
)
_UNSAID = frozenset(("reasoning", "ghost_snapshot", "compaction", "compaction_summary", "other"))
_CUT = " tokens truncated…"
_MOST_KEPT = 65_536
"""Characters of an output that an event has; one as long as that is cut too."""
_PRINTED = b'"aggregated_output"'
_OUTPUT = "\nOutput:\n"
_OWN_WORDS = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<skill")
_WHAT = "a line of Codex"


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


_DECODER = msgspec.json.Decoder(_Line)
_PAYLOAD = msgspec.json.Decoder(dict[str, Any])


def knows(value: object) -> bool:
    """Whether it is such a line."""
    fields = fields_of(value)
    return kind_of_part(fields) in _TYPES and isinstance(fields.get("payload"), dict)


def runs(lines: Lines) -> Iterator[Run]:
    """The one run of a file."""
    thread = _Thread(lines.path)
    for line in lines.decoded(_DECODER, _WHAT):
        if not isinstance(line.type, str):
            lines.unreadable(f"not {_WHAT}")
        elif line.type in thread.takers and (line.type != "event_msg" or _PRINTED in bytes(line.payload)):
            for payload in lines.decode(line.payload, _PAYLOAD, _WHAT):
                thread.takers[line.type](payload, seconds(line.timestamp))
    if run := thread.run():
        yield run


class _Thread:
    """What was sent on one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: list[Timed] = []
        self._meta: dict[str, Any] = {}
        self._printed: dict[str, str] = {}
        self._outputs = Outputs()
        self._compactions = 0
        self.takers = {
            "session_meta": self._begin,
            "turn_context": self._turn,
            "response_item": self._item,
            "event_msg": self._event,
            "compacted": self._compacted,
        }

    def _begin(self, payload: dict[str, Any], at: float | None) -> None:
        """The first one counts: a fork repeats that of the thread it came from."""
        if "id" not in self._meta:
            parent = payload.get("parent_thread_id") or payload.get("forked_from_id")
            told = fields_of(payload.get("base_instructions")).get("text") or payload.get("instructions")
            self._said.append(Timed(Message("system", text_of(told)), at))
            self._meta |= {"id": payload.get("id"), "parent": parent, "project": payload.get("cwd")}

    def _turn(self, payload: dict[str, Any], at: float | None) -> None:
        self._meta["model"] = text_of(payload.get("model"))

    def _item(self, payload: dict[str, Any], at: float | None) -> None:
        if kind_of_part(payload) in _UNSAID:
            return
        message = decode_message(payload)
        if message.role == "other":
            message = message._replace(role="assistant")
        if any(_CUT in one.text for one in message.returned):
            message = message._replace(returned=tuple(map(self._whole, message.returned)))
        for returned in message.returned:
            self._printed.pop(returned.call_id, None)
        self._said.append(Timed(message, at))

    def _event(self, payload: dict[str, Any], at: float | None) -> None:
        item = fields_of(payload.get("item")) or payload
        call_id = item.get("call_id") or item.get("id")
        if isinstance(call_id, str):
            self._printed[call_id] = text_of(item.get("aggregated_output"))

    def _compacted(self, payload: dict[str, Any], at: float | None) -> None:
        """The run goes on, and the summary is part of it, as it was for the model."""
        self._compactions += 1
        summary = text_of(payload.get("message"))
        last = self._said[-1].message if self._said else Message("other")
        if last.role == "assistant" and last.said and summary.endswith(last.said):
            del self._said[-1]  # the model was asked for the summary; that it wrote it is no part of the history
        self._said.append(Timed(Message("user", summary), at))

    def _whole(self, returned: ResultText) -> ResultText:
        """The result with as much of the output as there is, where it was cut."""
        if _CUT not in returned.text:
            return returned
        printed = self._printed.get(returned.call_id, "")
        head, mark, cut = returned.text.partition(_OUTPUT)
        is_longer = bool(mark) and len(printed) > len(cut)
        self._outputs.note(returned.call_id, is_longer and len(printed) < _MOST_KEPT)
        return returned._replace(text=head + mark + printed) if is_longer else returned

    def run(self) -> Run | None:
        """The run of the thread."""
        meta = {"format": NAME, "path": str(self._path), **self._meta, "compactions": self._compactions}
        meta |= self._outputs.found()
        meta["task_id"] = first_prompt(one.message for one in self._said if not one.message.said.startswith(_OWN_WORDS))
        id = text_of(meta.pop("id", "")) or self._path.name.partition(".")[0]
        return run_from(NAME, id, joined(self._said), meta)
