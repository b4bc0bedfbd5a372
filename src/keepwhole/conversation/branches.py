"""`view`, `projection`, `hydrate`, `undo`: the calls of a session that look at whole conversations."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

from keepwhole import config
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision, Result
from keepwhole.canonical.utf8 import encode
from keepwhole.conversation.branch import Viewer
from keepwhole.conversation.view_mode import USUAL, Manner
from keepwhole.errors import NotFound, StoreError, UsageError
from keepwhole.models.profiles import Profile, profile_for
from keepwhole.models.tokens import estimate
from keepwhole.policies.account import Account, Projection
from keepwhole.policies.catalog import policy_named
from keepwhole.policies.policy import Policy, Situation
from keepwhole.record.arrival import append
from keepwhole.record.billing import Billing
from keepwhole.record.recording import Desk
from keepwhole.store.protocol import Body, Draft, body_of
from keepwhole.store.requests import Requests
from keepwhole.truncation.cut import encode_cut, whole
from keepwhole.wire.decode import decode_message
from keepwhole.wire.edits import apply
from keepwhole.wire.purpose import continues
from keepwhole.wire.request_body import RequestBody, read_request

Mode: TypeAlias = Literal["off", "shadow", "on"]
MODES: tuple[Mode, ...] = ("off", "shadow", "on")
_COUNT = "count"
"""As `on`, but nothing is put on record: what would be sent is only asked about."""
_BRANCHES = 8
"""Branches of a conversation that are remembered; another one is read anew."""


class Projecting:
    """One session's conversations. Safe from threads."""

    def __init__(self, desk: Desk, settings: config.Settings, clock: Callable[[], float]) -> None:
        self._desk, self._settings = desk, settings
        self._lock = threading.RLock()
        self._viewers: list[tuple[str, Viewer]] = []
        self._generation = desk.ledger.generation
        self._named: tuple[tuple[str, str | None], Policy] | None = None
        self._profile = lru_cache(maxsize=64)(self._profile_for)
        self.billing = Billing(
            desk.keeping.info.name, clock, self._profile, lambda: desk.ledger.past, self._bodies_on_record
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
        manner: Manner = USUAL,
    ) -> Projection:
        """What to send of messages or of a request; the list of edits only if it is asked for."""
        chosen = self._policy(policy, question)
        how = mode or self._settings.mode
        if how not in MODES:
            raise UsageError(f"`mode` is {how!r}; give one of {', '.join(MODES)}.")
        request = _request(given)
        if how == "off" or (request is None and _is_bytes(given)):
            return Projection(messages=_as_it_came(given), edits=(), account=Account(policy=chosen.name, mode=how))
        messages: list[Any] = _as_list(given) if request is None else request.messages
        model = model or _model_of(request)
        with self._lock:
            kind = f"{how if manner.recorded or how != 'on' else _COUNT} {chosen.name}"
            is_known = self._caught_up()
            situation = self._situation(model, request)
            viewer = self._brought_up(messages, kind, chosen, situation, _continues(request), model, manner, is_known)
            if not manner.recorded:
                self._viewers.pop()
            whole = viewer.restored(situation, _answer_of(request)) if manner.restored else ()
            if request is None:
                out: Any = viewer.sent(messages, whole)
            else:
                out = _spliced(request, viewer, whole) if how == "on" else _as_it_came(given)
            edits = viewer.edits() if explained else ()
            account = viewer.account(chosen, situation, explained, whole)
        return Projection(messages=out, edits=edits, account=account)

    def _brought_up(
        self,
        messages: list[Any],
        kind: str,
        policy: Policy,
        situation: Situation,
        continued: bool,
        model: str | None,
        manner: Manner,
        is_known: bool,
        tries: int = 2,
    ) -> Viewer:
        """The branch of these messages, brought up to them; begun anew where the session was purged meanwhile."""
        ledger = self._desk.ledger
        if ledger.generation != self._generation:
            self._viewers, self._generation = [], ledger.generation
        viewer, shared = self._viewer(messages, kind)
        now = self.billing.now()
        here = situation._replace(cold=self._is_cold(viewer, now, model, situation.profile, manner.branch))
        try:
            viewer.view(messages, shared, policy, here, manner, is_known=is_known, continues=continued)
        except BaseException:
            self._viewers = [pair for pair in self._viewers if pair[1] is not viewer]
            raise
        viewer.seen = now
        if ledger.generation == self._generation or not tries:
            return viewer
        is_known = self._caught_up()
        return self._brought_up(messages, kind, policy, situation, continued, model, manner, is_known, tries - 1)

    def _caught_up(self) -> bool:
        """Read what is new on record, by whomever; whether that could be done."""
        try:
            self._desk.ledger.catch_up()
        except StoreError:
            return False
        self.billing.catch_up()
        return True

    def _is_cold(self, viewer: Viewer, now: float, model: str | None, profile: Profile, branch: str) -> bool:
        """Whether the provider has surely forgotten a branch, which any process may have sent last."""
        seen = max(viewer.seen or 0.0, self._desk.ledger.past.last.get(branch, 0.0))
        if not seen or now - seen <= profile.lifetime:
            return False
        self.billing.remember(now)  # a client may have asked for a longer life
        return now - seen > self.billing.lifetime(model, profile)

    def _bodies_on_record(self) -> Callable[[int], bytes | None]:
        """What gives the bytes of a request on record by its number; None where they cannot be had."""
        store, name = self._desk.keeping.store, self._desk.keeping.info.name
        requests = Requests(store, name)

        def read(seq: int) -> bytes | None:
            try:
                row = store.entry(name, seq)
                return None if row is None else requests.body(row)
            except StoreError:
                return None

        return read

    @property
    def is_unsettled(self) -> bool:
        """Whether something was sent whole that is not on record yet."""
        return any(viewer.is_unsettled for _, viewer in self._viewers)

    def settle(self) -> None:
        """Put on record what was sent whole before it was."""
        with self._lock:
            for _, viewer in self._viewers:
                viewer.settle()

    def noted(self, tool: str) -> list[Result]:
        """What is on record under a tool's name, in order, as far as it can be read."""
        with self._lock:
            self._caught_up()
            return [known.result for known in reversed(self._desk.ledger.of_tool(tool))]

    def has_offered(self) -> bool:
        """Whether a request on record offered our tools, as far as it was read; what cannot be read did not."""
        with self._lock:
            ledger = self._desk.ledger
            return (bool(ledger.seq) or self._caught_up()) and ledger.past.offered

    def hydrate(self, messages: Iterable[Any]) -> list[Any]:
        """The messages with every view of ours replaced by the result it stands for."""
        messages = list(messages)
        ledger, store, name = self._desk.ledger, self._desk.keeping.store, self._desk.keeping.info.name
        edits: dict[int, list[tuple[Any, str]]] = {}
        with self._lock:
            ledger.catch_up()
            for index, message in enumerate(messages):
                for returned in decode_message(message).returned:
                    match = ledger.match(returned.call_id, returned.text)
                    row = store.find(name, match[0].result.trace_id) if match is not None and not match[1] else None
                    if row is not None:
                        with store.open(body_of(row)) as reader:
                            edits.setdefault(index, []).append((returned.path, reader.text()))
        return apply(messages, edits).messages

    def undo(self, any_id: str, rule: Literal["undo", "pin"] = "undo") -> int:
        """Show a result whole from now on, whatever policies say; gives the tokens it takes."""
        keeping, ledger = self._desk.keeping, self._desk.ledger
        with self._lock:
            ledger.catch_up()
            known = ledger.find(any_id)
            row = keeping.store.find(keeping.info.name, known.result.trace_id) if known is not None else None
            if known is None or row is None:
                raise NotFound(f"Session `{keeping.info.name}` has no result `{any_id[:80]}` to show again.")
            with keeping.store.open(body_of(row)) as reader:
                text = reader.text()
            before = None if known.decision is None else known.decision[0].rule
            if before not in ("undo", "pin") and (before is not None or rule == "pin"):
                cut = encode_cut(whole(len(text)))
                decision = Decision(
                    at=keeping.now(),
                    trace_id=known.result.trace_id,
                    rule=rule,
                    strategy="none",
                    version=keeping.version,
                    shown_digest=measure(encode(text)[0]).digest.hex(),
                    shown_chars=len(text),
                )
                self._desk.observe(append(keeping, [Draft(decision, Body(measure(cut), inline=cut))], once=False))
        return estimate(text)

    def _policy(self, policy: str | Policy | None, question: str | None) -> Policy:
        if policy is not None and not isinstance(policy, str):
            return policy
        wanted = (policy or self._settings.policy, question)
        known = self._named
        if known is None or known[0] != wanted:
            settings = self._settings
            named = policy_named(
                wanted[0],
                auto=settings.auto,
                rolling=settings.rolling,
                retention=settings.retention,
                truncation=settings.truncation,
                question=question,
            )
            self._named = wanted, named
            return named
        return known[1]

    def _situation(self, model: str | None, request: RequestBody | None) -> Situation:
        overhead = 0
        if request is not None:
            beside = (request.fields.get(key) for key in ("system", "instructions", "tools"))
            overhead = sum(estimate(str(value)) for value in beside if value)
        scale = self.billing.scale(model)
        return Situation(self._profile(model), overhead, scale=scale, frozen=self.billing.frozen)

    def _profile_for(self, model: str | None) -> Profile:
        return profile_for(model, self._settings.models)

    def _viewer(self, messages: list[Any], kind: str) -> tuple[Viewer, int]:
        """The branch that these messages go on with, and how many it has; a new one where they go on with none."""
        alike = [(viewer.shared(messages), viewer) for name, viewer in self._viewers if name == kind]
        shared, best = max(alike, key=lambda pair: pair[0], default=(0, None))
        if best is None or (shared == 0 and messages):
            best, shared = Viewer(self._desk, kind.partition(" ")[0]), 0
        self._viewers = [(name, viewer) for name, viewer in self._viewers if viewer is not best][-_BRANCHES + 1 :]
        self._viewers.append((kind, best))
        return best, shared


