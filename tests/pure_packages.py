"""Imports and uses the packages that do no I/O where there is no POSIX: `python -m tests.pure_packages`.

On Windows it runs as it is; elsewhere the modules and functions that Windows lacks are hidden first.
"""

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PURE = ("canonical", "clients", "truncation", "models", "policies", "wire")
MISSING = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline")
FUNCTIONS = ("fork", "getuid", "geteuid", "fchmod", "chown", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "killpg")


class Windows(MetaPathFinder):
    """Finds none of the modules that Windows lacks."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in MISSING:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def hide_posix() -> None:
    """Make this process like one on Windows, as far as imports see it."""
    sys.platform = "win32"
    sys.meta_path.insert(0, Windows())
    for name in MISSING:
        sys.modules.pop(name, None)
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)


def modules_of(package: str) -> list[str]:
    """The package and everything in it."""
    name = f"keepwhole.{package}"
    inside = pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}.")
    return [name, *(module.name for module in inside)]


def refusal_of_a_session() -> str:
    """What is said where a record cannot be."""
    import keepwhole

    try:
        keepwhole.session("s")
    except ImportError as error:
        return str(error)
    return ""


def main() -> int:
    if sys.platform != "win32":
        hide_posix()
    import keepwhole

    names = [name for package in PURE for name in modules_of(package)]
    for name in names:
        importlib.import_module(name)
    cut = keepwhole.truncate(json.dumps([{"n": n, "text": "x" * 80} for n in range(2_000)]), 1_000, question="n 77")
    assert len(cut) <= 1_000
    assert json.loads(cut)
    assert "WSL" in refusal_of_a_session()
    from keepwhole.apps.cli.main import main as command

    assert command(["demo"]) == 2
    print(f"{len(names)} modules without POSIX")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
