"""The record as the page reads it, with a cache of timelines and open bodies.

Owns: what is cached between two requests of the page, and that no cache outlives a purge.
Must not know: JSON, sockets.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from keepwhole.apps.inspector.timeline import Timeline, TimelineResult
from keepwhole.apps.kept_words import recall_folder
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.errors import Damaged, NotFound
from keepwhole.exchange.request_log import read_response
from keepwhole.session import Session
from keepwhole.store.postgres.address import redacted
from keepwhole.store.protocol import Row, SessionInfo, Store, body_of, entry_of
from keepwhole.store.reader import BodyReader
from keepwhole.store.requests import Requests

_TIMELINES, _READERS, _BODIES, _CHAINS = 32, 8, 4, 2
PATIENCE = 0.3
"""Seconds for which the page waits for a session to be read; it shows what is there and asks again."""
_AT_FIRST = 0.1
"""The same of a session that nothing is known of yet, so that there is something to see soon."""
_FRESH = 0.25
"""Seconds for which a session that was found is assumed to exist still."""
_K = TypeVar("_K")
_V = TypeVar("_V")


class _OpenBody:
    """A body that stays open for the next page of it."""

    def __init__(self, reader: BodyReader) -> None:
        self.reader, self.lock, self.is_closed = reader, threading.Lock(), False

    def close(self) -> None:
        """Close the reader once no thread uses it."""
        with self.lock:
            self.is_closed = True
            self.reader.close()


class Record:
    """One record, for all clients of the page. Safe from threads."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self._lock = threading.Lock()
        self._timelines: OrderedDict[str, Timeline] = OrderedDict()
        self._readers: OrderedDict[tuple[str, int, str], _OpenBody] = OrderedDict()
        self._bodies: OrderedDict[tuple[str, int, str], bytes] = OrderedDict()
        self._chains: OrderedDict[tuple[str, int], Requests] = OrderedDict()
        """The readers of requests, which know the pieces of the last few: going from one to the next takes one step."""
        self._chain_lock = threading.Lock()

    @property
    def location(self) -> str:
        """The server of the record without its secrets, or its folder."""
        return showable(redacted(self.settings.store or self.settings.home))

    def info(self, name: str) -> SessionInfo:
        """The session of this name."""
        info = self.store.session(name)
        if info is None:
            raise NotFound(f"There is no session `{name[:80]}` in this record. It may have been purged.")
        return info

    def timeline(
        self, name: str, seconds: float | None = None, until: Callable[[Timeline], bool] | None = None
    ) -> Timeline:
        """A session's steps up to now; of a long one that is read for the first time, those that are read by then, or
        as many as have what is asked for."""
        with self._lock:
            timeline = self._timelines.get(name)
        if timeline is None:
            self.info(name)
            with self._lock:
                timeline = _cache(self._timelines, name, self._begin(name), _TIMELINES)
            seconds = None if seconds is None else min(seconds, _AT_FIRST)
        timeline.catch_up(seconds, until)
        if not timeline.seq:
            self.info(name)
        return timeline

    def _begin(self, name: str) -> Timeline:
        return Timeline(self.store, name, recall_folder(self.settings.home))

    def find_result(self, name: str, any_id: str) -> TimelineResult:
        """One result of a session."""
        return _find(self.timeline(name), any_id)

    @contextmanager
    def open_result(self, name: str, any_id: str) -> Generator[tuple[TimelineResult, BodyReader]]:
        """Open a result for reading; the reader stays open for the next call."""
        timeline = self.timeline(name)
        kept = _find(timeline, any_id)
        while True:
            opened = self._open_body(name, timeline.generation, kept)
            with opened.lock:
                if not opened.is_closed:  # else it was evicted in the meantime
                    yield kept, opened.reader
                    return

    @contextmanager
    def open_result_if_ready(self, name: str, any_id: str) -> Generator[tuple[TimelineResult, BodyReader] | None]:
        """The same without waiting: None unless the result is open, unlocked, and its session was found just now."""
        timeline = self._timelines.get(name)
        is_fresh = timeline is not None and time.monotonic() - timeline.looked < _FRESH
        kept = timeline.find(any_id) if timeline is not None and is_fresh else None
        key = None if timeline is None or kept is None else (name, timeline.generation, kept.result.trace_id)
        opened = self._readers.get(key) if key is not None else None
        if kept is None or opened is None or not opened.lock.acquire(blocking=False):
            yield None
            return
        try:
            yield None if opened.is_closed else (kept, opened.reader)
        finally:
            opened.lock.release()

    def _open_body(self, name: str, generation: int, kept: TimelineResult) -> _OpenBody:
        key = (name, generation, kept.result.trace_id)
        with self._lock:
            known = self._readers.get(key)
            if known is not None:
                self._readers.move_to_end(key)
                return known
        row = self.store.find(name, kept.result.trace_id)
        if row is None:
            raise NotFound(f"Session `{name[:80]}` no longer has the result `{kept.result.trace_id}`.")
        made = _OpenBody(self.store.open(body_of(row)))
        with self._lock:
            known = self._readers.setdefault(key, made)
            stale = [old for old in self._readers if old[0] == name and old[1] != generation]
            stale += [*self._readers][: max(0, len(self._readers) - _READERS)]
            closed = [self._readers.pop(old) for old in dict.fromkeys(stale)]
        for each in [*closed, *([made] if known is not made else [])]:
            each.close()
        return known

    def timeline_with_request(self, name: str, trace_id: str) -> Timeline:
        """A session's steps, up to the request after this one on its branch at least."""

        def is_read(timeline: Timeline) -> bool:
            found = timeline.find_request(trace_id)
            return found is not None and timeline.request_after(found) is not None

        return self.timeline(name, until=is_read)

    def request_body(self, name: str, trace_id: str) -> bytes:
        """A request exactly as it was sent."""
        timeline = self.timeline(name, until=lambda timeline: timeline.find_request(trace_id) is not None)
        key = (name, timeline.generation, trace_id)
        with self._lock:
            body = self._bodies.get(key)
        if body is None:
            step = timeline.find_request(trace_id)
            row = self._row(name, "request", trace_id, 0 if step is None else step.seq)
            with self._chain_lock:
                body = self._chain(name, timeline.generation).body(row)
            with self._lock:
                body = _cache(self._bodies, key, body, _BODIES)
        return body

    def _row(self, name: str, kind: str, trace_id: str, seq: int) -> Row:
        """A request or a response, by the number of its entry: to find it by its id takes longer with every request
        behind it."""
        row = self.store.entry(name, seq)
        try:
            is_it = row is not None and entry_of(row).kind == kind and row.trace_id == trace_id
        except Damaged:  # or it was forgotten meanwhile
            is_it = False
        row = row if is_it else self.store.newest(name, kind, trace_id)
        if row is None:
            raise NotFound(f"Session `{name[:80]}` has no {kind} `{trace_id[:80]}`.")
        return row

    def _chain(self, name: str, generation: int) -> Requests:
        return _cache(self._chains, (name, generation), Requests(self.store, name), _CHAINS)

    def words(self, name: str, seq: int, most: int = 20_000) -> str:
        """The text of an entry with words, or its beginning."""
        row = self.store.entry(name, seq)
        if row is None:
            return ""
        with self.store.open(body_of(row)) as reader:
            return showable(reader.text(0, most))

    def response_body(self, name: str, trace_id: str) -> bytes:
        """The response to a request exactly as it was received."""
        timeline = self.timeline(name, until=lambda timeline: timeline.find_request(trace_id) is not None)
        step = timeline.find_request(trace_id)
        return read_response(self.store, self._row(name, "response", trace_id, 0 if step is None else step.answered))

    def session(self, name: str) -> Session:
        """A session to write a pin or an undo with."""
        self.info(name)
        return Session(name, store=self.store, settings=self.settings, policy=self.settings.truncation)

    def close(self) -> None:
        """Close all readers."""
        with self._lock:
            readers, self._readers = self._readers, OrderedDict()
        for each in readers.values():
            each.close()


def _find(timeline: Timeline, any_id: str) -> TimelineResult:
    kept = timeline.find(any_id)
    if kept is None:
        raise NotFound(f"Session `{timeline.session[:80]}` has no result `{any_id[:80]}`.")
    return kept


def _cache(known: "OrderedDict[_K, _V]", key: _K, made: _V, most: int) -> _V:
    """Return the value cached under a key and make it the newest; drop the oldest where there are too many."""
    found = known.setdefault(key, made)
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)
    return found
