"""A session, or some of its steps, as one HTML file that needs no server, or as JSON.

Owns: what goes into an export, how long its texts may be, and that what looks like a key is masked.
Must not know: sockets, how the page draws it.
"""

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec

from keepwhole.apps.inspector import results
from keepwhole.apps.inspector.bundle import page_of
from keepwhole.apps.inspector.images import is_displayed
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.inspector.timeline import TimelineResult, TimelineStep
from keepwhole.apps.redaction import redacted
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import StoreError, UsageError
from keepwhole.version import VERSION

Fields: TypeAlias = dict[str, Any]
_TEXT, _TOTAL = 400_000, 64_000_000
"""Characters of one result, and of all results, that an export contains."""
_IMAGE = 1_000_000
_IMAGE_FIELD = "data"
"""The field with the bytes of an image that a browser displays, in which nothing is masked. A document may have a key
in it, so its bytes are exported with all keys or not at all."""
_WORDS = "20000"
_CHANGED = 100
"""Messages of a request that an export contains: those that are new or changed."""


class ExportRequest(NamedTuple):
    """What is exported of a session: the steps from `first` to `last`, counted from 1, and whether keys stay in."""

    first: int = 1
    last: int | None = None
    is_raw: bool = False


def as_html(services: InspectorServices, name: str, wanted: ExportRequest) -> bytes:
    """The steps as a page that opens without a server."""
    record = _masked(_export(services, name, wanted), wanted)
    return page_of(record, str(record["summary"].get("title") or name))


def as_json(services: InspectorServices, name: str, wanted: ExportRequest) -> bytes:
    """The steps as JSON, with the same content as the page has."""
    return msgspec.json.format(msgspec.json.encode(_masked(_export(services, name, wanted), wanted)), indent=1)


def _export(services: InspectorServices, name: str, wanted: ExportRequest) -> Fields:
    timeline = services.record.timeline(name)
    summary = services.sessions.describe(name)
    with timeline.lock:
        last = len(timeline.steps) if wanted.last is None else min(wanted.last, len(timeline.steps))
        steps = timeline.steps[wanted.first - 1 : last]
    if wanted.first < 1 or not steps:
        raise UsageError(f"Session `{name[:80]}` has steps 1 to {len(timeline.steps)}. Give a range of these.")
    made = _Export(services, name, wanted, len(steps))
    for step, fields in zip(steps, services.step_fields(timeline, steps), strict=True):
        made.add(step, fields)
    about = {"name": name, "version": VERSION, "made_at": round(time.time() * 1000), "first": wanted.first}
    is_part = len(steps) < len(timeline.steps)
    own = {"steps": len(steps), "course": None, "tour": None} if is_part else {"steps": len(steps)}
    about["total"] = len(timeline.steps)
    return {**about, "last": wanted.first + len(steps) - 1, "summary": {**summary, **own}, **made.fields()}


class _Export:
    """What was taken up so far."""

    def __init__(self, services: InspectorServices, name: str, wanted: ExportRequest, count: int) -> None:
        self._services, self._name, self._offset, self._count = services, name, wanted.first - 1, count
        self._is_raw = wanted.is_raw
        self._left = _TOTAL
        self._steps: list[Fields] = []
        self._results: Fields = {}
        self._requests: Fields = {}
        self._texts: Fields = {}

    def fields(self) -> Fields:
        """All of it."""
        return {
            "steps": self._steps,
            "results": self._results,
            "requests": self._requests,
            "texts": self._texts,
        }

    def add(self, step: TimelineStep, fields: Fields) -> None:
        """Take up a step with its words and results."""
        self._steps.append({**fields, "index": step.index - self._offset, "number": step.index + 1})
        for kept in step.results:
            self._add_result(kept, step.seq)
        if step.request is not None:
            self._requests[step.request.trace_id] = self._request(step.request.trace_id)

    def _add_result(self, kept: TimelineResult, upto: int) -> None:
        record, trace_id = self._services.record, kept.result.trace_id
        try:
            now = results.describe_result(record, self._name, trace_id, {})
            then = results.describe_result(record, self._name, trace_id, {"upto": str(upto)})
            self._results[trace_id] = {"now": now, "then": {str(upto): then["shown"]}}
            self._texts[trace_id] = self._text(record, kept)
        except StoreError as error:
            self._texts[trace_id] = {"text": "", "is_all": False, "error": str(error)}

    def _text(self, record: Record, kept: TimelineResult) -> Fields:
        with record.open_result(self._name, kept.result.trace_id) as (_, reader):
            if kept.result.media_type != "text/plain":
                is_shown = self._is_raw or is_displayed(kept.result, kept.facts.size)
                is_given = is_shown and kept.facts.size <= _IMAGE
                return {_IMAGE_FIELD: _data_url(kept, reader.read) if is_given else None}
            size = min(_TEXT, self._left, kept.facts.chars)
            self._left -= size
            return {"text": showable(reader.text(0, size)), "is_all": size == kept.facts.chars}

    def _request(self, trace_id: str) -> Fields:
        stories, query = self._services.stories, {"chars": _WORDS}
        story = stories.tell(self._name, trace_id, query)
        head = stories.request(self._name, trace_id, {**query, "count": "0"})
        shown: list[Fields] = []
        for run in head.get("runs", ()):
            if run["state"] != "same" and len(shown) < _CHANGED:
                asked = {**query, "from": str(run["from"]), "count": str(min(run["count"], _CHANGED - len(shown)))}
                shown += stories.request(self._name, trace_id, asked)["messages"]
        return {
            "story": {**story, "next": self._moved(story["next"], "index")},
            "head": {**head, "step": self._place(head["step"]), "before": self._moved(head.get("before"), "index")},
            "messages": [self._moved_message(message) for message in shown],
        }

    def _moved_message(self, message: Fields) -> Fields:
        return {
            **message,
            "parts": [self._moved(part, "step") if "step" in part else part for part in message["parts"]],
        }

    def _moved(self, fields: Fields | None, key: str) -> Fields | None:
        """Fields that name a step, with its place in the export; None for that place where it is not in it."""
        return None if fields is None else {**fields, key: self._place(fields[key]), "number": (fields[key] or 0) + 1}

    def _place(self, index: int | None) -> int | None:
        place = -1 if index is None else index - self._offset
        return place if 0 <= place < self._count else None


def _data_url(kept: TimelineResult, read: Callable[[], bytes]) -> str:
    return f"data:{kept.result.media_type};base64,{base64.b64encode(read()).decode()}"


def _masked(record: Fields, wanted: ExportRequest) -> Fields:
    """The same without what looks like a key, unless it is wanted raw."""
    return record if wanted.is_raw else cast("Fields", _mask(record))


def _mask(value: object) -> object:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        given = cast("Mapping[str, object]", value)
        return {key: each if key == _IMAGE_FIELD else _mask(each) for key, each in given.items()}
    if isinstance(value, list):
        return [_mask(each) for each in cast("list[object]", value)]
    return value
