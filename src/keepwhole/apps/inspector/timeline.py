"""A session's record as steps: read once, then only the new entries.

Owns: which results and decisions belong to which request, and how far the record was read. The only bodies that are
loaded are manifests, and only where a result may be of another request than the next one on record (`shown_results`).
Must not know: JSON, sockets.

A step is one request with the results that were kept since the request before it. Results that are kept without any
request (by the library, by hooks, on the command line) form one step for each turn, or one step for each result.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from keepwhole.apps.inspector.shown_results import may_be_of_next, new_in_request
from keepwhole.apps.inspector.totals import SessionTotals
from keepwhole.apps.kept_words import shown_tokens, tokens_as_sent
from keepwhole.canonical.body import BodyFacts
from keepwhole.canonical.entry import Decision, Entry, Request, Response, Result
from keepwhole.collector import without_collection
from keepwhole.conversation.client_compaction import TOOL as COSTS
from keepwhole.errors import Damaged
from keepwhole.exchange.outgoing_request import TOOL as ROUND
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.record.fork_note import TOOL as FORK
from keepwhole.record.fork_note import origin_in
from keepwhole.record.words_note import SaidWords, read_words
from keepwhole.store.follower import RecordFollower
from keepwhole.store.protocol import Store, entry_of

_TOGETHER = 600_000
"""Milliseconds before a session's first request in which results belong to it; older ones stay separate steps."""

_PIECE = 500
"""Entries that are read while the lock is held, and at least of a session that nothing is known of."""

_PATIENCE = 8
"""Requests of other branches for which a result waits for the request that shows it."""


class BrokenEntry(NamedTuple):
    """An entry that cannot be read."""

    seq: int
    why: str


class TimelineResult:
    """One result, with all decisions about it."""

    __slots__ = ("decided", "decisions", "facts", "number", "result", "seq", "step")

    def __init__(self, seq: int, number: int, result: Result, facts: BodyFacts) -> None:
        self.seq, self.number, self.result = seq, number, result
        self.facts = facts.replace(blocks=b"") if facts.blocks else facts
        self.decisions: list[Decision] = []
        self.decided: list[int] = []
        """The entry numbers of these decisions."""
        self.step: TimelineStep | None = None

    @property
    def shown_chars(self) -> int:
        """Characters of the result that are shown now."""
        return self.decisions[-1].shown_chars if self.decisions else self.facts.chars

    @property
    def whole_tokens(self) -> int:
        """Tokens of the result as it is kept, about."""
        return tokens_as_sent(self.result, self.facts, ())

    @property
    def shown_tokens(self) -> int:
        """Tokens of the result as it is shown now, about."""
        return shown_tokens(self.decisions[-1]) if self.decisions else self.whole_tokens

    @property
    def is_cut(self) -> bool:
        """Whether only a part is shown now."""
        return self.shown_chars < self.facts.chars


class TimelineStep:
    """One request with its results, or results without a request."""

    __slots__ = (
        *("answered", "base", "decisions", "index", "last", "request", "response", "results", "rounds", "said", "seq"),
    )

    def __init__(self, index: int, seq: int) -> None:
        self.index, self.seq, self.last = index, seq, seq
        self.answered = 0
        """The number of the response's entry; 0 where there is none."""
        self.request: Request | None = None
        self.base: Request | None = None
        """The request on which its manifest is based."""
        self.response: Response | None = None
        self.results: list[TimelineResult] = []
        self.said: list[tuple[int, SaidWords]] = []
        """The numbers of the entries with words that an imported log has before its results."""
        self.decisions: list[tuple[TimelineResult | None, Decision]] = []
        self.rounds = 0
        """Hidden rounds of recall."""

    @property
    def at(self) -> int:
        """When the step happened, in milliseconds."""
        if self.request is not None:
            return self.request.at
        return self.results[0].result.at if self.results else self.decisions[0][1].at if self.decisions else 0

    @property
    def sent(self) -> LoggedRequest | None:
        """Its request with the answer; None where it has none."""
        return None if self.request is None else LoggedRequest(self.seq, self.request, self.response)


