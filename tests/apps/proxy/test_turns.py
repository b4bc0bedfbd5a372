"""Requests that come at once are begun in turns, with time in between for those that are begun already."""

import asyncio
from pathlib import Path

from keepwhole import MemoryStore, config
from keepwhole.apps.listener import Address
from keepwhole.apps.proxy.server import ProxyOptions, start_proxy
from keepwhole.apps.proxy.turns import Turns


def test_what_is_begun_first_is_sent_before_the_next_is_begun() -> None:
    happened: list[str] = []

    async def request(turns: Turns, number: int) -> None:
        async with turns.turn():
            happened.append(f"begin {number}")
        for _ in range(3):  # the event loop connects and sends
            await asyncio.sleep(0)
        happened.append(f"send {number}")

    async def main() -> None:
        turns = Turns()
        await asyncio.gather(*(request(turns, number) for number in range(3)))

    asyncio.run(main())
    assert happened == ["begin 0", "send 0", "begin 1", "send 1", "begin 2", "send 2"]


def test_nothing_is_recorded_while_requests_wait_for_their_turn() -> None:
    happened: list[str] = []

    async def request(turns: Turns, number: int) -> None:
        async with turns.turn():
            happened.append(f"begin {number}")

    async def record(turns: Turns) -> None:
        await turns.wait_until_idle()
        happened.append("record")

    async def main() -> None:
        turns = Turns(held_back=60)
        await record(turns)
        await asyncio.gather(request(turns, 1), record(turns), request(turns, 2))

    asyncio.run(main())
    assert happened == ["record", "begin 1", "begin 2", "record"]


def test_recording_does_not_wait_for_ever() -> None:
    async def main() -> None:
        turns = Turns(held_back=0.01)
        async with turns.turn(), asyncio.timeout(60):
            await turns.wait_until_idle()

    asyncio.run(main())


def test_a_request_that_is_gone_takes_no_turn() -> None:
    async def request(turns: Turns) -> None:
        async with turns.turn():
            pass

    async def main() -> None:
        turns = Turns(held_back=60)
        async with turns.turn():
            gone = asyncio.create_task(request(turns))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        async with asyncio.timeout(60), turns.turn():
            pass
        await turns.wait_until_idle()
        assert turns.is_idle

    asyncio.run(main())


def test_what_ends_after_everything_is_recorded_is_recorded_at_once(tmp_path: Path) -> None:
    """A request that is broken off while the proxy goes may end when nobody waits for it any more."""
    happened: list[str] = []

    async def main() -> None:
        settings = config.load(home=str(tmp_path), environ={})
        options = ProxyOptions(Address(host="127.0.0.1", port=0), None, ())
        async with start_proxy(settings, MemoryStore(), options) as (proxy, _):
            pass
        for number in (1, 2):
            proxy._run_later(lambda number=number: happened.append(f"answer {number}"), "session")

    asyncio.run(main())
    assert happened == ["answer 1", "answer 2"]
