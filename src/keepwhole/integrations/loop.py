"""Hand-written agent loops: one call where a tool has returned.

Owns: answering calls of the recall tools, running the others, and turning what they raise into results.
Must not know: how messages are sent; `Session.view` chooses what of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from keepwhole.canonical.media import MediaBytes, media_of
from keepwhole.session import Session
from keepwhole.wire.dialects import parse_call

ToolEnd: TypeAlias = Callable[[object, object], dict[str, Any]]
AsyncToolEnd: TypeAlias = Callable[[object, object], Awaitable[dict[str, Any]]]


def on_tool_end(session: Session) -> ToolEnd:
    """Return `keep_output(call, output)`: it keeps a tool's output and returns the block to send in the call's dialect.

    `output` is what `Session.keep` takes, `MediaBytes` for an image or a document, an exception, or a function that
    runs the tool. A function is not called for a call of the recall tools, which the session answers itself; what it
    raises is kept as an error and sent as one.
    """

    def keep_output(call: object, output: object) -> dict[str, Any]:
        answer = session.answer(call)
        if answer is not None:
            return answer
        value, is_error = _read_output(output)
        if isinstance(value, MediaBytes):
            return _keep_media(session, call, value)
        return session.keep(call, value, is_error=is_error).block(parse_call(call).dialect.name)

    return keep_output


def aon_tool_end(session: Session) -> AsyncToolEnd:
    """`on_tool_end` for event loops; the function may be a coroutine function."""

    async def keep_output(call: object, output: object) -> dict[str, Any]:
        answer = await session.aanswer(call)
        if answer is not None:
            return answer
        value, is_error = _read_output(output)
        if isinstance(value, Awaitable):
            value, is_error = await _await_output(cast("Awaitable[object]", value))
        if isinstance(value, MediaBytes):
            return await asyncio.to_thread(_keep_media, session, call, value)
        shown = await session.akeep(call, value, is_error=is_error)
        return shown.block(parse_call(call).dialect.name)

    return keep_output


def _keep_media(session: Session, call: object, media: MediaBytes) -> dict[str, Any]:
    """Keep an image or a document; return the block with it, or with words where the API takes none in a result."""
    parsed = parse_call(call)
    session.keep_media(parsed.name, parsed.arguments, [media], call_id=parsed.call_id)
    shown = media if media.media_type in parsed.dialect.shown_types else None
    return parsed.dialect.result_block(parsed.call_id, media_of(media.data, media.media_type).looks, media=shown)


def _read_output(output: object) -> tuple[Any, bool]:
    """What a tool returned, and whether it failed."""
    try:
        value = output() if callable(output) else output
    except Exception as error:
        return _words(error), True
    return (_words(value), True) if isinstance(value, Exception) else (value, False)


async def _await_output(value: Awaitable[object]) -> tuple[Any, bool]:
    try:
        return await value, False
    except Exception as error:
        return _words(error), True


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
