"""Imports runs from clients' logs, each as a session of its own, so that they can be searched.

Owns: what a run's session is called, what the entries of old results and words say, and that importing a run again
adds only what is new, to the session of this run and no other.
Must not know: formats of logs (`logs`).

Whole copies that a client saved beside its log are in the run already. A result that stays cut is recorded with the
flag `legacy_truncated`; where a later import brings the whole text, that is added.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from keepwhole.canonical import ids
from keepwhole.canonical.body import digest_of_bytes
from keepwhole.canonical.entry import Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.utf8 import as_bytes, encode
from keepwhole.logs.run import Run
from keepwhole.metrics import MARKER, Metrics
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.links import RecallLinks
from keepwhole.record.arrival import LEGACY, NewResult, add_results
from keepwhole.record.words_note import TOOL as WORDS
from keepwhole.record.words_note import SaidWords
from keepwhole.record.writer import SessionWriter
from keepwhole.store.protocol import Row, SessionInfo, Store, result_of

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


def import_run(
    store: Store, run: Run, *, quota: int, now: int, random: Callable[[int], bytes], with_words: bool = True
) -> Imported:
    """Record the results of a run, and the words between them, with the times at which they came; `now` where no time
    is known."""
    transcript = Transcript()
    transcript.extend(run.messages)
    (name, recorded), project = _own_session(store, run, transcript.items), run.meta.get("project")
    info = SessionInfo(
        name=name,
        agent=run.source,
        workspace=project if isinstance(project, str) else None,
        created_at=_at(run, 0, now),
    )
    writer = SessionWriter(
        store, info, quota=quota, links=RecallLinks(name), metrics=Metrics(), clock=lambda: now / 1000, random=random
    )
    accepted, new = 0, list[Result]()
    words = list(_said(run)) if with_words else []
    for batch in _batches(sorted([*transcript.items, *words], key=_place)):
        added = add_results(writer, [_new_entry(run, one, writer, now, recorded) for one in batch])
        accepted += sum(one.result.tool != WORDS for one in added.accepted)
        new += [result for result in added.new if result.tool != WORDS]
    lost = sum(LEGACY in result.flags for result in new)
    whole = _calls(run, "restored_full_output")
    restored = sum(one.call_id in whole for one in new)
    results = len(transcript.items)
    return Imported(name, results, len(new), lost, restored, results - accepted)


def _own_session(store: Store, run: Run, items: Sequence[Item]) -> tuple[str, set[bytes]]:
    """The session of this run, and the digests of its results: the first of its name, `NAME-2`, … that has nothing yet
    or has this run.

    Logs may give one id to several runs. Merged into one session, they could not be told apart again.
    """
    name = session_of(run)
    for number in itertools.count(1):
        candidate = name if number == 1 else f"{name}-{number}"
        recorded = list(store.rows(candidate, kind="result", light=True))
        if not recorded or _is_same_run(run, items, recorded):
            return candidate, {row.digest for row in recorded}
    raise AssertionError("there is always a next number")


def _is_same_run(run: Run, items: Sequence[Item], recorded: Sequence[Row]) -> bool:
    """Whether what is recorded is of this run: of the calls that both have, at least half have the same result."""
    by_call: dict[str | None, list[tuple[Result, bytes]]] = {}
    for row in recorded:
        known = result_of(row)
        by_call.setdefault(known.call_id, []).append((known, row.digest))
    common = [item for item in items if _call_id(run, item) in by_call]
    same = sum(any(_is_same_result(run, item, *one) for one in by_call[_call_id(run, item)]) for item in common)
    return bool(same) and 2 * same >= len(common)


def _is_same_result(run: Run, item: Item, known: Result, digest: bytes) -> bool:
    """Whether a result is the recorded one, or one of the two was cut before it came here."""
    if item.call is not None and (item.call.tool, item.call.arguments) != (known.tool, known.arguments):
        return False
    return (
        LEGACY in known.flags or bool(_flags(run, item)) or digest in map(_digest, (item.returned.output, _came(item)))
    )


def _came(item: Item) -> str | bytes:
    """A result in the frame of its client, as older versions recorded it."""
    return item.returned.around(item.text) if item.returned.is_framed else item.returned.output


def _digest(output: str | bytes) -> bytes:
    return digest_of_bytes(as_bytes(output))


class _Said(NamedTuple):
    """Words of a message."""

    message: int
    role: str
    text: str


def _said(run: Run) -> Iterator[_Said]:
    """What the user and the model said, message by message."""
    for index, message in enumerate(run.messages):
        if message.said.strip() and message.role in ("user", "assistant"):
            yield _Said(index, message.role, message.said)


def _place(one: "Item | _Said") -> tuple[int, int]:
    """Where an entry stands in its log: words come before the results of the same message."""
    return (one.message, 0) if isinstance(one, _Said) else (one.index, 1)


def _new_entry(run: Run, one: "Item | _Said", writer: SessionWriter, now: int, recorded: set[bytes]) -> NewResult:
    return _new_words(run, one, writer, now) if isinstance(one, _Said) else _new_result(run, one, writer, now, recorded)


def _new_words(run: Run, said: _Said, writer: SessionWriter, now: int) -> NewResult:
    """What is recorded of words; by the id of their call, words that are on record are known again."""
    at, trace_id = _at(run, said.message, now), writer.draw_trace_id()
    result = Result(
        at=at,
        trace_id=trace_id,
        artifact_id=ids.artifact_id(at // 1000, trace_id),
        tool=WORDS,
        arguments=SaidWords(said.role, said.message).as_arguments(),
        call_id=f"{session_of(run)}#words-{said.message}",
    )
    return NewResult(result, said.text)


def _new_result(run: Run, item: Item, writer: SessionWriter, now: int, recorded: set[bytes]) -> NewResult:
    """What is recorded of a result; one that is on record in its frame is the same again, and not another one."""
    is_framed = item.returned.is_framed and _digest(_came(item)) in recorded
    return NewResult(_result(run, item, writer, now), _came(item) if is_framed else item.returned.output)


def _result(run: Run, item: Item, writer: SessionWriter, now: int) -> Result:
    at, trace_id = _at(run, item.index, now), writer.draw_trace_id()
    return Result(
        at=at,
        trace_id=trace_id,
        artifact_id=ids.artifact_id(at // 1000, trace_id),
        tool=item.call.tool if item.call else "tool",
        arguments=item.call.arguments if item.call else None,
        call_id=_call_id(run, item),
        is_error=item.is_error,
        exit_code=item.returned.exit_code,
        turn=item.turn,
        task_id=None,
        frame=(item.returned.before, item.returned.behind) if item.returned.is_framed else None,
        flags=_flags(run, item),
        **({} if item.media is None else item.media.header_fields),
    )


def _call_id(run: Run, item: Item) -> str:
    """The id of the call that a result answers; its place in the run where the log names none."""
    return item.returned.call_id or f"{session_of(run)}#{item.number}"


def _flags(run: Run, item: Item) -> tuple[str, ...]:
    """Whether somebody cut it before; what a whole copy says about cuts is the tool's own text."""
    call_id = item.returned.call_id
    if call_id in _calls(run, "restored_full_output"):
        return ()
    marked = item.media is None and truncation_mark(encode(item.text)[0], b"") is not None
    lost = call_id in _calls(run, LEGACY)
    return (MARKER, LEGACY) if marked else (LEGACY,) if lost else ()


def _calls(run: Run, key: str) -> set[Any]:
    found = run.meta.get(key)
    return set(found) if isinstance(found, list | tuple) else set()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _at(run: Run, index: int, now: int) -> int:
    return int(run.times[index] * 1000) if index < len(run.times) else now


def _batches(items: "Sequence[Item | _Said]") -> "Iterator[Sequence[Item | _Said]]":
    for start in range(0, len(items), _TOGETHER):
        yield items[start : start + _TOGETHER]
