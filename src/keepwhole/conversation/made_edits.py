"""The edits that a branch makes in its messages, kept from one request to the next.

Owns: which edits are made in which message. Must not know: why (`branch`), or how they are written (`wire`).

A client sends everything again with every request, and of a long conversation most messages are edited as they were
before. So the edits of a message are made once, when a decision about one of its results comes into force, and are the
same objects in every request from then on: whoever writes them sees at a glance that they are.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from keepwhole.canonical.message import Path

Edit: TypeAlias = tuple[Path, Any]
"""A path inside a message, and the text or part that is put there."""


class MadeEdits:
    """The edits of one branch."""

    def __init__(self) -> None:
        self._of: dict[int, Sequence[Edit]] = {}
        self.calls: set[int] = set()
        """Numbers of the results of whose calls the arguments may be cut."""

    def hold(self, index: int, edits: Sequence[Edit]) -> None:
        """Make these edits in message `index`, in place of those that were made there."""
        self._of[index] = edits

    def drop(self, index: int) -> None:
        """Make none in message `index`."""
        self._of.pop(index, None)

    def cut_back(self, length: int, results: int) -> None:
        """Forget the messages from `length` on, of which the first ones have so many results."""
        self._of = {index: edits for index, edits in self._of.items() if index < length}
        self.calls = {number for number in self.calls if number < results}

    def by_message(self) -> dict[int, Sequence[Edit]]:
        """Return the edits by message."""
        return self._of.copy()
