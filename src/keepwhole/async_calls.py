"""Async twins of sync methods: the same call on a worker thread, so that the event loop goes on meanwhile.

The only place that hops threads. A twin has the signature of its method.
"""

from collections.abc import AsyncIterable, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def twin(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async twin of a method. It returns when the method has, so what is stored is durable by then."""

    @wraps(method)
    async def call(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio

        return await asyncio.to_thread(method, self, *args, **kwargs)

    call.__name__ = f"a{method.__name__}"
    call.__doc__ = f"`{method.__name__}`, without blocking the event loop."
    return call


class LoopChunks(Iterator[str | bytes]):
    """The chunks of an async iterator of a loop, for a worker thread, until `stop` is called on the loop."""

    def __init__(self, chunks: "AsyncIterable[str | bytes]", loop: "AbstractEventLoop") -> None:
        self._iterator, self._loop = aiter(chunks), loop
        self._task: Task[Any] | None = None
        self._is_stopped = False

    def __next__(self) -> str | bytes:
        import asyncio

        chunk = asyncio.run_coroutine_threadsafe(self._next_chunk(), self._loop).result()
        if chunk is None:
            raise StopIteration
        return chunk

    async def _next_chunk(self) -> str | bytes | None:
        import asyncio

        if self._is_stopped:
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        try:
            return await anext(self._iterator, None)
        finally:
            self._task = None

    async def stop(self) -> None:
        """End the thread's iteration, and wait until nothing runs in the async iterator: its owner may close it."""
        import asyncio

        self._is_stopped = True
        while (task := self._task) is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):  # of whoever stops it: they are told when it is done
                await asyncio.wait([task])
