"""`get_artifact`: read back what a view left out. Bounded, never cut again; only ids of the session are valid."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.canonical.media import TEXT
from holdfast.canonical.value import Value
from holdfast.recall.page import page
from holdfast.recall.ranges import range_of
from holdfast.store.reader import BodyReader
from holdfast.truncation import notice

NAME = "get_artifact"
ANSWERED = (NAME, "get_task_trace")
"""Names that a printed call may have; both read a result back, by either of its ids."""
DESCRIPTION = (
    "Read back a stored tool result by the id in its [Artifact: ...] line: all of it if short, else a page and "
    "the next call."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Artifact id or trace id"},
        "lines": {"type": "string", "description": 'Line range, e.g. "100-200"'},
        "start_char": {"type": "integer", "description": "First character, from 0"},
        "length": {"type": "integer", "description": "Characters to read"},
    },
    "required": ["id"],
}
_LISTED = 10


class Answer(Value):
    """What a recall tool says to the model."""

    content: str
    is_error: bool = False


class Known(Value):
    """An artifact that an answer may name."""

    artifact_id: str
    summary: str
    size: int


def asked_id(arguments: Mapping[str, Any]) -> str:
    """The id a call asks for, under any of the names that our notices and the documents use."""
    for key in ("id", "artifact_id", "trace_id", "traceId", "artifactId"):
        if arguments.get(key):
            return str(arguments[key])
    return ""


def read_artifact(reader: BodyReader, media_type: str, name: str, arguments: Mapping[str, Any], limit: int) -> Answer:
    """The part of an open artifact that `arguments` ask for."""
    if media_type != TEXT:
        words = notice.binary(media_type, reader.facts.size, reader.facts.digest)
        return Answer(f"{words}\n[Not text: `holdfast artifacts show {name} --raw` gives the bytes]")
    return Answer(page(reader, name, range_of(arguments), limit))


def unknown(asked: str, known: Sequence[Known]) -> Answer:
    """The same answer for an id that is foreign, purged, misspelt or made up: what this session has."""
    shown = asked if asked.isprintable() and len(asked) <= 80 else "?"
    if not known:
        return Answer(f'404: there is no artifact "{shown}" in this session. It has none yet.', is_error=True)
    listed = "\n".join(f"- {notice.reference(a.artifact_id, a.summary, a.size)}" for a in known[-_LISTED:])
    more = f"\n({len(known) - _LISTED} older ones not listed)" if len(known) > _LISTED else ""
    return Answer(
        f'404: there is no artifact "{shown}" in this session. It has:\n{listed}{more}\n'
        f'Next: get_artifact(id="{known[-1].artifact_id}")',
        is_error=True,
    )
