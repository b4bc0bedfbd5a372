"""`Session`: keep every result whole, view what fits, recall the rest."""

import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from keepwhole import config, events
from keepwhole.async_calls import chunks_from_loop, twin
from keepwhole.canonical import ids
from keepwhole.canonical.entry import Entry, Header, Result, arguments_text
from keepwhole.canonical.media import TEXT
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotFound, StoreError, TooLargeToRecall, UsageError
from keepwhole.metrics import MARKER, Metrics
from keepwhole.recall.answer import RecallAnswer, StoredArtifact
from keepwhole.recall.links import Recall, recall_links_for
from keepwhole.recall.names import DEFINITIONS, NAMES, is_recall
from keepwhole.recall.ranges import LineRange, parse_chars, parse_lines
from keepwhole.recall.tools import RecallTools
from keepwhole.record.arrival import keep_output
from keepwhole.record.kept_result import ExitCode, KeptResult, artifact_of, not_stored, read_kept, whole_view
from keepwhole.record.writer import SessionWriter
from keepwhole.store.factory import is_address, open_store
from keepwhole.store.feed import Output
from keepwhole.store.protocol import Row, SessionInfo, Store, body_of
from keepwhole.store.reader import BodyReader
from keepwhole.store.verify import Verification, verify
from keepwhole.truncation.configuration import SMALLEST_INLINE_LIMIT, Limits, TruncationConfiguration
from keepwhole.truncation.cut import Source
from keepwhole.truncation.notice import imitates, size_text
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, strategy_named
from keepwhole.wire.dialects import dialect_named, parse_call
from keepwhole.wire.tools import ToolSpec

if TYPE_CHECKING:
    from keepwhole.conversation.conversations import Conversations
    from keepwhole.conversation.view_mode import ViewMode
    from keepwhole.policies.account import Projection
    from keepwhole.policies.compaction import Summariser
    from keepwhole.policies.policy import Policy
    from keepwhole.recall.selection import Selection
    from keepwhole.recall.selector import Selector
    from keepwhole.record.billing import Billing
    from keepwhole.record.journal import Journal

_MISSING: Any = object()
_TOOLS = tuple(ToolSpec(**definition._asdict()) for definition in DEFINITIONS)
MessageT = TypeVar("MessageT")
RequestBytes = bytes | bytearray | memoryview


class KeepOptions(TypedDict, total=False):
    """What `keep` may be told of a result."""

    call_id: str | None
    is_error: bool
    exit_code: ExitCode
    turn: int | None
    task_id: str | None
    query_id: str | None
    question: str | None
    on_trouble: Literal["show", "raise"]


class ViewOptions(TypedDict, total=False):
    """What `view` may be told."""

    model: str | None
    policy: "str | Policy | None"
    question: str | None
    recorded: bool
    settles: bool
    restored: bool


def session(
    id: str | None = None,
    *,
    agent: str | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    policy: "str | Policy | TruncationConfiguration | None" = None,
    ephemeral: bool = False,
    recall: Recall | None = None,
) -> "Session":
    """Open the session `id`, or a new one. Use it as a context manager.

    `store` is a folder, a `postgresql://` address or a store; if not given, the record that the settings name. An
    `ephemeral` session is purged at its end. `policy` is the name of a policy, a policy, or the limits under
    `tools.truncation`; it goes before the settings, for `keep` and `view` alike. So does `recall`.
    """
    return Session(id, agent=agent, store=store, policy=policy, ephemeral=ephemeral, recall=recall)


