"""The conversations of one session: `view`, `projection`, `hydrate`, `undo`, and the branches that are remembered.

Owns: which branch a list of messages continues, the situation that policies are told, and what the record says across
branches.
Must not know: how a view is made (`pipeline`).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from keepwhole.canonical.entry import Result
from keepwhole.config import Settings, policy_of
from keepwhole.conversation.branch import Branch
from keepwhole.conversation.context import TURN, BranchContext, ViewMode, while_reading
from keepwhole.conversation.lost_results import hydrated
from keepwhole.conversation.pipeline import View, edit, end_compaction, run_pipeline, settle_all
from keepwhole.errors import NotFound, StoreError, UsageError
from keepwhole.models.profiles import Profile, RuleName, profile_for
from keepwhole.models.tokens import RepeatedSizes, estimate
from keepwhole.policies.account import Account, Projection
from keepwhole.policies.policy import SHOWN, Policy, Situation, Summarizer, check_policy
from keepwhole.record.bills import Billing
from keepwhole.record.journal import Journal
from keepwhole.record.writer import SessionWriter, decision_draft
from keepwhole.store.protocol import body_of
from keepwhole.truncation.cut import render, whole
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy
from keepwhole.wire import dialects
from keepwhole.wire.identity import continues
from keepwhole.wire.request_body import RequestBody, read_request

Mode: TypeAlias = Literal["off", "shadow", "on"]
MODES: tuple[Mode, ...] = ("off", "shadow", "on")
_BRANCHES = 8
"""Branches that are remembered; another one is followed from its beginning."""
_PURGES = 3
"""How often a view is begun anew because the session was purged meanwhile."""
_MANY = 200
"""Messages of a first view that is made without the garbage collector; fewer leave too little to look through."""


class _Key(NamedTuple):
    """What tells branches with the same messages apart."""

    mode: str
    policy: str
    images: RuleName


class Conversations:
    """The conversations of one session. Safe from threads."""

    def __init__(
        self,
        writer: SessionWriter,
        settings: Settings,
        clock: Callable[[], float],
        strategies: Mapping[str, ITruncationStrategy] = STRATEGIES,
        policy: Policy | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        """Without a `policy` it is the one that the settings name."""
        self._writer, self._settings = writer, settings
        self.journal = Journal(writer.store, writer.name)
        self._context = BranchContext(
            writer, self.journal, summarizer, settings.thresholds, settings.auto.max_loss, settings.images.max_edge
        )
        self._strategies, self._own_policy = strategies, policy
        self._lock = self.journal.lock
        self._branches: list[tuple[_Key, Branch]] = []
        self._generation = self.journal.generation
        self._named: tuple[tuple[str, str | None], Policy] | None = None
        self._knows_fork = False
        self._prompt_sizes = RepeatedSizes()
        self._profile_of = lru_cache(maxsize=64)(self._profile_for)
        self.billing = Billing(
            writer.name, clock, self._profile, lambda: self.journal.bills, self.journal.request_reader
        )

    def project(
        self,
        given: Any,
        *,
        model: str | None,
        policy: str | Policy | None,
        question: str | None,
        mode: Mode | None,
        explained: bool,
        view_mode: ViewMode = TURN,
    ) -> Projection:
        """Return what to send of messages or of a request; the list of edits only if `explained`."""
        chosen = self.policy(policy, question)
        mode = mode or self._settings.mode
        if mode not in MODES:
            raise UsageError(f"`mode` is {mode!r}; give one of {', '.join(MODES)}.")
        request = _as_request(given)
        if mode == "off" or (request is None and _is_bytes(given)):
            unchanged = given.data if isinstance(given, RequestBody) else given
            return Projection(messages=unchanged, edits=(), account=Account(policy=chosen.name, mode=mode))
        messages = _with_call_ids(_as_list(given)) if request is None else request.messages
        model = model or (request.model if request is not None else None)
        is_continued = request is not None and continues(request)
        view = View(messages, chosen, view_mode, request, model, is_continued)
        is_much = not self._branches and len(messages) > _MANY
        with self._lock, while_reading(is_much):
            is_read = self.catch_up() if view_mode.is_record_read is None else view_mode.is_record_read
            view = view._replace(shortfall=self.billing.shortfall)
            situation = self._situation(view)
            branch, view = self._bring_up(view, mode, situation, is_read)
            edited: Any = edit(branch, view) if mode != "shadow" else request.data if request is not None else messages
            edited = _without_made_ids(edited) if request is None else edited
            edits = branch.edits() if explained else ()
            account = branch.account(chosen, situation, explained)
        return Projection(messages=edited, edits=edits, account=account)

    @property
    def is_unsettled(self) -> bool:
        """Whether results were sent in full that are not on record yet."""
        return any(branch.is_unsettled for _, branch in self._branches)

    def settle(self) -> None:
        """Record the results that were sent in full before they were on record."""
        with self._lock:
            for _, branch in self._branches:
                branch.settle()

    def record_compaction(self, name: str) -> None:
        """Record what the conversation has cost that its client has compacted: the next one of this name goes on from
        there."""
        with self._lock:
            for _, branch in self._branches:
                end_compaction(branch, name)

    def notes(self, tool: str) -> list[Result]:
        """The results on record under a tool's name, in order, as far as the record was read."""
        with self._lock:
            return [known.result for known in reversed(self.journal.of_tool(tool))]

    def has_offered_tools(self, branch: str) -> bool:
        """Whether a request of a branch on record offered the recall tools, as far as the record was read; of a fork,
        also one of the session that it comes from."""
        with self._lock:
            fork = self.journal.fork
            return branch in self.journal.bills.offered or (fork is not None and branch in fork.offered)

    def hydrate(self, messages: Iterable[Any]) -> list[Any]:
        """Return the messages with every result whole that the record has: views of ours, and what the client cut,
        cleared, emptied or dropped."""
        with self._lock:
            self.journal.catch_up()
            return _without_made_ids(hydrated(_with_call_ids(list(messages)), self.journal))

    def show_whole(self, any_id: str, rule: Literal["undo", "pin"]) -> int:
        """Show a result whole from now on, whatever policies say; return the tokens it takes."""
        writer = self._writer
        with self._lock:
            self.journal.catch_up()
            known = self.journal.find(any_id)
            row = writer.store.find(writer.name, known.result.trace_id) if known is not None else None
            if known is None or row is None:
                raise NotFound(f"Session `{writer.name}` has no result `{any_id[:80]}` to show again.")
            with writer.store.open(body_of(row)) as reader:
                cut = whole(reader.chars)
                text = reader.text() if known.media is None else render(cut, reader)
            before = None if known.decision is None else known.decision[0].rule
            if before not in SHOWN and (before is not None or rule == "pin"):
                draft = decision_draft(known.result.trace_id, writer.now(), rule, "none", cut, text)
                writer.count(writer.append([draft]).entries)
        return estimate(text) if known.media is None else known.media_tokens

    def _bring_up(self, view: View, mode: str, situation: Situation, is_read: bool) -> tuple[Branch, View]:
        """Run the pipeline on the branch of these messages; begin anew where the session was purged meanwhile. Return
        the branch, and the view with lost results put back."""
        counted = mode if view.mode.records or mode != "on" else "count"
        key = _Key(counted, view.policy.name, situation.profile.images)
        branch = Branch(self._context, key.mode, key.images)
        for _ in range(_PURGES):
            if self.journal.generation != self._generation:
                self._branches, self._generation = [], self.journal.generation
            branch, shared, view = self._find_branch(view, key)
            now = self.billing.now()
            here = situation._replace(cold=self._is_cold(branch, now, view, situation.profile))
            lifetime = self.billing.lifetime(view.model, situation.profile)
            branch.costs.begin(now, lifetime)
            try:
                run_pipeline(branch, view, shared, here, is_read)
            except BaseException:
                self._branches = [pair for pair in self._branches if pair[1] is not branch]
                raise
            branch.sent_at = now
            if self.journal.generation == self._generation:
                break
            is_read = self.catch_up()
        if not view.mode.records:
            self._branches.pop()
        return branch, view

    def _find_branch(self, view: View, key: _Key) -> tuple[Branch, int, View]:
        """The branch that the messages of a view continue, and how many of them it has, with the view as a client that
        has lost no results would ask for it."""
        branch, shared = self._closest_branch(view.messages, key)
        messages = branch.lost.with_lost_results(view.messages, shared, self.journal, continues=view.continues)
        if messages is not view.messages:
            request = None if view.request is None else read_request(view.request.joined(messages))
            named = _with_call_ids(list(messages)) if request is None else request.messages
            view = view._replace(messages=named, request=request)
            branch, shared = self._closest_branch(view.messages, key)
        others = [pair for pair in self._branches if pair[1] is not branch]
        forgotten = [one for _, one in others[: -_BRANCHES + 1]]
        settle_all([*forgotten, branch] if branch.goes_back(shared) else forgotten)
        self._branches = [*others[-_BRANCHES + 1 :], (key, branch)]
        return branch, shared, view

    def _closest_branch(self, messages: list[Any], key: _Key) -> tuple[Branch, int]:
        """The branch that these messages continue, and how many of them it has; a new one where they continue none."""
        found = [(branch.count_shared(messages), branch) for known, branch in self._branches if known == key]
        shared, best = max(found, key=lambda pair: pair[0], default=(0, None))
        if best is None or (shared == 0 and messages):
            return Branch(self._context, key.mode, key.images), 0
        return best, shared

    def catch_up(self) -> bool:
        """Read what any process has appended since; return whether the record could be read."""
        with self._lock:
            try:
                self.journal.catch_up()
            except StoreError:
                return False
            self._learn_fork()
            self.billing.catch_up()
            return True

    def _learn_fork(self) -> None:
        """Learn once what bills of the session say that this one was forked from."""
        if not self._knows_fork and (fork := self.journal.fork) is not None:
            self._knows_fork = True
            self.billing.learn_scale(fork.bills)

    def _situation(self, view: View) -> Situation:
        overhead = reserve = 0
        if view.request is not None:
            overhead, reserve = self._prompt_sizes.sum(view.request.fields, dialects.TABLE.prompt_fields)
        self.billing.remember_first(view.model)
        scale, doubt = self.billing.scale(view.model), self.billing.doubt(view.model)
        profile, frozen = self._profile(view.model), self.billing.frozen
        if self.billing.wants_hour(view.model):
            profile = profile.replace(write=profile.write_hour)
        profile = self.billing.as_cached(profile, view.model)
        is_sent = view.request is not None
        return Situation(profile, overhead, reserve, scale=scale, doubt=doubt, frozen=frozen, arguments=is_sent)

    def _is_cold(self, branch: Branch, now: float, view: View, profile: Profile) -> bool:
        """Whether the provider's cache has surely forgotten a branch, which any process may have sent last."""
        sent_at = max(branch.sent_at or 0.0, self.journal.bills.last_sent.get(view.mode.branch, 0.0))
        if not sent_at or now - sent_at <= profile.lifetime:
            return False
        self.billing.remember(now)  # a client may have asked for a longer life
        return now - sent_at > self.billing.lifetime(view.model, profile)

    def policy(self, policy: str | Policy | None = None, question: str | None = None) -> Policy:
        """The policy that is asked for, else the session's own."""
        policy = policy or self._own_policy
        if policy is not None and not isinstance(policy, str):
            check_policy(policy)
            return policy
        wanted = (policy or self._settings.policy, question)
        if self._named is None or self._named[0] != wanted:
            named = policy_of(self._settings, wanted[0], strategies=self._strategies, question=question)
            self._named = wanted, named
        return self._named[1]

    def _profile(self, model: str | None) -> Profile:
        return self._profile_of(model, self.billing.answered_by(model))

    def _profile_for(self, model: str | None, answered_by: str | None) -> Profile:
        return profile_for(model, self._settings.models, answered_by)


def _as_request(given: Any) -> RequestBody | None:
    """What is given as a request; None for messages, and for bytes that can only be passed on."""
    if isinstance(given, RequestBody):
        return given
    return read_request(bytes(given)) if _is_bytes(given) else None


def _as_list(given: Any) -> list[Any]:
    if isinstance(given, list):
        return cast("list[Any]", given)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        kind = type(cast("object", given)).__name__
        raise UsageError(f"Give a list of messages or the bytes of a request; this is `{kind}`.")
    return list(cast("Iterable[Any]", given))


def _with_call_ids(messages: list[Any]) -> list[Any]:
    """The messages with ids of their calls, where their dialect may leave them out."""
    dialect = dialects.dialect_of(messages)
    return messages if dialect is None or dialect.needs_call_id else list(dialect.with_call_ids(messages))


def _without_made_ids(messages: list[Any]) -> list[Any]:
    """The messages as they are sent: a new list."""
    dialect = dialects.dialect_of(messages)
    if dialect is None or dialect.needs_call_id:
        return list(messages)
    return [dialect.without_made_ids(message) for message in messages]


def _is_bytes(given: Any) -> bool:
    return isinstance(given, bytes | bytearray | memoryview)
