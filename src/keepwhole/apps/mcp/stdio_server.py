"""A server as a process of its own, spoken to over its standard input and output.

Owns: starting and stopping the process. The library has such a transport too; it drops an answer that it cannot parse
and takes quadratic time for a long line.
Must not know: what is said.
"""

import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from keepwhole.apps.mcp.line_reader import LineSplitter, LongLine, read_line
from keepwhole.apps.mcp.servers_file import ServerSpec

_GRACE_SECONDS = 2.0
"""How long a process gets to exit after its input is closed, and again after SIGTERM."""
_POLL_SECONDS = 0.01
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError, OSError)
_log = logging.getLogger("keepwhole.mcp")


@asynccontextmanager
async def run_server(spec: ServerSpec) -> AsyncGenerator[Any]:
    """Start the process of a server and yield the streams to and from it; stop it on leaving."""
    process = await anyio.open_process(
        [spec.command, *spec.args],
        env=get_default_environment() | dict(spec.env),
        cwd=spec.cwd,
        stderr=None,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    received, read = anyio.create_memory_object_stream[SessionMessage](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_lines, process.stdout, received, spec.name)
        tasks.start_soon(_write_lines, process.stdin, outgoing, received)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                for stream in (read, write):
                    await stream.aclose()
                await _stop(process)
            tasks.cancel_scope.cancel()
    for stream in (received, outgoing):
        await stream.aclose()


async def _read_lines(stdout: ByteReceiveStream, received: MemoryObjectSendStream[Any], server: str) -> None:
    lines = LineSplitter()
    async with received:
        with suppress(*_CLOSED):
            async for chunk in stdout:
                for line in lines.feed(chunk):
                    if not await _deliver(line, received, server):
                        return
    with suppress(*_CLOSED):  # a process that is blocked writing would not see that its input is closed
        async for _ in stdout:
            pass


async def _deliver(line: bytes | LongLine, received: MemoryObjectSendStream[Any], server: str) -> bool:
    """Pass a line's message on; False where the connection has to end, since a call could wait for ever."""
    if isinstance(line, bytes) and not line.strip():
        return True
    message = read_line(line, server)
    if message is not None:
        await received.send(message)
        return True
    _log.warning("server %r: a line of its output is no message of the protocol", server)
    return isinstance(line, bytes)


async def _write_lines(
    stdin: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage], received: MemoryObjectSendStream[Any]
) -> None:
    try:
        async with outgoing:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(line.encode() + b"\n")
    except _CLOSED:  # the process may live on, but no call reaches it: let every waiting call end
        await received.aclose()


async def _stop(process: Process) -> None:
    """Close the input, then ask with SIGTERM, then kill; each wait is bounded."""
    with suppress(*_CLOSED):
        assert process.stdin is not None
        await process.stdin.aclose()
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        if await _has_exited(process) or number is None:
            break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    with suppress(*_CLOSED):
        assert process.stdout is not None
        await process.stdout.aclose()
    # A descendant may hold the pipes open, so waiting for their end could take for ever.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    with suppress(AttributeError, PermissionError):
        transport.close()  # pyright: ignore[reportOptionalMemberAccess]


async def _has_exited(process: Process) -> bool:
    with anyio.move_on_after(_GRACE_SECONDS):
        while process.returncode is None:
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None
