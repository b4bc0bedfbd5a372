"""Arrival: the one way a tool result gets into the record, for every entry point.

Theory of operation. Two shapes of output come in, and both take the same four steps in the same order:

    take      the body is stored; a large one is durable in its file before anything else happens
    examine   media type, and whether somebody cut the text before it came here
    show      a cut is chosen (by the caller: one result by itself, or all results of a step together)
    append    the result and the decision that shows it cut are appended in one transaction

`keep_output` brings one output of any form (`keep`, hooks, the gateway, the command line): text, bytes, a file, a pipe
or chunks, read once and never held in memory whole. `add_results` brings texts that are complete already (results in
messages, imported logs), many in one transaction, together with decisions about older results.

Example. `keep_output` of 500 KB: `take` writes blob `ab12…` and syncs it; `show` returns 2,000 characters and a notice;
`append` writes the rows of the result and of the decision. Only after that commit are the 2,000 characters returned.

Invariants
- Nothing is shown cut before the whole is durable.
- A result whose call id and bytes are on record already, or whose bytes are our own view of it, is not stored again.
- A body whose entry was surely not written is discarded; after any other failure it stays, since a commit that failed
  may be found again after a crash.
- Whatever fails, the original is returned: in the error's `rescue`, or still unread in the output.

Owns: this order. Must not know: policies, messages.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.canonical.entry import Entry, Result
from keepwhole.canonical.guard import truncation_mark
from keepwhole.canonical.media import TEXT, media_of
from keepwhole.canonical.utf8 import encode
from keepwhole.errors import Damaged, NotFound, NotStored, Overtaken, QuotaExceeded, StoreError
from keepwhole.metrics import IMITATED, MARKER
from keepwhole.recall.names import is_recall
from keepwhole.record.kept_result import ExitCode, KeptResult, as_kept, not_stored, read_kept, with_exit_code
from keepwhole.record.writer import SessionWriter, decision_draft
from keepwhole.store.feed import Feed, Output
from keepwhole.store.protocol import Body, Draft, Row, StoredBody, decision_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.arguments import has_mark
from keepwhole.truncation.client_cut import is_client_cut
from keepwhole.truncation.result import TruncationResult

RULE = "arrival"
"""The rule of a decision that was made when its result arrived."""
LEGACY = "legacy_truncated"
"""The flag of a result that somebody cut before it came here in a conversation or a log."""
CLIENT_CUT = "client_cut"
"""The flag of a result whose text has the form in which a known client cuts: it is on record as the client cut it."""

_MARK_WINDOW = 1 << 19
"""Bytes at either end of a result in which a truncation mark is looked for; all of it up to twice as many. What
somebody cut is shorter than that."""

_LARGE = 32_768
"""Characters or bytes of an output for which it is worth a thread to store it."""
_SIDE_BY_SIDE = 16
"""Outputs that are stored at the same time."""

Show: TypeAlias = Callable[[Result, BodyReader], TruncationResult]
"""Chooses how one new result is shown."""


def flags_of(text: str, arguments: str | None = None) -> tuple[str, ...]:
    """The flags of a result that comes in a conversation or a log: whether somebody cut its text before, and whether
    the model wrote the words into its call that stand for arguments which are cut."""
    data = encode(text)[0]
    imitates = (IMITATED,) if has_mark(arguments or "") else ()
    if truncation_mark(*_ends(len(data), lambda start, stop: data[start:stop])) is None:
        return imitates
    return (MARKER, LEGACY, *((CLIENT_CUT,) if is_client_cut(text) else ()), *imitates)


def _ends(size: int, read: Callable[[int, int], bytes]) -> list[bytes]:
    """The beginning and the end of a body in which a mark is looked for; all of it where they touch."""
    if size <= 2 * _MARK_WINDOW:
        return [read(0, size)]
    return [read(0, _MARK_WINDOW), read(size - _MARK_WINDOW, size)]


class NewResult(NamedTuple):
    """A result that came as a whole, and the decision that shows it, where it is not shown in full."""

    result: Result
    output: str | bytes
    decision: Draft | None = None
    body: Body | None = None
    """What is recorded in place of the text, where that was stored already; whoever stored it discards it."""
    client_decision: Draft | None = None
    """The decision that the text is the client's own cut of that body. It comes first, so that the text is known."""


class Added(NamedTuple):
    """What became of results that were added."""

    accepted: list[NewResult]
    """Results that are on record now."""
    new: list[Result]
    """Those of them that were not on record before."""
    entries: list[Entry]
    """What `append` returned."""
    drafts: list[Draft]
    """What it was given."""
    session_existed: bool = True

    def join(self, other: "Added") -> "Added":
        """Both together, in order."""
        return Added(
            self.accepted + other.accepted,
            self.new + other.new,
            self.entries + other.entries,
            self.drafts + other.drafts,
            self.session_existed and other.session_existed,
        )


