"""Whether the calls and results of a branch belong together, checked as it grows.

Owns: how much of a branch is known to be whole. Must not know: how a pair is repaired (`wire.pairs`).
"""

from collections.abc import Sequence
from typing import Any

from keepwhole.policies.transcript import Transcript
from keepwhole.wire.dialects import DEFAULT, decode_message, dialect_of
from keepwhole.wire.pairs import NO_RESULT


class PairCheck:
    """The pairs of one branch."""

    def __init__(self) -> None:
        self.is_broken = False
        self.repaired = 0
        self.missing: set[str] = set()
        """Ids of the calls that have no result."""
        self.continues = False
        """Whether the request continues another one, and so holds half of its pairs."""
        self._checked = 0
        """Messages that are known to be whole."""

    def check(self, messages: Sequence[Any], transcript: Transcript, continues: bool) -> None:
        """Look for broken pairs; only in what is new, where the rest is known to be whole."""
        self.repaired, self.continues, self.missing = 0, continues, set()
        if continues:
            self.is_broken, self._checked = False, 0
            return
        start = 0 if self.is_broken else transcript.last_calls_before(self._checked)
        dialect = dialect_of(messages[start:]) or DEFAULT
        is_broken = dialect.is_broken(messages[start:])
        self.is_broken = is_broken and (dialect_of(messages) or dialect).is_broken(messages)
        self._checked = len(messages)
        if self.is_broken:
            whole, _ = (dialect_of(messages) or dialect).repair(messages)
            results = (returned for message in whole for returned in decode_message(message).returned)
            self.missing = {returned.call_id for returned in results if returned.text == NO_RESULT}

    def cut_back(self, length: int) -> None:
        """Forget the messages from `length` on."""
        self._checked = min(self._checked, length)
