"""The way of one result into the record: take the body, look at it, cut it, append it with its decision.

Owns: the order that makes a promise: nothing is shown cut before the whole is durable.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from keepwhole import events
from keepwhole.canonical import ids
from keepwhole.canonical.body import BLOCK, measure
from keepwhole.canonical.entry import Decision, Entry, Header, Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.media import TEXT, media_type
from keepwhole.canonical.utf8 import decode, encode, showable
from keepwhole.canonical.value import Value
from keepwhole.errors import Damaged, NotFound, NotStored, QuotaExceeded, StoreError
from keepwhole.metrics import MARKER
from keepwhole.recall.links import RecallLinks
from keepwhole.recall.names import is_recall
from keepwhole.record.shown import Shown
from keepwhole.store.feed import Feed, Output
from keepwhole.store.protocol import Body, Draft, Row, SessionInfo, Store, Taken, body_of, decision_of, result_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Source, decode_cut, encode_cut, render_body, whole
from keepwhole.truncation.notice import imitates
from keepwhole.truncation.present import Artifact, present, summarize
from keepwhole.truncation.result import TruncationMetadata, TruncationResult
from keepwhole.truncation.strategy import ITruncationStrategy

RULE = "arrival"


class Keeping(Value):
    """What one `keep` needs: where to, under which settings, and the time and chance of the outer world."""

    store: Store
    info: SessionInfo
    limits: Callable[[Result, Source], Limits]
    """What holds for a result."""
    strategies: Mapping[str, ITruncationStrategy]
    version: str
    quota: int
    """Most bytes the session may store."""
    ways: RecallLinks
    """How results are read back."""
    now: Callable[[], int]
    """Unix milliseconds."""
    random: Callable[[int], bytes]


ExitCode: TypeAlias = int | Callable[[], int] | None
"""How a command ended; a function is asked once its output has ended."""


def keep(
    keeping: Keeping, result: Result, output: Output, room: int, exit_code: ExitCode = None
) -> tuple[Shown, list[Entry]]:
    """Store `output` whole and say what to show; the entries are those that were added.

    Raises `NotStored` with the original in `rescue`, or another `StoreError` before anything was read.
    """
    taken = keeping.store.take(Feed(output), room)
    try:
        kept = _keep_taken(keeping, with_exit_code(result, exit_code), taken, isinstance(output, str))
    except (QuotaExceeded, NotFound) as error:
        keeping.store.discard(taken.body)
        kind = QuotaExceeded if isinstance(error, QuotaExceeded) else NotStored
        raise kind(str(error), rescue=_Stored(taken.reader)) from error
    except StoreError as error:
        # A commit that failed may be found again after a crash: the file stays, for the collector of orphans.
        raise NotStored(str(error), rescue=_Stored(taken.reader)) from error
    except BaseException:
        keeping.store.discard(taken.body)
        taken.reader.close()
        raise
    taken.reader.close()
    return kept


def note(keeping: Keeping, noted: Sequence[tuple[Header, str | bytes]], room: int) -> list[Entry]:
    """Store something of our own, all or nothing of it, with nothing decided about it."""
    drafts: list[Draft] = []
    try:
        for header, output in noted:
            taken = keeping.store.take(Feed(output), room)
            taken.reader.close()
            drafts.append(Draft(header, taken.body))
        return append(keeping, drafts, once=False)
    except (QuotaExceeded, NotFound):
        for draft in drafts:
            keeping.store.discard(draft.body)
        raise


def _keep_taken(keeping: Keeping, result: Result, taken: Taken, is_text: bool) -> tuple[Shown, list[Entry]]:
    """Cut and append a body that was taken, unless it is on record already."""
    again = _shown_before(keeping, _known(keeping, result, taken.body))
    if again is None:
        result = _examined(result, taken.reader, is_text)
        shown = _present(keeping, result, taken.reader)
        if shown.metadata.was_truncated:
            keeping.ways.lay_out(result.trace_id, taken.reader.stream)
        drafts = _drafts(keeping, result, taken.body, shown)
        entries = append(keeping, drafts, once=True)
        trace_id = entries[0].header.trace_id
        if trace_id != result.trace_id:
            again = _shown_before(keeping, keeping.store.find(keeping.info.name, trace_id))
            entries = entries if again else append(keeping, drafts, once=False)
        if again is None:
            return as_shown(shown, result), entries
    keeping.store.discard(taken.body)
    return again, []


def _shown_before(keeping: Keeping, row: Row | None) -> Shown | None:
    """What was shown of a result on record; None where there is none, or it is damaged and must be kept again."""
    try:
        return None if row is None else shown_again(keeping.store, row)
    except Damaged:
        return None


def append(keeping: Keeping, drafts: list[Draft], once: bool, after: int | None = None) -> list[Entry]:
    """Append, also where another process purged the session in the meantime."""
    return appended(keeping, drafts, once, after)[0]


def appended(keeping: Keeping, drafts: list[Draft], once: bool, after: int | None = None) -> tuple[list[Entry], bool]:
    """The same, and whether the session was there."""
    try:
        return keeping.store.append(keeping.info.name, drafts, once=once, quota=keeping.quota, after=after), True
    except NotFound:
        keeping.store.open_session(keeping.info)
        return keeping.store.append(keeping.info.name, drafts, once=once, quota=keeping.quota, after=after), False


def new_result(keeping: Keeping, tool: str, **fields: Any) -> Result:
    """A result with its ids drawn."""
    at, trace_id = keeping.now(), ids.trace_id(keeping.random(ids.RANDOM_BYTES))
    return Result(at=at, trace_id=trace_id, artifact_id=ids.artifact_id(at // 1000, trace_id), tool=tool, **fields)


def with_exit_code(result: Result, exit_code: ExitCode) -> Result:
    """The result with how its command ended; anything but 0 is an error."""
    code = exit_code() if callable(exit_code) else exit_code
    if code is None:
        return result
    return result.replace(exit_code=code, is_error=result.is_error or bool(code))


def original(output: Output, error: StoreError) -> Iterator[bytes]:
    """The bytes of an output that could not be stored, from wherever they are by now."""
    rescue = error.rescue if isinstance(error, NotStored) else None
    return Feed(output).remaining() if rescue is None else rescue.chunks()


def as_shown(shown: TruncationResult, result: Result) -> Shown:
    """A view with what a result block needs."""
    known: dict[str, Any] = {**vars(shown), "trace_id": result.trace_id}
    return Shown(**known, call_id=result.call_id, is_error=result.is_error)


def shown_again(store: Store, row: Row) -> Shown:
    """What is shown of a result on record: its recorded view, or all of it."""
    result, decided = result_of(row), store.decision(row.session, row.trace_id)
    with store.open(body_of(row)) as reader:
        if decided is None:
            return as_shown(_whole(showable(reader.text()), reader), result)
        with store.open(body_of(decided)) as cut_reader:
            cut = decode_cut(cut_reader.read())
        body = render_body(cut, reader)
        content = cut.above + body + cut.below
        artifact = _artifact(result, reader)
        metadata = TruncationMetadata(
            original_size=reader.chars,
            truncated_size=len(content),
            strategy_used=decision_of(decided).strategy,
            was_truncated=True,
            artifact_id=result.artifact_id,
            original_lines=reader.lines,
            original_bytes=reader.facts.size,
        )
        view = TruncationResult(
            content=content,
            body=body,
            cut=cut,
            metadata=metadata,
            artifact_id=result.artifact_id,
            artifact_reference=artifact.reference,
        )
        return as_shown(view, result)


def unstored(result: Result, output: Output, error: StoreError, exit_code: ExitCode = None) -> Shown:
    """The whole original, since it could not be stored and so must not be hidden."""
    if isinstance(output, str):
        text = output
    elif isinstance(output, bytes | bytearray | memoryview):
        text = decode(bytes(output), "bytes")
    else:
        text = decode(b"".join(original(output, error)), "bytes")
    if isinstance(error, NotStored) and error.rescue is not None:
        error.rescue.close()
        error.rescue = None
    result = with_exit_code(result, exit_code)
    size = len(encode(text)[0])
    metadata = TruncationMetadata(
        original_size=len(text),
        truncated_size=len(text),
        strategy_used="none",
        was_truncated=False,
        original_bytes=size,
        stored=False,
    )
    content = showable(text)
    return Shown(
        content=content,
        body=content,
        metadata=metadata,
        problem=error,
        call_id=result.call_id,
        is_error=result.is_error,
    )


class _Stored:
    """An original whose body was taken but whose row could not be written."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader

    def chunks(self) -> Iterator[bytes]:
        """The whole original, once."""
        with self._reader as reader:
            yield from reader.stream()

    def close(self) -> None:
        """Give the body back."""
        self._reader.close()


