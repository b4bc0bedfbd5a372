"""What the user has approved of the folders they work in.

A cloned repository can bring a settings file, a record folder or a client's settings, and whoever wrote it is not the
user. What such a file may decide by itself is little (`config.py`); the rest counts only after `keepwhole trust`:

    ~/.keepwhole/trusted.json    {"approved": {"/work/repo/keepwhole.yaml": "3f9a…"}}

The digest covers the path and exactly what was approved, so that any later change of it has to be approved again.

Owns: that list. Must not know: what is approved, or who asks.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any, cast

from keepwhole import preferences

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_approved(path: str, what: object, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user has approved exactly this of the file or folder at `path`."""
    return _read(_file(environ)).get(os.path.realpath(path)) == _digest(path, what)


def approve(path: str, what: object, environ: Mapping[str, str] | None = None) -> None:
    """Remember that the user approves this of the file or folder at `path`, and nothing else of it."""
    _write(_file(environ), {**_read(_file(environ)), os.path.realpath(path): _digest(path, what)})


def revoke(path: str, environ: Mapping[str, str] | None = None) -> bool:
    """Forget what was approved of `path`; return whether there was anything."""
    known = _read(_file(environ))
    is_known = known.pop(os.path.realpath(path), None) is not None
    if is_known:
        _write(_file(environ), known)
    return is_known


def approved_paths(environ: Mapping[str, str] | None = None) -> list[str]:
    """The files and folders of which something is approved."""
    return sorted(_read(_file(environ)))


def is_of_another_user(path: str) -> bool:
    """Whether a file or folder belongs to another user, root excepted: nothing in it counts."""
    return os.stat(path).st_uid not in (os.geteuid(), 0)


def _file(environ: Mapping[str, str] | None) -> str:
    return os.path.join(os.path.dirname(preferences.path_of(environ)), "trusted.json")


def _digest(path: str, what: object) -> str:
    told = json.dumps([os.path.realpath(path), what], sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


def _read(file: str) -> dict[str, str]:
    """What is approved; nothing where the list is missing, unreadable, or writable by others."""
    try:
        with open(file, encoding="utf-8") as opened:
            held = os.fstat(opened.fileno())
            if held.st_uid != os.geteuid() or held.st_mode & _OTHERS_WRITE:
                return {}
            raw: Any = json.load(opened)
        return {str(path): str(digest) for path, digest in cast("dict[str, Any]", raw["approved"]).items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def _write(file: str, approved: Mapping[str, str]) -> None:
    preferences.write_json(file, {"approved": dict(approved)})
