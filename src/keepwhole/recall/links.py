"""How the results of a session are read back: by the recall tools, from files, or by a person's command.

Owns: that no notice names a tool that is not offered, nor a file that does not exist.
Must not know: what a notice says, when something is cut.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import NotFound, StoreError, UsageError
from keepwhole.recall.selection import SelectedUnit
from keepwhole.store.files import ResultFiles
from keepwhole.store.protocol import Store, body_of, result_of
from keepwhole.truncation.recall_link import Reader, RecallLink

Recall: TypeAlias = Literal["tools", "path", "off"]


class RecallLinks(NamedTuple):
    """How the results of one session are read back."""

    session: str
    recall: str = "tools"
    reader: Reader = "Read"
    files: ResultFiles | None = None

    def of(self, trace_id: str, artifact_id: str, media_type: str = TEXT) -> RecallLink | None:
        """The link to a result; None for `get_artifact`, which needs no file and no command."""
        if self.recall == "tools":
            return None
        if self.files is None:
            return RecallLink(artifact_id, reader="keepwhole")
        file = self.files.path_of(self.session, trace_id, media_type)
        return RecallLink(artifact_id, file, self.reader, self.files.arguments_path_of(self.session, trace_id))

    def lay_out(self, trace_id: str, chunks: Callable[[], Iterable[bytes]], media_type: str = TEXT) -> None:
        """Write the file of a result, if links go to files. `NotStored` where that fails: no notice may name it."""
        if self.files is not None:
            self.files.lay_out(self.session, trace_id, chunks(), media_type)

    def lay_out_kept(self, store: Store, trace_id: str, folder: str | None = None) -> None:
        """Write the file of a stored result, if links go to files: into its session's folder, or another's."""
        if self.files is None:
            return
        row = store.find(self.session, trace_id)
        if row is None:
            raise NotFound(f"Session `{self.session}` has no result `{trace_id[:80]}`.")
        with store.open(body_of(row)) as reader:
            self.files.lay_out(folder or self.session, trace_id, reader.stream(), result_of(row).media_type)

    def lay_out_arguments(self, trace_id: str, arguments: str, folder: str | None = None) -> None:
        """Write the file of what a result's own call was given, if links go to files. `NotStored` where that fails."""
        if self.files is not None:
            self.files.lay_out_arguments(folder or self.session, trace_id, encode(arguments)[0])

    def with_link(self, store: Store, unit: SelectedUnit) -> SelectedUnit:
        """Return the unit with its link. Its file is written first; where that fails the link is a command."""
        try:
            self.lay_out_kept(store, unit.trace_id)
        except StoreError:
            return unit.replace(reachable=RecallLink(unit.artifact_id, reader="keepwhole"))
        return unit.replace(reachable=self.of(unit.trace_id, unit.artifact_id))


def recall_links_for(session: str, recall: str, reader: str, store: Store) -> RecallLinks:
    """The links that the settings ask for; `UsageError` where they need files and the store has none."""
    files = getattr(store, "files", None) if recall == "path" else None
    if recall == "path" and not isinstance(files, ResultFiles):
        raise UsageError("Recall by path needs a record in a folder. Use `SqliteStore`, or set `recall` to `tools`.")
    return RecallLinks(session, recall, reader, files)  # type: ignore[arg-type]
