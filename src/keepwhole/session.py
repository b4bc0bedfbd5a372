"""`Session`: keep every result whole, view what fits, recall the rest."""

import os
import time
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from keepwhole import config
from keepwhole.async_calls import LoopChunks, twin
from keepwhole.canonical.media import MediaBytes, media_of
from keepwhole.errors import UsageError
from keepwhole.metrics import Metrics
from keepwhole.recall.links import Recall
from keepwhole.record.arrival import NewResult, keep_media, keep_output
from keepwhole.record.display import Display
from keepwhole.record.kept_result import ExitCode, KeptResult
from keepwhole.record.session_reader import SessionReader, check_name, offered_tools
from keepwhole.record.writer import SessionWriter
from keepwhole.store.feed import Output
from keepwhole.store.protocol import SessionInfo, Store
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, strategy_named

if TYPE_CHECKING:
    from keepwhole.conversation.context import ViewMode
    from keepwhole.conversation.conversations import Conversations
    from keepwhole.policies.account import Projection
    from keepwhole.policies.arrival import ShowsArrivals
    from keepwhole.policies.policy import Policy, Summarizer
    from keepwhole.record.bills import Billing

_MISSING: Any = object()
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


class MediaOptions(TypedDict, total=False):
    """What `keep_media` may be told of a result."""

    call_id: str | None
    is_error: bool
    turn: int | None
    task_id: str | None


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
    `tools.truncation`; it takes precedence over the settings, for both `keep` and `view`. So does `recall`.
    """
    return Session(id, agent=agent, store=store, policy=policy, ephemeral=ephemeral, recall=recall)


class Session(SessionReader):
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
        summarizer: "Summarizer | None" = None,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        check_name(id)  # before anything is opened
        place = os.fspath(store) if isinstance(store, str | os.PathLike) else None
        settings = _with_policy(settings or config.load_for(place), policy)
        opened = config.open_record(settings) if store is None or isinstance(store, str | os.PathLike) else store
        super().__init__(id, opened, settings, recall, random)
        for name in settings.truncation.strategy_names:
            strategy_named(name, strategies)
        self.strategies, self.metrics = strategies, metrics or Metrics()
        self._own_policy = None if isinstance(policy, str | TruncationConfiguration) else policy
        self._owns_store, self._ephemeral = opened is not store, ephemeral
        self._clock, self._summarizer = clock, summarizer
        wanted = SessionInfo(
            name=self.id,
            agent=agent,
            workspace=workspace or os.getcwd(),
            created_at=int(clock() * 1000),
            ephemeral=ephemeral,
        )
        self.writer = SessionWriter(
            self.store,
            wanted,
            quota=settings.session_quota,
            links=self.links,
            metrics=self.metrics,
            clock=clock,
            random=random,
        )
        self._display = Display(self.links, lambda: self._shows_arrivals)

    def __enter__(self) -> "Session":
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End an ephemeral session; close a durable one, which can be resumed."""
        if self._ephemeral and self.writer.is_open:
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
        """Store what a tool returned, in full and durably, and return what to show of it.

        `keep(tool, arguments, output)` or `keep(call, output)` with a provider's call. `output` is `str`, `bytes`,
        a file, a pipe or an iterator of chunks. An output that cannot be stored is returned in full, with the reason in
        `problem`; `on_trouble="raise"` raises it instead, with the original in its `rescue`.
        """
        if isinstance(tool_or_call, str):
            tool, given, call_id = tool_or_call, arguments, None
        else:
            from keepwhole.wire.dialects import parse_call  # most short commands name the tool

            call = parse_call(tool_or_call)
            tool, given, call_id = call.name, call.arguments, call.call_id
            output = arguments if output is _MISSING else output
        if output is _MISSING:
            raise UsageError("`keep` needs the output: `keep(tool, arguments, output)` or `keep(call, output)`.")
        exit_code, on_trouble = options.pop("exit_code", None), options.pop("on_trouble", "show")
        own_id = options.pop("call_id", None)
        fields: dict[str, Any] = {**options, "call_id": own_id if own_id is not None else call_id}
        result = self.writer.new_result(tool, given, **fields)
        return keep_output(self.writer, result, output, self._display.show, exit_code, on_trouble)

    def keep_media(
        self, tool: str, arguments: object, media: Iterable[MediaBytes], **options: Unpack[MediaOptions]
    ) -> list[str]:
        """Store images, documents and other bytes of a result, which are shown unchanged; return their artifact ids.

        Each is a result of its own, beside the text that `keep` stores. One that cannot be stored is left out.
        """
        results = [
            NewResult(
                self.writer.new_result(
                    tool, arguments, **options, **media_of(each.data, each.media_type).header_fields
                ),
                each.data,
            )
            for each in media
        ]
        return [result.artifact_id for result in keep_media(self.writer, results)] if results else []

    # View

    @overload
    def view(  # pyright: ignore[reportOverlappingOverload]  # bytes are an iterable too
        self, messages: RequestBytes, **options: Unpack[ViewOptions]
    ) -> bytes: ...

    @overload
    def view(self, messages: Iterable[MessageT], **options: Unpack[ViewOptions]) -> list[MessageT]: ...

    def view(self, messages: Any, **options: Unpack[ViewOptions]) -> Any:
        """Return what to send of a conversation, in the form that was given: a list of messages, or a request's bytes.

        New results in it are recorded first. What was sent once is sent again unchanged until a recorded decision
        changes it. `model` says whose window and prices hold; `policy` overrides the settings. With `recorded=False`
        nothing is written: for counting what would be sent. With `restored=True` results are shown in full this once,
        the newest first, as far as the window allows: for a client that summarizes by itself. With `settles=True`
        results that are sent in full may be recorded by `settle`, once they are on their way.
        """
        from keepwhole.conversation.context import ViewMode

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
        """The same as `view`, with the account in tokens and the list of edits: the rule of each, and how to undo it.

        Without `explained` the list stays empty, and this costs no more than `view`.
        """
        from keepwhole.conversation.context import TURN

        return self.conversations.project(
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
        return self.conversations.is_unsettled

    def settle(self) -> None:
        """Record what `view(…, settles=True)` returned in full without recording it first."""
        self.conversations.settle()

    def hydrate(self, messages: Iterable[MessageT]) -> list[MessageT]:
        """Return the messages with every recorded result in full.

        That is every view of ours, and what the client cut, cleared, emptied or dropped since.
        """
        return self.conversations.hydrate(messages)

    def undo(self, id: str) -> int:
        """Show a result in full again from now on, by trace id or artifact id; return about how many tokens it
        takes."""
        self.writer.open()
        return self.conversations.show_whole(id, "undo")

    def pin(self, id: str) -> int:
        """Show a result in full in every view from now on, whatever the policy; return about how many tokens it
        takes."""
        self.writer.open()
        return self.conversations.show_whole(id, "pin")

    def tools_to_offer(self, dialect: str, *, were_offered: bool = False) -> list[dict[str, Any]]:
        """The tools that a request should offer, because of the settings or because they were offered before. They are
        the same objects every time; do not change them."""
        is_wanted = self.settings.mode == "on" and self.recall_by == "tools"
        return offered_tools(dialect) if is_wanted or were_offered else []

    # The session and its record

    def forget(self, id: str) -> int:
        """Delete a result permanently, and every entry that shows it or has its text; return how many entries were
        deleted.

        Their hashes stay, so `verify` accepts what is left. Backups, exports and copies are not changed.
        """
        return self.writer.forget(self._find_row(id))

    def end(self) -> None:
        """End the session. An ephemeral one is purged; a durable one stays until it is cleaned."""
        self.writer.end()

    def close(self) -> None:
        """Close the files and connections of the session. The record stays."""
        if self._owns_store:
            self.store.close()

    @property
    def billing(self) -> "Billing":
        """What requests are expected to be billed, and what is learned from what they were."""
        return self.conversations.billing

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
            LoopChunks(cast("AsyncIterable[str | bytes]", each), loop) if isinstance(each, AsyncIterable) else each
            for each in (arguments, output)
        ]
        try:
            return await asyncio.to_thread(self._keep_any, tool_or_call, *given, **options)
        except asyncio.CancelledError:
            for each in given:
                if isinstance(each, LoopChunks):
                    await each.stop()
            raise

    def _keep_any(self, tool_or_call: Any, arguments: Any, output: Any, **options: Unpack[KeepOptions]) -> KeptResult:
        return self.keep(tool_or_call, arguments, output, **options)

    akeep_media = twin(keep_media)
    aview = twin(view)
    aprojection = twin(projection)
    ahydrate = twin(hydrate)
    aundo = twin(undo)
    apin = twin(pin)
    aend = twin(end)

    @cached_property
    def conversations(self) -> "Conversations":
        """The conversations of this session. Imported when one is first viewed: most short commands never do."""
        from keepwhole.conversation.conversations import Conversations

        policy = self._own_policy
        return Conversations(self.writer, self.settings, self._clock, self.strategies, policy, self._summarizer)

    @cached_property
    def _shows_arrivals(self) -> "Policy | ShowsArrivals":
        """What shows new results by themselves: the policy of this session's settings, or its own."""
        return self._own_policy or config.shows_arrivals(self.settings, self.strategies)


def _with_policy(settings: config.Settings, policy: "str | Policy | TruncationConfiguration | None") -> config.Settings:
    """The settings with what `Session(policy=…)` says."""
    if isinstance(policy, TruncationConfiguration):
        return settings.replace(truncation=policy)
    if isinstance(policy, str):
        config.policy_of(settings, policy)  # refuse an unknown name now, not at the first result
        return settings.replace(policy=policy)
    if policy is not None:
        from keepwhole.policies.policy import check_policy

        check_policy(policy)
    return settings
