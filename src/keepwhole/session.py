"""`Session`: keep every result whole, show what fits, recall the rest."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from keepwhole import config, events
from keepwhole.async_session import AsyncTwins
from keepwhole.canonical import ids
from keepwhole.canonical.entry import Entry, Header, Result, arguments_text
from keepwhole.canonical.utf8 import showable
from keepwhole.conversation.view_mode import USUAL, Manner
from keepwhole.errors import StoreError, UsageError
from keepwhole.metrics import Metrics
from keepwhole.recall.answer import Answer, Known
from keepwhole.recall.links import Recall, ways_of
from keepwhole.recall.names import DEFINITIONS, NAMES
from keepwhole.recall.tools import Answering
from keepwhole.record import arrival
from keepwhole.record.arrival import Keeping
from keepwhole.record.shown import Shown
from keepwhole.session_reading import Reading
from keepwhole.store.factory import open_store
from keepwhole.store.postgres.address import is_address
from keepwhole.store.protocol import SessionInfo, Store
from keepwhole.store.verify import Verification, verify
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import Source
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, strategy_named
from keepwhole.version import VERSION
from keepwhole.wire.calls import parse_call, result_block
from keepwhole.wire.dialect import dialect_named
from keepwhole.wire.tools import ToolSpec, define

if TYPE_CHECKING:
    from keepwhole.conversation.branches import Projecting
    from keepwhole.policies.account import Projection
    from keepwhole.policies.compaction import Summariser
    from keepwhole.policies.policy import Policy
    from keepwhole.recall.found import Selection
    from keepwhole.recall.selector import Selector
    from keepwhole.record.billing import Billing

_MISSING: Any = object()
_TOOLS = tuple(ToolSpec(**definition._asdict()) for definition in DEFINITIONS)


def session(
    id: str | None = None,
    *,
    agent: str | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    policy: TruncationConfiguration | None = None,
    ephemeral: bool = False,
    recall: Recall | None = None,
) -> "Session":
    """Open the session `id`, or a new one. Use it as a context manager.

    `store` is a folder, a `postgresql://` address or a store; the record that holds here if not given. An `ephemeral`
    session is purged at its end. `policy` overrides the settings under `tools.truncation`, `recall` the setting of
    that name.
    """
    return Session(id, agent=agent, store=store, policy=policy, ephemeral=ephemeral, recall=recall)


class Session(Reading, AsyncTwins):
    """One agent at one piece of work. Safe from threads and processes; nothing is opened before it is needed."""

    def __init__(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        store: Store | str | os.PathLike[str] | None = None,
        policy: TruncationConfiguration | None = None,
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
        self.settings = settings or _settings_at(place)
        self.configuration = policy or self.settings.truncation
        self.strategies = strategies
        self.recall_by = recall or self.settings.recall
        self.metrics = metrics or Metrics()
        self._owns_store = store is None or place is not None
        self.store: Store = _store_of(self.settings) if store is None or isinstance(store, str | os.PathLike) else store
        self._clock = clock
        self._summariser = summariser
        self._wanted = SessionInfo(
            name=self.id,
            agent=agent,
            workspace=workspace or os.getcwd(),
            created_at=self._now(),
            ephemeral=ephemeral,
        )
        self._info: SessionInfo | None = None
        self._stored = 0
        for name in (self.configuration.default_strategy, *_named(self.configuration)):
            strategy_named(name, self.strategies)
        self._for_tool = lru_cache(maxsize=256)(self.configuration.for_tool)
        usual = self.configuration.inline_limit == TruncationConfiguration.inline_limit
        self._by_kind = usual and policy is None and self.settings.policy == "auto"
        self._answering = Answering(self.store, self.id, lambda: self.settings.retrieval_limit)
        self._keeping = Keeping(
            store=self.store,
            info=self._wanted,
            limits=self._limits,
            strategies=self.strategies,
            version=VERSION,
            quota=self.settings.session_quota,
            ways=ways_of(self.id, self.recall_by, self.settings.recall_reader, self.store),
            now=self._now,
            random=random,
        )

    def __enter__(self) -> "Session":
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End an ephemeral session; close a durable one, which can be resumed."""
        if self._wanted.ephemeral and self._info is not None:
            self.end()
        self.close()

    def keep(
        self,
        tool_or_call: object,
        arguments: object = None,
        output: Any = _MISSING,
        *,
        call_id: str | None = None,
        is_error: bool = False,
        exit_code: arrival.ExitCode = None,
        turn: int | None = None,
        task_id: str | None = None,
        query_id: str | None = None,
        question: str | None = None,
        on_trouble: Literal["show", "raise"] = "show",
    ) -> Shown:
        """Store what a tool returned, whole and durably, and give what to show of it.

        `keep(tool, arguments, output)` or `keep(call, output)` with a provider's call. `output` is `str`, `bytes`,
        a file, a pipe or an iterator of chunks. What cannot be stored comes back whole, with the reason in
        `problem`; `on_trouble="raise"` raises it instead, with the original in its `rescue`.
        """
        if isinstance(tool_or_call, str):
            tool, given, own_id = tool_or_call, arguments, None
        else:
            call = parse_call(tool_or_call)
            tool, given, own_id = call.name, call.arguments, call.call_id
            output = arguments if output is _MISSING else output
        if output is _MISSING:
            raise UsageError("`keep` needs the output: `keep(tool, arguments, output)` or `keep(call, output)`.")
        result = arrival.new_result(
            self._keeping,
            tool,
            arguments=arguments_text(given),
            call_id=call_id if call_id is not None else own_id,
            is_error=is_error,
            turn=turn,
            task_id=task_id,
            query_id=query_id,
            question=question,
        )
        try:
            shown, entries = arrival.keep(self._keeping, result, output, self._room(), exit_code)
        except StoreError as error:
            self.metrics.observe_unstored()
            if on_trouble == "raise":
                raise
            events.log_unstored(self.id, tool, type(error).__name__)
            return arrival.unstored(result, output, error, exit_code)
        self._observe(entries)
        if entries:
            self._log_kept(shown, entries)
        return shown

    def view(
        self,
        messages: Any,
        *,
        model: str | None = None,
        policy: "str | Policy | None" = None,
        question: str | None = None,
        recorded: bool = True,
        settles: bool = False,
        restored: bool = False,
    ) -> Any:
        """What to send of a conversation, in the form it came in: a list of messages, or a request's bytes.

        New results in it are put on record first. What was sent once is sent again unchanged until a recorded
        decision changes it. `model` says whose window and prices hold, `policy` overrides the settings. With
        `recorded=False` nothing is written: for counting what would be sent. With `restored=True` results are shown
        whole this once, the newest first, as far as the window allows: for a client that sums up by itself. With
        `settles=True` results that are sent whole may be put on record by `settle`, once they are on their way.
        """
        manner = Manner(recorded, restored, settles)
        return self.projection(
            messages, model=model, policy=policy, question=question, explained=False, manner=manner
        ).messages

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has something to do."""
        return self._projecting.is_unsettled

    def settle(self) -> None:
        """Put on record what `view(…, settles=True)` gave whole before it was there."""
        self._projecting.settle()

    def projection(
        self,
        messages: Any,
        *,
        model: str | None = None,
        policy: "str | Policy | None" = None,
        question: str | None = None,
        mode: 'Literal["off", "shadow", "on"] | None' = None,
        explained: bool = True,
        manner: Manner = USUAL,
    ) -> "Projection":
        """The same with the account in tokens, and the list of edits: rules, how to undo each.

        Without being `explained` the list stays empty, and this costs no more than `view`.
        """
        return self._projecting.project(
            messages, model=model, policy=policy, question=question, mode=mode, explained=explained, manner=manner
        )

    def hydrate(self, messages: Iterable[Any]) -> list[Any]:
        """The messages with every view of ours replaced by the result it stands for."""
        return self._projecting.hydrate(messages)

    def undo(self, id: str) -> int:
        """Show a result whole again from now on, by trace id or artifact id; gives the tokens it takes, about."""
        self._opened()
        return self._projecting.undo(id)

    def pin(self, id: str) -> int:
        """Keep a result whole in every view from now on, whatever the policy; gives the tokens it takes, about."""
        self._opened()
        return self._projecting.undo(id, "pin")

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
        found so far is given, and `is_all` is False: only a first question to a very large record takes so long.
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
        reached = [self._keeping.ways.reached(self.store, unit) for unit in found.units]
        return fitted(query, reached, budget, found.is_all)

    def tools(self, dialect: str) -> list[dict[str, Any]]:
        """The recall tools for a model, in this dialect; the same bytes every time, or none where `recall` says so."""
        name = dialect_named(dialect)
        if self.recall_by != "tools":
            return []
        return [define(tool, name) for tool in _TOOLS]

    def tools_to_offer(self, dialect: str) -> list[dict[str, Any]]:
        """The tools that a request is to offer: those of the settings; once they were offered, by whichever process and
        under whatever settings, always, for they stand before all that a provider has cached."""
        own = self.tools(dialect) if self.settings.mode == "on" else []
        if own or not self._projecting.has_offered():
            return own
        return [define(tool, dialect_named(dialect)) for tool in _TOOLS]

    def answer(self, call: object) -> dict[str, Any] | None:
        """The result block for a model's call of one of our tools; None if the call is not ours."""
        parsed = parse_call(call)
        if parsed.name not in NAMES:
            return None
        try:
            answer = self.call_tool(parsed.name, parsed.parsed())
        except UsageError as error:
            answer = Answer(showable(error.for_model), is_error=True)
        return result_block(parsed.dialect, parsed.call_id, answer.content, answer.is_error)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        """What one of our tools answers. Never raises for what a model wrote."""
        return self._answering.answer(name, arguments or {})

    def note(self, tool: str, about: object, text: str) -> None:
        """Put something of our own on record, as it is; raises `StoreError` where that cannot be done."""
        result = arrival.new_result(self._keeping, tool, arguments=arguments_text(about))
        self._observe(arrival.note(self._keeping, [(result, text)], self._room()))

    def noted(self, tool: str) -> list[Result]:
        """What `note` has put on record under this name, by whichever process, in order; as far as it can be read."""
        return self._projecting.noted(tool)

    def enter(self, *made: tuple[Callable[[int, str], Header], bytes]) -> Entry:
        """Put on record what is made of the time and a new id, together; raises `StoreError` as `note` does."""
        trace_id, at = ids.trace_id(self._keeping.random(ids.RANDOM_BYTES)), self._now()
        noted = [(make(at, trace_id), data) for make, data in made]
        self._observe(entries := arrival.note(self._keeping, noted, self._room()))
        return entries[0]

    def artifacts(self) -> list[Known]:
        """The results of this session that were shown cut or replaced, in order."""
        return self._answering.artifacts()

    def verify(self) -> Verification:
        """Proof that everything kept is as it was kept: chain, every byte, every recorded view."""
        return verify(self.store, self.id)

    def end(self) -> None:
        """Say that the session is over. An ephemeral one is purged; a durable one stays until it is cleaned."""
        if self._opened().ephemeral:
            stone = self.store.purge(self.id, self._now())
            self._info = None
            events.log_purged(self.id, stone.entries, stone.stored)
        else:
            self.store.end(self.id, self._now())

    def close(self) -> None:
        """Give back what the session holds open. The record stays."""
        if self._owns_store:
            self.store.close()

    def _limits(self, result: Result, source: Source) -> Limits:
        """What holds for a result on arrival: its tool's limits, or its kind's under the policy `auto`."""
        limits = self._for_tool(result.tool)
        own = result.tool in self.configuration.overrides
        if own or not self._by_kind or source.chars <= limits.inline_limit:
            return limits
        from keepwhole.policies.auto import arrival_cap, capped_at
        from keepwhole.policies.kinds import kind_of

        kind = kind_of(result.tool, result.arguments or "")
        return capped_at(limits, arrival_cap(self.settings.auto, kind, source, limits), source.chars)

    @property
    def billing(self) -> "Billing":
        """What requests are expected to be billed, and what is learned from what they were."""
        return self._projecting.billing

    @cached_property
    def _projecting(self) -> "Projecting":
        """Imported when a conversation is first looked at: most short commands never do."""
        from keepwhole.conversation.branches import Projecting
        from keepwhole.record.journal import Ledger
        from keepwhole.record.recording import Desk

        desk = Desk(self._keeping, Ledger(self.store, self.id), self._observe, self._room, self._summariser)
        return Projecting(desk, self.settings, self._clock)

    def _observe(self, entries: list[Entry]) -> None:
        for entry in entries:
            self.metrics.observe(entry)
            self._stored += entry.facts.size

    def _opened(self) -> SessionInfo:
        if self._info is None:
            info = self.store.open_session(self._wanted)
            if info.ephemeral:
                self.store.hold(self.id)
            self._info = info
        return self._info

    def _room(self) -> int:
        """Bytes that may still come, as far as this process knows; the store asks again when it appends."""
        if self._info is None:
            self._opened()
            self._stored = self.store.stored(self.id)
        return self.settings.session_quota - self._stored

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _log_kept(self, shown: Shown, entries: list[Any]) -> None:
        result, facts = entries[0].header, entries[0].facts
        metadata = shown.metadata
        events.log_kept(
            self.id, result.trace_id, result.tool, facts.size, metadata.truncated_size, metadata.strategy_used
        )
        if "truncation_marker" in result.flags:
            events.log_truncation_mark(self.id, result.trace_id, result.tool)


def _settings_at(place: str | None) -> config.Settings:
    """The settings that hold for a record at this folder or address, or for the one that they name."""
    return config.load(store=place) if place and is_address(place) else config.load(home=place)


def _store_of(settings: config.Settings) -> Store:
    """The store that settings name."""
    return open_store(settings.store, settings.home, blobs=settings.blobs, inline_body=settings.inline_body)


def _named(configuration: TruncationConfiguration) -> Iterator[str]:
    """The strategies that overrides name."""
    return (own.strategy for own in configuration.overrides.values() if own.strategy is not None)
