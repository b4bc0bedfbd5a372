"""A task may be cancelled wherever it waits: what was acknowledged is there, and nothing stays locked or running."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from keepwhole import Session

LONG = "\n".join(f"line {number} of the output" for number in range(4_000))


RUNNING: list["CancelAt"] = []


class CancelAt:
    """Runs a coroutine and has it cancelled at the n-th wait, its own or that of an iterator it reads."""

    def __init__(self, inner: Coroutine[Any, Any, Any], at: int, cancel: Callable[[], object]) -> None:
        self._inner, self._at, self._cancel = inner, at, cancel
        self._waits = 0
        RUNNING[:] = [self]

    def count_wait(self) -> None:
        self._waits += 1
        if self._waits == self._at:
            self._cancel()

    def __await__(self) -> Generator[Any, Any, Any]:
        wanted: Any = None
        failure: BaseException | None = None
        while True:
            try:
                found = self._inner.send(wanted) if failure is None else self._inner.throw(failure)
            except StopIteration as end:
                return end.value
            self.count_wait()
            wanted, failure = None, None
            try:
                wanted = yield found
            except BaseException as error:
                failure = error


async def by_asyncio(work: Coroutine[Any, Any, Any], at: int) -> tuple[bool, Any]:
    """Whether the work was cancelled at its n-th wait, and what it returned."""

    async def run() -> Any:
        task = asyncio.current_task()
        assert task is not None
        return await CancelAt(work, at, task.cancel)

    task = asyncio.ensure_future(run())
    await asyncio.wait([task])
    return task.cancelled(), None if task.cancelled() else task.result()


async def by_anyio(work: Coroutine[Any, Any, Any], at: int) -> tuple[bool, Any]:
    found: list[Any] = []
    with anyio.CancelScope() as scope:
        found.append(await CancelAt(work, at, scope.cancel))
    return not found, found[0] if found else None


_TRIES = 10
"""anyio cancels in the next pass of the loop, when a thread that was waited for may be done."""
WAYS = [by_asyncio, by_anyio]
every_way = pytest.mark.parametrize("cancelled", WAYS)
Way = Callable[[Coroutine[Any, Any, Any], int], Awaitable[tuple[bool, Any]]]


class Chunks:
    """An output that comes piece by piece."""

    def __init__(self) -> None:
        self.is_running = False

    async def __aiter__(self) -> AsyncIterator[str]:
        for at in range(0, len(LONG), 20_000):
            self.is_running = True
            try:
                asyncio.get_running_loop().call_soon(RUNNING[0].count_wait)
                await asyncio.sleep(0.01)
            finally:
                self.is_running = False
            yield LONG[at : at + 20_000]


def messages() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": LONG}
    said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return [{"role": "user", "content": "go"}, *said]


WORK: dict[str, Callable[[Session], Coroutine[Any, Any, Any]]] = {
    "keep": lambda session: session.akeep("work", {}, LONG),
    "keep chunks": lambda session: session.akeep("work", {}, Chunks()),
    "view": lambda session: session.aview(messages()),
}


async def still_works(session: Session, folder: Path) -> None:
    """A result is stored by this session and by another one of the same record, in time."""
    async with asyncio.timeout(10):
        kept = await session.akeep("work", {}, LONG + "again")
        assert kept.trace_id is not None
        with Session("other", store=str(folder)) as other:
            assert (await other.akeep("work", {}, "text")).trace_id is not None
        await asyncio.get_running_loop().shutdown_default_executor()  # no thread waits for anything
    assert session.recall_bytes(kept.trace_id) == (LONG + "again").encode()
    assert session.verify().whole


@every_way
@pytest.mark.parametrize("name", WORK)
def test_a_call_may_be_cancelled_at_any_wait(name: str, cancelled: Way, tmp_path: Path) -> None:
    for at in range(1, 100):

        async def run(again: int, at: int = at) -> bool:
            folder = tmp_path / f"{at}-{again}"
            with Session("s", store=str(folder)) as session:
                acknowledged = await session.akeep("work", {}, "before")
                was_cancelled, kept = await cancelled(WORK[name](session), at)
                if name.startswith("keep") and not was_cancelled:
                    assert session.recall_bytes(kept.trace_id) == LONG.encode()
                assert acknowledged.trace_id is not None
                assert session.recall_bytes(acknowledged.trace_id) == b"before"
                await still_works(session, folder)
            return was_cancelled

        if not any(asyncio.run(run(again)) for again in range(_TRIES)):
            break
    else:
        pytest.fail("it never came to its end")
    assert at > 1, "nothing was cancelled"


@every_way
def test_nothing_runs_in_an_iterator_whose_keep_was_cancelled(cancelled: Way, tmp_path: Path) -> None:
    async def run() -> None:
        chunks = Chunks()
        source = aiter(chunks)
        with Session("s", store=str(tmp_path)) as session:
            was_cancelled, _ = await cancelled(session.akeep("work", {}, source), 3)
            assert was_cancelled
            assert not chunks.is_running
            await source.aclose()  # type: ignore[attr-defined]
            await still_works(session, tmp_path)

    asyncio.run(run())


def test_the_check_notices_a_lock_that_is_not_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked for: a cancelled call that leaves a lock behind holds up the next one."""
    lock, original = asyncio.Lock(), Session.akeep

    async def leaky(self: Session, *args: Any, **options: Any) -> Any:
        await lock.acquire()
        kept = await original(self, *args, **options)
        lock.release()
        return kept

    async def run() -> None:
        with Session("s", store=str(tmp_path)) as session:
            assert (await by_asyncio(session.akeep("work", {}, LONG), 1))[0]
            async with asyncio.timeout(1):
                await session.akeep("work", {}, LONG)

    monkeypatch.setattr(Session, "akeep", leaky)
    with pytest.raises(TimeoutError):
        asyncio.run(run())
