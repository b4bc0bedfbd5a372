"""The async twins do what the calls do, and the loop goes on meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import MemoryStore, NotFound, Session
from tests.build import in_memory, numbered_lines

TEXT = numbered_lines(1_000)
LARGE = numbered_lines(9_000)


async def chunks(text: str = LARGE, pause: float = 0.0) -> AsyncIterator[str | bytes]:
    for start in range(0, len(text), 10_000):
        await asyncio.sleep(pause)
        piece = text[start : start + 10_000]
        yield piece if start % 20_000 else piece.encode()


async def ticks_while(working: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """What the work gives, and how often a task ticked meanwhile: once or twice where the loop was blocked."""
    task, ticks = asyncio.ensure_future(working), 0
    while not task.done():
        await asyncio.sleep(0.005)
        ticks += 1
    return await task, ticks


def test_every_twin_gives_what_its_call_gives() -> None:
    async def main() -> None:
        session = in_memory()
        shown = await session.akeep("fetch", {"path": "a"}, TEXT, call_id="c")
        any_id = str(shown.artifact_id)
        assert shown == in_memory().keep("fetch", {"path": "a"}, TEXT, call_id="c")
        assert await session.arecall(any_id) == session.recall(any_id)
        assert await session.arecall(any_id, lines="2-3") == session.recall(any_id, lines="2-3")
        assert await session.arecall_bytes(any_id) == session.recall_bytes(any_id)
        assert b"".join([piece async for piece in session.astream(any_id)]) == TEXT.encode()
        call = {"type": "tool_use", "id": "c", "name": "get_artifact", "input": {"id": any_id}}
        assert await session.aanswer(call) == session.answer(call)
        assert await session.acall_tool("get_artifact", {"id": any_id}) == session.call_tool(
            "get_artifact", {"id": any_id}
        )
        assert await session.averify() == session.verify()
        await session.aend()
        assert session.store.sessions()[0].ended_at is not None

    asyncio.run(main())


def test_a_twin_raises_what_its_call_raises() -> None:
    async def main() -> None:
        with pytest.raises(NotFound):
            await in_memory().arecall("trace_none")

    asyncio.run(main())


def test_an_async_iterator_is_kept_whole(tmp_path: Path) -> None:
    async def main() -> None:
        session = Session("s", store=str(tmp_path))
        shown = await session.akeep("fetch", None, chunks())
        assert await session.arecall(str(shown.trace_id)) == LARGE
        session.close()

    asyncio.run(main())


def test_an_async_iterator_is_kept_by_a_call_too() -> None:
    async def main() -> None:
        session = in_memory()
        call = {"type": "tool_use", "id": "c", "name": "fetch", "input": {}}
        shown = await session.akeep(call, chunks(TEXT))
        assert session.recall(str(shown.trace_id)) == TEXT
        assert shown.block("anthropic")["tool_use_id"] == "c"

    asyncio.run(main())


def test_an_async_iterator_may_be_given_by_name() -> None:
    async def main() -> None:
        session = in_memory()
        shown = await session.akeep("fetch", None, output=chunks(TEXT))
        assert session.recall(str(shown.trace_id)) == TEXT

    asyncio.run(main())


def test_an_empty_async_iterator_is_an_empty_result() -> None:
    async def main() -> None:
        assert (await in_memory().akeep("t", None, chunks(""))).content == ""

    asyncio.run(main())


@pytest.mark.parametrize("good", ["short", LARGE * 10])
def test_an_error_of_an_async_iterator_reaches_the_caller_and_nothing_is_recorded(tmp_path: Path, good: str) -> None:
    async def broken() -> AsyncIterator[str]:
        yield good
        raise ConnectionResetError("the line went dead")

    async def main() -> None:
        session = Session("s", store=str(tmp_path))
        with pytest.raises(ConnectionResetError):
            await session.akeep("t", None, broken())
        assert list(session.store.rows("s")) == []
        session.close()

    asyncio.run(main())


def test_the_loop_ticks_on_while_a_slow_async_iterator_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        session = Session("s", store=str(tmp_path))
        shown, ticks = await ticks_while(session.akeep("t", None, chunks(pause=0.005)))
        assert shown.metadata.original_size == len(LARGE)
        assert ticks >= 8
        session.close()

    asyncio.run(main())


def test_the_loop_ticks_on_while_a_slow_feed_is_kept(tmp_path: Path) -> None:
    def slow() -> Iterator[str]:
        for _ in range(6):
            time.sleep(0.05)
            yield TEXT

    async def main() -> None:
        session = Session("s", store=str(tmp_path))
        _, ticks = await ticks_while(session.akeep("t", None, slow()))
        assert ticks >= 8
        session.close()

    asyncio.run(main())


def test_many_results_are_kept_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        session = Session("s", store=str(tmp_path))
        texts = [f"{number}\n" + TEXT for number in range(20)]
        shown = await asyncio.gather(*(session.akeep("t", None, text) for text in texts))
        assert [session.recall(str(view.trace_id)) for view in shown] == texts
        assert session.verify().whole
        session.close()

    asyncio.run(main())


def test_an_acknowledged_result_is_durable(tmp_path: Path) -> None:
    session, other = Session("s", store=str(tmp_path)), Session("s", store=str(tmp_path))
    shown = asyncio.run(session.akeep("t", None, LARGE))
    assert other.recall(str(shown.trace_id)) == LARGE
    other.close()
    session.close()


def test_a_session_is_used_from_several_loops_one_after_the_other() -> None:
    session = Session(store=MemoryStore())
    traces = [asyncio.run(session.akeep("t", None, chunks(TEXT))).trace_id for _ in range(3)]
    assert len(set(traces)) == 3
