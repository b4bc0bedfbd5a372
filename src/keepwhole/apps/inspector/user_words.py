"""What users said: the titles of sessions and of sub-agents, and the words with which a step begins.

Owns: where in the record these words are, and that each text is read once.
Must not know: sockets, which words of a text are the user's own (`session_title`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.apps.session_title import newest_words_of_request, title_of, title_of_request
from keepwhole.canonical.entry import Request
from keepwhole.errors import StoreError
from keepwhole.record.words_note import SaidWords

_MOST = 40
_CHARS = 8_000
"""The most words of a log with one step, and characters of each."""
_LARGEST = 1 << 20
"""Bytes of a request that is read for the words in a list of steps."""
_KNOWN = 5_000


class UserWords:
    """The words of a record's users. Safe from threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[tuple[str, int, str], str] = {}

    def title(self, timeline: Timeline) -> str | None:
        """The user's first words in a session; None where there are none."""
        with timeline.lock:
            asked = timeline.first_request
            said = [pair for step in timeline.steps[:3] for pair in step.said] + timeline.said_last[:9]
        if asked is not None:
            return self._of_request(timeline, asked, title_of_request)
        return self._once(timeline, "", lambda: self._title_of_log(timeline.session, said))

    def title_of_branch(self, timeline: Timeline, branch: str) -> str | None:
        """The first words that a sub-agent was given."""
        with timeline.lock:
            asked = next((step.request for step in timeline.steps_of_branch(branch)), None)
        return None if asked is None else self._of_request(timeline, asked, title_of_request)

    def of_steps(self, timeline: Timeline, steps: Sequence[TimelineStep]) -> list[list[dict[str, Any]]]:
        """For each step the words of its log; of a request that brought no result, the user's newest words."""
        with timeline.lock:
            last = timeline.steps[-1] if timeline.steps else None
            logged = [step.said + (timeline.said_last if step is last else []) for step in steps]
            asked = [None if step.results else step.request for step in steps]
        return [
            [self._logged(timeline.session, seq, words) for seq, words in pairs[:_MOST]] or self._newest(timeline, one)
            for pairs, one in zip(logged, asked, strict=True)
        ]

    def _newest(self, timeline: Timeline, request: Request | None) -> list[dict[str, Any]]:
        if request is None or request.purpose != "turn" or request.size > _LARGEST:
            return []
        words = self._of_request(timeline, request, newest_words_of_request)
        return [{"role": "user", "text": words, "more": False, "seq": None}] if words else []

    def _logged(self, name: str, seq: int, words: SaidWords) -> dict[str, Any]:
        text = self._record.words(name, seq, _CHARS + 1)
        return {"role": words.role, "text": text[:_CHARS], "more": len(text) > _CHARS, "seq": seq}

    def _title_of_log(self, name: str, said: Sequence[tuple[int, SaidWords]]) -> str | None:
        texts = (self._record.words(name, seq) for seq, words in said if words.role == "user")
        return next((title for text in texts if (title := title_of(text)) is not None), None)

    def _of_request(self, timeline: Timeline, request: Request, read: Callable[[bytes], str | None]) -> str | None:
        key = f"{read.__name__} {request.trace_id}"
        return self._once(
            timeline, key, lambda: read(self._record.request_body(timeline.session, request.trace_id)), True
        )

    def _once(self, timeline: Timeline, key: str, read: Callable[[], str | None], is_final: bool = False) -> str | None:
        """What was read before; none is kept too where it cannot change, and damage is none."""
        known = timeline.session, timeline.generation, key
        if known not in self._known:
            try:
                words = read()
            except StoreError:
                return None
            if words is None and not is_final:
                return None
            if len(self._known) > _KNOWN:
                self._known.clear()
            self._known[known] = words or ""
        return self._known.get(known) or None
