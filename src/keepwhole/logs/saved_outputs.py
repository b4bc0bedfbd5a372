"""Outputs that a client showed only a part of, and the files in which it saved the whole.

Owns: finding such a file, and which outputs are whole again. A log is not trusted: of the path it names only the last
part is used, and looked for in the folders where that client keeps such files beside its logs.
Must not know: how a client says that it cut something.
"""

from pathlib import Path, PureWindowsPath

import msgspec

from keepwhole.logs.lines import BAD
from keepwhole.wire.content import results_in


class Outputs:
    """The outputs of one run that were cut."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._restored: list[str] = []
        self._lost: list[str] = []

    def whole(self, call_id: str, text: str, named: object) -> str:
        """What the file has that the log names; the text as it is where there is no such file."""
        saved = self.saved(named)
        self.note(call_id, saved is not None)
        return text if saved is None else saved

    def saved(self, named: object) -> str | None:
        """The text of the file that the log names; None where there is none."""
        name = PureWindowsPath(named).name if isinstance(named, str) else ""
        for folder in self._folders if name else ():
            try:
                path = folder / name
                if path.is_file() and not path.is_symlink():
                    return _text(path)
            except (OSError, ValueError):
                continue
        return None

    def note(self, call_id: str, is_whole: bool) -> None:
        """Remember that the output of this call was cut, and whether it is whole again."""
        (self._restored if is_whole else self._lost).append(call_id)

    def found(self) -> dict[str, list[str]]:
        """What a run's `meta` says of it."""
        return {"restored_full_output": self._restored, "legacy_truncated": self._lost}


def _text(path: Path) -> str:
    """Blocks of content are their texts."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix != ".json":
        return text
    try:
        returned, _ = results_in("", (), msgspec.json.decode(text))
    except BAD:
        return text
    return "\n".join(one.text for one in returned) or text
