"""Hidden rounds on record: found again after a restart, and by other processes.

Owns: how a round is written as an entry, and how much of a session's record was read already.
Must not know: how a round is put back into a request (`wire.hidden_rounds`).
"""

import json
import threading
from typing import Any, cast

from keepwhole.canonical.entry import Result
from keepwhole.errors import StoreError
from keepwhole.session import Session
from keepwhole.wire.hidden_rounds import Round

TOOL = "keepwhole_round"
"""The tool name of a round on record. The round is in the entry's header, so that no search shows it to a model."""


class HiddenRounds:
    """The hidden rounds of one session. Safe from threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._by_key: dict[str, list[Round]] = {}
        self._read = 0
        """How many of those on record are known."""

    def all(self) -> dict[str, list[Round]]:
        """Every round by the key of its answer, in order; what cannot be read is left out."""
        with self._lock:
            self._catch_up()
            return {key: list(found) for key, found in self._by_key.items()}

    def add(self, new: Round) -> bool:
        """Record a round; where that cannot be done, this process remembers it all the same."""
        about = {"v": 1, **new._asdict()}
        try:
            self._session.note(TOOL, about, "")
            return True
        except StoreError:
            with self._lock:
                self._by_key.setdefault(new.key, []).append(new)
            return False

    def _catch_up(self) -> None:
        notes = self._session.notes(TOOL)
        self._read = self._read if self._read <= len(notes) else 0  # a purged session is read from its beginning
        for result in notes[self._read :]:
            self._learn(result)
        self._read = len(notes)

    def _learn(self, result: Result) -> None:
        try:
            about = cast("dict[str, Any]", json.loads(result.arguments or ""))
            about.pop("v")
            found = Round(**about)
            self._by_key.setdefault(found.key, []).append(found)
        except (ValueError, KeyError, TypeError):
            return
