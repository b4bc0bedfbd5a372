"""Switches that a user turned on or off for all records: a small file in the home folder."""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError


class Preferences(Value):
    """The switches."""

    rolling_context_enabled: bool = False
    """Whether the policy `rolling` is used instead of the configured one."""


def path_of(environ: Mapping[str, str] | None = None) -> str:
    """Return the path of the preferences: always in the home folder, whatever record is in use."""
    home = (os.environ if environ is None else environ).get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".keepwhole", "preferences.json")


def load(path: str | None = None) -> Preferences:
    """Return the preferences at `path`; the defaults where there are none or they cannot be read."""
    try:
        with open(path or path_of(), encoding="utf-8") as file:
            raw: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        return Preferences()
    given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    return Preferences(rolling_context_enabled=given.get("rolling_context_enabled") is True)


def save(preferences: Preferences, path: str | None = None) -> None:
    """Write these preferences."""
    write_json(path or path_of(), preferences.as_dict())


def write_json(path: str, content: Mapping[str, Any]) -> None:
    """Write a small file of the user's; a process that reads meanwhile sees the old content or the new one."""
    import tempfile  # only a switch pays for it, not every start

    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".keepwhole-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(temporary, path)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be written ({error.strerror}). Check the folder's permissions.") from error
