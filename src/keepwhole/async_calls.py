"""Async twins of sync methods: the same call on a worker thread, so that the event loop goes on meanwhile.

The only place that hops threads. A twin has the signature of its method.
"""

from collections.abc import AsyncIterable, Callable, Coroutine, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

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


def chunks_from_loop(chunks: "AsyncIterable[str | bytes]", loop: "AbstractEventLoop") -> Iterator[str | bytes]:
    """The chunks of an async iterator of `loop`, for a worker thread."""
    import asyncio

    iterator = aiter(chunks)

    async def next_chunk() -> str | bytes | None:
        return await anext(iterator, None)

    while (chunk := asyncio.run_coroutine_threadsafe(next_chunk(), loop).result()) is not None:
        yield chunk
