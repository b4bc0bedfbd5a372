"""What a hook heard, kept on record; and what the model is shown of it.

Owns: that nothing is replaced unless all of it is durable, and that what reads back is not cut again.
Must not know: clients.
"""

import json
import os
from typing import Any, NamedTuple

from keepwhole.apps.hooks.payload import Boundary, Json, Returned, mapping
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Result
from keepwhole.config import Settings
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Source

_RESULTS = "results"


class Place(NamedTuple):
    """Where a hook runs: whose session, in which folder, under which settings."""

    session: str
    client: str
    folder: str
    settings: Settings
    command: str
    """How our command line is called from there."""


class HookSession(Session):
    """A session whose limits also mind what one result's client can do with a replacement."""

    def __init__(self, place: Place, returned: Returned | None = None) -> None:
        settings = place.settings
        recall: Any = settings.recall if "recall" in settings.sources else "path"
        super().__init__(place.session, agent=place.client, settings=settings, workspace=place.folder, recall=recall)
        self._returned = returned

    def _adjust_limits(self, limits: Limits, source: Source) -> Limits:
        returned = self._returned
        if returned is None or returned.replace is None:
            return limits.replace(inline_limit=source.chars + 1, trusted=True)
        if returned.most is not None:
            limits = limits.replace(inline_limit=min(limits.inline_limit, returned.most))
        if returned.numbered:
            return limits.replace(strategy="head", chosen_by_user=True, artifact_threshold=source.chars)
        return limits

    def earlier(self, returned: Returned) -> str | None:
        """The way back to the newest result of the same call, where only a part of that was shown."""
        pointer = measure(returned.output.encode("utf-8", "surrogatepass")).digest
        for row in reversed(list(self.store.rows(self.id, kind="result", light=True))):
            if row.digest != pointer and _same(result_of(row), returned):
                return self._way_back(row.trace_id)
        return None

    def _way_back(self, trace_id: str) -> str | None:
        cut = self.shown(trace_id).cut
        if cut is None or not cut.left_out:
            return None
        self._writer.links.lay_out_kept(self.store, trace_id)
        return notice.unchanged(cut.above or cut.below)


def kept(place: Place, returned: Returned) -> Json | None:
    """Keep a result; the hook's answer where something else is to be shown instead."""
    returned = _only_kept(place, returned)
    if returned.unchanged:
        return _unchanged(place, returned)
    whole = _whole(returned)
    if whole is None:  # the client's file is gone: what we have is a part, which must not pass for the whole
        returned, whole = returned._replace(replace=None), returned.output
    with HookSession(place, returned) as session:
        shown = _keep(session, returned, whole)
    if returned.replace is None or shown.problem is not None:
        return None
    return None if shown.content == returned.output else returned.replace(shown.content)


def marked(place: Place, boundary: Boundary) -> Json | None:
    """Record a boundary; the hook's answer where there is something to tell."""
    with HookSession(place) as session:
        known = next(session.store.rows(session.id, kind="result", light=True), None)
        session.keep(boundary.event, boundary.details, json.dumps(boundary.details), on_trouble="raise")
    if boundary.tell is None or known is None:
        return None
    return boundary.tell(notice.before(place.session, place.command))


def _unchanged(place: Place, returned: Returned) -> Json | None:
    session = HookSession(place, returned._replace(replace=None))
    with session:
        earlier = session.earlier(returned) if returned.replace is not None else None
        _keep(session, returned, returned.output)
    return None if earlier is None or returned.replace is None else returned.replace(earlier)


def _keep(session: Session, returned: Returned, output: str | bytes) -> KeptResult:
    return session.keep(
        returned.tool,
        returned.arguments,
        output,
        call_id=returned.call_id,
        is_error=returned.is_error,
        exit_code=returned.exit_code,
        task_id=returned.agent,
    )


def _only_kept(place: Place, returned: Returned) -> Returned:
    """Without replacement where settings say so, or where the call reads back what we left out."""
    laid_out = os.path.join(os.path.abspath(place.settings.home), _RESULTS)
    reads_back = laid_out in json.dumps(returned.arguments, ensure_ascii=False, default=str)
    return returned._replace(replace=None) if reads_back or place.settings.mode != "on" else returned


def _whole(returned: Returned) -> str | bytes | None:
    """All of an output: what came, or the client's own file; None where that cannot be read or is not it."""
    if returned.file is None:
        return returned.output
    try:
        with open(returned.file, "rb") as file:
            data = file.read()
    except OSError:
        return None
    return data if len(data) >= len(returned.output) else None


def _same(result: Result, returned: Returned) -> bool:
    """Whether a result on record is of the same agent's same call as this one."""
    if (result.tool, result.task_id) != (returned.tool, returned.agent):
        return False
    try:
        return mapping(json.loads(result.arguments or "{}")) == mapping(returned.arguments)
    except (ValueError, RecursionError):
        return False
