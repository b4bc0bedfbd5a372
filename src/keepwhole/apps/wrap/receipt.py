"""The figures of a wrapped run, and the receipt that is printed: only what was recorded or billed.

Owns: which sessions belong to a run and which of their entries are the run's own, and the words of the receipt.
Must not know: how costs are computed (`request_figures`).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from keepwhole.apps import request_figures as figures
from keepwhole.apps.kept_words import KeptCounts, count_kept, recall_folder
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.request_figures import ProfileOf
from keepwhole.apps.stated_cost import state_cost
from keepwhole.canonical.entry import HIDDEN_ROUND, Result
from keepwhole.clients.table import facts_of
from keepwhole.config import Settings
from keepwhole.errors import Damaged, StoreError
from keepwhole.events import UNRECORDED, UNTRIED
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.session import Session
from keepwhole.store.protocol import Store, entry_of
from keepwhole.wire.rate_limits import parse_limits

_WIDTH = 9


class WarningCounter(logging.Handler):
    """Counts Keepwhole's warnings by their subject; printed, they would disturb the client's terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a warning; requests that are not recorded and versions of clients are counted by `Meter`."""
        subject = str(record.msg).partition(":")[0]
        if subject not in (UNRECORDED, UNTRIED):
            self.counts[subject] += 1


class Tally(NamedTuple):
    """The requests, results and errors of a run."""

    steps: dict[str, list[LoggedRequest]]
    """Recorded requests by session, hidden rounds too."""
    unrecorded: int = 0
    """Requests of the client that are not recorded: those below, and those that were forwarded unread."""
    unnamed: int = 0
    """Requests of a conversation that has no name yet."""
    unstored: int = 0
    """Requests that could not be stored."""
    others: int = 0
    """Requests that ask no model, or in no API that Keepwhole knows."""
    kept: KeptCounts = KeptCounts()
    trouble: Mapping[str, int] = MappingProxyType({})
    """What went wrong, and how often."""
    mode: str = "on"
    untried: tuple[str, str] | None = None
    """The name and the version of a client that is newer than all versions that were tried."""


class Meter:
    """Counts the requests of a run."""

    def __init__(self, since: int) -> None:
        self._since = since
        """When the run began, in milliseconds."""
        self._by_session: Counter[str] = Counter()
        self._unread = self._unnamed = self._others = self._shown_whole = 0
        self._trouble: Counter[str] = Counter()
        self._untried: tuple[str, str] | None = None

    def add(self, proxied: ProxiedRequest) -> None:
        """Count a request after it was answered, or failed."""
        if proxied.endpoint is None:
            self._others += 1
        if proxied.endpoint is None or proxied.endpoint.counts:
            return
        trouble = _trouble_of(proxied)
        if trouble:
            self._trouble[trouble] += 1
        if proxied.exchange is None:
            self._unread += 1
        elif not proxied.exchange.has_record:
            self._unnamed += 1
        else:
            self._by_session[proxied.exchange.session] += 1
            self._shown_whole = max(self._shown_whole, proxied.exchange.account.unstored)
            sender = proxied.exchange.identity
            if facts_of(sender.client).is_untried(sender.version):
                self._untried = sender.client, sender.version

    def tally(self, store: Store, settings: Settings) -> Tally:
        """Read the requests and results of the run from the record."""
        steps: dict[str, list[LoggedRequest]] = {}
        kept, unstored = KeptCounts(), 0
        for name, count in self._by_session.items():
            steps[name] = self._read_steps(Session(name, store=store, settings=settings))
            unstored += max(0, count - len(_asked(steps[name])))
            kept = kept.plus(count_kept(self._read_results(store, name), recall_folder(settings.home)))
        if self._shown_whole:
            self._trouble["result not kept and so shown in full"] = self._shown_whole
        return Tally(
            steps,
            unrecorded=self._unread + self._unnamed + unstored,
            unnamed=self._unnamed,
            unstored=unstored,
            others=self._others,
            kept=kept,
            trouble=self._trouble,
            mode=settings.mode,
            untried=self._untried,
        )

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


def _trouble_of(proxied: ProxiedRequest) -> str:
    """What went wrong with a request; empty where nothing did."""
    if proxied.status >= 400:
        return f"request failed, {proxied.status}"
    if not proxied.status:
        return "request failed, no answer"
    return "answer cut off" if proxied.note or proxied.outcome == "incomplete" else ""


def _asked(steps: Iterable[LoggedRequest]) -> list[LoggedRequest]:
    """The requests of the client, without Keepwhole's own rounds."""
    return [step for step in steps if step.request.purpose != HIDDEN_ROUND]


