"""Keepwhole's hooks in the text of a client's settings: added beside what is there, found, and removed again.

Owns: the form that Claude Code and Codex share, `{"hooks": {EVENT: [{"hooks": [{"type": "command", …}]}]}}`.
Must not know: files, which client it is.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from keepwhole.apps import json_file
from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.json_file import Part

_HOOKS = "hooks"
IsOwn = Callable[[object], bool]


def installed(text: str | None, events: Sequence[str], command: str, is_own: IsOwn) -> str:
    """The settings with the command at every event, once, after what is there; `ValueError` if that is impossible."""
    if text is not None and all(own == [command] for own in commands(text, events, is_own)):
        return text
    text = None if text is None else uninstalled(text, is_own)
    if text is None:
        return _made(events, command)
    for event in events:
        text = _with_event(text, event, _entry(command))
    return text


def uninstalled(text: str, is_own: IsOwn) -> str | None:
    """The settings without Keepwhole's commands; None where Keepwhole made the file and nothing else is in it."""
    check(text)
    while (found := _last_own(text, is_own)) is not None:
        event, entry = found
        text, ended = _without(text, event, entry)
        if ended:
            return None
    return text


def commands(text: str, events: Sequence[str], is_own: IsOwn) -> list[list[str]]:
    """Keepwhole's commands in the settings, at each of these events."""
    check(text)
    hooks = mapping(mapping(json_file.parse(_body(text)[1])).get(_HOOKS))
    own = [[_own_command(entry, is_own) for entry in _list(hooks.get(event))] for event in events]
    return [[command for command in found if command is not None] for found in own]


def check(text: str) -> None:
    """Refuse settings that cannot hold hooks, with a `ValueError` that says why."""
    top: Any = json_file.parse(_body(text)[1])
    hooks = mapping(top).get(_HOOKS, {})
    if not isinstance(top, dict) or not isinstance(hooks, dict):
        raise ValueError("it, or its `hooks`, is not an object")
    for event, entries in cast("dict[str, object]", hooks).items():
        if not isinstance(entries, list):
            raise ValueError(f"its `hooks.{event}` is not a list")


def _made(events: Sequence[str], command: str) -> str:
    """New settings; their first member is on a line of its own, by which they are recognized later."""
    text = json.dumps({_HOOKS: {event: [_entry(command)] for event in events}}, indent=2)
    return text + "\n"


def _entry(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command}]}


def _body(text: str) -> tuple[str, str]:
    """A byte order mark, which some editors write, and the rest."""
    return (text[0], text[1:]) if text.startswith("\ufeff") else ("", text)


def _with_event(text: str, event: str, entry: dict[str, Any]) -> str:
    mark, body = _body(text)
    top = body.index("{")
    hooks = json_file.member(body, top, _HOOKS)
    if hooks is None:
        made = json_file.added(body, top, _HOOKS, {event: [entry]}, 0)
    elif (entries := json_file.member(body, hooks.value_start, event)) is None:
        made = json_file.added(body, hooks.value_start, event, [entry], 1)
    else:
        made = json_file.added(body, entries.value_start, None, entry, 2)
    return mark + made


def _last_own(text: str, is_own: IsOwn) -> tuple[str, int] | None:
    """The event and the place of Keepwhole's last entry, in the order of the text."""
    hooks = mapping(mapping(json_file.parse(_body(text)[1])).get(_HOOKS))
    found = [
        (event, at)
        for event, entries in hooks.items()
        for at, entry in enumerate(_list(entries))
        if _own_command(entry, is_own) is not None
    ]
    return found[-1] if found else None


def _without(text: str, event: str, entry: int) -> tuple[str, bool]:
    """The settings without one entry and what was made for it alone; and whether all of it was."""
    mark, body = _body(text)
    top = body.index("{")
    hooks = _must(json_file.member(body, top, _HOOKS))
    entries = _must(json_file.member(body, hooks.value_start, event))
    body, emptied = json_file.removed(body, entries.value_start, json_file.parts(body, entries.value_start)[entry])
    if emptied:
        body, emptied = json_file.removed(
            body, hooks.value_start, _must(json_file.member(body, hooks.value_start, event))
        )
    if emptied:
        body, emptied = json_file.removed(body, top, _must(json_file.member(body, top, _HOOKS)))
    return mark + body, emptied and not mark


def _must(part: Part | None) -> Part:
    if part is None:
        raise ValueError("a key is in it twice")
    return part


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _own_command(entry: object, is_own: IsOwn) -> str | None:
    """Keepwhole's command in an entry with nothing else; an entry to which somebody added something is theirs."""
    hooks = _list(mapping(entry).get(_HOOKS))
    command = mapping(hooks[0]).get("command") if len(hooks) == 1 else None
    return command if is_own(command) and isinstance(command, str) else None
