"""Claude Code: `projects/{folder}/{session}.jsonl`, sub-agents in files of their own or among the lines.

Owns: the lines, their links, which of them were sent, and how Claude Code stores outputs that it truncated. The
`parentUuid` of a line names the line that it follows. The run is the path from the last line back to the first, so
messages that a user rewound are left out; parallel calls branch off that path and belong to the run.
Left out: thinking, messages that the program wrote in the model's name, bookkeeping.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from keepwhole.canonical.message import Message, ResultText
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.logs.lines import DECODE_ERRORS, LogLines
from keepwhole.logs.message_order import Timed, build_run, epoch_seconds, merge_messages
from keepwhole.logs.run import Run
from keepwhole.logs.saved_outputs import SavedOutputs
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of, kind_of_part, text_of

NAME = CLAUDE_CODE.name
_BOOKKEEPING = frozenset(("summary", "file-history-snapshot", "queue-operation", "last-prompt", "mode", "ai-title"))
_WHAT = "a line of Claude Code"
_UNNAMED = "side"
"""The name of all sub-agents in old logs, which do not name them: only links tell them apart."""
_CUT_FRAME = "<persisted-output>"
_CUT_ERROR = "Error: result ("
_SAVED_TO = re.compile(CLAUDE_CODE.saved_to)
_SAVED_TO_WITHIN = 2_000
_THINKING = ("thinking", "redacted_thinking")


class _Body(msgspec.Struct, gc=False):
    """The message of a line, without its usage."""

    id: Any = None
    model: Any = None
    role: Any = None
    content: Any = None


class _Line(msgspec.Struct, gc=False):
    """The needed fields of a line; scalars may have any type, since the format is not documented."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parent: Any = msgspec.field(default="", name="parentUuid")
    """None if the line follows no other one; empty if the field is missing."""
    before: Any = msgspec.field(default=None, name="logicalParentUuid")
    session: Any = msgspec.field(default=None, name="sessionId")
    streamed_session: Any = msgspec.field(default=None, name="session_id")
    agent: Any = msgspec.field(default=None, name="agentId")
    streamed_agent: Any = msgspec.field(default=None, name="parent_tool_use_id")
    is_side: Any = msgspec.field(default=False, name="isSidechain")
    is_summary: Any = msgspec.field(default=False, name="isCompactSummary")
    timestamp: Any = None
    cwd: Any = None
    message: _Body | str | None = None
    result: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="toolUseResult")


class _Entry(NamedTuple):
    """A line of a thread."""

    uuid: str
    parent: str | None
    message: Message | None
    message_id: str | None
    at: float | None


_DECODER = msgspec.json.Decoder(_Line)


def recognizes(value: object) -> bool:
    """Return whether a decoded line was written by Claude Code."""
    fields = fields_of(value)
    kind = kind_of_part(fields)
    if kind in ("user", "assistant"):
        return isinstance(fields.get("message"), dict)
    return "parentUuid" in fields or kind in _BOOKKEEPING


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the run of the session and of its sub-agents, in the order of their first lines."""
    threads = _Threads(lines.path)
    for line in lines.decode_all(_DECODER, _WHAT):
        uuid = line.uuid if isinstance(line.uuid, str) else ""
        if not isinstance(line.type, str):
            lines.note_unreadable(f"not {_WHAT}")
        elif uuid not in threads.seen and (uuid or isinstance(line.message, _Body)):
            threads.add(line, uuid or f"line {len(threads.seen)}")
    for thread in threads.all:
        if run := thread.run():
            yield run


class _Threads:
    """The threads of a file: which line belongs to which agent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen: dict[str, _Thread] = {}
        self.all: list[_Thread] = []
        self._latest: dict[str, _Thread] = {}

    def add(self, line: _Line, uuid: str) -> None:
        """Add a line to its thread; begin a new thread if it follows none."""
        agent = line.agent or line.streamed_agent
        agent = agent if isinstance(agent, str) else _UNNAMED if line.is_side is True else ""
        named = line.parent or line.before
        followed = self.seen.get(named) if isinstance(named, str) else None
        thread = followed if followed and followed.agent == agent else self._latest.get(agent)
        is_new_branch = agent == _UNNAMED and followed is not None and followed is not thread
        if thread is None or (thread.has_messages and (_begins(line) or is_new_branch)):
            thread = self._begin(agent)
        thread.add(line, uuid)
        self.seen[uuid] = thread

    def _begin(self, agent: str) -> "_Thread":
        number = 1 + sum(thread.agent == agent for thread in self.all)
        thread = _Thread(agent, number, self._path)
        self.all.append(thread)
        self._latest[agent] = thread
        return thread


def _begins(line: _Line) -> bool:
    """Return whether a line follows no other one; a compaction does not begin a new run."""
    return isinstance(line.message, _Body) and line.parent is None and not line.before and not line.is_summary


