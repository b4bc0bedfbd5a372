"""What a client calls: one hook's JSON in, an answer or nothing out.

Owns: that a client never fails for us: whatever goes wrong, its own result stands.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn, cast

from keepwhole.apps.hooks.command import command_line
from keepwhole.apps.hooks.payload import Heard, Json, Returned
from keepwhole.errors import KeepwholeError

CLIENTS = {"claude-code": "claude_code", "codex": "codex", "opencode": "opencode"}
_TAIL = 1_048_576
"""Bytes at the end of a client's log in which a call that just ended is looked for."""


def run(client: str) -> int:
    """Answer the hook on standard input. Always 0: any other code would be read as trouble with the tool."""
    try:
        answer = answered(client, sys.stdin.buffer.read())
        if answer is not None:
            sys.stdout.write(json.dumps(answer))
            sys.stdout.flush()
    except Exception as error:  # nothing may pass: the client would take it for its tool's trouble
        print(f"keepwhole: the result was passed on as it is: {_said(error)}", file=sys.stderr)
    return 0


def run_and_leave(client: str) -> NoReturn:
    """Answer the hook and end the process without tidying up, which would take longer than the work did."""
    code = run(client)
    sys.stderr.flush()
    os._exit(code)


def answered(client: str, data: bytes) -> Json | None:
    """The answer to one hook's input; None where the client goes on as it would."""
    event: Any = json.loads(data)
    if not isinstance(event, dict):
        return None
    event = cast("Json", event)
    module = import_module(f"keepwhole.apps.hooks.{CLIENTS[client]}")
    heard: Heard = module.hear(event, _newest_lines(event)) if client == "codex" else module.hear(event)
    if heard is None:
        return None
    from keepwhole import config
    from keepwhole.apps.hooks.replace import Place, kept, marked

    folder = str(event.get("cwd") or os.getcwd())
    settings = config.load(folder=folder)
    if "recall_reader" not in settings.sources:
        settings = settings.replace(recall_reader=module.READER)
    place = Place(_session(client, event), client, folder, settings, command_line())
    return kept(place, heard) if isinstance(heard, Returned) else marked(place, heard)


def _session(client: str, event: Json) -> str:
    """The client's own id of its session, where it can name one of ours."""
    from keepwhole.canonical.ids import is_session_id

    given = str(event.get("session_id") or "unnamed")
    if is_session_id(given):
        return given
    return f"{client}-{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _newest_lines(event: Json) -> Iterator[bytes]:
    """The lines at the end of the client's log, newest first."""
    try:
        with open(str(event.get("transcript_path")), "rb") as file:
            file.seek(max(0, os.path.getsize(file.fileno()) - _TAIL))
            yield from reversed(file.read(2 * _TAIL).splitlines())
    except OSError:
        return


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, KeepwholeError) else f"{type(error).__name__}: {error}"
