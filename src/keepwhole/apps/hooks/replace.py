"""A result that a hook reported: kept in full, and replaced by its view.

Owns: that a result is replaced only once all of it is durable, and that a result that was read back is not cut again:
only imitated notices in it are marked.
Must not know: clients.
"""

import json
import os
from typing import Any, NamedTuple

from keepwhole.apps.hooks.payload import Boundary, Json, ToolReturn, mapping
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Result
from keepwhole.canonical.media import MediaBytes
from keepwhole.config import Settings
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from keepwhole.store.regular_file import read_regular
from keepwhole.truncation import notice
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Source

_RESULTS = "results"
_LARGEST = 256 * 1_048_576
"""Bytes of a client's own file; of a longer one only the part at hand is kept, and nothing is replaced."""
_WITH_MARKS = 10
"""A text with all its marks is never so many times as long."""


class HookContext(NamedTuple):
    """The session, client, folder and settings of one hook."""

    session: str
    client: str
    folder: str
    settings: Settings
    command: str
    """The command line of Keepwhole, as the client can call it."""


class HookSession(Session):
    """A session whose limits also respect what the client accepts as a replacement."""

    def __init__(self, context: HookContext, returned: ToolReturn | None = None) -> None:
        settings = context.settings
        recall: Any = settings.recall if "recall" in settings.sources else "path"
        super().__init__(
            context.session, agent=context.client, settings=settings, workspace=context.folder, recall=recall
        )
        self._returned = returned
        self._display.adjust = self._adjust_limits

    def _adjust_limits(self, limits: Limits, source: Source) -> Limits:
        returned = self._returned
        if returned is None or returned.replace is None:
            return limits.replace(inline_limit=source.chars + 1, trusted=True)
        if returned.reads_back:
            return limits.replace(inline_limit=_WITH_MARKS * source.chars)
        if returned.most is not None:
            limits = limits.replace(inline_limit=min(limits.inline_limit, returned.most))
        if returned.numbered:
            return limits.replace(strategy="head", chosen_by_user=True, artifact_threshold=source.chars)
        return limits

    def earlier(self, returned: ToolReturn) -> str | None:
        """The recall notice of the newest result of the same call, where only a part of it was shown."""
        pointer = measure(returned.output.encode("utf-8", "surrogatepass")).digest
        for row in reversed(list(self.store.rows(self.id, kind="result", light=True))):
            if row.digest != pointer and _is_same_call(result_of(row), returned):
                return self._way_back(row.trace_id)
        return None

    def _way_back(self, trace_id: str) -> str | None:
        cut = self.shown(trace_id).cut
        if cut is None or not cut.left_out:
            return None
        self.links.lay_out_kept(self.store, trace_id)
        return notice.unchanged(cut.above or cut.below)


def keep_result(context: HookContext, returned: ToolReturn) -> Json | None:
    """Keep a result; return the hook's answer where a view replaces it."""
    returned = _without_cut(context, returned)
    if returned.unchanged:
        return _keep_unchanged(context, returned)
    whole = _read_whole(returned)
    if whole is None:  # the client's file is gone: the part at hand must not pass for the whole
        returned, whole = returned._replace(replace=None), returned.output
    with HookSession(context, returned) as session:
        _keep_media(session, returned)
        if returned.media and not whole:
            return None
        shown = _keep(session, returned, whole)
    if returned.replace is None or shown.problem is not None:
        return None
    if returned.reads_back and not _only_marks(returned, shown.content):
        return None
    return None if shown.content == returned.output else returned.replace(shown.content)


def record_boundary(context: HookContext, boundary: Boundary) -> Json | None:
    """Record a boundary; return the hook's answer where the model is told how to read results back."""
    with HookSession(context) as session:
        known = next(session.store.rows(session.id, kind="result", light=True), None)
        session.keep(boundary.event, boundary.details, json.dumps(boundary.details), on_trouble="raise")
    if boundary.tell is None or known is None:
        return None
    return boundary.tell(notice.before(context.session, context.command))


def _keep_unchanged(context: HookContext, returned: ToolReturn) -> Json | None:
    session = HookSession(context, returned._replace(replace=None))
    with session:
        earlier = session.earlier(returned) if returned.replace is not None else None
        _keep(session, returned, returned.output)
    return None if earlier is None or returned.replace is None else returned.replace(earlier)


def _keep(session: Session, returned: ToolReturn, output: str | bytes) -> KeptResult:
    return session.keep(
        returned.tool,
        returned.arguments,
        output,
        call_id=returned.call_id,
        is_error=returned.is_error,
        exit_code=returned.exit_code,
        task_id=returned.agent,
    )


def _keep_media(session: Session, returned: ToolReturn) -> None:
    """Keep the images and documents of a result, which the client shows as they are."""
    media = [MediaBytes(part.facts.media_type, part.body()) for part in returned.media]
    session.keep_media(
        returned.tool,
        returned.arguments,
        media,
        call_id=returned.call_id,
        is_error=returned.is_error,
        task_id=returned.agent,
    )


def _without_cut(context: HookContext, returned: ToolReturn) -> ToolReturn:
    """Without a replacement where the settings say so; nothing is cut where the call itself reads a result back."""
    if context.settings.mode != "on":
        return returned._replace(replace=None)
    laid_out = os.path.join(os.path.abspath(context.settings.home), _RESULTS)
    return returned._replace(reads_back=laid_out in json.dumps(returned.arguments, ensure_ascii=False, default=str))


def _only_marks(returned: ToolReturn, content: str) -> bool:
    """Whether a replacement adds marks to what the client has and nothing else, and the client would not cut it."""
    return content == notice.quoted(returned.output) and len(content) <= (returned.most or len(content))


def _read_whole(returned: ToolReturn) -> str | bytes | None:
    """The whole output, from the hook or the client's own file; None where that cannot be read or is shorter."""
    if returned.file is None:
        return returned.output
    try:
        data = read_regular(returned.file, _LARGEST)
    except (OSError, ValueError):
        return None
    return data if len(data) >= len(returned.output) else None


def _is_same_call(result: Result, returned: ToolReturn) -> bool:
    """Whether a recorded result is of the same call by the same agent."""
    if (result.tool, result.task_id) != (returned.tool, returned.agent):
        return False
    try:
        return mapping(json.loads(result.arguments or "{}")) == mapping(returned.arguments)
    except (ValueError, RecursionError):
        return False
