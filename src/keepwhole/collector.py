"""`without_collection`: reading much that stays, without Python's cyclic garbage collector looking through all of it.

Must not know: what is read.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collection(counts_as_old: bool = False) -> Generator[None]:
    """Run the block without the collector: what is read in it stays, and looking through all of it takes up to half of
    the time. If it then `counts_as_old`, the next look at what is new does not go through it either; to find out
    whether that may be done takes long where a program has frozen much."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:  # of two threads in here, the one that found it enabled enables it
            if counts_as_old and not gc.get_freeze_count():  # what the program itself has frozen stays frozen
                gc.freeze()
                gc.unfreeze()  # both together make all of it old at once, without a look
            gc.enable()
