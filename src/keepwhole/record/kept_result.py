"""What `keep` returns: one result, ready to be put into a conversation.

Owns: building it from a new view, from the record, or from an output that could not be stored.
Must not know: how the view was chosen.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from keepwhole.canonical.entry import Result
from keepwhole.canonical.media import media_of
from keepwhole.canonical.utf8 import decode, encode, showable
from keepwhole.errors import NotStored, StoreError, UsageError
from keepwhole.store.feed import Feed, Output
from keepwhole.store.protocol import Row, Store, body_of, decision_of, result_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.cut import decode_cut, render_body
from keepwhole.truncation.present import Artifact, show_whole, summarize
from keepwhole.truncation.recall_link import RecallLink
from keepwhole.truncation.result import TruncationMetadata, TruncationResult

ExitCode: TypeAlias = int | Callable[[], int] | None
"""How a command ended; a function is called when the command's output has ended."""


class KeptResult(TruncationResult):
    """One kept result: what to show of it, and the call it answers."""

    call_id: str | None = None
    is_error: bool = False
    tool: str = ""

    def block(self, dialect: str) -> dict[str, Any]:
        """Return the message or block that answers the call in this dialect."""
        from keepwhole.wire.dialects import dialect_named  # most short commands write no block

        found = dialect_named(dialect)
        if self.call_id is None and found.needs_call_id:
            raise UsageError("A result block names the call it answers. Give `keep` the call, or its `call_id`.")
        return found.result_block(self.call_id, self.content, self.is_error, tool=self.tool)


def as_kept(view: TruncationResult, result: Result) -> KeptResult:
    """A view of a result on record, with the ids that a result block needs."""
    fields: dict[str, Any] = {**vars(view), "trace_id": result.trace_id}
    return KeptResult(**fields, call_id=result.call_id, is_error=result.is_error, tool=result.tool)


def artifact_of(result: Result, reader: BodyReader, link: RecallLink | None = None) -> Artifact:
    """What notices say of a result."""
    return Artifact(
        artifact_id=result.artifact_id,
        summary=summarize(result.tool, result.arguments),
        size=reader.facts.size,
        media_type=result.media_type,
        digest=reader.facts.digest,
        reachable=link,
    )


def read_kept(store: Store, row: Row) -> KeptResult:
    """Read a result from the record as it was shown: by its newest decision, or whole."""
    result, decided = result_of(row), store.decision(row.session, row.trace_id)
    with store.open(body_of(row)) as reader:
        if decided is None:
            return as_kept(show_whole(reader, showable(reader.text()), reader.facts.size), result)
        with store.open(body_of(decided)) as cut_reader:
            cut = decode_cut(cut_reader.read())
        body = render_body(cut, reader) if cut.image is None else f"[{media_of(cut.image.data).looks}]"
        content = cut.above + body + cut.below
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
            artifact_reference=artifact_of(result, reader).reference,
        )
        return as_kept(view, result)


def with_exit_code(result: Result, exit_code: ExitCode) -> Result:
    """The result with how its command ended; any code but 0 is an error."""
    code = exit_code() if callable(exit_code) else exit_code
    if code is None:
        return result
    return result.replace(exit_code=code, is_error=result.is_error or bool(code))


def unstored_chunks(output: Output, error: StoreError) -> Iterator[bytes]:
    """The bytes of an output that could not be stored: from the error's rescue, or from the output itself."""
    rescue = error.rescue if isinstance(error, NotStored) else None
    return Feed(output).remaining() if rescue is None else rescue.chunks()


def not_stored(result: Result, output: Output, error: StoreError, exit_code: ExitCode = None) -> KeptResult:
    """The whole output of a result that could not be stored, so nothing of it may be hidden."""
    if isinstance(output, str):
        text, data = output, encode(output)[0]
    else:
        is_at_hand = isinstance(output, bytes | bytearray | memoryview)
        data = bytes(output) if is_at_hand else b"".join(unstored_chunks(output, error))
        text = decode(data, "bytes")
    if isinstance(error, NotStored) and error.rescue is not None:
        error.rescue.close()
        error.rescue = None
    result = with_exit_code(result, exit_code)  # asked last: only now has the command's output ended
    content = showable(text)
    metadata = TruncationMetadata(
        original_size=len(text),
        truncated_size=len(text),
        strategy_used="none",
        was_truncated=False,
        original_bytes=len(data),
        stored=False,
    )
    return KeptResult(
        content=content,
        body=content,
        metadata=metadata,
        problem=error,
        call_id=result.call_id,
        is_error=result.is_error,
    )
