"""The parts of the inspector that answer the page, made once for a record.

Must not know: sockets.
"""

import time
from collections.abc import Sequence
from typing import Any

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.health import Health
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.sessions import Sessions
from keepwhole.apps.inspector.story import Stories
from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.apps.inspector.user_words import UserWords
from keepwhole.apps.inspector.what_if import WhatIf
from keepwhole.apps.search_progress import Looked, looked_at
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.store.protocol import Store

_SEARCH_SECONDS = 0.5
"""For one search while results are still being indexed; the page asks again."""
_THOROUGH = 20.0
"""For one search once all are: what is left to read does not become less by asking again."""


class InspectorServices:
    """The record with everything that answers questions about it. Safe from threads."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.record = Record(settings, store)
        self.words = UserWords(self.record)
        self.sessions = Sessions(self.record, self.words)
        self.stories = Stories(self.record)
        self.health = Health(self.record)
        self.what_if = WhatIf(self.record)

    def step_fields(self, timeline: Timeline, steps: Sequence[TimelineStep]) -> list[dict[str, Any]]:
        """Steps as every view has them: with what was said and what each has cost."""
        with timeline.lock:
            costs = self.sessions.costs_of_steps(timeline)
            fields = [shapes.step(step) | {"cost": costs.get(step.seq)} for step in steps]
        said = self.words.of_steps(timeline, steps)
        return [each | {"said": words} for each, words in zip(fields, said, strict=True)]

    def search(self, name: str, words: str, most: int) -> dict[str, Any]:
        """The results of a session that contain all these words, each with its first matching line."""
        timeline = self.record.timeline(name)
        now = time.monotonic()
        is_indexed = self.record.store.passages(name, until=now + _SEARCH_SECONDS / 2).is_all
        until = now + (_THOROUGH if is_indexed else _SEARCH_SECONDS)
        matches = self.record.store.search(name, words, most, until=until) if words.split() else []
        found: list[dict[str, Any]] = []
        for match in matches:
            kept = timeline.find(match.trace_id)
            if kept is not None:
                own = {"artifact_id": kept.result.artifact_id, "tool": showable(kept.result.tool)}
                found.append({"trace_id": match.trace_id, **own, "line": match.line, "text": showable(match.text)})
        is_all = time.monotonic() < until
        with timeline.lock:
            seqs = [kept.seq for kept in timeline.results.values()]
        looked = Looked(len(seqs), len(seqs)) if is_all else looked_at(self.record.store, name, seqs)
        return {"found": found, "is_all": is_all, **looked._asdict(), "words": looked.words_while(is_all), "next": None}

    def close(self) -> None:
        """Close the record's readers."""
        self.record.close()
