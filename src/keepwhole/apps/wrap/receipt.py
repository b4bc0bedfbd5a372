"""The figures of a wrapped run, and the receipt that is printed: only what was recorded or billed.

Owns: which sessions belong to a run and which of their entries are the run's own, and the words of the receipt.
Must not know: how costs are computed (`request_figures`).
"""

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.apps import request_figures as figures
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.request_figures import ProfileOf
from keepwhole.apps.stated_cost import state_cost
from keepwhole.canonical.entry import Result
from keepwhole.config import Settings
from keepwhole.errors import Damaged, StoreError
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.recall.names import is_recall
from keepwhole.session import Session
from keepwhole.store.protocol import Store, entry_of

_OWN = "keepwhole_"
"""The prefix of the tools under which Keepwhole records entries of its own."""
_WIDTH = 9


def results_in(home: str) -> str:
    """The folder of a record from which clients read results back."""
    return os.path.join(home, "results")


class WarningCounter(logging.Handler):
    """Counts Keepwhole's warnings by their subject; printed, they would disturb the client's terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a warning."""
        self.counts[str(record.msg).partition(":")[0]] += 1


class Tally(NamedTuple):
    """The requests, results and errors of a run."""

    steps: dict[str, list[LoggedRequest]]
    """Recorded requests by session."""
    passed: int = 0
    """Requests that are not recorded: forwarded unread, or of a conversation without a name yet."""
    kept: int = 0
    recalls: int = 0
    trouble: Mapping[str, int] = MappingProxyType({})
    """What went wrong, and how often."""


class Meter:
    """Counts the requests of a run."""

    def __init__(self, since: int) -> None:
        self._since = since
        """When the run began, in milliseconds."""
        self._sessions: dict[str, None] = {}
        self._passed = self._unstored = 0
        self._trouble: Counter[str] = Counter()

    def add(self, proxied: ProxiedRequest) -> None:
        """Count a request after it was answered, or failed."""
        if proxied.endpoint is None or proxied.endpoint.counts:
            return
        if proxied.note or proxied.status >= 400:
            self._trouble[f"request failed, {proxied.status or 'no answer'}"] += 1
        elif proxied.outcome == "incomplete":
            self._trouble["answer cut off"] += 1
        if proxied.exchange is None or not proxied.exchange.has_record:
            self._passed += 1
            return
        self._sessions[proxied.exchange.session] = None
        self._unstored = max(self._unstored, proxied.exchange.account.unstored)

    def tally(self, store: Store, settings: Settings) -> Tally:
        """Read the requests and results of the run from the record."""
        steps: dict[str, list[LoggedRequest]] = {}
        kept = recalls = 0
        folder = results_in(settings.home)
        for name in self._sessions:
            steps[name] = self._read_steps(Session(name, store=store, settings=settings))
            for result in self._read_results(store, name):
                kept += not result.tool.startswith(_OWN) and not is_recall(result.tool)
                recalls += is_recall(result.tool) or folder in (result.arguments or "")
        unstored = Counter({"result not kept and so shown whole": self._unstored}) if self._unstored else Counter[str]()
        return Tally(steps, self._passed, kept, recalls, self._trouble + unstored)

    def _read_steps(self, session: Session) -> list[LoggedRequest]:
        """The requests of this run; none where they cannot be read, which must not change the client's exit code."""
        try:
            return [step for step in RequestLog(session).all() if step.request.at >= self._since]
        except StoreError:
            self._trouble["record that cannot be read"] += 1
            return []

    def _read_results(self, store: Store, name: str) -> Iterator[Result]:
        """The results of this run."""
        try:
            for row in store.rows(name, kind="result", light=True):
                try:
                    header = entry_of(row).header
                except Damaged:
                    continue
                if isinstance(header, Result) and header.at >= self._since:
                    yield header
        except StoreError:
            return


