"""How to install what is missing: the packages of an extra, a newer Keepwhole, or a system that can hold a record.

Keepwhole is in no package index yet, so a hint names the extra's own packages, as the installed distribution declares
them: such a command works from a clone and from a wheel alike.

Owns: the words of every installation hint.
Must not know: which part needs an extra.
"""

import re
import shlex
import sys

from keepwhole.version import VERSION

UPDATE_HINT = "Update Keepwhole: `git pull` and `pip install .` in its clone, or `pip install` its newer wheel"
POSIX_HINT = "The record needs Linux or macOS. On Windows, run Keepwhole in WSL; `keepwhole.truncate` works everywhere."
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([\w.-]+)["']""")


def newer_schema(what: str, found: int, known: int, needs: str) -> str:
    """Say that a record was brought to a schema that this Keepwhole does not know, and which version does.

    >>> newer_schema("`record.db`", 9, 7, "0.3.0")[:86]
    '`record.db` has schema 9, newer than the 7 of this Keepwhole 0.1.0: it needs Keepwhole'
    """
    version = f": it needs Keepwhole {needs} or newer" if needs else ""
    return (
        f"{what} has schema {found}, newer than the {known} of this Keepwhole {VERSION}{version}. {UPDATE_HINT}; "
        "nothing is damaged, and nothing was changed."
    )


def requirements_of(extra: str) -> list[str]:
    """The requirements of an extra, as the installed distribution declares them; none where it declares none."""
    from importlib.metadata import PackageNotFoundError, requires  # takes a while, and few commands need it

    try:
        declared = requires("keepwhole") or []
    except PackageNotFoundError:
        return []
    pairs = (line.partition(";") for line in declared)
    return [need.strip() for need, _, marker in pairs if extra in _EXTRA.findall(marker)]


def is_posix() -> bool:
    """Whether this system has the file locks that a record needs."""
    return sys.platform != "win32"


def has_package(name: str) -> bool:
    """Whether a package can be imported, without importing it."""
    from importlib.util import find_spec  # few commands need it

    return find_spec(name) is not None


def install_hint(extra: str) -> str:
    """The command that installs the packages of an extra, in backticks."""
    needed = requirements_of(extra)
    # Without a distribution the code is run from its clone, where pip reads the extra itself.
    words = needed or [f".[{extra}]"]
    return f"`pip install {' '.join(shlex.quote(word) for word in words)}`"
