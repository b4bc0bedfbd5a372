"""In which order the event loop's thread works where many requests come at once.

Owns: that requests are begun one after another, with time in between, and that recording waits for them.
Must not know: how a request is begun, or what is recorded.

Theory of operation
-------------------
A request is begun in half a millisecond of work on the thread that also sends requests and relays answers. Of twenty
that come at once, all are ready to be begun in the same pass of the event loop. If they were, the first would be sent
only after the last is begun. So the next one is begun some passes later, in which what was begun is connected, sent and
answered:

    all in one pass    begin 1  begin 2  …  begin 20  send 1  send 2  …  answer 1  answer 2  …
    in turns           begin 1  send 1  begin 2  send 2, answer 1  begin 3  send 3, answer 2  …

What is recorded of an answer takes twice as long as to begin a request, on other threads that hold Python's lock in
turns with this one. Nobody waits for it, so it waits while requests do, for a while.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

_PASSES = 8
"""Passes of the event loop in which a request is connected and sent, and the answer to an earlier one is begun."""
_HELD_BACK = 0.1
"""Seconds for which recording waits at most."""


class Turns:
    """The turns in which requests are begun."""

    def __init__(self, held_back: float = _HELD_BACK) -> None:
        """Recording waits for at most `held_back` seconds."""
        self._lock, self._held_back = asyncio.Lock(), held_back
        self._waiting = 0
        """Requests that are begun now, or wait for their turn."""
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Run the block when no other request is begun; the next one has its turn some passes of the loop later."""
        self._waiting += 1
        self._is_idle.clear()
        try:
            await self._lock.acquire()
        except BaseException:
            self._leave()
            raise
        try:
            yield
        finally:
            self._give_on(_PASSES)

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its turn."""
        return self._is_idle.is_set()

    async def wait_until_idle(self) -> None:
        """Wait until no request waits for its turn, but not for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._held_back):
                await self._is_idle.wait()

    def _give_on(self, passes: int) -> None:
        if passes:
            asyncio.get_running_loop().call_soon(self._give_on, passes - 1)
        else:
            self._lock.release()
            self._leave()

    def _leave(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._is_idle.set()
