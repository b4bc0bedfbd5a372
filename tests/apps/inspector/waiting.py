"""Waiting in a page whose policy forbids evaluating text, which is how the browser's driver waits by itself."""

import time
from typing import Any


def until(tab: Any, expression: str, seconds: float = 8.0) -> None:
    """Returns when the expression is true in the page."""
    end = time.monotonic() + seconds
    while not tab.evaluate(expression):
        if time.monotonic() > end:
            raise AssertionError(f"never true within {seconds} s: {expression}")
        time.sleep(0.02)
