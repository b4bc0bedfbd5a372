"""How a client calls `keepwhole`: by a path that is valid wherever the client is started."""

import os
import shlex
import sys

_SCRIPT = "keepwhole"


def command_line() -> str:
    """`keepwhole` as words of a shell: the script beside the running Python, else that Python with `-m`.

    `-P` keeps the folder a client works in from being searched for modules.
    """
    script = os.path.join(os.path.dirname(sys.executable), _SCRIPT)
    if os.access(script, os.X_OK):
        return shlex.quote(script)
    return f"{shlex.quote(sys.executable)} -P -m keepwhole"


def hook_command(client: str, portable: bool) -> str:
    """The command in a client's settings; `portable` where these are shared with other machines."""
    return f"{_SCRIPT if portable else command_line()} {own_words(client)}"


def own_words(client: str) -> str:
    """The last words of Keepwhole's hook command, whatever path it begins with."""
    return f"hook run {client}"


def is_own(command: object, client: str) -> bool:
    """Whether a command in a client's settings is Keepwhole's.

    >>> is_own("/opt/bin/keepwhole hook run codex", "codex"), is_own("lint hook run codex", "codex")
    (True, False)
    """
    words = command.split() if isinstance(command, str) else []
    own = own_words(client).split()
    return words[-len(own) :] == own and len(words) > len(own) and _names_keepwhole(words[-len(own) - 1])


def _names_keepwhole(word: str) -> bool:
    return os.path.basename(word.strip("'\"")) == _SCRIPT
