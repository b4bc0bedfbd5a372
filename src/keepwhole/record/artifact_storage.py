"""The storage of the truncation processor over a session: originals go into the record, and come back from it.

Owns: `IArtifactStorage` for a session. Must not know: how a result is cut; the processor does that.
"""

from typing import Protocol

from keepwhole.canonical.entry import Result
from keepwhole.canonical.utf8 import showable
from keepwhole.record.arrival import keep_output
from keepwhole.record.writer import SessionWriter
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.present import show_whole
from keepwhole.truncation.result import TruncationResult


class _KeepsArtifacts(Protocol):
    """What the storage needs of a session."""

    @property
    def writer(self) -> SessionWriter:
        """The writing side of the session."""
        ...

    def recall(self, id: str, *, lines: tuple[int, int] | None = None) -> str:
        """Return the text of a result, or some of its lines."""
        ...


class ArtifactStorage:
    """An `IArtifactStorage` that keeps originals in the record of a session, whole and durably."""

    def __init__(self, session: _KeepsArtifacts) -> None:
        self._session = session

    def create(self, content: str, tool_name: str) -> str:
        """Store `content` in full and return its artifact id; `NotStored` with the original if that fails."""
        result = self._session.writer.new_result(tool_name, None)
        keep_output(self._session.writer, result, content, _show_all, on_trouble="raise")
        return result.artifact_id

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        """Return the stored content, or the lines asked for, counted from 1; `NotFound` for an unknown id."""
        return self._session.recall(artifact_id, lines=lines)


def _show_all(result: Result, reader: BodyReader) -> TruncationResult:
    """The record notes no cut: the processor, not the session, shows the result."""
    return show_whole(reader, showable(reader.text()), reader.facts.size)
