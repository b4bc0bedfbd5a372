"""`SessionReader`: everything a session has kept, read back by programs and by models. Nothing here writes.

Owns: the answers to ids, ranges, questions and calls of the recall tools, for one session.
Must not know: how results came in (`arrival`), conversations.

Everything that only some calls need is imported there: a short command keeps one result and ends.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from keepwhole.async_calls import twin
from keepwhole.canonical import ids
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.errors import NotFound, TooLargeToRecall, UsageError
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.links import Recall, recall_links_for
from keepwhole.recall.names import DEFINITIONS, NAMES, OFFERED, Definition
from keepwhole.record.kept_result import KeptResult, read_kept
from keepwhole.store.protocol import Row, Store, body_of, entry_of, result_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.notice import LONGEST_RANGE, size_text

if TYPE_CHECKING:
    from keepwhole.recall.answer import RecallAnswer, StoredArtifact
    from keepwhole.recall.selection import Selection
    from keepwhole.recall.selector import Selector
    from keepwhole.recall.tools import RecallTools
    from keepwhole.store.verify import Verification


def check_name(id: str | None) -> None:
    """Refuse what cannot name a session."""
    if id is not None and not ids.is_session_id(id):
        raise UsageError(f"{id[:60]!r} cannot name a session. Use 1 to 128 letters, digits and `._:@-`.")


class SessionReader:
    """The reading half of a session. Safe from threads and processes."""

    def __init__(
        self,
        id: str | None,
        store: Store,
        settings: Settings,
        recall: Recall | None = None,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Without an `id` it is a new session."""
        check_name(id)
        self.id = id or ids.session_id(random(ids.RANDOM_BYTES))
        self.store, self.settings = store, settings
        self.recall_by = recall or settings.recall
        self.links = recall_links_for(self.id, self.recall_by, settings.recall_reader, store)

    def recall(
        self,
        id: str,
        *,
        lines: str | tuple[int, int] | None = None,
        chars: str | tuple[int, int] | None = None,
        part: Literal["result", "arguments"] = "result",
    ) -> str:
        """The text of a result, by trace id or artifact id: all of it, `lines` from 1, or `chars` from 0.

        `lines="10-20"` includes both ends; `chars="0-5000"` and `chars=(0, 5000)` end before the second number. With
        `part="arguments"` it is what its call was given, as JSON text.
        """
        from keepwhole.recall.get_artifact import arguments_reader, asks_for_arguments
        from keepwhole.recall.ranges import LineRange, parse_chars, parse_lines

        row = self._find_row(id)
        of_call = asks_for_arguments({"part": part})
        with arguments_reader(result_of(row)) if of_call else self.store.open(body_of(row)) as reader:
            if lines is not None:
                asked = parse_lines(lines) if isinstance(lines, str) else LineRange(*lines)
                return reader.line_range(asked.first, reader.lines if asked.last is None else asked.last)
            if isinstance(chars, str):
                span = parse_chars(chars)
                return reader.text(span.start, reader.chars if span.length is None else span.start + span.length)
            if chars is not None:
                return reader.text(*chars)
            if not of_call:
                self._refuse_huge(id, row)
            return reader.text()

    def recall_bytes(self, id: str) -> bytes:
        """The bytes of a result, unchanged."""
        row = self._find_row(id)
        self._refuse_huge(id, row)
        with self.store.open(body_of(row)) as reader:
            return reader.read()

    def stream(self, id: str) -> Iterator[bytes]:
        """The bytes of a result of any size, checked piece by piece."""
        reader = self.open(id)

        def chunks() -> Iterator[bytes]:
            with reader:
                yield from reader.stream()

        return chunks()

    async def astream(self, id: str) -> AsyncIterator[bytes]:
        """`stream`, without blocking the event loop."""
        import asyncio

        chunks = await asyncio.to_thread(self.stream, id)
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk

    def open(self, id: str) -> BodyReader:
        """Open a result for reading: ranges of lines and characters, each checked, without loading the rest."""
        return self.store.open(body_of(self._find_row(id)))

    def shown(self, id: str) -> KeptResult:
        """What was shown of a result, as recorded."""
        return read_kept(self.store, self._find_row(id))

    def select(
        self,
        query: str,
        *,
        budget: int = 2_000,
        task_id: str | None = None,
        query_id: str | None = None,
        selector: "Selector | None" = None,
        seconds: float = 30.0,
    ) -> "Selection":
        """The units of everything kept that are most relevant to `query`, uncut, within `budget` tokens.

        `task_id` and `query_id` keep to what was kept under them. `selector` chooses among the best candidates
        instead of the scorer: `recall.selector.by_model` and `by_embedding` make one. After `seconds` what was
        found so far is returned, and `is_all` is False: only a first question to a very large record takes so long.
        """
        from keepwhole.recall.select import fit_units, select

        found = select(
            self.store,
            self.id,
            query,
            budget=budget,
            task_id=task_id,
            query_id=query_id,
            selector=selector,
            until=time.monotonic() + seconds,
        )
        if self.recall_by == "tools":
            return found
        reached = [self.links.with_link(self.store, unit) for unit in found.units]
        return fit_units(query, reached, budget, found.is_all)

    def tools(self, dialect: str) -> list[dict[str, Any]]:
        """The recall tools for a model, in this dialect; the same bytes every time, or none where `recall` says so."""
        return _tool_definitions(dialect, DEFINITIONS) if self.recall_by == "tools" else []

    def answer(self, call: object) -> dict[str, Any] | None:
        """The result block for a model's call of a recall tool; None if the call is for another tool."""
        from keepwhole.recall.answer import RecallAnswer
        from keepwhole.wire.dialects import parse_call

        parsed = parse_call(call)
        if parsed.name not in NAMES:
            return None
        try:
            answer = self.call_tool(parsed.name, parsed.parsed())
        except UsageError as error:
            answer = RecallAnswer(showable(error.for_model), is_error=True)
        media = answer.media if answer.media and answer.media.media_type in parsed.dialect.shown_types else None
        content = answer.content if media is None else answer.beside_media
        return parsed.dialect.result_block(parsed.call_id, content, answer.is_error, media, parsed.name)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> "RecallAnswer":
        """Answer a call of a recall tool. Never raises an error for what a model wrote."""
        return self._recall_tools.answer(name, arguments or {})

    def artifacts(self, newest: int | None = 1_000) -> "list[StoredArtifact]":
        """The results of this session that were shown cut or replaced, in order: the `newest` of them; None for all."""
        return self._recall_tools.artifacts(newest)

    def verify(self) -> "Verification":
        """Prove that nothing has changed since it was kept: the chain, every byte, every recorded view."""
        from keepwhole.store.verify import verify

        return verify(self.store, self.id)

    arecall = twin(recall)
    arecall_bytes = twin(recall_bytes)
    aselect = twin(select)
    aanswer = twin(answer)
    acall_tool = twin(call_tool)
    averify = twin(verify)

    @cached_property
    def _recall_tools(self) -> "RecallTools":
        from keepwhole.recall.tools import RecallTools

        return RecallTools(self.store, self.id, lambda: self.settings.retrieval_limit)

    def _find_row(self, id: str) -> Row:
        row = self.store.find(self.id, id)
        if row is None:
            raise NotFound(
                f"Session `{self.id}` has no result `{id[:80]}`. `keepwhole artifacts list` shows what it has.",
                self._recall_tools.unknown(id).content,
            )
        return row

    def _refuse_huge(self, id: str, row: Row) -> None:
        """Raise `TooLargeToRecall` for a result over `max_artifact_size`, its tool's or the one for all tools."""
        tool, size = result_of(row).tool, entry_of(row).facts.size
        if size > self.settings.truncation.for_tool(tool).max_artifact_size:
            raise TooLargeToRecall(
                f"`{id}` is {size_text(size)}, more than `max_artifact_size`. Ask for `lines` or `chars`, or use "
                "`stream`.",
                f"It is too large for one answer. Next: {RecallCall(id).text(start_char=0, length=LONGEST_RANGE)}",
            )


@cache
def offered_tools(dialect: str) -> list[dict[str, Any]]:
    """The recall tools that a request may offer, in this dialect."""
    return _tool_definitions(dialect, OFFERED)


def _tool_definitions(dialect: str, definitions: Sequence[Definition]) -> list[dict[str, Any]]:
    from keepwhole.wire.dialects import dialect_named
    from keepwhole.wire.tools import ToolSpec

    found = dialect_named(dialect)
    return [found.tool_definition(ToolSpec(**definition._asdict())) for definition in definitions]
