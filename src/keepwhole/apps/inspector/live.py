"""New entries of the record, sent to open pages as events.

Owns: when to look, and which entry each page has seen last. Nothing is queued for a page: its events follow from the
number of the last entry that it got. So a slow page gets fewer and larger updates, and a page that reconnects gets what
it missed, each entry once.
Must not know: how steps are found, sockets.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.inspector.timeline import Timeline, TimelineResult, TimelineStep
from keepwhole.errors import NotFound, StoreError
from keepwhole.standalone.transport_limiter import TransportLimiter
from keepwhole.store.protocol import Watchable

POLL = 0.25
"""Seconds between two looks at a record that cannot notify, while a page is open."""
SELDOM = 15.0
"""The same for a record that can notify, in case a notification was lost."""
_SOON = (0.1, 1.0)
"""Seconds after a notification at which to look again: another append may have been under way."""
_APART = 0.05
"""Seconds between two looks at least, however many notifications arrive."""
_LIST = 1.0
"""Seconds between two looks at all sessions, and between two rows of one session."""
_NEWEST = 200
"""Sessions that are checked for changes, the most recently written ones."""
_PING = 15.0
_PREVIEWS = 3
_LIMITER = TransportLimiter()


class LiveEvent(NamedTuple):
    """One event for a page."""

    name: str
    data: dict[str, Any]
    seq: int | None = None
    """The number of the entry that a page has seen with this event; None where more of the same entry follows."""

    @property
    def encode(self) -> bytes:
        """The event as a server-sent event."""
        number = b"" if self.seq is None else b"id: %d\n" % self.seq
        return number + b"event: %s\ndata: %s\n\n" % (self.name.encode(), msgspec.json.encode(self.data))


class Live:
    """Reads the new entries of the record for all open pages."""

    def __init__(self, services: InspectorServices) -> None:
        self._services, self._record, self._sessions = services, services.record, services.sessions
        self._listeners: dict[asyncio.Event, str | None] = {}
        self._heads: dict[str | None, object] = {}
        self._woken = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self._is_closed = False
        self._listed = 0.0
        self._can_notify = isinstance(self._record.store, Watchable)

    def wake(self) -> None:
        """Look at the record at once, since this process has written to it."""
        self._woken.set()

    async def close(self) -> None:
        """Disconnect all pages."""
        self._is_closed = True
        for event in self._listeners:
            event.set()
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)

    async def events(self, name: str | None, after: int | None) -> AsyncGenerator[LiveEvent]:
        """Yield the events of a session after an entry, or of the list of sessions, until the page leaves."""
        changed = asyncio.Event()
        self._listeners[changed] = name
        if self._poller is None or self._poller.done():
            self._poller = asyncio.get_running_loop().create_task(self._poll())
        try:
            events = self._of_session(name, after, changed) if name is not None else self._of_list(changed)
            async for event in events:
                yield event
        finally:
            del self._listeners[changed]
            self._woken.set()  # so that the poller ends when no page is left

    async def _of_session(self, name: str, after: int | None, changed: asyncio.Event) -> AsyncGenerator[LiveEvent]:
        seq, row_at = after, 0.0
        owed = after is not None
        while not self._is_closed:
            changed.clear()
            try:
                found, seq = await asyncio.to_thread(self._read_news, name, seq)
            except NotFound:
                yield LiveEvent("gone", {"session": name})
                return
            for event in found:
                yield event
            owed = owed or bool(found)
            if owed and time.monotonic() - row_at >= _LIST:
                owed, row_at = False, time.monotonic()
                yield LiveEvent("session", await asyncio.to_thread(self._row, name))
            elif not found:
                yield LiveEvent("ping", {"session": name}, seq)
            await _wait(changed, _LIST if owed else _PING)

    def _read_news(self, name: str, seq: int | None) -> tuple[list[LiveEvent], int]:
        """The new events for a page, and the last entry that it has seen with them; runs on a worker thread."""
        timeline = self._record.timeline(name)
        with timeline.lock:
            upto = timeline.seq
            if seq is None or seq >= upto:
                return [], upto
            fresh = timeline.results_after(seq)
            steps = timeline.steps_changed_after(seq)
        return [*self._previews(name, fresh[-_PREVIEWS:]), *self._steps(timeline, steps)], upto

    def _steps(self, timeline: Timeline, steps: list[TimelineStep]) -> list[LiveEvent]:
        """The steps that changed; of several changed by one entry, the last one carries its number."""
        about = {"session": timeline.session, "total": len(timeline.steps)}
        numbers = [step.last for step in steps]
        fields = self._services.step_fields(timeline, steps)
        return [
            LiveEvent("step", {**about, "index": each["index"], "step": each}, last if last != after else None)
            for each, last, after in zip(fields, numbers, [*numbers[1:], None], strict=True)
        ]

    def _previews(self, name: str, fresh: list[TimelineResult]) -> list[LiveEvent]:
        """The beginnings of new results; a result that cannot be read has none."""
        found: list[LiveEvent] = []
        for kept in fresh:
            if kept.result.media_type != "text/plain":
                continue
            try:
                with self._record.open_result(name, kept.result.trace_id) as (_, reader):
                    text = reader.text(0, 2 * _LIMITER.max_chars)
            except StoreError:
                continue
            shown = _LIMITER.preview(kept.result.trace_id, text, kept.facts.chars)
            found.append(LiveEvent("progress", {"session": name, **shown}))
        return found

    def _row(self, name: str) -> dict[str, Any]:
        return self._sessions.row(self._record.info(name))

    async def _of_list(self, changed: asyncio.Event) -> AsyncGenerator[LiveEvent]:
        known: dict[str, object] = {}
        first = True
        while not self._is_closed:
            changed.clear()
            rows, gone = await asyncio.to_thread(self._changed_rows, known, first)
            for row in rows:
                yield LiveEvent("session", row)
            for name in gone:
                yield LiveEvent("gone", {"session": name})
            if not rows:
                yield LiveEvent("ping", {})
            first = False
            await _wait(changed, _PING)

    def _changed_rows(self, known: dict[str, object], first: bool) -> tuple[list[dict[str, Any]], list[str]]:
        store = self._record.store
        infos = {info.name: info for info in store.sessions(_NEWEST)}
        marks = {name: (info.entries, info.last_at, info.ended_at) for name, info in infos.items()}
        gone = [name for name in known if name not in marks and store.session(name) is None]
        changed = [name for name, mark in marks.items() if known.get(name) != mark] if not first else []
        known.clear()
        known.update(marks)
        until = time.monotonic() + _LIST
        return [self._sessions.row(infos[name], until) for name in changed[:50]], gone

    async def _poll(self) -> None:
        """Look at the record while a page is open: after each write, and now and then."""
        stop = self._watch_store()
        looks = 0
        try:
            while self._listeners and not self._is_closed:
                self._woken.clear()
                changed = await asyncio.to_thread(self._find_changed, set(self._listeners.values()))
                for event, name in self._listeners.items():
                    if name in changed:
                        event.set()
                await asyncio.sleep(_APART)
                looks = 0 if await _wait(self._woken, self._pause(looks)) else looks + 1
        finally:
            stop()

    def _pause(self, looks: int) -> float:
        """Seconds until the next look, after this number of looks without a notification."""
        return POLL if not self._can_notify else _SOON[looks] if looks < len(_SOON) else SELDOM

    def _watch_store(self) -> Callable[[], None]:
        """Subscribe to writes of the record where it can notify; return the function that ends that."""
        store, loop = self._record.store, asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._woken.set)

        return store.watch(wake) if isinstance(store, Watchable) else _do_nothing

    def _find_changed(self, names: set[str | None]) -> set[str | None]:
        """The sessions that have changed since the last look; runs on a worker thread."""
        self._heads = {name: head for name, head in self._heads.items() if name in names}
        changed: set[str | None] = set()
        for name in names:
            if name is None and time.monotonic() - self._listed < _LIST:
                continue
            try:
                head = self._head(name)
            except StoreError:
                continue
            if name not in self._heads or self._heads[name] != head:
                self._heads[name] = head
                changed.add(name)
        return changed

    def _head(self, name: str | None) -> object:
        if name is None:
            self._listed = time.monotonic()
            newest = self._record.store.sessions(_NEWEST)
            return [(info.name, info.entries, info.last_at, info.ended_at) for info in newest]
        last = self._record.store.last(name)
        return None if last is None else (last.seq, last.chain)


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; return whether it happened in time."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _do_nothing() -> None:
    pass