def keep_output(
    writer: SessionWriter,
    result: Result,
    output: Output,
    show: Show,
    exit_code: ExitCode = None,
    on_trouble: Literal["show", "raise"] = "show",
) -> KeptResult:
    """Store `output` whole and return what to show of it.

    What cannot be stored is shown whole; with `on_trouble="raise"` it raises `NotStored` with the original in `rescue`,
    or another `StoreError` before anything was read.
    """
    try:
        kept, entries = _store_and_show(writer, result, output, show, exit_code)
    except StoreError as error:
        writer.metrics.observe_unstored()
        if on_trouble == "raise":
            raise
        events.log_unstored(writer.name, result.tool, type(error).__name__)
        return not_stored(result, output, error, exit_code)
    writer.count(entries)
    _log_kept(writer.name, kept, entries)
    return kept


def keep_media(writer: SessionWriter, results: Sequence[NewResult]) -> list[Result]:
    """Store images and other bytes that are shown as they came; return the results on record.

    Of what cannot be stored nothing is hidden, so the failure is counted and logged, and not raised.
    """
    try:
        added = add_results(writer, results)
    except StoreError as error:
        writer.metrics.observe_unstored()
        events.log_unstored(writer.name, results[0].result.tool, type(error).__name__)
        return []
    return [entry.header for entry in added.entries if isinstance(entry.header, Result)]


def _store_and_show(
    writer: SessionWriter, result: Result, output: Output, show: Show, exit_code: ExitCode
) -> tuple[KeptResult, list[Entry]]:
    taken = writer.store.store_body(Feed(output), writer.room())
    try:
        kept = _keep_taken(writer, with_exit_code(result, exit_code), taken, isinstance(output, str), show)
    except (QuotaExceeded, NotFound) as error:
        writer.store.discard(taken.body)
        kind = QuotaExceeded if isinstance(error, QuotaExceeded) else NotStored
        raise kind(str(error), rescue=_Rescue(taken.reader)) from error
    except StoreError as error:
        # A commit that failed may be found again after a crash: the file stays, for the collector of orphans.
        raise NotStored(str(error), rescue=_Rescue(taken.reader)) from error
    except BaseException:
        writer.store.discard(taken.body)
        taken.reader.close()
        raise
    taken.reader.close()
    return kept


def add_results(
    writer: SessionWriter,
    arriving: Sequence[NewResult],
    batch: Sequence[Draft] = (),
    *,
    once: bool = True,
    after: int | None = None,
) -> Added:
    """Append results that came as text, with the decisions of a `batch`; where the quota is too small for all, those
    that fit one by one.

    Raises `Overtaken` where the decisions were made `after` an entry that is no longer the newest.
    """
    try:
        return _add_together(writer, arriving, batch, once, after)
    except QuotaExceeded:
        if len(arriving) <= 1:
            return Added([], [], [], [])
        fitting = Added([], [], [], [])
        for each in arriving:
            fitting = fitting.join(add_results(writer, [each], once=once))
        return fitting


def _add_together(
    writer: SessionWriter, arriving: Sequence[NewResult], batch: Sequence[Draft], once: bool, after: int | None
) -> Added:
    bodies: dict[str, Body] = {}
    drafts: list[Draft] = []
    own = {each.result.trace_id for each in arriving}
    are_stored = False
    try:
        _store_bodies(writer, arriving, bodies)
        are_stored = True
        for each in arriving:
            drafts.append(Draft(each.result, each.body or bodies[each.result.trace_id]))
            drafts += [decision for decision in (each.client_decision, each.decision) if decision is not None]
        drafts += batch
        if not drafts:
            return Added([], [], [], [])
        entries, existed = writer.append(drafts, once=once, after=after)
    except (QuotaExceeded, NotFound, Overtaken):
        writer.discard(bodies.values())
        raise
    except StoreError:
        if not are_stored:  # nothing was appended
            writer.discard(bodies.values())
        raise
    added = [entry for entry in entries if entry.kind == "decision" or entry.header.trace_id in own]
    names = {entry.header.trace_id for entry in added}
    writer.discard(body for trace_id, body in bodies.items() if trace_id not in names)
    writer.count(added)
    new = [each.result for each in arriving if each.result.trace_id in names]
    return Added(list(arriving), new, entries, drafts, existed)