class Session:
    """One agent at one piece of work. Safe from threads and processes; nothing is opened before it is needed."""

    def __init__(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        store: Store | str | os.PathLike[str] | None = None,
        policy: "str | Policy | TruncationConfiguration | None" = None,
        ephemeral: bool = False,
        recall: Recall | None = None,
        strategies: Mapping[str, ITruncationStrategy] = STRATEGIES,
        settings: config.Settings | None = None,
        workspace: str | None = None,
        summariser: "Summariser | None" = None,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        if id is not None and not ids.is_session_id(id):
            raise UsageError(f"{id[:60]!r} cannot name a session. Use 1 to 128 letters, digits and `._:@-`.")
        self.id = id or ids.session_id(random(ids.RANDOM_BYTES))
        place = os.fspath(store) if isinstance(store, str | os.PathLike) else None
        self.settings = _with_policy(settings or _settings_at(place), policy)
        self.configuration = self.settings.truncation
        self._own_policy = None if isinstance(policy, str | TruncationConfiguration) else policy
        self.strategies = strategies
        self.recall_by = recall or self.settings.recall
        self.metrics = metrics or Metrics()
        self._owns_store = store is None or place is not None
        self.store: Store = _store_of(self.settings) if store is None or isinstance(store, str | os.PathLike) else store
        self._clock, self._summariser = clock, summariser
        self._ephemeral = ephemeral
        for name in (self.configuration.default_strategy, *_named(self.configuration)):
            strategy_named(name, self.strategies)
        self._recall_tools = RecallTools(self.store, self.id, lambda: self.settings.retrieval_limit)
        wanted = SessionInfo(
            name=self.id,
            agent=agent,
            workspace=workspace or os.getcwd(),
            created_at=int(clock() * 1000),
            ephemeral=ephemeral,
        )
        self._writer = SessionWriter(
            self.store,
            wanted,
            quota=self.settings.session_quota,
            links=recall_links_for(self.id, self.recall_by, self.settings.recall_reader, self.store),
            metrics=self.metrics,
            clock=clock,
            random=random,
        )

    def __enter__(self) -> "Session":
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End an ephemeral session; close a durable one, which can be resumed."""
        if self._ephemeral and self._writer.is_open:
            self.end()
        self.close()

    # Keep

    @overload
    def keep(
        self, tool_or_call: str, arguments: object, output: Output, **options: Unpack[KeepOptions]
    ) -> KeptResult: ...

    @overload
    def keep(self, tool_or_call: object, output: Output, /, **options: Unpack[KeepOptions]) -> KeptResult: ...

    def keep(
        self,
        tool_or_call: object,
        arguments: object = None,
        output: Any = _MISSING,
        **options: Unpack[KeepOptions],
    ) -> KeptResult:
        """Store what a tool returned, whole and durably, and return what to show of it.

        `keep(tool, arguments, output)` or `keep(call, output)` with a provider's call. `output` is `str`, `bytes`,
        a file, a pipe or an iterator of chunks. An output that cannot be stored is returned whole, with the reason in
        `problem`; `on_trouble="raise"` raises it instead, with the original in its `rescue`.
        """
        if isinstance(tool_or_call, str):
            tool, given, call_id = tool_or_call, arguments, None
        else:
            call = parse_call(tool_or_call)
            tool, given, call_id = call.name, call.arguments, call.call_id
            output = arguments if output is _MISSING else output
        if output is _MISSING:
            raise UsageError("`keep` needs the output: `keep(tool, arguments, output)` or `keep(call, output)`.")
        exit_code, on_trouble = options.pop("exit_code", None), options.pop("on_trouble", "show")
        own_id = options.pop("call_id", None)
        fields: dict[str, Any] = {**options, "call_id": own_id if own_id is not None else call_id}
        result = self._writer.new_result(tool, arguments=arguments_text(given), **fields)
        try:
            kept, entries = keep_output(self._writer, result, output, self._show, exit_code)
        except StoreError as error:
            self.metrics.observe_unstored()
            if on_trouble == "raise":
                raise
            events.log_unstored(self.id, tool, type(error).__name__)
            return not_stored(result, output, error, exit_code)
        self._writer.count(entries)
        self._log_kept(kept, entries)
        return kept

    # View

    @overload
    def view(  # pyright: ignore[reportOverlappingOverload]  # bytes are an iterable too
        self, messages: RequestBytes, **options: Unpack[ViewOptions]
    ) -> bytes: ...

    @overload
    def view(self, messages: Iterable[MessageT], **options: Unpack[ViewOptions]) -> list[MessageT]: ...

    def view(self, messages: Any, **options: Unpack[ViewOptions]) -> Any:
        """Return what to send of a conversation, in the form it came in: a list of messages, or a request's bytes.

        New results in it are recorded first. What was sent once is sent again unchanged until a recorded decision
        changes it. `model` says whose window and prices hold; `policy` overrides the settings. With `recorded=False`
        nothing is written: for counting what would be sent. With `restored=True` results are shown whole this once,
        the newest first, as far as the window allows: for a client that summarizes by itself. With `settles=True`
        results that are sent whole may be recorded by `settle`, once they are on their way.
        """
        from keepwhole.conversation.view_mode import ViewMode

        mode = ViewMode(
            records=options.pop("recorded", True),
            restores=options.pop("restored", False),
            may_settle=options.pop("settles", False),
        )
        return self.projection(messages, explained=False, view_mode=mode, **options).messages  # type: ignore[arg-type]

    def projection(
        self,
        messages: Any,
        *,
        model: str | None = None,
        policy: "str | Policy | None" = None,
        question: str | None = None,
        mode: 'Literal["off", "shadow", "on"] | None' = None,
        explained: bool = True,
        view_mode: "ViewMode | None" = None,
    ) -> "Projection":
        """The same as `view`, with the account in tokens and the list of edits: rules, how to undo each.

        Without `explained` the list stays empty, and this costs no more than `view`.
        """
        from keepwhole.conversation.view_mode import TURN

        return self._conversations.project(
            messages,
            model=model,
            policy=policy,
            question=question,
            mode=mode,
            explained=explained,
            view_mode=view_mode or TURN,
        )

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has something to do."""
        return self._conversations.is_unsettled

    def settle(self) -> None:
        """Record what `view(…, settles=True)` returned whole before it was on record."""
        self._conversations.settle()

    def hydrate(self, messages: Iterable[MessageT]) -> list[MessageT]:
        """Return the messages with every view of ours replaced by the result it stands for."""
        return self._conversations.hydrate(messages)

    def undo(self, id: str) -> int:
        """Show a result whole again from now on, by trace id or artifact id; return the tokens it takes, about."""
        self._writer.open()
        return self._conversations.show_whole(id, "undo")

    def pin(self, id: str) -> int:
        """Keep a result whole in every view from now on, whatever the policy; return the tokens it takes, about."""
        self._writer.open()
        return self._conversations.show_whole(id, "pin")

    # Recall

    def recall(
        self,
        id: str,
        *,
        lines: str | tuple[int, int] | None = None,
        chars: str | tuple[int, int] | None = None,
    ) -> str:
        """The text of a result, by trace id or artifact id: all of it, `lines` from 1, or `chars` from 0.

        `lines="10-20"` includes both ends; `chars="0-5000"` and `chars=(0, 5000)` end before the second number.
        """
        with self.open(id) as reader:
            if lines is not None:
                asked = parse_lines(lines) if isinstance(lines, str) else LineRange(*lines)
                return reader.line_range(asked.first, reader.lines if asked.last is None else asked.last)
            if isinstance(chars, str):
                part = parse_chars(chars)
                return reader.text(part.start, reader.chars if part.length is None else part.start + part.length)
            if chars is not None:
                return reader.text(*chars)
            self._refuse_huge(id, reader)
            return reader.text()

    def recall_bytes(self, id: str) -> bytes:
        """The bytes of a result as they came."""
        with self.open(id) as reader:
            self._refuse_huge(id, reader)
            return reader.read()

    def stream(self, id: str) -> Iterator[bytes]:
        """The bytes of a result of any size, checked piece by piece."""
        reader = self.open(id)

        def chunks() -> Iterator[bytes]:
            with reader:
                yield from reader.stream()

        return chunks()

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
        """The units of everything kept that have most to do with `query`: whole, `budget` tokens at most.

        `task_id` and `query_id` keep to what was kept under them. `selector` chooses among the best candidates
        instead of the scorer: `recall.selector.by_model` and `by_embedding` make one. After `seconds` what was
        found so far is returned, and `is_all` is False: only a first question to a very large record takes so long.
        """
        from keepwhole.recall.select import fitted, select

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
        reached = [self._writer.links.reached(self.store, unit) for unit in found.units]
        return fitted(query, reached, budget, found.is_all)

    def tools(self, dialect: str) -> list[dict[str, Any]]:
        """The recall tools for a model, in this dialect; the same bytes every time, or none where `recall` says so."""
        found = dialect_named(dialect)
        return [found.tool_definition(tool) for tool in _TOOLS] if self.recall_by == "tools" else []

    def tools_to_offer(self, dialect: str) -> list[dict[str, Any]]:
        """The tools that a request is to offer: those of the settings.

        Once they were offered, by any process and under any settings, they always are: they come before everything
        that a provider has cached.
        """
        own = self.tools(dialect) if self.settings.mode == "on" else []
        if own or not self._conversations.has_offered_tools():
            return own
        return [dialect_named(dialect).tool_definition(tool) for tool in _TOOLS]

    def answer(self, call: object) -> dict[str, Any] | None:
        """The result block for a model's call of a recall tool; None if the call is for another tool."""
        parsed = parse_call(call)
        if parsed.name not in NAMES:
            return None
        try:
            answer = self.call_tool(parsed.name, parsed.parsed())
        except UsageError as error:
            answer = RecallAnswer(showable(error.for_model), is_error=True)
        return parsed.dialect.result_block(parsed.call_id, answer.content, answer.is_error)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> RecallAnswer:
        """What a recall tool answers. Never raises for what a model wrote."""
        return self._recall_tools.answer(name, arguments or {})

    def artifacts(self, newest: int | None = None) -> list[StoredArtifact]:
        """The results of this session that were shown cut or replaced, in order; or the `newest` of them."""
        return self._recall_tools.artifacts(newest)

    # The session and its record

    def verify(self) -> Verification:
        """Prove that everything kept is as it was kept: chain, every byte, every recorded view."""
        return verify(self.store, self.id)

    def forget(self, id: str) -> int:
        """Remove a result for good, and every entry that shows it or has its text; return how many entries went.

        Their hashes stay, so `verify` accepts what is left. Backups, exports and copies are not changed.
        """
        from keepwhole.record.forget import carry_out, plan_by_result

        return carry_out(self.store, plan_by_result(self.store, self.id, self._find_row(id)))

    def end(self) -> None:
        """End the session. An ephemeral one is purged; a durable one stays until it is cleaned."""
        at = self._writer.now()
        if self._writer.open().ephemeral:
            stone = self.store.purge(self.id, at)
            self._writer.forget()
            events.log_purged(self.id, stone.entries, stone.stored)
        else:
            self.store.end(self.id, at)

    def close(self) -> None:
        """Give back what the session holds open. The record stays."""
        if self._owns_store:
            self.store.close()

    def note(self, tool: str, about: object, text: str) -> None:
        """Record a note of Keepwhole's own under a tool's name; raise `StoreError` where that cannot be done."""
        result = self._writer.new_result(tool, arguments=arguments_text(about))
        self._writer.append_notes([(result, text)])

    def notes(self, tool: str) -> list[Result]:
        """The notes recorded under this name, by any process, in order; as far as they can be read."""
        return self._conversations.notes(tool)

    def append_entries(self, *made: tuple[Callable[[int, str], Header], bytes]) -> Entry:
        """Append entries, each made from the time and one new id; raise `StoreError` as `note` does."""
        trace_id, at = self._writer.draw_trace_id(), self._writer.now()
        return self._writer.append_notes([(make(at, trace_id), data) for make, data in made])[0]

    @cached_property
    def journal(self) -> "Journal":
        """What is known of this session's record."""
        from keepwhole.record.journal import Journal

        return Journal(self.store, self.id)

    @property
    def billing(self) -> "Billing":
        """What requests are expected to be billed, and what is learned from what they were."""
        return self._conversations.billing

    # Async twins

    async def akeep(
        self,
        tool_or_call: object,
        arguments: object = None,
        output: "Output | AsyncIterable[str | bytes]" = _MISSING,
        **options: Unpack[KeepOptions],
    ) -> KeptResult:
        """`keep`, without blocking the event loop; chunks may come from an async iterator too."""
        import asyncio

        loop = asyncio.get_running_loop()
        given: list[Any] = [
            chunks_from_loop(cast("AsyncIterable[str | bytes]", each), loop)
            if isinstance(each, AsyncIterable)
            else each
            for each in (arguments, output)
        ]
        return await asyncio.to_thread(self._keep_any, tool_or_call, *given, **options)

    def _keep_any(self, tool_or_call: Any, arguments: Any, output: Any, **options: Unpack[KeepOptions]) -> KeptResult:
        return self.keep(tool_or_call, arguments, output, **options)

    async def astream(self, id: str) -> AsyncIterator[bytes]:
        """`stream`, without blocking the event loop."""
        import asyncio

        chunks = await asyncio.to_thread(self.stream, id)
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk

    aview = twin(view)
    aprojection = twin(projection)
    ahydrate = twin(hydrate)
    aundo = twin(undo)
    apin = twin(pin)
    arecall = twin(recall)
    arecall_bytes = twin(recall_bytes)
    aselect = twin(select)
    aanswer = twin(answer)
    acall_tool = twin(call_tool)
    averify = twin(verify)
    aend = twin(end)

    @cached_property
    def _conversations(self) -> "Conversations":
        """Imported when a conversation is first viewed: most short commands never do."""
        from keepwhole.conversation.context import BranchContext
        from keepwhole.conversation.conversations import Conversations

        context = BranchContext(self._writer, self.journal, self._summariser)
        return Conversations(context, self.settings, self._clock, self.strategies, self._own_policy)

    @cached_property
    def _policy(self) -> "Policy":
        """The policy of this session's settings, or its own."""
        return self._own_policy or config.policy_of(self.settings, strategies=self.strategies)

    def _show(self, result: Result, reader: BodyReader) -> TruncationResult:
        """How a new result is shown by itself: as the session's policy shows it on arrival."""
        if is_recall(result.tool):  # bounded already, and never an artifact of an artifact
            return whole_view(showable(reader.text()), reader)
        if reader.chars <= SMALLEST_INLINE_LIMIT and result.media_type == TEXT and not imitates(reader.text()):
            return whole_view(showable(reader.text()), reader)  # no policy cuts so little
        from keepwhole.policies.arrival import Arriving, show_arriving

        link = self._writer.links.of(result.trace_id, result.artifact_id)
        artifact = artifact_of(result, reader).replace(reachable=link)
        arguments, adjust = result.arguments or "", self._adjust_limits
        arriving = Arriving(reader, result.tool, arguments, artifact, result.question, result.is_error, adjust)
        view = show_arriving(self._policy, arriving)
        if view.strategy_failure:
            events.log_strategy_failed(self.id, result.trace_id, view.strategy_failure)
        return view

    def _adjust_limits(self, limits: Limits, source: Source) -> Limits:
        """Narrow the limits of one result; for subclasses that show results where other limits hold too."""
        return limits

    def _find_row(self, id: str) -> Row:
        row = self.store.find(self.id, id)
        if row is None:
            raise NotFound(
                f"Session `{self.id}` has no result `{id[:80]}`. `keepwhole artifacts list` shows what it has.",
                self._recall_tools.unknown(id).content,
            )
        return row

    def _refuse_huge(self, id: str, reader: BodyReader) -> None:
        if reader.facts.size > self.configuration.max_artifact_size:
            raise TooLargeToRecall(
                f"`{id}` is {size_text(reader.facts.size)}, more than `max_artifact_size`. Ask for `lines` or "
                "`chars`, or use `stream`.",
                f'It is too large for one answer. Next: get_artifact(id="{id}", lines="1-100")',
            )

    def _log_kept(self, kept: KeptResult, entries: list[Entry]) -> None:
        if not entries or not isinstance(entries[0].header, Result):
            return
        result, facts, metadata = entries[0].header, entries[0].facts, kept.metadata
        events.log_kept(
            self.id, result.trace_id, result.tool, facts.size, metadata.truncated_size, metadata.strategy_used
        )
        if MARKER in result.flags:
            events.log_truncation_mark(self.id, result.trace_id, result.tool)


def _with_policy(settings: config.Settings, policy: "str | Policy | TruncationConfiguration | None") -> config.Settings:
    """The settings with what `Session(policy=…)` says."""
    if isinstance(policy, TruncationConfiguration):
        return settings.replace(truncation=policy)
    if isinstance(policy, str):
        config.policy_of(settings, policy)  # refuse an unknown name now, not at the first result
        return settings.replace(policy=policy)
    return settings


def _settings_at(place: str | None) -> config.Settings:
    """The settings that hold for a record at this folder or address, or for the one that they name."""
    return config.load(store=place) if place and is_address(place) else config.load(home=place)


def _store_of(settings: config.Settings) -> Store:
    """The store that settings name."""
    return open_store(settings.store, settings.home, blobs=settings.blobs, inline_body=settings.inline_body)


def _named(configuration: TruncationConfiguration) -> Iterator[str]:
    """The strategies that overrides name."""
    return (own.strategy for own in configuration.overrides.values() if own.strategy is not None)
