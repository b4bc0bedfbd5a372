"""The async twins of `ContextManager`: the same calls on a worker thread, so that the loop goes on."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from keepwhole.standalone.contexts.context import StoredContext

P = ParamSpec("P")
T = TypeVar("T")


class _Sync(Protocol):
    """The calls that have a twin."""

    save_context: Callable[..., str]
    load_contexts: "Callable[..., list[StoredContext]]"
    select_relevant_contexts: Callable[..., list[str]]
    clear_context_dir: Callable[[], None]
    clear: Callable[[], None]


async def _hop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    import asyncio

    return await asyncio.to_thread(function, *args, **kwargs)


class AsyncTwins:
    """Async twins of the calls that touch files or ask a selector; the others need none."""

    async def asave_context(self, *args: Any, **kwargs: Any) -> str:
        """`save_context`."""
        return await _hop(cast("_Sync", self).save_context, *args, **kwargs)

    async def aload_contexts(self, *args: Any, **kwargs: Any) -> "list[StoredContext]":
        """`load_contexts`."""
        return await _hop(cast("_Sync", self).load_contexts, *args, **kwargs)

    async def aselect_relevant_contexts(self, *args: Any, **kwargs: Any) -> list[str]:
        """`select_relevant_contexts`."""
        return await _hop(cast("_Sync", self).select_relevant_contexts, *args, **kwargs)

    async def aclear_context_dir(self) -> None:
        """`clear_context_dir`."""
        await _hop(cast("_Sync", self).clear_context_dir)

    async def aclear(self) -> None:
        """`clear`."""
        await _hop(cast("_Sync", self).clear)
