"""Recorded runs of any client taken into the record, each as a session of its own, so that they can be searched.

Owns: what a run's session is called, what an entry says of a result that came long ago, and that importing a run again
adds only what is new.
Must not know: formats of logs (`replay.importers`).

Whole copies that a client saved beside its log are in the run already. What stays cut is on record as it is, with the
flag `legacy_truncated`; where a later import brings the whole, that is added.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from keepwhole.canonical import ids
from keepwhole.canonical.entry import Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import QuotaExceeded
from keepwhole.logs.run import Run
from keepwhole.metrics import MARKER
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.record.recording import LEGACY
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Draft, SessionInfo, Store

_TOGETHER = 64
"""Results that are made durable in one go."""
_LONGEST = 100
"""Characters of a session's name, before what tells it from others that look alike."""
_STRANGE = re.compile(r"[^A-Za-z0-9._:@-]+")


class Imported(NamedTuple):
    """What became of a run."""

    session: str
    results: int
    added: int
    """Results that were not on record yet."""
    truncated: int
    """Of these, results that somebody had cut before."""
    restored: int
    """Of these, results that are whole again from a copy beside the log."""
    refused: int = 0
    """Results that the session's quota has no room for."""


def session_of(run: Run) -> str:
    """What the session of a run is called: the client, and the client's own id.

    >>> session_of(Run("codex", "0199-abc", ()))
    'codex:0199-abc'
    """
    plain = f"{run.source}:{run.id}"
    name = _STRANGE.sub("-", plain).lstrip("._:@-") or "run"
    if name == plain and len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def import_run(store: Store, run: Run, *, quota: int, now: int, random: Callable[[int], bytes]) -> Imported:
    """Put the results of a run on record, with the times at which they came; `now` holds where none is known."""
    transcript = Transcript()
    transcript.extend(run.messages)
    items = transcript.items
    began = _at(run, 0, now)
    name = session_of(run)
    project = run.meta.get("project")
    info = SessionInfo(name=name, agent=run.source, workspace=project if isinstance(project, str) else None)
    if items:
        store.open_session(info.replace(created_at=began))
    added: list[Result] = []
    refused = 0
    for batch in _batches(items):
        drafts = [_result(run, item, now, random) for item in batch]
        new, left = _append(store, name, list(zip(drafts, batch, strict=True)), quota)
        added += new
        refused += left
    lost = sum(LEGACY in result.flags for result in added)
    whole = _calls(run, "restored_full_output")
    return Imported(name, len(items), len(added), lost, sum(one.call_id in whole for one in added), refused)


def _append(store: Store, name: str, pairs: Sequence[tuple[Result, Item]], quota: int) -> tuple[list[Result], int]:
    """Append results that are not on record yet; one by one where they are too many for the quota."""
    bodies: dict[str, Body] = {}
    for result, item in pairs:
        taken = store.store_body(Feed(item.text), quota)
        taken.reader.close()
        bodies[result.trace_id] = taken.body
    try:
        entries = store.append(
            name, [Draft(result, bodies[result.trace_id]) for result, _ in pairs], once=True, quota=quota
        )
    except QuotaExceeded:
        for body in bodies.values():
            store.discard(body)
        if len(pairs) == 1:
            return [], 1
        found = [_append(store, name, [pair], quota) for pair in pairs]
        return [one for new, _ in found for one in new], sum(left for _, left in found)
    names = {entry.header.trace_id for entry in entries}
    for trace_id, body in bodies.items():
        if trace_id not in names:
            store.discard(body)
    return [result for result, _ in pairs if result.trace_id in names], 0


def _result(run: Run, item: Item, now: int, random: Callable[[int], bytes]) -> Result:
    at, trace_id = _at(run, item.index, now), ids.trace_id(random(ids.RANDOM_BYTES))
    call_id = item.returned.call_id or f"{session_of(run)}#{item.number}"
    return Result(
        at=at,
        trace_id=trace_id,
        artifact_id=ids.artifact_id(at // 1000, trace_id),
        tool=item.call.tool if item.call else "tool",
        arguments=item.call.arguments if item.call else None,
        call_id=call_id,
        is_error=item.is_error,
        turn=item.turn,
        task_id=None,
        flags=_flags(run, item),
    )


def _flags(run: Run, item: Item) -> tuple[str, ...]:
    """Whether somebody cut it before; what a whole copy says about cuts is the tool's own text."""
    call_id = item.returned.call_id
    if call_id in _calls(run, "restored_full_output"):
        return ()
    marked = truncation_mark(encode(item.text)[0], b"") is not None
    lost = call_id in _calls(run, LEGACY)
    return (MARKER, LEGACY) if marked else (LEGACY,) if lost else ()


def _calls(run: Run, key: str) -> set[Any]:
    found = run.meta.get(key)
    return set(found) if isinstance(found, list | tuple) else set()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _at(run: Run, index: int, now: int) -> int:
    return int(run.times[index] * 1000) if index < len(run.times) else now


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _TOGETHER):
        yield items[start : start + _TOGETHER]