def _store_bodies(writer: SessionWriter, arriving: Sequence[NewResult], bodies: dict[str, Body]) -> None:
    """Store the outputs of new results; `bodies` gets each by its trace id once it is stored.

    Large ones are stored side by side: each waits for the disk or for a bucket, and a disk makes several files durable
    in little more time than one.
    """

    def store(each: NewResult) -> None:
        taken = writer.store.store_body(Feed(each.output), room)
        taken.reader.close()
        bodies[each.result.trace_id] = taken.body

    room = writer.room()
    outputs = [each for each in arriving if each.body is None]
    if sum(len(each.output) > _LARGE for each in outputs) < 2:
        for each in outputs:
            store(each)
        return
    from concurrent.futures import ThreadPoolExecutor  # short commands keep one result

    with ThreadPoolExecutor(min(len(outputs), _SIDE_BY_SIDE)) as pool:
        list(pool.map(store, outputs))


def _keep_taken(
    writer: SessionWriter, result: Result, taken: StoredBody, is_text: bool, show: Show
) -> tuple[KeptResult, list[Entry]]:
    """Show and append a body that was taken, unless it is on record already."""
    again = _read_earlier_view(writer, _find_known(writer, result, taken.body))
    if again is None:
        result = _examine(result, taken.reader, is_text)
        view = show(result, taken.reader)
        if view.metadata.was_truncated:
            writer.links.lay_out(result.trace_id, taken.reader.stream, result.media_type)
        drafts = _drafts(result, taken.body, view)
        entries = writer.append(drafts, once=True).entries
        trace_id = entries[0].header.trace_id
        if trace_id != result.trace_id:  # another process stored the same result meanwhile
            again = _read_earlier_view(writer, writer.store.find(writer.name, trace_id))
            entries = entries if again else writer.append(drafts).entries
        if again is None:
            return as_kept(view, result), entries
    writer.store.discard(taken.body)
    return again, []


def _drafts(result: Result, body: Body, view: TruncationResult) -> list[Draft]:
    is_edited = view.cut is not None and (view.metadata.was_truncated or len(view.cut.pieces) > 1)
    if view.cut is None or not is_edited:
        return [Draft(result, body)]
    strategy = view.metadata.strategy_used
    return [Draft(result, body), decision_draft(result.trace_id, result.at, RULE, strategy, view.cut, view.content)]


def _read_earlier_view(writer: SessionWriter, row: Row | None) -> KeptResult | None:
    """What was shown of a result on record; None where there is none, or it is damaged and must be stored again."""
    try:
        return None if row is None else read_kept(writer.store, row)
    except Damaged:
        return None


def _find_known(writer: SessionWriter, result: Result, body: Body) -> Row | None:
    """The result on record that this is again: the same call with the same bytes, or with our own view of them."""
    if result.call_id is None:
        return None
    for row in reversed(writer.store.find_call(writer.name, result.call_id)):
        if row.digest == body.facts.digest or _is_our_view(writer, row, body):
            return row
    return None


def _is_our_view(writer: SessionWriter, row: Row, body: Body) -> bool:
    """Whether `body` is what was shown of this result; a damaged decision cannot say so."""
    decided = writer.store.decision(writer.name, row.trace_id)
    try:
        return decided is not None and decision_of(decided).shown_digest == body.facts.digest.hex()
    except Damaged:
        return False


def _examine(result: Result, reader: BodyReader, is_text: bool) -> Result:
    """The result with what its bytes tell: media type, and whether it arrived already cut; and what its call does."""
    ends = _ends(reader.facts.size, reader.read)
    flags = (MARKER,) if not is_recall(result.tool) and truncation_mark(*ends) else ()
    flags += (IMITATED,) if has_mark(result.arguments or "") else ()
    if is_text and not flags:
        return result
    found = {"media_type": TEXT} if is_text else media_of(ends[0]).header_fields
    return result.replace(**found, flags=(*result.flags, *flags))


def _log_kept(session: str, kept: KeptResult, entries: list[Entry]) -> None:
    if not entries or not isinstance(entries[0].header, Result):
        return
    result, size, metadata = entries[0].header, entries[0].facts.size, kept.metadata
    events.log_kept(session, result.trace_id, result.tool, size, metadata.truncated_size, metadata.strategy_used)
    if MARKER in result.flags:
        events.log_truncation_mark(session, result.trace_id, result.tool)


class _Rescue:
    """The original of a result whose body was stored but whose row could not be written."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole original, once."""
        with self._reader as reader:
            yield from reader.stream()

    def close(self) -> None:
        """Close the body."""
        self._reader.close()
