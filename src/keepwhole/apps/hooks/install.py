"""Our hooks in the files that clients read: where those lie, and how they are written.

Owns: that a settings file is the old one or the new one at any moment, and is never written where it cannot be read.
Must not know: how settings are edited.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.apps.hooks import settings
from keepwhole.apps.hooks.command import hook_command, is_own
from keepwhole.apps.hooks.run import CLIENTS
from keepwhole.errors import UsageError
from keepwhole.store.durable import write_file

Scope: TypeAlias = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
_PLUGIN = "opencode"
_OURS = "// Written by `keepwhole hook install opencode`"
_MODE = 0o644


class Target(NamedTuple):
    """A client's file that holds our hooks, or would."""

    client: str
    scope: Scope
    path: str

    @property
    def command(self) -> str:
        """What the client is to call."""
        return hook_command(self.client, portable=self.scope == "project")


def target(client: str, scope: Scope, environ: Mapping[str, str], folder: str) -> Target:
    """Where a client looks for hooks."""
    home = os.path.expanduser("~")
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    users = {
        "claude-code": (environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json"),
        "codex": (environ.get("CODEX_HOME") or os.path.join(home, ".codex"), "hooks.json"),
        _PLUGIN: (os.path.join(config, "opencode"), "plugin/keepwhole.js"),
    }
    own, name = users[client]
    projects = {"claude-code": ".claude", "codex": ".codex", _PLUGIN: ".opencode"}
    return Target(client, scope, os.path.join(own if scope == "user" else os.path.join(folder, projects[client]), name))


def install(to: Target) -> bool:
    """Put our hooks there; whether anything had to change."""
    before = _read(to)
    after = _plugin(to) if to.client == _PLUGIN else _edited(to, before)
    if after == before:
        return False
    _write(to, after)
    return True


def uninstall(to: Target) -> bool:
    """Take our hooks away; whether there were any. What we did not write stays to the byte."""
    before = _read(to)
    if before is None:
        return False
    after = None if to.client == _PLUGIN else _cleared(to, before)
    if after == before:
        return False
    if after is None:
        os.unlink(to.path)
    else:
        _write(to, after)
    return True


def installed(to: Target) -> list[str]:
    """The commands of ours that a client's file names."""
    text = _read(to)
    if text is None:
        return []
    if to.client == _PLUGIN:
        return [to.command] if text == _plugin(to) else ["another version of ours"]
    try:
        found = settings.commands(text, _events(to.client), partial(is_own, client=to.client))
    except ValueError as error:
        raise _refused(to, error) from error
    return sorted({command for own in found for command in own})


def _edited(to: Target, before: str | None) -> str:
    try:
        return settings.installed(before, _events(to.client), to.command, partial(is_own, client=to.client))
    except ValueError as error:
        raise _refused(to, error) from error


def _cleared(to: Target, before: str) -> str | None:
    try:
        return settings.uninstalled(before, partial(is_own, client=to.client))
    except ValueError as error:
        raise _refused(to, error) from error


def _events(client: str) -> Sequence[str]:
    return import_module(f"keepwhole.apps.hooks.{CLIENTS[client]}").EVENTS


def _plugin(to: Target) -> str:
    """The plugin with our command in it, as a JavaScript string."""
    words = to.command.replace("\\", "\\\\").replace('"', '\\"')
    return files("keepwhole.apps.hooks").joinpath("opencode.js").read_text(encoding="utf-8").replace("@COMMAND@", words)


def _refused(to: Target, error: ValueError) -> UsageError:
    return UsageError(
        f"`{to.path}` was left as it is, since it cannot be edited safely: {error}. Mend it, then run "
        f"`keepwhole hook install {to.client}` again."
    )


def _read(to: Target) -> str | None:
    try:
        with open(to.path, encoding="utf-8", newline="") as file:
            text = file.read()
        if to.client == _PLUGIN and not text.startswith(_OURS):
            raise ValueError("it is somebody else's plugin")
        return text
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _refused(to, error) from error
    except OSError as error:
        raise UsageError(f"`{to.path}` cannot be read ({error.strerror}). Check its permissions.") from error


def _write(to: Target, text: str) -> None:
    """The new file in place of the old one, through links, with its permissions."""
    path = os.path.realpath(to.path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else _MODE
        write_file(path, [text.encode()], mode)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Check the folder's permissions.") from error