def receipt(tally: Tally, profile_of: ProfileOf, command: str) -> list[str]:
    """The lines to print; at most twelve."""
    steps = list(chain.from_iterable(tally.steps.values()))
    if not steps and not tally.passed and not tally.trouble:
        return [
            "keepwhole: no request came through",
            f"  Either nothing was asked, or a setting of `{command}` counts more than the address it was given.",
        ]
    facts = [
        *_tokens_row(steps),
        *_results_row(tally),
        *_cache_row(steps),
        *_cost_row(tally, profile_of),
        *_window_row(tally, profile_of),
    ]
    lines = [
        f"  {name:<{_WIDTH}} {words}" for name, words in (*facts, *_trouble_row(tally.trouble), *_session_row(tally))
    ]
    passed = f", {tally.passed} of them not on record" if tally.passed else ""
    return [f"keepwhole: {_count(len(steps) + tally.passed, 'request')}{passed}", *lines]


def _tokens_row(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    if not steps:
        return
    sent, whole = (sum(size) for size in zip(*map(figures.sizes, steps), strict=True))
    if not any(step.request.edited for step in steps):
        yield "sent", f"≈ {_tokens(sent)} tokens; nothing was changed"
        return
    yield "sent", f"≈ {_tokens(sent)} of {_tokens(whole)} tokens, {1 - sent / whole:.0%} left out".replace("%", " %")


def _results_row(tally: Tally) -> Iterator[tuple[str, str]]:
    if tally.kept:
        back = f", read back {_times(tally.recalls)}" if tally.recalls else ", nothing was read back"
        yield "kept", f"{_count(tally.kept, 'result')} whole{back}"


def _cache_row(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    """The tokens that the cache served, and the prediction for the same requests."""
    answers = [(step.request, step.response) for step in steps if figures.billed(step) is not None and step.response]
    told = [(asked, answer) for asked, answer in answers if answer.cached is not None]
    if not told:
        return
    total = sum(figures.billed(step) or 0 for step in steps)
    served = sum(answer.cached or 0 for _, answer in told)
    words = f"{_tokens(served)} of {_tokens(total)} input tokens came from it"
    both = [(asked.predicted, answer.cached or 0) for asked, answer in told if asked.predicted is not None]
    if both:
        predicted, found = map(sum, zip(*both, strict=True))
        words += f"; {_tokens(predicted)} predicted" + (f" where {_tokens(found)} came" if found != served else "")
    yield "cache", words


def _cost_row(tally: Tally, profile_of: ProfileOf) -> Iterator[tuple[str, str]]:
    cost = figures.sum_of(figures.cost_of(steps, profile_of) for steps in tally.steps.values())
    if cost is not None:
        yield "input", state_cost(cost).sentence


def _window_row(tally: Tally, profile_of: ProfileOf) -> Iterator[tuple[str, str]]:
    """When the longest conversation would have been compacted."""
    every = [branch for steps in tally.steps.values() for branch in figures.branches(steps)]
    longest = max(every, key=len) if every else ()
    whole = figures.first_full(longest, profile_of, whole=True)
    sent = figures.first_full(longest, profile_of, whole=False)
    if sent is not None:
        yield "window", f"90 % full at request {sent}" + (f", with everything at {whole}" if whole != sent else "")
    elif whole is not None:
        yield "window", f"never 90 % full; with everything at request {whole}"


def _trouble_row(trouble: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    if trouble:
        most = [f"{what} ({_times(count)})" for what, count in Counter(trouble).most_common(4)]
        yield "trouble", "; ".join(most)


def _session_row(tally: Tally) -> Iterator[tuple[str, str]]:
    names = [name for name, steps in tally.steps.items() if steps]
    if names:
        first, *others = names
        yield "look", f"`keepwhole sessions show {first}`" + (f" and {len(others)} more" if others else "")


def _tokens(number: float) -> str:
    return f"{number:,.0f}" if number < 10_000 else f"{number / 1_000:,.0f}k"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
