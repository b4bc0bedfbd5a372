"""What a user switched on or off and wants remembered: a small file in the home folder, beside no record."""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError


class Preferences(Value):
    """Switches that are remembered."""

    rolling_context_enabled: bool = False
    """Whether the policy `rolling` holds instead of the configured one."""


def path_of(environ: Mapping[str, str] | None = None) -> str:
    """Where preferences are kept: always in the home folder, whatever record is in use."""
    home = (os.environ if environ is None else environ).get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".keepwhole", "preferences.json")


def load(path: str | None = None) -> Preferences:
    """The preferences at `path`; the defaults where there are none or they cannot be read."""
    try:
        with open(path or path_of(), encoding="utf-8") as file:
            raw: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        return Preferences()
    given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    return Preferences(rolling_context_enabled=given.get("rolling_context_enabled") is True)


def save(preferences: Preferences, path: str | None = None) -> None:
    """Remember these preferences; whoever reads meanwhile sees the old ones or the new ones."""
    import tempfile  # only who switches something pays for it, not every start

    path = path or path_of()
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".preferences-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(preferences.as_dict(), file)
        os.replace(temporary, path)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be written ({error.strerror}). Check the folder's permissions.") from error
