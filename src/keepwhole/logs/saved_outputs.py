"""Outputs that a client truncated, and the files in which it saved them whole.

Owns: finding such a file, and which outputs were restored from one. A log is not trusted: only the file name of the
path that it names is used, and it is searched in the folders where the client stores such files beside its logs.
Must not know: how a client says that it truncated an output.
"""

from pathlib import Path, PureWindowsPath

import msgspec

from keepwhole.logs.lines import DECODE_ERRORS, LONGEST_LINE
from keepwhole.store.regular_file import read_regular
from keepwhole.wire.content import results_in

UNREAD_OUTPUTS = "unread_outputs"
"""In a run's `meta`: why saved outputs could not be read, one reason each."""


class SavedOutputs:
    """The truncated outputs of one run."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._restored: list[str] = []
        self._lost: list[str] = []
        self._unread: list[str] = []

    def restore(self, call_id: str, text: str, named: object) -> str:
        """Return the content of the file that the log names, or `text` if there is no such file; note which."""
        saved = self.read_saved(named)
        self.note(call_id, saved is not None)
        return text if saved is None else saved

    def read_saved(self, named: object) -> str | None:
        """Return the text of the file that the log names; None if there is no such file."""
        name = PureWindowsPath(named).name if isinstance(named, str) else ""
        for folder in self._folders if name else ():
            try:
                if not (folder / name).is_symlink():
                    return _read_text(folder / name)
            except (FileNotFoundError, NotADirectoryError, ValueError):
                continue
            except OSError as error:
                self._unread.append(error.strerror or str(error))
        return None

    def note(self, call_id: str, is_whole: bool) -> None:
        """Note that the output of this call was truncated, and whether it is restored."""
        (self._restored if is_whole else self._lost).append(call_id)

    def as_meta(self) -> dict[str, list[str]]:
        """Return the calls with restored and truncated outputs, and why some were not read, as a run's `meta`."""
        return {
            "restored_full_output": self._restored,
            "legacy_truncated": self._lost,
            UNREAD_OUTPUTS: self._unread,
        }


def _read_text(path: Path) -> str:
    """Return the text of a file; of a JSON file with content blocks, the texts of the blocks."""
    text = read_regular(path, LONGEST_LINE).decode("utf-8", "replace")
    if path.suffix != ".json":
        return text
    try:
        returned, _ = results_in("", (), msgspec.json.decode(text))
    except DECODE_ERRORS:
        return text
    return "\n".join(one.text for one in returned) or text
