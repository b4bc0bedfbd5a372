"""The entry point of all hooks: the JSON of one hook in, an answer or nothing out.

Owns: that Keepwhole never breaks a client: on any error the client keeps its own result.
"""

import gc
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn, cast

from keepwhole.apps.hooks.command import command_line
from keepwhole.apps.hooks.payload import HookPayload, Json, ToolReturn
from keepwhole.clients.table import facts_of
from keepwhole.errors import KeepwholeError, UsageError

CLIENTS = {"claude-code": "claude_code", "codex": "codex", "opencode": "opencode"}
_CONFIGURING = "configuring"
"""The message with which opencode's plugin asks for the folder of the files that notices name."""
_TAIL = 1_048_576
"""Bytes at the end of a client's log that are searched for a call that just ended."""


def run(client: str) -> int:
    """Answer the hook on standard input. Always returns 0: the client takes any other code for an error of its tool."""
    try:
        reply = answer(client, sys.stdin.buffer.read())
        if reply is not None:
            sys.stdout.write(json.dumps(reply))
            sys.stdout.flush()
    except Exception as error:  # the client would take any failure for an error of its tool
        print(f"keepwhole: the result was passed on unchanged: {_message(error)}", file=sys.stderr)
    return 0


def run_and_leave(client: str) -> NoReturn:
    """Answer the hook and exit without cleanup, which would take longer than the work itself."""
    gc.disable()  # this process ends before anything would be worth collecting
    code = run(client)
    sys.stderr.flush()
    os._exit(code)


def answer(client: str, data: bytes) -> Json | None:
    """Return the answer to one hook's input; None where the client continues unchanged."""
    try:
        event: Any = json.loads(data)
    except ValueError as error:
        raise UsageError(f"standard input is not the JSON that {client} gives to its hooks ({error}).") from error
    if not isinstance(event, dict):
        return None
    event = cast("Json", event)
    if event.get("event") == _CONFIGURING:
        return {"results": _results(str(event.get("cwd") or os.getcwd()))}
    module = import_module(f"keepwhole.apps.hooks.{CLIENTS[client]}")
    payload: HookPayload = module.parse(event, _newest_lines(event)) if client == "codex" else module.parse(event)
    if payload is None:
        return None
    from keepwhole import config
    from keepwhole.apps.hooks.replace import HookContext, keep_result, record_boundary

    folder = str(event.get("cwd") or os.getcwd())
    settings = config.load(folder=folder)
    if "recall_reader" not in settings.sources:
        settings = settings.replace(recall_reader=facts_of(client).reader)
    context = HookContext(_session(client, event), client, folder, settings, command_line())
    if isinstance(payload, ToolReturn):
        return keep_result(context, payload)
    return record_boundary(context, payload)


def _results(folder: str) -> str:
    from keepwhole import config

    return os.path.join(os.path.abspath(config.load(folder=folder).home), "results")


def _session(client: str, event: Json) -> str:
    """The client's own session id where it is a valid name, else a name made from its hash."""
    from keepwhole.canonical.ids import is_session_id

    given = str(event.get("session_id") or "unnamed")
    if is_session_id(given):
        return given
    return f"{client}-{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _newest_lines(event: Json) -> Iterator[bytes]:
    """The lines at the end of the client's log, newest first."""
    from keepwhole.store.regular_file import open_regular

    try:
        with open_regular(str(event.get("transcript_path"))) as file:
            file.seek(max(0, os.path.getsize(file.fileno()) - _TAIL))
            yield from reversed(file.read(2 * _TAIL).splitlines())
    except (OSError, ValueError):
        return


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, KeepwholeError) else f"{type(error).__name__}: {error}"
