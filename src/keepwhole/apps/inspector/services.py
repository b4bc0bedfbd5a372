"""The parts of the inspector that answer the page, made once for a record.

Must not know: sockets.
"""

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.health import Health
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.sessions import Sessions
from keepwhole.apps.inspector.story import Stories
from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.apps.inspector.user_words import UserWords
from keepwhole.apps.inspector.what_if import WhatIf
from keepwhole.apps.search_progress import BackgroundIndex, Looked
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.store.protocol import Store
from keepwhole.store.text_search import NewestFirst

_INDEXING, _READING = 0.05, 0.4
"""Seconds of one search while results are still being indexed; the page asks again."""
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
        self._index = BackgroundIndex(store)

    def step_fields(self, timeline: Timeline, steps: Sequence[TimelineStep]) -> list[dict[str, Any]]:
        """Steps as every view has them: with what was said and what each has cost."""
        with timeline.lock:
            fields = [shapes.step(step) | {"cost": self.sessions.cost_of_step(timeline, step)} for step in steps]
        said = self.words.of_steps(timeline, steps)
        return [each | {"said": words} for each, words in zip(fields, said, strict=True)]

    def search(self, name: str, words: str, most: int, below: int | None = None) -> dict[str, Any]:
        """The results of a session that contain all these words, each with its first matching line.

        Until the session is indexed, results are read, the newest first: `next` says below which to go on.
        """
        timeline, store = self.record.timeline(name), self.record.store
        passages = store.passages(name, until=time.monotonic() + _INDEXING)
        reached = 0
        if passages.is_all:
            until = time.monotonic() + _THOROUGH
            matches = store.search(name, words, most, until=until) if words.split() else []
            is_all = time.monotonic() < until
        else:
            self._index.complete(name)
            scan = NewestFirst(store, name, words, passages=passages, below=below)
            matches = list(islice(scan.matches(time.monotonic() + _READING, least=1), most))
            reached, is_all = scan.reached, not scan.reached
            if is_all:
                known = {match.trace_id for match in matches}
                matches += scan.in_arguments(known, most - len(matches))
        found: list[dict[str, Any]] = []
        for match in matches:
            kept = timeline.find(match.trace_id)
            if kept is not None:
                own = {"artifact_id": kept.result.artifact_id, "tool": showable(kept.result.tool)}
                found.append({"trace_id": match.trace_id, **own, "line": match.line, "text": showable(match.text)})
        with timeline.lock:
            seqs = [kept.seq for kept in timeline.results.values()]
        looked = Looked(sum(seq >= reached for seq in seqs), len(seqs))
        next_below = reached or None
        about = {"is_all": is_all, **looked._asdict(), "words": looked.words_while(is_all), "next": next_below}
        return {"found": found, **about}

    def close(self) -> None:
        """Close the record's readers."""
        self._index.close()
        self.record.close()
