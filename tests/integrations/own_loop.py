"""Frameworks that run an agent without `await` leave their loop open for the next run; tests close it."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_own_loop(run: Callable[[], T]) -> T:
    """The result of `run` in an event loop that is closed afterwards."""
    asyncio.set_event_loop(loop := asyncio.new_event_loop())
    try:
        return run()
    finally:
        loop.close()
        asyncio.set_event_loop(None)
