"""Keepwhole's hooks in the files that clients read: how hooks get into them.

Owns: that a file which cannot be read is never written. Where the files are is in `clients`.
Must not know: how settings are edited, how files are replaced.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.apps.client_file import (
    ChangedMeanwhile,
    read_file,
    remove_file,
    remove_unfinished,
    replace_file,
    unfinished_copies,
)
from keepwhole.apps.hooks import settings
from keepwhole.apps.hooks.command import hook_command, is_own
from keepwhole.apps.hooks.run import CLIENTS
from keepwhole.clients.opencode import OPENCODE
from keepwhole.clients.table import facts_of
from keepwhole.errors import UsageError

Scope: TypeAlias = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
_PLUGIN = OPENCODE.name
_OURS = "// Written by `keepwhole hook install opencode`"
_ATTEMPTS = 5
"""How often a file is read and edited again, where another program changes it meanwhile."""


class Target(NamedTuple):
    """A client's file with Keepwhole's hooks, or for them."""

    client: str
    scope: Scope
    path: str

    @property
    def command(self) -> str:
        """The command that the client calls."""
        return hook_command(self.client, portable=self.scope == "project")


def target(client: str, scope: Scope, environ: Mapping[str, str], folder: str) -> Target:
    """Where a client looks for hooks."""
    facts = facts_of(client)
    own = facts.settings.path(os.path.expanduser("~"), environ)
    where = own if scope == "user" else os.path.join(folder, facts.project_settings)
    return Target(client, scope, os.path.join(where, facts.hooks_file))


def install(to: Target) -> bool:
    """Add Keepwhole's hooks; return whether anything had to change."""
    remove_unfinished(to.path)
    return _edit(to, lambda before: _plugin(to) if to.client == _PLUGIN else _edited(to, before))


def uninstall(to: Target) -> bool:
    """Remove Keepwhole's hooks; return whether there were any. Every other byte stays."""
    remove_unfinished(to.path)
    return _edit(to, lambda before: None if before is None or to.client == _PLUGIN else _cleared(to, before))


def all_unfinished(environ: Mapping[str, str], folder: str) -> list[str]:
    """What killed installations left beside any client's file."""
    targets = [target(client, scope, environ, folder) for client in CLIENTS for scope in SCOPES]
    return [copy for path in {to.path for to in targets} for copy in unfinished_copies(path)]


def _edit(to: Target, edited: Callable[[str | None], str | None]) -> bool:
    """Replace a file's text by the edited one; again where another program changed it meanwhile."""
    tries_left = _ATTEMPTS
    while True:
        before = _read(to)
        after = edited(before)
        if after == before:
            return False
        try:
            _write(to, before, after)
            return True
        except ChangedMeanwhile:
            tries_left -= 1
            if not tries_left:
                raise


def installed(to: Target) -> list[str]:
    """Keepwhole's commands in a client's file."""
    text = _read(to)
    if text is None:
        return []
    if to.client == _PLUGIN:
        return [to.command] if text == _plugin(to) else ["another version of Keepwhole"]
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
    """The plugin with Keepwhole's command in it, as a JavaScript string."""
    words = to.command.replace("\\", "\\\\").replace('"', '\\"')
    return files("keepwhole.apps.hooks").joinpath("opencode.js").read_text(encoding="utf-8").replace("@COMMAND@", words)


def _refused(to: Target, error: ValueError) -> UsageError:
    return UsageError(
        f"`{to.path}` was left as it is, since it cannot be edited safely: {error}. Fix it, then run "
        f"`keepwhole hook install {to.client}` again."
    )


def _read(to: Target) -> str | None:
    try:
        data = read_file(to.path)
        text = None if data is None else data.decode()
        if to.client == _PLUGIN and text is not None and not text.startswith(_OURS):
            raise ValueError("it is the plugin of another program")
        return text
    except ValueError as error:
        raise _refused(to, error) from error
    except OSError as error:
        raise UsageError(
            f"`{to.path}` cannot be read ({error.strerror}). Check what it is, and its permissions."
        ) from error


def _write(to: Target, before: str | None, after: str | None) -> None:
    """Replace the text of a file; with None the file is removed."""
    old = None if before is None else before.encode()
    try:
        if after is not None:
            replace_file(to.path, old, after.encode())
        elif old is not None:
            remove_file(to.path, old)
    except OSError as error:
        raise UsageError(
            f"`{to.path}` cannot be written ({error.strerror}). Check the folder's permissions."
        ) from error
