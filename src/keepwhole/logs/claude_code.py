"""Claude Code: `projects/{folder}/{session}.jsonl`, sub-agents in files of their own or among the lines.

Owns: the lines, their links, and which of them were sent. A line's `parentUuid` says what it follows: the run is the
way back from the last line, so that what a user took back is left out; parallel calls hang off it and belong to it.
Left out: thinking, what the program itself wrote in the model's name, bookkeeping.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from keepwhole.canonical.message import Message
from keepwhole.logs import claude_code_outputs
from keepwhole.logs.lines import Lines
from keepwhole.logs.message_order import Timed, merged, run_from, seconds
from keepwhole.logs.run import Run
from keepwhole.wire.content import fields_of, kind_of_part
from keepwhole.wire.dialects import decode_message

NAME = "claude-code"
_BOOKKEEPING = frozenset(("summary", "file-history-snapshot", "queue-operation", "last-prompt", "mode", "ai-title"))
_WHAT = "a line of Claude Code"
_UNNAMED = "side"
"""Old logs do not name their sub-agents: only links tell them apart."""
_THINKING = ("thinking", "redacted_thinking")


class _Body(msgspec.Struct, gc=False):
    """What was sent or received; its usage is passed over."""

    id: Any = None
    model: Any = None
    role: Any = None
    content: Any = None


class _Line(msgspec.Struct, gc=False):
    """What is needed of a line; scalars may be of any type, since nothing promises theirs."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parent: Any = msgspec.field(default="", name="parentUuid")
    """None where it follows nothing; empty where nothing is said of it."""
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
    """A line among the others of its thread."""

    uuid: str
    parent: str | None
    message: Message | None
    message_id: str | None
    at: float | None


_DECODER = msgspec.json.Decoder(_Line)


def knows(value: object) -> bool:
    """Whether it is such a line."""
    fields = fields_of(value)
    kind = kind_of_part(fields)
    if kind in ("user", "assistant"):
        return isinstance(fields.get("message"), dict)
    return "parentUuid" in fields or kind in _BOOKKEEPING


def runs(lines: Lines) -> Iterator[Run]:
    """The session, and its sub-agents, in the order of their first lines."""
    threads = _Threads(lines.path)
    for line in lines.decoded(_DECODER, _WHAT):
        uuid = line.uuid if isinstance(line.uuid, str) else ""
        if not isinstance(line.type, str):
            lines.unreadable(f"not {_WHAT}")
        elif uuid not in threads.seen and (uuid or isinstance(line.message, _Body)):
            threads.add(line, uuid or f"line {len(threads.seen)}")
    for thread in threads.begun:
        if run := thread.run():
            yield run


class _Threads:
    """Whose line is whose."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen: dict[str, _Thread] = {}
        self.begun: list[_Thread] = []
        self._latest: dict[str, _Thread] = {}

    def add(self, line: _Line, uuid: str) -> None:
        """Put a line into its thread."""
        agent = line.agent or line.streamed_agent
        agent = agent if isinstance(agent, str) else _UNNAMED if line.is_side is True else ""
        named = line.parent or line.before
        followed = self.seen.get(named) if isinstance(named, str) else None
        thread = followed if followed and followed.agent == agent else self._latest.get(agent)
        is_off_main = agent == _UNNAMED and followed is not None and followed is not thread
        if thread is None or (thread.has_messages and (_begins(line) or is_off_main)):
            thread = self._begin(agent)
        thread.add(line, uuid)
        self.seen[uuid] = thread

    def _begin(self, agent: str) -> "_Thread":
        number = 1 + sum(thread.agent == agent for thread in self.begun)
        thread = _Thread(agent, number, self._path)
        self.begun.append(thread)
        self._latest[agent] = thread
        return thread


def _begins(line: _Line) -> bool:
    """Whether it says that it follows nothing, and is no compaction, which the run goes on past."""
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
        self._outputs = claude_code_outputs.outputs_beside(path)
        self._compactions = 0

    def add(self, line: _Line, uuid: str) -> None:
        """Take the next line."""
        if isinstance(session := line.session or line.streamed_session, str):
            self._session = session
        if isinstance(line.cwd, str):
            self._meta.setdefault("project", line.cwd)
        self._compactions += line.subtype == "compact_boundary"
        message = self._message(line)
        message_id = line.message.id if isinstance(line.message, _Body) and isinstance(line.message.id, str) else None
        self._entries[uuid] = _Entry(uuid, self._parent(line), message, message_id, seconds(line.timestamp))
        if message is not None:
            self._last, self.has_messages = uuid, True

    def _parent(self, line: _Line) -> str | None:
        """What it follows; the line before it where the one that it names is lost, or where it names none."""
        named = line.parent or line.before
        return named if isinstance(named, str) and named in self._entries else next(reversed(self._entries), None)

    def _message(self, line: _Line) -> Message | None:
        body = line.message
        if not isinstance(body, _Body) or line.type not in ("user", "assistant") or body.model == "<synthetic>":
            return None
        if isinstance(body.model, str):
            self._meta["model"] = body.model
        role = body.role if isinstance(body.role, str) else line.type
        message = decode_message({"role": role, "content": _without_thinking(body.content)})
        return claude_code_outputs.restored(message, line.result, self._outputs) if message.returned else message

    def run(self) -> Run | None:
        """What was said on the way to the last line."""
        session = self._session or self._path.name.partition(".")[0]
        name = self.agent if self._number == 1 else f"{self.agent}#{self._number}"
        meta = {"format": NAME, "path": str(self._path), **self._meta, "compactions": self._compactions}
        meta |= {"agent": self.agent, "parent": session if self.agent else "", **self._outputs.found()}
        return run_from(NAME, f"{session}/{name}" if name else session, _responses(self._sent()), meta)

    def _sent(self) -> list[_Entry]:
        """The way back from the last line, with the rest of each response on it and the results of its calls."""
        way: set[str] = set()
        at: str | None = self._last
        while at and at not in way:
            way.add(at)
            at = self._entries[at].parent
        responses = {self._entries[uuid].message_id for uuid in way} - {None}
        entries = [one for one in self._entries.values() if one.message]
        on_it = [one for one in entries if one.uuid in way or one.message_id in responses]
        elsewhere = _called(entries) - _called(on_it)
        kept = {one.uuid for one in on_it}
        return [one for one in entries if one.uuid in kept or _answers(one, elsewhere)]


def _called(entries: Iterable[_Entry]) -> set[str]:
    return {call.call_id for one in entries for call in cast("Message", one.message).calls}


def _answers(entry: _Entry, elsewhere: set[str]) -> bool:
    """Whether it has a result, and of no call that was taken back; a call may be in a line that is broken."""
    returned = cast("Message", entry.message).returned
    return bool(returned) and all(one.call_id not in elsewhere for one in returned)


def _responses(entries: list[_Entry]) -> list[Timed]:
    """The messages, with the lines of one response as one."""
    found: dict[str, Timed] = {}
    for entry in entries:
        message = cast("Message", entry.message)
        key = f"id {entry.message_id}" if entry.message_id and message.role == "assistant" else entry.uuid
        before = found.get(key)
        found[key] = Timed(merged(before.message, message), before.at) if before else Timed(message, entry.at)
    return list(found.values())


def _without_thinking(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [block for block in cast("list[Any]", content) if fields_of(block).get("type") not in _THINKING]