class Timeline:
    """The steps of one session. Safe from threads; a reader calls `catch_up` first and holds `lock`."""

    def __init__(self, store: Store, session: str, folder: str) -> None:
        """Clients read results back from `folder`."""
        self.session, self._folder = session, folder
        self.lock = threading.RLock()
        self.generation = 0
        """How often the session was purged since the timeline was made."""
        self.looked = 0.0
        """When the record was read last, by the monotonic clock."""
        self._store = store
        self._following = RecordFollower(store, session)
        self._clear()

    def _clear(self) -> None:
        self.steps: list[TimelineStep] = []
        self.results: dict[str, TimelineResult] = {}
        self.broken: list[BrokenEntry] = []
        self._by_artifact: dict[str, TimelineResult] = {}
        self._by_call: dict[str, list[TimelineResult]] = {}
        self._by_request: dict[str, TimelineStep] = {}
        self._asked: dict[str, list[TimelineStep]] = {}
        """The steps of each branch that have a request, in order."""
        self._requests: dict[int, Request] = {}
        self._changed: dict[TimelineStep, None] = {}
        """The steps, the one that changed last at the end."""
        self.totals = SessionTotals(self._folder)
        self._rounds = 0
        self.fork_of: str | None = None
        """The session that this one goes on from."""
        self.said_last: list[tuple[int, SaidWords]] = []
        """Words behind the last result."""
        self._passed: dict[str, int] = {}
        """For each result that waits: how many requests did not show it."""

    @property
    def seq(self) -> int:
        """The number of the last entry that was read."""
        return self._following.seq

    @property
    def requests(self) -> int:
        """The number of recorded requests."""
        return len(self._by_request)

    @property
    def branches(self) -> list[tuple[str, int]]:
        """The names of all branches and the numbers of their requests, in the order in which they began."""
        return [(branch, len(steps)) for branch, steps in self._asked.items()]

    def steps_of_branch(self, branch: str) -> Sequence[TimelineStep]:
        """The steps of a branch that have a request, in order."""
        return self._asked.get(branch, [])

    @property
    def first_request(self) -> Request | None:
        """The first request of the session."""
        return next(iter(self._requests.values()), None)

    def catch_up(self, seconds: float | None = None, until: "Callable[[Timeline], bool] | None" = None) -> "Timeline":
        """Read the new entries: all of them, or for about so long, or until the timeline has what is asked for.

        The lock is released between two pieces, so that whoever shows what is known need not wait for the rest.
        """
        end = None if seconds is None else time.monotonic() + seconds
        if until is not None and self.share_read < 1 and until(self):
            return self
        while self._read_piece():
            if (end is not None and time.monotonic() >= end) or (until is not None and until(self)):
                break
        return self

    @property
    def share_read(self) -> float:
        """How much of the record is read: 1 where all of it is."""
        return min(1.0, self.seq / self._following.last_seq) if self._following.last_seq else 1.0

    def _read_piece(self) -> bool:
        """Read a piece of the new entries; return whether there are more."""
        with self.lock, without_collection():
            if not self._following.look():
                self.generation += 1
                self._clear()
            for count, row in enumerate(self._following.new()):
                if count == _PIECE:
                    return True  # this row is new still: the follower counts it once the next one is asked for
                try:
                    self._add(entry_of(row))
                except Damaged as error:
                    self.broken.append(BrokenEntry(row.seq, str(error)))
            self.looked = time.monotonic()
        return False

    def find(self, any_id: str) -> TimelineResult | None:
        """The result with this trace id or artifact id."""
        return self.results.get(any_id) or self._by_artifact.get(any_id)

    def find_call(self, call_id: str, number: int = 0) -> TimelineResult | None:
        """The result of a call; of a call with several, the one with this number, or the last."""
        found = self._by_call.get(call_id, ())
        return found[min(number, len(found) - 1)] if found else None

    def find_request(self, trace_id: str) -> TimelineStep | None:
        """The step of a request."""
        return self._by_request.get(trace_id)

    def request_before(self, step: TimelineStep) -> TimelineStep | None:
        """The step of the same branch whose request came before that of a step."""
        return self._beside(step, -1)

    def request_after(self, step: TimelineStep) -> TimelineStep | None:
        """The step of the same branch whose request came after that of a step."""
        return self._beside(step, 1)

    def _beside(self, step: TimelineStep, by: int) -> TimelineStep | None:
        branch = self._asked.get(step.request.branch, []) if step.request is not None else []
        at = bisect_left(branch, step.seq, key=lambda each: each.seq) + by
        return branch[at] if 0 <= at < len(branch) else None

    def steps_changed_after(self, seq: int) -> list[TimelineStep]:
        """The steps that changed after an entry, in the order of their changes."""
        return [*takewhile(lambda step: step.last > seq, reversed(self._changed))][::-1]

    def results_after(self, seq: int) -> list[TimelineResult]:
        """The results that were kept after an entry."""
        return [*takewhile(lambda kept: kept.seq > seq, reversed(self.results.values()))][::-1]

    def _change(self, step: TimelineStep, seq: int) -> None:
        """Note that an entry changed a step."""
        step.last = seq
        self._changed.pop(step, None)
        self._changed[step] = None

    def _add(self, entry: Entry) -> None:
        header = entry.header
        if isinstance(header, Result):
            self._add_result(entry, header)
        elif isinstance(header, Decision):
            self._add_decision(entry.seq, header)
        elif isinstance(header, Request):
            self._add_request(entry.seq, header)
        else:
            step = self._by_request.get(header.trace_id)
            if step is not None:
                self.totals.add_response(step, header)
                step.response, step.answered = header, entry.seq
                self._change(step, entry.seq)

    def _add_result(self, entry: Entry, result: Result) -> None:
        if self._take_note(entry.seq, result):
            return
        kept = TimelineResult(entry.seq, len(self.results), result, entry.facts)
        self.results[result.trace_id] = self._by_artifact[result.artifact_id] = kept
        if result.call_id is not None:
            self._by_call.setdefault(result.call_id, []).append(kept)
        step = self._open_step(entry.seq, result.turn)
        step.results.append(kept)
        step.said += self.said_last
        self.said_last = []
        kept.step = step
        self._change(step, entry.seq)
        self.totals.add_result(kept)

    def _take_note(self, seq: int, result: Result) -> bool:
        """Take in what Keepwhole itself has recorded, which is no result of a tool; return whether it was that."""
        if result.tool == ROUND:
            self._rounds += 1
        elif result.tool == FORK:
            self.fork_of = origin_in(result) or self.fork_of
        elif (words := read_words(result)) is not None:
            self.said_last.append((seq, words))
        return result.tool in (ROUND, FORK, COSTS) or read_words(result) is not None

    def _add_decision(self, seq: int, decision: Decision) -> None:
        kept = self.results.get(decision.trace_id)
        if kept is not None:
            self.totals.change_view(kept, decision)
            kept.decisions.append(decision)
            kept.decided.append(seq)
        home = kept.step if kept is not None else None
        step = self._open_step(seq, None) if self._by_request or home is None else home
        step.decisions.append((kept, decision))
        if home is not None and home is not step:
            self._change(home, seq)  # its result is shown differently from now on
        self._change(step, seq)

    def _add_request(self, seq: int, request: Request) -> None:
        step = self._open_step(seq, None) if self._by_request else self._first_step(seq, request.at)
        step.request, step.seq = request, seq
        self._change(step, seq)
        step.base = self._requests.get(request.base) if request.base is not None else None
        step.rounds, self._rounds = self._rounds, 0
        self._by_request[request.trace_id] = step
        self._requests[seq] = request
        self._asked.setdefault(request.branch, []).append(step)
        self.totals.add_request(step)
        if step.results and (
            len(self._asked) > 1 or may_be_of_next([kept.result for kept in step.results], request.at)
        ):
            self._move_results_of_others(step)

    def _move_results_of_others(self, step: TimelineStep) -> None:
        """Move the results that this request does not show to a new step: they belong to another branch, or to the
        next request."""
        new = new_in_request(self._store, self.session, step.seq)
        if new is None:
            return
        others = [kept for kept in step.results if not new.shows(kept.result, kept.facts) and self._is_waiting(kept)]
        is_alone = len(self._asked) == 1
        if not others or (is_alone and len(others) == len(step.results)):  # nothing else tells whose they are
            return
        waiting = self._new_step(step.seq)
        names = {kept.result.trace_id for kept in others}
        own = {kept.result.trace_id for kept in step.results} - names
        begun = min(kept.result.at for kept in others) if is_alone else None

        def moves(decision: Decision) -> bool:
            """Whether a decision came with these results: a request's batch is decided with its own results."""
            if decision.trace_id in names or decision.trace_id in own or begun is None:
                return decision.trace_id in names
            return decision.at >= begun

        waiting.results = others
        waiting.decisions = [pair for pair in step.decisions if moves(pair[1])]
        step.results = [kept for kept in step.results if kept.result.trace_id not in names]
        step.decisions = [pair for pair in step.decisions if not moves(pair[1])]
        for kept in others:
            kept.step = waiting

    def _is_waiting(self, kept: TimelineResult) -> bool:
        """Count one more request that did not show a result; return whether the result waits for another one."""
        name = kept.result.trace_id
        self._passed[name] = self._passed.get(name, 0) + 1
        return self._passed[name] <= _PATIENCE

    def _open_step(self, seq: int, turn: int | None) -> TimelineStep:
        """The step to which a new entry belongs; a new one where the last step is complete."""
        last = self.steps[-1] if self.steps else None
        if last is not None and last.request is None:
            same = turn is not None and bool(last.results) and last.results[-1].result.turn == turn
            if self._by_request or same:
                return last
        return self._new_step(seq)

    def _first_step(self, seq: int, at: int) -> TimelineStep:
        """The step of a session's first request, with the results that were kept just before it."""
        own: list[TimelineStep] = []
        while self.steps and self.steps[-1].at >= at - _TOGETHER:
            own.append(self.steps.pop())
            self._changed.pop(own[-1], None)
        own.reverse()
        step = self._new_step(seq)
        for each in own:
            step.results += each.results
            step.decisions += each.decisions
        for kept in step.results:
            kept.step = step
        return step

    def _new_step(self, seq: int) -> TimelineStep:
        step = TimelineStep(len(self.steps), seq)
        self.steps.append(step)
        self._changed[step] = None
        return step
