"""The list of sessions, and the summary of one session.

Owns: the figures of a session, and that a long list is counted a few sessions at a time.
Must not know: sockets.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

from keepwhole.apps import request_figures, window_contents
from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.record import PATIENCE, Record
from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.apps.inspector.tour import SAMPLE_AGENT, tour_of
from keepwhole.apps.inspector.user_words import UserWords
from keepwhole.apps.kept_words import count_kept
from keepwhole.apps.stated_cost import ASSUMPTION, state_cost
from keepwhole.apps.window_contents import WindowUse
from keepwhole.canonical.entry import OWN_TOOLS, Result
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.errors import NotFound, StoreError
from keepwhole.exchange.request_log import NO_ANSWER
from keepwhole.exchange.request_log import LoggedRequest as SentStep
from keepwhole.models.profiles import profile_for
from keepwhole.models.tokens import estimate_from_length
from keepwhole.store.protocol import SessionInfo
from keepwhole.version import VERSION
from keepwhole.wire.rate_limits import parse_limits

_BUDGET = 0.4
"""Seconds that one request may count; sessions that are not counted by then have no figures yet."""
_POINTS = 200
_FIGURES = ("results", "requests", "tokens_whole", "tokens_sent", "cost", "title", "errors", "fork_of")


class Sessions:
    """The sessions of a record. Safe from threads."""

    def __init__(self, record: Record, words: UserWords) -> None:
        self._record, self._words = record, words
        self._counted: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._step_costs: tuple[tuple[str, int, int], dict[int, dict[str, Any]]] | None = None
        self._items: dict[tuple[str, str], list[window_contents.WindowItem]] = {}

    def list_page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of the sessions that match a search, the newest first."""
        words, after = query.get("query", "").lower().split(), query.get("after", "")
        most = shapes.number(query, "most", 50, 1, 200)
        is_plain = not words and not after and not any(query.get(key) for key in ("agent", "errors"))
        by, until = _ORDERS.get(query.get("sort", "")), time.monotonic() + _BUDGET
        is_plain = is_plain and by is None
        infos = self._record.store.sessions(most + 1 if is_plain else None)
        agents = sorted({info.agent for info in infos if info.agent})
        found = [info for info in infos if not query.get("agent") or info.agent == query["agent"]]
        if words:
            found = [info for info in found if all(word in self._search_text(info) for word in words)]
        if query.get("errors"):
            found = [info for info in found if self.row(info, until)["errors"]]
        if by is not None:
            found = _in_order(found, by, {info.name: self.row(info, until) for info in found}, query.get("order", ""))
        names = [info.name for info in found]
        start = names.index(after) + 1 if after in names else 0
        rows = [self.row(info, until) for info in found[start : start + most]]
        return {
            "sessions": rows,
            "agents": [showable(agent) for agent in agents],
            "next": rows[-1]["name"] if len(found) > start + most else None,
            "home": self._record.location,
            "version": VERSION,
        }

    def row(self, info: SessionInfo, until: float | None = None) -> dict[str, Any]:
        """One session in the list; without figures where they are not cached and the time is up."""
        key = info.name, info.entries, info.last_at
        figures = self._counted.get(key)
        if figures is None and (until is None or time.monotonic() < until):
            figures = self._count(info.name)
            if len(self._counted) > 2_000:
                self._counted.clear()
            self._counted[key] = figures
        return _session_fields(info) | (
            figures or {**dict.fromkeys(_FIGURES), "health": "ok", "note": "not counted yet"}
        )

    def _count(self, name: str) -> dict[str, Any]:
        try:
            timeline = self._record.timeline(name)
        except StoreError as error:
            return {**dict.fromkeys(_FIGURES), "health": "broken", "note": str(error)}
        title = self._words.title(timeline)
        with timeline.lock:
            return {"title": title, **_figures(timeline, self._record)}

    def _search_text(self, info: SessionInfo) -> str:
        known = self._counted.get((info.name, info.entries, info.last_at), {}).get("title") or ""
        return f"{info.name} {info.agent or ''} {info.workspace or ''} {known}".lower()

    def describe(self, name: str) -> dict[str, Any]:
        """The summary of one session, of a long one as far as it is read."""
        timeline = self._record.timeline(name, PATIENCE)
        info, title = self._record.info(name), self._words.title(timeline)
        tree = self._tree(timeline, info)
        with timeline.lock:
            current = request_figures.current_request(_sent_steps(timeline))
            newest = None if current is None else timeline.find_request(current.request.trace_id)
            model = "" if current is None else current.request.model
            return {
                **_session_fields(info),
                "title": title,
                **_figures(timeline, self._record),
                "tree": tree,
                "limits": _limits(timeline),
                "seq": timeline.seq,
                "model": showable(model),
                "window": profile_for(model, self._record.settings.models).window,
                "indicator": self._indicator(timeline, newest),
                "course": self._course(timeline),
                "steps": len(timeline.steps),
                "reading": timeline.share_read if timeline.share_read < 1 else None,
                "branches": [{"name": showable(name), "steps": count} for name, count in _steps_by_branch(timeline)],
                "shadow": _shadow(timeline),
                "notes": _notes(timeline),
                "tour": tour_of(timeline) if info.agent == SAMPLE_AGENT else None,
            }

    def costs_of_steps(self, timeline: Timeline) -> dict[int, dict[str, Any]]:
        """What each request has cost, by the number of its entry; computed anew where the session has grown."""
        key = timeline.session, timeline.generation, timeline.seq
        if self._step_costs is None or self._step_costs[0] != key:
            profile_of = lru_cache(partial(profile_for, overrides=self._record.settings.models))
            costs = request_figures.costs_of(_sent_steps(timeline), profile_of)
            self._step_costs = key, {seq: _step_cost(cost) for seq, cost in costs.items()}
        return self._step_costs[1]

    def _course(self, timeline: Timeline) -> dict[str, list[Any]]:
        """The use of the window step by step, and what all requests up to each point have cost."""
        course = window_history(timeline)
        profile_of = lru_cache(partial(profile_for, overrides=self._record.settings.models))
        return course | cost_history(course["seq"], request_figures.costs_of(_sent_steps(timeline), profile_of))

    def _tree(self, timeline: Timeline, info: SessionInfo) -> dict[str, Any]:
        """The session that this one was forked from, those forked from it as far as they are counted, its agents."""
        counted = {key[0]: figures for key, figures in self._counted.items()}
        forks = [name for name, figures in counted.items() if figures.get("fork_of") == info.name]
        with timeline.lock:
            origin, main = timeline.fork_of, _main_branch(timeline)
            agents = [(branch, steps) for branch, steps in _steps_by_branch(timeline) if branch != main]

        def named(name: str) -> dict[str, Any]:
            return {"name": name, "title": counted.get(name, {}).get("title")}

        return {
            "origin": None if origin is None else named(origin),
            "forks": [named(name) for name in forks],
            "agents": [
                {"branch": showable(branch), "steps": steps, "title": self._words.title_of_branch(timeline, branch)}
                for branch, steps in agents
            ],
        }

    def window_of_step(self, name: str, index: int) -> dict[str, Any]:
        """What fills the window at a step: of its request, or of the newest request before it on any branch."""
        timeline = self._record.timeline(name)
        with timeline.lock:
            if not 0 <= index < len(timeline.steps):
                raise NotFound(f"Session `{name[:80]}` has no step {index + 1}.")
            before = reversed(timeline.steps[: index + 1])
            found = self._indicator(timeline, next((step for step in before if step.request is not None), None))
        if found is None:
            raise NotFound(f"Nothing is known of the window at step {index + 1} of session `{name[:80]}`.")
        return found

    def _indicator(self, timeline: Timeline, step: TimelineStep | None) -> dict[str, Any] | None:
        settings = self._record.settings
        if step is not None and step.request is not None:
            used, whole = map(round, request_figures.sizes(SentStep(step.seq, step.request, step.response)))
            billed = step.response is not None and step.response.input is not None
            model, items = step.request.model, self._items_of(timeline, step.request.trace_id)
            profile = profile_for(model, settings.models)
            use = WindowUse(used, whole, "bill" if billed else "estimate", model, profile, items)
        elif timeline.results:
            shown = [(kept.result, kept.shown_chars) for kept in timeline.results.values()]
            items = window_contents.items_of_results(shown)
            whole = estimate_from_length(sum(kept.facts.chars for kept in timeline.results.values()))
            profile = profile_for("", settings.models)
            use = WindowUse(sum(item.tokens for item in items), whole, "results", "", profile, items)
        else:
            return None
        return window_contents.indicator(use, settings.thresholds)

    def _items_of(self, timeline: Timeline, trace_id: str) -> list[window_contents.WindowItem]:
        """The items of a request by their tokens, decoded once; empty where the request is damaged."""
        name = timeline.session
        items = self._items.get((name, trace_id))
        if items is None:
            try:
                body = self._record.request_body(name, trace_id)
                items = window_contents.items_of_request(body, partial(_result_of_call, timeline))
            except StoreError:
                items = []
            if len(self._items) > 200:
                self._items.clear()
            self._items[name, trace_id] = items
        return items


