"""How to take over a record, settings and variables from the time when the product was called Holdfast.

Nothing is moved here: a record may be in use. What is stored does not depend on the name, so a moved record opens.

Owns: the places of the earlier name, and the commands that move them.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping

from keepwhole.config import FILE, FOLDER, find_file

_FOLDER, _FILE, _VARIABLE = ".holdfast", "holdfast.yaml", "HOLDFAST_"


def steps_to_move(home: str, environ: Mapping[str, str], folder: str) -> Iterator[str]:
    """Sentences with the commands to run in `folder`, in this order; none where nothing of the earlier name is left.

    `home` is the folder of the record that Keepwhole uses; one that already holds a record is left alone.
    """
    old = _nearest(folder, _FOLDER, os.path.isdir) or os.path.expanduser(f"~/{_FOLDER}")
    new = os.path.join(os.path.dirname(old), FOLDER)
    if not os.path.exists(os.path.join(home, "record.db")):
        named = environ.get(f"{_VARIABLE}HOME", "")
        if named and os.path.isdir(named):
            yield f"{named} contains a record of Holdfast; use it with `export KEEPWHOLE_HOME={_in_shell(named)}`"
        elif os.path.isdir(old):
            # Into a folder that exists, `mv` would put the old folder itself.
            content = "/*" if os.path.isdir(new) else ""
            yield f"{old} has a record of Holdfast; take it over with `mv {_in_shell(old)}{content} {_in_shell(new)}`"
    yield from _settings_to_move(environ, folder, old, new)
    if os.path.dirname(new) != os.path.expanduser("~") and os.path.isdir(old):
        yield "a record in a project is used once you have approved it: then run `keepwhole trust`"
    for name in sorted(environ):
        renamed = name.replace(_VARIABLE, "KEEPWHOLE_", 1)
        if name.startswith(_VARIABLE) and renamed not in environ:
            yield f"the variable `{name}` has no effect; rename it to `{renamed}`"


def _settings_to_move(environ: Mapping[str, str], folder: str, old: str, new: str) -> Iterator[str]:
    if find_file(None, environ, folder) is not None:
        return
    file = _nearest(folder, _FILE, os.path.isfile)
    if file is None and any(os.path.isfile(os.path.join(home, _FILE)) for home in (old, new)):
        file = os.path.join(new, _FILE)  # where it is once the folder has been moved
    if file is not None:
        target = os.path.join(os.path.dirname(file), FILE)
        yield f"settings of Holdfast are not read; take them over with `mv {_in_shell(file)} {_in_shell(target)}`"


def _nearest(folder: str, name: str, exists: Callable[[str], bool]) -> str | None:
    """The nearest file or folder of this name, in `folder` or above it."""
    folder = os.path.abspath(folder)
    while not exists(os.path.join(folder, name)):
        if folder == (parent := os.path.dirname(folder)):
            return None
        folder = parent
    return os.path.join(folder, name)


def _in_shell(path: str) -> str:
    """A path as one word of a shell, with `~` for the home folder."""
    own = os.path.expanduser("~") + "/"
    rest = path.removeprefix(own)
    return f"~/{rest}" if rest != path and shlex.quote(rest) == rest else shlex.quote(path)
