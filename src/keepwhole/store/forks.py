"""A connection must not cross a fork: two processes would speak on one, and believe in locks that only one has.

So no fork happens while a store is in the middle of something that must not be copied, and the child lets go of what it
inherited before it does anything else, in a way that the parent does not notice.
"""

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """A store that holds connections."""

    def before_fork(self) -> None:
        """Finish what is under way, and let nothing new begin."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Close what was inherited; the next use opens anew."""
        ...


_open: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_held: list[Forkable] = []


def watch(store: Forkable) -> None:
    """Look after a store when this process forks."""
    _open.add(store)


def _before() -> None:
    _held.extend(_open)
    for store in _held:
        store.before_fork()


def _in_parent() -> None:
    while _held:
        _held.pop().after_fork_in_parent()


def _in_child() -> None:
    while _held:
        _held.pop().after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