def _known(keeping: Keeping, result: Result, body: Body) -> Row | None:
    """The result on record that this is again: the same call with the same bytes, or with our own view of them."""
    if result.call_id is None:
        return None
    for row in reversed(keeping.store.find_call(keeping.info.name, result.call_id)):
        if row.digest == body.facts.digest or _is_our_view(keeping, row, body):
            return row
    return None


def _is_our_view(keeping: Keeping, row: Row, body: Body) -> bool:
    """Whether `body` is what we showed of this result; a damaged decision cannot say so."""
    decided = keeping.store.decision(keeping.info.name, row.trace_id)
    try:
        return decided is not None and decision_of(decided).shown_digest == body.facts.digest.hex()
    except Damaged:
        return False


def _examined(result: Result, reader: BodyReader, is_text: bool) -> Result:
    """The result with what its first and last bytes tell: media type, and whether it arrived looking cut."""
    size = reader.facts.size
    first = reader.read(0, BLOCK)
    last = reader.read(size - BLOCK) if size > BLOCK else b""
    mark = truncation_mark(first, last) if not is_recall(result.tool) else None
    if is_text and mark is None:
        return result
    return result.replace(
        media_type=TEXT if is_text else media_type(first),
        flags=(*result.flags, MARKER) if mark else result.flags,
    )