class _Thread:
    """The lines of one agent."""

    def __init__(self, agent: str, number: int, path: Path) -> None:
        self.agent = agent
        self.has_messages = False
        self._number = number
        self._session = ""
        self._path = path
        self._entries: dict[str, _Entry] = {}
        self._last = ""
        self._meta: dict[str, Any] = {}
        self._outputs = _saved_outputs(path)
        self._compactions = 0

    def add(self, line: _Line, uuid: str) -> None:
        """Append the next line."""
        if isinstance(session := line.session or line.streamed_session, str):
            self._session = session
        if isinstance(line.cwd, str):
            self._meta.setdefault("project", line.cwd)
        self._compactions += line.subtype == "compact_boundary"
        message = self._message(line)
        message_id = line.message.id if isinstance(line.message, _Body) and isinstance(line.message.id, str) else None
        self._entries[uuid] = _Entry(uuid, self._parent(line), message, message_id, epoch_seconds(line.timestamp))
        if message is not None:
            self._last, self.has_messages = uuid, True

    def _parent(self, line: _Line) -> str | None:
        """Return the line that this one follows; the previous line if it names none or an unknown one."""
        named = line.parent or line.before
        return named if isinstance(named, str) and named in self._entries else next(reversed(self._entries), None)

    def _message(self, line: _Line) -> Message | None:
        body = line.message
        if not isinstance(body, _Body) or line.type not in ("user", "assistant") or body.model == "<synthetic>":
            return None
        if isinstance(body.model, str):
            self._meta["model"] = body.model
        role = body.role if isinstance(body.role, str) else line.type
        message = decode_logged({"role": role, "content": _without_thinking(body.content)})
        return _restore(message, line.result, self._outputs) if message.returned else message

    def run(self) -> Run | None:
        """Return the run of the messages on the path to the last line."""
        session = self._session or self._path.name.partition(".")[0]
        name = self.agent if self._number == 1 else f"{self.agent}#{self._number}"
        meta = {"format": NAME, "path": str(self._path), **self._meta, "compactions": self._compactions}
        meta |= {"agent": self.agent, "parent": session if self.agent else "", **self._outputs.as_meta()}
        return build_run(NAME, f"{session}/{name}" if name else session, _responses(self._sent()), meta)

    def _sent(self) -> list[_Entry]:
        """Return the lines on the path to the last one, the rest of each response on it, and the results of calls."""
        path: set[str] = set()
        at: str | None = self._last
        while at and at not in path:
            path.add(at)
            at = self._entries[at].parent
        responses = {self._entries[uuid].message_id for uuid in path} - {None}
        entries = [one for one in self._entries.values() if one.message]
        on_path = [one for one in entries if one.uuid in path or one.message_id in responses]
        rewound = _call_ids(entries) - _call_ids(on_path)
        kept = {one.uuid for one in on_path}
        return [one for one in entries if one.uuid in kept or _has_result(one, rewound)]


def _call_ids(entries: Iterable[_Entry]) -> set[str]:
    return {call.call_id for one in entries for call in cast("Message", one.message).calls}


def _has_result(entry: _Entry, rewound: set[str]) -> bool:
    """Return whether a line has results and none of a rewound call; the call itself may be in a broken line."""
    returned = cast("Message", entry.message).returned
    return bool(returned) and all(one.call_id not in rewound for one in returned)


def _responses(entries: list[_Entry]) -> list[Timed]:
    """Return the messages, with the lines of one response merged into one."""
    found: dict[str, Timed] = {}
    for entry in entries:
        message = cast("Message", entry.message)
        key = f"id {entry.message_id}" if entry.message_id and message.role == "assistant" else entry.uuid
        before = found.get(key)
        found[key] = Timed(merge_messages(before.message, message), before.at) if before else Timed(message, entry.at)
    return list(found.values())


def _without_thinking(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [block for block in cast("list[Any]", content) if fields_of(block).get("type") not in _THINKING]


def _saved_outputs(log: Path) -> SavedOutputs:
    """Return the saved outputs of a session, given its own log or the log of one of its sub-agents."""
    session = log.parent / log.name.partition(".")[0]
    return SavedOutputs(session / "tool-results", log.parent.parent / "tool-results")


def _restore(message: Message, result: msgspec.Raw, outputs: SavedOutputs) -> Message:
    """Return the message with each truncated output whole again, as far as it was saved."""
    if not any(_is_cut(one.text) for one in message.returned):
        return message
    kept = _decode_result(result)
    return message._replace(returned=tuple(_restore_one(one, kept, outputs) for one in message.returned))


def _restore_one(returned: ResultText, kept: dict[str, Any], outputs: SavedOutputs) -> ResultText:
    if not _is_cut(returned.text):
        return returned
    named = _SAVED_TO.search(returned.text, 0, _SAVED_TO_WITHIN)
    text = outputs.read_saved(kept.get("persistedOutputPath") or (named and named[1]))
    is_whole = text is not None
    if text is None:
        text, size = text_of(kept.get("stdout")), kept.get("persistedOutputSize")
        is_whole = bool(text) and (not isinstance(size, int) or len(text.encode()) >= size)
    outputs.note(returned.call_id, is_whole)
    return returned._replace(text=text) if is_whole or len(text) > len(returned.text) else returned


def _decode_result(result: msgspec.Raw) -> dict[str, Any]:
    try:
        return fields_of(msgspec.json.decode(result))
    except DECODE_ERRORS:
        return {}


def _is_cut(text: str) -> bool:
    return text.startswith(_CUT_FRAME) or (text.startswith(_CUT_ERROR) and "has been saved to" in text[:300])