def _spliced(request: RequestBody, viewer: Viewer, whole: Collection[int]) -> bytes:
    """The request's bytes, edited in place; messages that are left out or put in change the list, not the others."""
    data = request.splice(viewer.texts(whole))
    if request.skipped:  # a message is edited in all its places or in none
        for index in {index for index, _ in request.skipped}:
            viewer.skip(index)
        data = request.splice(viewer.texts(whole))
    again = read_request(data) if viewer.is_rearranged else None
    return data if again is None else again.joined(viewer.arranged(again.messages))


def _request(given: Any) -> RequestBody | None:
    """What is given as a request; None for messages, and for bytes that can only be passed on."""
    if isinstance(given, RequestBody):
        return given
    return read_request(bytes(given)) if _is_bytes(given) else None


def _as_it_came(given: Any) -> Any:
    return given.data if isinstance(given, RequestBody) else given


def _answer_of(request: RequestBody | None) -> int:
    """Tokens that an answer may take, where a request says so."""
    fields = {} if request is None else request.fields
    limits = (fields.get(key) for key in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    return next((limit for limit in limits if isinstance(limit, int)), 0)


def _as_list(given: Any) -> list[Any]:
    if isinstance(given, list):
        return cast("list[Any]", given)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        kind = type(cast("object", given)).__name__
        raise UsageError(f"Give a list of messages or the bytes of a request; this is `{kind}`.")
    return list(cast("Iterable[Any]", given))


def _is_bytes(given: Any) -> bool:
    return isinstance(given, bytes | bytearray | memoryview)


def _continues(request: RequestBody | None) -> bool:
    """Whether a request goes on with one that the provider has, and so holds half of its pairs."""
    return request is not None and continues(request)


def _model_of(request: RequestBody | None) -> str | None:
    model = request.fields.get("model") if request is not None else None
    return model if isinstance(model, str) else None
