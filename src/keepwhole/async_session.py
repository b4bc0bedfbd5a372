"""The async twins: the same calls for event loops. The only place that hops threads."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from keepwhole.recall.answer import RecallAnswer
from keepwhole.record.shown import Shown
from keepwhole.store.verify import Verification

if TYPE_CHECKING:
    from keepwhole.recall.selection import Selection

P = ParamSpec("P")
T = TypeVar("T")


class _Sync(Protocol):
    """The calls that have a twin."""

    keep: Callable[..., Shown]
    view: Callable[..., Any]
    projection: Callable[..., Any]
    hydrate: Callable[[Any], list[Any]]
    undo: Callable[[str], int]
    pin: Callable[[str], int]
    recall: Callable[..., str]
    recall_bytes: Callable[[str], bytes]
    stream: Callable[[str], Iterator[bytes]]
    select: "Callable[..., Selection]"
    answer: Callable[[object], dict[str, Any] | None]
    call_tool: Callable[..., RecallAnswer]
    verify: Callable[[], Verification]
    end: Callable[[], None]


async def _hop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` on a worker thread; the loop goes on meanwhile."""
    import asyncio

    return await asyncio.to_thread(function, *args, **kwargs)


class AsyncTwins:
    """Async twins of a session's calls. Acknowledged when durable; the loop is never blocked."""

    async def akeep(self, tool_or_call: object, *args: Any, **kwargs: Any) -> Shown:
        """`keep`; chunks may come from an async iterator too."""
        import asyncio

        loop = asyncio.get_running_loop()
        values = [_from_loop(value, loop) for value in args]
        named = {key: _from_loop(value, loop) for key, value in kwargs.items()}
        return await _hop(cast("_Sync", self).keep, tool_or_call, *values, **named)

    async def aview(self, messages: Any, **kwargs: Any) -> Any:
        """`view`."""
        return await _hop(cast("_Sync", self).view, messages, **kwargs)

    async def aprojection(self, messages: Any, **kwargs: Any) -> Any:
        """`projection`."""
        return await _hop(cast("_Sync", self).projection, messages, **kwargs)

    async def ahydrate(self, messages: Any) -> list[Any]:
        """`hydrate`."""
        return await _hop(cast("_Sync", self).hydrate, messages)

    async def aundo(self, any_id: str) -> int:
        """`undo`."""
        return await _hop(cast("_Sync", self).undo, any_id)

    async def apin(self, any_id: str) -> int:
        """`pin`."""
        return await _hop(cast("_Sync", self).pin, any_id)

    async def arecall(self, any_id: str, **kwargs: Any) -> str:
        """`recall`."""
        return await _hop(cast("_Sync", self).recall, any_id, **kwargs)

    async def arecall_bytes(self, any_id: str) -> bytes:
        """`recall_bytes`."""
        return await _hop(cast("_Sync", self).recall_bytes, any_id)

    async def astream(self, any_id: str) -> AsyncIterator[bytes]:
        """`stream`."""
        chunks = await _hop(cast("_Sync", self).stream, any_id)
        while (chunk := await _hop(lambda: next(chunks, None))) is not None:
            yield chunk

    async def aselect(self, query: str, **kwargs: Any) -> "Selection":
        """`select`."""
        return await _hop(cast("_Sync", self).select, query, **kwargs)

    async def aanswer(self, call: object) -> dict[str, Any] | None:
        """`answer`."""
        return await _hop(cast("_Sync", self).answer, call)

    async def acall_tool(self, name: str, arguments: Any = None) -> RecallAnswer:
        """`call_tool`."""
        return await _hop(cast("_Sync", self).call_tool, name, arguments)

    async def averify(self) -> Verification:
        """`verify`."""
        return await _hop(cast("_Sync", self).verify)

    async def aend(self) -> None:
        """`end`."""
        await _hop(cast("_Sync", self).end)


def _from_loop(value: Any, loop: Any) -> Any:
    """An async iterator of `loop` as one that a worker thread can read; anything else as it is."""
    return _chunks_from_loop(value.__aiter__(), loop) if hasattr(value, "__aiter__") else value


def _chunks_from_loop(chunks: Any, loop: Any) -> Iterator[str | bytes]:
    import asyncio

    async def following() -> Any:
        return await anext(chunks, None)

    while (chunk := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
        yield chunk
