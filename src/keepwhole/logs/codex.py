"""Codex: `sessions/YYYY/MM/DD/rollout-{time}-{thread}.jsonl`, one file per thread, also for sub-agents.

Owns: which lines were sent. A `response_item` is what the provider got. An `event_msg` repeats it for the screen, but
has more of a long output. Left out: reasoning, token counts, lines that only the program needs. The frames that Codex
puts around results are taken off, as in its requests.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from keepwhole.canonical.message import Message, ResultText
from keepwhole.clients.codex import CODEX
from keepwhole.logs.lines import LogLines
from keepwhole.logs.message_order import Timed, build_run, epoch_seconds, first_prompt, merge_responses
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import SavedOutputs
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.models.tokens import estimate
from keepwhole.wire.content import fields_of, kind_of_part, text_of
from keepwhole.wire.frames import without_frames

NAME = CODEX.name
_TYPES = frozenset(
    ("session_meta", "turn_context", "world_state", "response_item", "event_msg", "token_usage_record", "compacted")
)
_NOT_SENT = frozenset(("reasoning", "ghost_snapshot", "compaction", "compaction_summary", "other"))
_CUT = " tokens truncated…"
_EVENT_CHARS = 65_536
"""The most characters of an output in an event; one of this length is truncated too."""
_OUTPUT_FIELD = b'"aggregated_output"'
_OUTPUT_MARK = "\nOutput:\n"
_PROGRAM_PROMPTS = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<skill")
_WHAT = "a line of Codex"


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


_DECODER = msgspec.json.Decoder(_Line)
_PAYLOAD = msgspec.json.Decoder(dict[str, Any])


def recognizes(value: object) -> bool:
    """Return whether a decoded line was written by Codex."""
    fields = fields_of(value)
    return kind_of_part(fields) in _TYPES and isinstance(fields.get("payload"), dict)


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the one run of a file."""
    thread = _Thread(lines.path)
    for line in lines.decode_all(_DECODER, _WHAT):
        if not isinstance(line.type, str):
            lines.note_unreadable(f"not {_WHAT}")
        elif line.type in thread.handlers and (line.type != "event_msg" or _OUTPUT_FIELD in bytes(line.payload)):
            for payload in lines.decode(line.payload, _PAYLOAD, _WHAT):
                thread.handlers[line.type](payload, epoch_seconds(line.timestamp))
    if run := thread.run():
        yield run


def _without_frames(message: Message) -> Message:
    """The message with results as the tools returned them; the tokens of their frames are counted as `other`."""
    message = without_frames(message, NAME)
    return message._replace(other=message.other + sum(estimate(one.before) for one in message.returned))


class _Thread:
    """The messages that were sent on one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: list[Timed] = []
        self._meta: dict[str, Any] = {}
        self._event_outputs: dict[str, str] = {}
        self._outputs = SavedOutputs()
        self._compactions = 0
        self.handlers = {
            "session_meta": self._add_session,
            "turn_context": self._add_turn,
            "response_item": self._add_item,
            "event_msg": self._add_event,
            "compacted": self._add_compaction,
        }

    def _add_session(self, payload: dict[str, Any], at: float | None) -> None:
        """Add the system prompt and the ids of the first such line; a fork repeats the line of its parent."""
        if "id" not in self._meta:
            parent = payload.get("parent_thread_id") or payload.get("forked_from_id")
            instructions = fields_of(payload.get("base_instructions")).get("text") or payload.get("instructions")
            self._messages.append(Timed(Message("system", text_of(instructions)), at))
            self._meta |= {"id": payload.get("id"), "parent": parent, "project": payload.get("cwd")}

    def _add_turn(self, payload: dict[str, Any], at: float | None) -> None:
        self._meta["model"] = text_of(payload.get("model"))

    def _add_item(self, payload: dict[str, Any], at: float | None) -> None:
        if kind_of_part(payload) in _NOT_SENT:
            return
        message = decode_logged(payload)
        if message.role == "other":
            message = message._replace(role="assistant")
        if any(_CUT in one.text for one in message.returned):
            message = message._replace(returned=tuple(map(self._restore, message.returned)))
        for returned in message.returned:
            self._event_outputs.pop(returned.call_id, None)
        self._messages.append(Timed(_without_frames(message), at))

    def _add_event(self, payload: dict[str, Any], at: float | None) -> None:
        item = fields_of(payload.get("item")) or payload
        call_id = item.get("call_id") or item.get("id")
        if isinstance(call_id, str):
            self._event_outputs[call_id] = text_of(item.get("aggregated_output"))

    def _add_compaction(self, payload: dict[str, Any], at: float | None) -> None:
        """Add the summary as a user message, as the model gets it; the run goes on."""
        self._compactions += 1
        summary = text_of(payload.get("message"))
        last = self._messages[-1].message if self._messages else Message("other")
        if last.role == "assistant" and last.said and summary.endswith(last.said):
            del self._messages[-1]  # the model wrote the summary in a request of its own, outside the history
        self._messages.append(Timed(Message("user", summary), at))

    def _restore(self, returned: ResultText) -> ResultText:
        """Return a truncated result with the longer output of its event, if there is one."""
        if _CUT not in returned.text:
            return returned
        output = self._event_outputs.get(returned.call_id, "")
        head, mark, cut = returned.text.partition(_OUTPUT_MARK)
        is_longer = bool(mark) and len(output) > len(cut)
        self._outputs.note(returned.call_id, is_longer and len(output) < _EVENT_CHARS)
        return returned._replace(text=head + mark + output) if is_longer else returned

    def run(self) -> Run | None:
        """Return the run of the thread."""
        meta = {"format": NAME, "path": str(self._path), **self._meta, "compactions": self._compactions}
        meta |= self._outputs.as_meta()
        by_people = (one.message for one in self._messages if not one.message.said.startswith(_PROGRAM_PROMPTS))
        meta["task_id"] = first_prompt(by_people)
        id = text_of(meta.pop("id", "")) or self._path.name.partition(".")[0]
        return build_run(NAME, id, merge_responses(self._messages), meta)
