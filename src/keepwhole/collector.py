"""`without_collection`: reading much that stays, without Python's cyclic garbage collector looking through all of it.

Owns: that the collector of the program goes on as before: it is enabled again, also in a forked child, and still looks
through everything now and then.
Must not know: what is read.
"""

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager

_MOST_MADE_OLD = 200_000
"""Objects that are made old between two looks through everything. What is made old unseen may be garbage, and does not
count towards the next such look: without a limit a process that reads much again and again would have none."""


class _Collector:
    """What is known of the collector of this process."""

    disabled = 0
    """Blocks that have disabled it and will enable it."""
    made_old = 0
    """Objects that were made old since the collector has looked through everything."""
    looks = -1
    """Looks through everything when that was counted."""


@contextmanager
def without_collection(counts_as_old: bool = False) -> Generator[None]:
    """Run the block without the collector: what is read in it stays, and looking through all of it takes up to half of
    the time. If it then `counts_as_old`, the next look at what is new does not go through it either; to find out
    whether that may be done takes long where a program has frozen much."""
    was_enabled = gc.isenabled()
    gc.disable()
    _Collector.disabled += was_enabled
    try:
        yield
    finally:
        if was_enabled:  # of two threads in here, the one that found it enabled enables it
            if counts_as_old:
                _make_old()
            _Collector.disabled = max(0, _Collector.disabled - 1)
            gc.enable()


def _make_old() -> None:
    """Make everything old at once, without a look, as far as the collector still comes to look through it."""
    looks = gc.get_stats()[-1]["collections"]
    if looks != _Collector.looks:
        _Collector.looks, _Collector.made_old = looks, 0
    if _Collector.made_old < _MOST_MADE_OLD and not gc.get_freeze_count():  # what the program froze stays frozen
        _Collector.made_old += gc.get_count()[0]
        gc.freeze()
        gc.unfreeze()


def _go_on_in_child() -> None:
    """Enable the collector in a forked child: the thread that was to do it is not there."""
    if _Collector.disabled:
        _Collector.disabled = 0
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
