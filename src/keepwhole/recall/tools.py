"""The recall tools of one session. Only ids of the session itself are valid.

Owns: dispatching a call to its tool, and that nothing a model writes raises.
Must not know: how an answer is written (its tool does), how a provider spells it (`wire`).

The modules that read and search are imported at the first call: most short commands make none.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from keepwhole.canonical.entry import Result
from keepwhole.canonical.ids import alike
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import KeepwholeError, UsageError
from keepwhole.recall.answer import LISTED, RecallAnswer, RecallCall, StoredArtifact, read_id, unknown
from keepwhole.recall.names import GET_TASK_TRACE, NAMES, SEARCH_ARTIFACTS
from keepwhole.store.protocol import HasLookups, Match, Row, Store, body_of, entry_of, result_of
from keepwhole.truncation.notice import quoted
from keepwhole.truncation.present import summarize

_SEARCH_SECONDS, _THOROUGH = 0.5, 5.0
"""For a search; and for one that has found nothing so far, which reads about a gigabyte and a half in that time."""
_ALL = 1 << 62
"""More than any session has."""
_MANY = 2_000
_DRAWN = 24
"""Most results that were left out last among which an id that was read wrongly is looked for."""
_SHOWN = 80
"""Most characters of an unknown id that an answer repeats."""


class RecallTools(NamedTuple):
    """The recall tools of one session."""

    store: Store
    session: str
    limit: Callable[[], int]
    """Most characters of an answer."""

    def answer(self, name: str, arguments: Mapping[str, Any]) -> RecallAnswer:
        """Run the tool `name`. Never raises, whatever the model wrote."""
        if name not in NAMES:
            raise UsageError(f"`{name}` is not a recall tool. Call one of {', '.join(f'`{own}`' for own in NAMES)}.")
        try:
            if name == SEARCH_ARTIFACTS:
                from keepwhole.recall.search_artifacts import query_of

                return self._search(query_of(arguments))[0]
            asked = read_id(arguments)
            row = self.store.find(self.session, asked) or self._find_misread(asked)
            if row is None:
                return self._found_by_name(asked) or self.unknown(asked)
            return self._read(name, asked, row, arguments)
        except KeepwholeError as error:
            return RecallAnswer(showable(error.for_model), is_error=True)

    def artifacts(self, newest: int | None = None) -> list[StoredArtifact]:
        """The results of this session that were shown cut or replaced, in order; or those decided about last."""
        decided = self.store.last_decided(self.session, _ALL if newest is None else newest)
        return [_stored_artifact(row) for row in self._find_all(decided)]

    def _find_all(self, trace_ids: Sequence[str]) -> list[Row]:
        """The results with these trace ids, in order; many are picked from all, which takes fewer queries."""
        if len(trace_ids) > _MANY:
            wanted = set(trace_ids)
            return [row for row in self.store.rows(self.session, kind="result", light=True) if row.trace_id in wanted]
        if isinstance(self.store, HasLookups):
            return self.store.lookups.results(self.session, _ALL, trace_ids)
        found = (self._find(trace_id) for trace_id in trace_ids)
        return sorted((row for row in found if row is not None), key=lambda row: row.seq)

    def _find_misread(self, asked: str) -> Row | None:
        """The one image, of those left out last, whose id looks like this one: the words in place of some are drawn,
        and read from there (`wire/text_card.py`)."""
        if not asked.startswith("art_") or len(asked) > _SHOWN:
            return None
        looked_for = alike(asked)
        hidden = map(result_of, self._find_all(self.store.last_decided(self.session, _DRAWN)))
        images = (result for result in hidden if result.media_type.startswith("image/"))
        found = [image for image in images if alike(image.artifact_id) == looked_for]
        return self._find(found[0].trace_id or "") if len(found) == 1 else None

    def unknown(self, asked: str) -> RecallAnswer:
        """The answer for an id that the session does not have; it names some of the newest ids that it has."""
        decided = self.store.last_decided(self.session, LISTED + 1)
        found = {row.trace_id: row for row in self._find_all(decided)}
        newest = [_stored_artifact(found[trace_id]) for trace_id in reversed(decided) if trace_id in found]
        return unknown(asked, newest, self.limit())

    def _read(self, name: str, asked: str, row: Row, arguments: Mapping[str, Any]) -> RecallAnswer:
        from keepwhole.recall.get_artifact import asks_for_arguments, read_arguments, read_artifact
        from keepwhole.recall.get_task_trace import read_trace

        result = result_of(row)
        if name != GET_TASK_TRACE and asks_for_arguments(arguments):
            return read_arguments(result, RecallCall(asked), arguments, self.limit())
        with self.store.open(body_of(row)) as reader:
            if name == GET_TASK_TRACE:
                call = RecallCall(asked, GET_TASK_TRACE, "trace_id")
                return read_trace(reader, result, call, arguments, self.limit())
            return read_artifact(reader, result.media_type, RecallCall(asked), arguments, self.limit())

    def _found_by_name(self, asked: str) -> RecallAnswer | None:
        """The results that have what was given for an id, where it looks like none: models give the name they seek."""
        if asked.startswith(("art_", "trace_")) or not asked.isprintable() or len(asked) > _SHOWN:
            return None
        if not any(char.isalnum() for char in asked):
            return None
        from keepwhole.recall.search_artifacts import WHOLE_WORD

        found, has_matches = self._search(asked, WHOLE_WORD)
        content = f'[There is no artifact "{quoted(asked)}"; results that have these words:]\n{found.content}'
        return found.replace(content=content) if has_matches else None

    def _search(self, query: str, least: float = 0.0) -> tuple[RecallAnswer, bool]:
        """The answer to a search, and whether anything was found; `least` is what a word must weigh to be looked for
        alone."""
        from keepwhole.recall import search_artifacts

        query = search_artifacts.query_of({"query": query})
        matches, is_all = self._matches(query, _SEARCH_SECONDS, least)
        if not matches and not is_all:  # to ask again costs the model more than to wait
            matches, is_all = self._matches(query, _THOROUGH, least)
        limit = self.limit() - 2 * _SHOWN
        answer = search_artifacts.answer_search(query, matches, self._find, self._lines_near, limit, is_all)
        return answer, bool(matches)

    def _lines_near(self, row: Row, line: int) -> tuple[int, int]:
        from keepwhole.recall.ranges import lines_near

        with self.store.open(body_of(row)) as reader:
            return lines_near(reader, line, line)

    def _matches(self, query: str, seconds: float, least: float) -> tuple[list[Match], bool]:
        """What a search finds in so much time, and whether it looked at everything."""
        from keepwhole.recall.search_artifacts import find_matches

        until = time.monotonic() + seconds
        matches = find_matches(
            query, lambda words, most: self.store.search(self.session, words, most, until=until), least
        )
        return matches, time.monotonic() < until

    def _find(self, trace_id: str) -> Row | None:
        return self.store.find(self.session, trace_id)


def _stored_artifact(row: Row) -> StoredArtifact:
    entry = entry_of(row)
    result = cast("Result", entry.header)
    about = summarize(result.tool, result.arguments)
    return StoredArtifact(artifact_id=result.artifact_id, summary=about, size=entry.facts.size)
