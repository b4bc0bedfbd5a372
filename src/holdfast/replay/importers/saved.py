"""Whole outputs that a client put into files of its own, because it showed only the beginning or the end.

Owns: finding such a file. A log is not trusted: of the path it names only the last part is used, and looked for
in the folders where that client keeps such files beside the log.
Must not know: which results are cut.
"""

from collections.abc import Iterable
from pathlib import Path, PureWindowsPath

import msgspec

from holdfast.replay.importers.lines import BAD
from holdfast.wire.parts import results_in


def saved_output(named: object, folders: Iterable[Path]) -> str | None:
    """The text of the file; None where there is none."""
    if not isinstance(named, str):
        return None
    name = PureWindowsPath(named).name
    for folder in folders:
        try:
            path = folder / name
            if name and path.is_file() and not path.is_symlink():
                return _text(path)
        except (OSError, ValueError):
            continue
    return None


def _text(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix != ".json":
        return text
    try:
        returned, _ = results_in("", (), msgspec.json.decode(text))
    except BAD:
        return text
    return "\n".join(one.text for one in returned) or text