def _result_of_call(timeline: Timeline, call_id: str) -> Result | None:
    kept = timeline.find_call(call_id)
    return None if kept is None else kept.result


def window_history(timeline: Timeline) -> dict[str, list[Any]]:
    """The use of the window step by step, on the branch with the most steps; thinned without losing a rewrite.

    `upto` is the last step that a point stands for: its tokens are those of that step.
    """
    points = _points_of_requests(timeline) or _points_of_results(timeline)
    size = -(-len(points) // _POINTS) or 1
    thinned = [_merge_points(points[at : at + size]) for at in range(0, len(points), size)]
    names = ("seq", "whole", "sent", "cached", "predicted", "rewritten", "index", "ms")
    upto = [points[min(at + size, len(points)) - 1][6] for at in range(0, len(points), size)]
    return {name: [point[number] for point in thinned] for number, name in enumerate(names)} | {"upto": upto}


def cost_history(points: Sequence[int], costs: Mapping[int, request_figures.Cost]) -> dict[str, list[float]]:
    """The dollars paid up to each point, and those of the same client with `mode: off`; empty where some are unknown.

    The last point has the sum of all requests, so that the chart ends where the session's figures are.
    """
    known = [(seq, cost.dollars, cost.dollars_whole) for seq, cost in sorted(costs.items())]
    if not known or any(paid is None or whole is None for _, paid, whole in known):
        return {}
    seqs = [seq for seq, _, _ in known]
    ends = [*(bisect_right(seqs, point) for point in points[:-1]), len(seqs)]
    sums = {name: [0.0, *accumulate(one[at] or 0.0 for one in known)] for name, at in (("paid", 1), ("off", 2))}
    return {name: [total[end] for end in ends] for name, total in sums.items()}


def _points_of_requests(timeline: Timeline) -> list[tuple[Any, ...]]:
    main = _main_branch(timeline)
    found: list[tuple[Any, ...]] = []
    for step in timeline.steps:
        request, response = step.request, step.response
        if request is not None and request.branch == main:
            cached = response.cached if response is not None else None
            rewritten = shapes.rewrite_of(step) is not None
            tokens = (request.tokens_whole, request.tokens_sent, cached, request.predicted)
            took = response.total_ms if response is not None else None
            found.append((step.seq, *tokens, rewritten, step.index, took))
    return found


def _points_of_results(timeline: Timeline) -> list[tuple[Any, ...]]:
    """The use of the window from results alone: their sum so far, as shown at the end of each step."""
    found: list[tuple[Any, ...]] = []
    whole = sent = 0
    for step in timeline.steps:
        for kept in step.results:
            whole += kept.facts.chars
            sent += kept.decisions[0].shown_chars if kept.decisions else kept.facts.chars
        tokens = estimate_from_length(whole), estimate_from_length(sent)
        found.append((step.seq, *tokens, None, None, False, step.index, None))
    return found


def _merge_points(points: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """One point for several: the last one, with the position of a rewrite among them and the longest time."""
    rewritten = next((point for point in points if point[5]), None)
    took = max((point[7] for point in points if point[7] is not None), default=None)
    return (*points[-1][:5], rewritten is not None, (rewritten or points[-1])[6], took)


def _main_branch(timeline: Timeline) -> str:
    """The branch with the most requests."""
    counts = Counter(step.request.branch for step in timeline.steps if step.request is not None)
    return max(counts, key=lambda name: counts[name], default="")


def _steps_by_branch(timeline: Timeline) -> list[tuple[str, int]]:
    counts = Counter(step.request.branch for step in timeline.steps if step.request is not None)
    return counts.most_common(50)


def _shadow(timeline: Timeline) -> dict[str, int] | None:
    """What the requests in `mode: shadow` had in all, and what they would have had; None where there were none."""
    asked = (step.request for step in timeline.steps if step.request is not None)
    found = [(one.tokens_sent, one.would_send) for one in asked if one.would_send is not None]
    if not found:
        return None
    sent, would = (sum(column) for column in zip(*found, strict=True))
    return {"requests": len(found), "tokens_sent": sent, "would_send": would}


def _figures(timeline: Timeline, record: Record) -> dict[str, Any]:
    results = [kept for kept in timeline.results.values() if not kept.result.tool.startswith(OWN_TOOLS)]
    chars = [(kept.shown_chars, kept.facts.chars) for kept in results]
    notes = _notes(timeline)
    return {
        "results": len(chars),
        "kept": count_kept(kept.result for kept in results).words,
        "requests": timeline.requests,
        "errors": _errors(timeline),
        "fork_of": timeline.fork_of,
        "tokens_whole": estimate_from_length(sum(whole for _, whole in chars)),
        "tokens_sent": estimate_from_length(sum(shown for shown, _ in chars)),
        "cost": _cost(timeline, record.settings),
        "health": "broken" if timeline.broken else "warning" if notes else "ok",
        "note": notes[0] if notes else "",
    }


def _cost(timeline: Timeline, settings: Settings) -> dict[str, Any] | None:
    """The cost of the requests in words, as every other place has it; None where no provider billed them."""
    sent = _sent_steps(timeline)
    cost = request_figures.cost_of(sent, lru_cache(partial(profile_for, overrides=settings.models)))
    if cost is None:
        return None
    stated = state_cost(cost)
    paid, off, saved = stated.amounts
    words = {"paid": paid, "off": off, "saved": saved, "words": stated.words, "assumes": ASSUMPTION}
    figures = stated.as_dict
    return words | {
        "is_loss": stated.is_loss,
        "figures": figures,
        "basis": figures["basis"],
        "compactions": cost.compactions,
        "tokens": request_figures.billed_tokens(sent),
    }


def _step_cost(cost: request_figures.Cost) -> dict[str, Any]:
    stated = state_cost(cost)
    paid, off, saved = stated.amounts
    figures = stated.as_dict
    words = {"paid": paid, "off": off, "saved": saved}
    return words | {"is_loss": stated.is_loss, "figures": figures, "basis": figures["basis"]}


def _errors(timeline: Timeline) -> int:
    """Results that are errors, and requests that were refused or not answered."""
    failed = sum(kept.result.is_error for kept in timeline.results.values())
    return failed + sum(step.outcome in ("refused", NO_ANSWER) for step in _sent_steps(timeline))


def _limits(timeline: Timeline) -> list[dict[str, Any]] | None:
    """The newest rate limits that a provider told; None where none did."""
    told = (step.response.limits for step in reversed(timeline.steps) if step.response and step.response.limits)
    found = parse_limits(next(told, None))
    return [one._asdict() | {"words": one.words} for one in found] or None


def _in_order(
    infos: list[SessionInfo], by: Callable[[SessionInfo, dict[str, Any]], Any], rows: dict[str, Any], order: str
) -> list[SessionInfo]:
    """The sessions in the order that is asked for, descending by default; those of which it is not known come last."""
    keyed = [(by(info, rows[info.name]), info) for info in infos]
    known = [pair for pair in keyed if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=order != "asc")
    return [info for _, info in known] + [info for key, info in keyed if key is None]


def _amount(key: str) -> Callable[[SessionInfo, dict[str, Any]], Any]:
    return lambda _, row: None if row["cost"] is None else row["cost"]["figures"][key]


_ORDERS: dict[str, Callable[[SessionInfo, dict[str, Any]], Any]] = {
    "created": lambda info, _: info.created_at,
    "name": lambda info, _: info.name,
    "last": lambda info, _: info.last_at,
    "cost": _amount("paid"),
    "saved": _amount("saved"),
    "errors": lambda _, row: row["errors"],
    "requests": lambda _, row: row["requests"],
}
"""What a list can be sorted by; with `last`, which is the store's own order, everything is listed too."""


def _sent_steps(timeline: Timeline) -> list[SentStep]:
    return [SentStep(step.seq, step.request, step.response) for step in timeline.steps if step.request is not None]


def _notes(timeline: Timeline) -> list[str]:
    """Sentences about damage, broken answers and foreign cuts in a session."""
    broken = [f"entry {each.seq} is damaged and left out" for each in timeline.broken[:20]]
    outcomes = Counter(step.response.outcome for step in timeline.steps if step.response is not None)
    ended = [
        f"{outcomes[outcome]} answer{'s' * (outcomes[outcome] > 1)} {words}"
        for outcome, words in (("incomplete", "broke off"), ("refused", "refused by the provider"))
        if outcomes[outcome]
    ]
    flagged = sum(bool(kept.result.flags) for kept in timeline.results.values())
    cut = [f"{flagged} result{'s' * (flagged > 1)} came cut by somebody else"] if flagged else []
    return broken + ended + cut


def _session_fields(info: SessionInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "agent": None if info.agent is None else showable(info.agent),
        "workspace": None if info.workspace is None else showable(info.workspace),
        "created_at": info.created_at,
        "last_at": info.last_at,
        "entries": info.entries,
        "stored": info.stored,
        "ended_at": info.ended_at,
    }