def receipt(tally: Tally, profile_of: ProfileOf, command: str) -> list[str]:
    """The lines to print; at most twelve."""
    steps = list(chain.from_iterable(tally.steps.values()))
    if not steps and not tally.unrecorded:
        return ["keepwhole: no request came through", f"  {_why_none(tally, command)}"]
    rows = [
        *_why_row(tally),
        *_tokens_row(steps),
        *_results_row(tally),
        *_cache_row(steps),
        *_cost_row(tally, profile_of),
        *_window_row(tally, profile_of),
        *_limits_row(steps),
        *_trouble_row(tally.trouble),
        *_client_row(tally),
        *_session_row(tally),
    ]
    passed = f", {tally.unrecorded:,} of them not recorded" if tally.unrecorded else ""
    count = len(_asked(steps)) + tally.unrecorded
    return [f"keepwhole: {_count(count, 'request')}{passed}", *(f"  {name:<{_WIDTH}} {words}" for name, words in rows)]


def _why_none(tally: Tally, command: str) -> str:
    """Why no request came through, and what to look at."""
    if tally.others:
        return (
            f"`{command}` reached the proxy with {_count(tally.others, 'other request')}, but asked no model in an API "
            "that Keepwhole knows: OpenAI Chat, OpenAI Responses or Anthropic Messages."
        )
    return (
        f"If `{command}` did ask a model, it did not go through Keepwhole: check whether an address in its settings "
        "takes precedence over the one it was given, and whether its API is OpenAI's or Anthropic's."
    )


def _why_row(tally: Tally) -> Iterator[tuple[str, str]]:
    """Why requests are not recorded, the reason that needs attention most; nothing where it was the user's wish."""
    if tally.mode == "off":
        return
    if tally.unstored:
        yield "why", f"{_count(tally.unstored, 'request')} could not be stored; `keepwhole doctor` looks for the cause"
    elif tally.unnamed:
        yield "why", "the agent names no session, so its first request belongs to none; `--session ID` records it too"
    elif tally.unrecorded and not any(tally.steps.values()):
        yield (
            "why",
            "no tools are offered to the model, so there are no results to keep; requests were passed on unread",
        )


def _tokens_row(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    """The tokens of the requests that the provider answered."""
    steps = [step for step in steps if step.outcome in ("complete", "incomplete")]
    if not steps:
        return
    sent, whole = (sum(size) for size in zip(*map(figures.sizes, steps), strict=True))
    if any(step.request.edited for step in steps):
        left_out = f"{1 - sent / whole:.0%}".replace("%", " %")
        yield "sent", f"≈ {_tokens(sent)} of {_tokens(whole)} tokens, {left_out} left out"
    elif all(map(figures.is_unchanged, steps)):
        yield "sent", f"≈ {_tokens(sent)} tokens; nothing was changed"
    else:
        yield "sent", f"≈ {_tokens(sent)} tokens; nothing was left out, recall tools were offered"


def _results_row(tally: Tally) -> Iterator[tuple[str, str]]:
    if tally.kept.kept:
        yield "kept", tally.kept.words + ("" if tally.kept.recalls else ", nothing was read back")


def _cache_row(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    """The tokens that the cache served, and the prediction for the same requests."""
    answers = [(step.request, step.response) for step in steps if step.response]
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


def _limits_row(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    """The newest rate limits where the client is signed in with a plan: they are what it pays with."""
    told = (step.response.limits for step in reversed(steps) if step.response is not None and step.response.limits)
    found = parse_limits(next(told, None)) if any(step.request.by_plan for step in steps) else []
    if found:
        yield "limits", "; ".join(one.words for one in found[:4])


def _trouble_row(trouble: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    if trouble:
        most = [f"{what} ({_times(count)})" for what, count in Counter(trouble).most_common(4)]
        yield "trouble", "; ".join(most)


def _client_row(tally: Tally) -> Iterator[tuple[str, str]]:
    if tally.untried is not None:
        name, version = tally.untried
        client = facts_of(name)
        words = f"{client.title} {version} is newer than {client.versions[-1]}, the newest version that was tested"
        yield "client", f"{words}; it may write what Keepwhole does not recognize"


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