def _artifact(result: Result, reader: BodyReader) -> Artifact:
    return Artifact(
        artifact_id=result.artifact_id,
        summary=summarize(result.tool, result.arguments),
        size=reader.facts.size,
        media_type=result.media_type,
        digest=reader.facts.digest,
    )


def _present(keeping: Keeping, result: Result, reader: BodyReader) -> TruncationResult:
    limits = keeping.limits(result, reader)
    if is_recall(result.tool):
        limits = _unlimited(limits, reader.chars)
    if reader.chars <= limits.inline_limit and result.media_type == TEXT:
        text = reader.text()
        if limits.trusted or not imitates(text):
            return _whole(showable(text), reader)
    elif not is_recall(result.tool):
        limits = limits.replace(options=limits.options.replace(question=question_of(result)))
    artifact = _artifact(result, reader).replace(reachable=keeping.ways.of(result.trace_id, result.artifact_id))
    shown = present(reader, artifact, limits, keeping.strategies)
    if shown.strategy_failure:
        events.strategy_failed(keeping.info.name, result.trace_id, shown.strategy_failure)
    return shown


def question_of(result: Result) -> str:
    """What a result is wanted for: what the caller said, else what the call itself asks."""
    if result.question is not None or not result.arguments:
        return result.question or ""
    try:
        arguments: object = json.loads(result.arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    asked = (cast("dict[str, object]", arguments).get(key) for key in ("question", "query", "prompt"))
    return next((text for text in asked if isinstance(text, str)), "")


def _unlimited(limits: Limits, chars: int) -> Limits:
    """What a recall tool returned is bounded already and never becomes an artifact of an artifact."""
    return limits.replace(inline_limit=chars + 1, trusted=True)


def _drafts(keeping: Keeping, result: Result, body: Body, shown: TruncationResult) -> list[Draft]:
    drafts = [Draft(result, body)]
    if shown.cut is not None and (shown.metadata.was_truncated or len(shown.cut.pieces) > 1):
        cut = encode_cut(shown.cut)
        decision = Decision(
            at=result.at,
            trace_id=result.trace_id,
            rule=RULE,
            strategy=shown.metadata.strategy_used,
            version=keeping.version,
            shown_digest=measure(shown.content.encode()).digest.hex(),
            shown_chars=len(shown.content),
        )
        drafts.append(Draft(decision, Body(measure(cut), inline=cut)))
    return drafts


def _whole(text: str, reader: BodyReader) -> TruncationResult:
    return TruncationResult(
        content=text,
        body=text,
        cut=whole(reader.chars),
        metadata=TruncationMetadata(
            original_size=reader.chars,
            truncated_size=len(text),
            strategy_used="none",
            was_truncated=False,
            original_lines=reader.lines,
            original_bytes=reader.facts.size,
        ),
    )
