"""The list of sessions, and the summary of one session.

Owns: the figures of a session, and that a long list is counted a few sessions at a time.
Must not know: sockets.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

from keepwhole.apps import request_figures, window_contents
from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.record import PATIENCE, Record
from keepwhole.apps.inspector.timeline import Timeline, TimelineStep
from keepwhole.apps.inspector.totals import is_of_tool
from keepwhole.apps.inspector.tour import SAMPLE_AGENT, tour_of
from keepwhole.apps.inspector.user_words import UserWords
from keepwhole.apps.kept_words import shown_tokens
from keepwhole.apps.stated_cost import ASSUMPTION, state_cost
from keepwhole.apps.window_contents import Counted, WindowUse
from keepwhole.canonical.entry import Result
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import NotFound, StoreError
from keepwhole.models.profiles import profile_for
from keepwhole.store.protocol import SessionInfo
from keepwhole.version import VERSION
from keepwhole.wire.rate_limits import parse_limits

_T = TypeVar("_T")
_BUDGET = 0.4
"""Seconds that one request may count; sessions that are not counted by then have no figures yet."""
_POINTS = 200
_BRANCHES = 50
_COSTED = 32
"""Sessions whose costs are kept."""
_FIGURES = ("results", "requests", "tokens_whole", "tokens_sent", "cost", "title", "errors", "fork_of")


class Sessions:
    """The sessions of a record. Safe from threads."""

    def __init__(self, record: Record, words: UserWords) -> None:
        self._record, self._words = record, words
        self._profile_of = request_figures.profiles_with(record.settings.models)
        self._counted: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._costs: dict[tuple[str, int], _TimelineCosts] = {}
        self._items: dict[tuple[str, str], list[window_contents.WindowItem]] = {}
        self._computed: dict[tuple[str, str], tuple[tuple[Timeline, int, int], Any]] = {}

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
            figures = self._count(info.name, until)
            if figures is not None:
                if len(self._counted) > 2_000:
                    self._counted.clear()
                self._counted[key] = figures
        return _session_fields(info) | (
            figures or {**dict.fromkeys(_FIGURES), "health": "ok", "note": "not counted yet"}
        )

    def _count(self, name: str, until: float | None) -> dict[str, Any] | None:
        """The figures of a session; None where the time does not suffice to read it, which goes on the next time."""
        try:
            timeline = self._record.timeline(name, None if until is None else until - time.monotonic())
        except StoreError as error:
            return {**dict.fromkeys(_FIGURES), "health": "broken", "note": str(error)}
        if timeline.share_read < 1:
            return None
        title = self._words.title(timeline)
        with timeline.lock:
            return {"title": title, **self._figures(timeline)}

    def _search_text(self, info: SessionInfo) -> str:
        known = self._counted.get((info.name, info.entries, info.last_at), {}).get("title") or ""
        return f"{info.name} {info.agent or ''} {info.workspace or ''} {known}".lower()

    def describe(self, name: str) -> dict[str, Any]:
        """The summary of one session, of a long one as far as it is read."""
        timeline = self._record.timeline(name, PATIENCE)
        info, title = self._record.info(name), self._words.title(timeline)
        tree = self._tree(timeline, info)
        with timeline.lock:
            newest = timeline.totals.main.current(partial(self._record.request_body, name))
            model = newest.request.model if newest is not None and newest.request is not None else ""
            indicator = self._indicator(timeline, newest)
            return {
                **_session_fields(info),
                "title": title,
                **self._figures(timeline),
                "tree": tree,
                "limits": _limits(timeline),
                "seq": timeline.seq,
                "model": showable(model),
                "window": profile_for("", self._record.settings.models).window
                if indicator is None
                else indicator["window"],
                "indicator": indicator,
                "course": self._once(self._course, timeline),
                "steps": len(timeline.steps),
                "reading": timeline.share_read if timeline.share_read < 1 else None,
                "playing": info.agent == SAMPLE_AGENT and info.ended_at is None,
                "branches": [{"name": showable(name), "steps": count} for name, count in _largest_branches(timeline)],
                "shadow": _shadow(timeline),
                "notes": _notes(timeline),
                "tour": tour_of(timeline) if info.agent == SAMPLE_AGENT else None,
            }

    def cost_of_step(self, timeline: Timeline, step: TimelineStep) -> dict[str, Any] | None:
        """What the request of a step has cost; None where nobody was billed for it."""
        if step.sent is None:
            return None
        costs = self._costs_of(timeline)
        cost, total = costs.of(step.sent), costs.total
        if cost is None or total is None:
            return None
        if total.dollars is None:  # then all are stated in the unit of their sum
            cost = cost._replace(dollars=None, dollars_whole=None)
        return _step_cost(cost)

    def _costs_of(self, timeline: Timeline) -> request_figures.RunningCosts:
        """The costs of a session's requests up to now."""
        key = timeline.session, timeline.generation
        known = self._costs.get(key)
        if known is None or known.timeline is not timeline:
            if len(self._costs) > _COSTED:
                self._costs.clear()
            known = self._costs[key] = _TimelineCosts(timeline, request_figures.RunningCosts(self._profile_of))
        return known.catch_up()

    def _once(self, compute: Callable[[Timeline], _T], timeline: Timeline) -> _T:
        """What takes longer in a long session is computed once for what is read of it."""
        key, state = (compute.__name__, timeline.session), (timeline, timeline.generation, timeline.seq)
        known = self._computed.get(key)
        if known is None or known[0] != state:
            if len(self._computed) > _COSTED:
                self._computed.clear()
            known = self._computed[key] = state, compute(timeline)
        return known[1]

    def _course(self, timeline: Timeline) -> dict[str, list[Any]]:
        """The use of the window step by step, and what all requests up to each point have cost."""
        course = window_history(timeline)
        return course | cost_history(course["seq"], self._costs_of(timeline).by_seq())

    def _figures(self, timeline: Timeline) -> dict[str, Any]:
        totals, notes = timeline.totals, _notes(timeline)
        return {
            "results": totals.results,
            "kept": totals.kept.words,
            "requests": timeline.requests,
            "errors": totals.errors,
            "fork_of": timeline.fork_of,
            "tokens_whole": totals.whole,
            "tokens_sent": totals.tool_tokens.total(),
            "cost": self._cost(timeline),
            "health": "broken" if timeline.broken else "warning" if notes else "ok",
            "note": notes[0] if notes else "",
        }

    def _cost(self, timeline: Timeline) -> dict[str, Any] | None:
        """The cost of the requests in words, as every other place has it; None where no provider billed them."""
        cost = self._costs_of(timeline).total
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
            "tokens": dict(timeline.totals.billed),
        }

    def _tree(self, timeline: Timeline, info: SessionInfo) -> dict[str, Any]:
        """The session that this one was forked from, those forked from it as far as they are counted, its agents."""
        counted = {key[0]: figures for key, figures in self._counted.items()}
        forks = [name for name, figures in counted.items() if figures.get("fork_of") == info.name]
        with timeline.lock:
            origin, main = timeline.fork_of, timeline.totals.main.branch
            agents = [(branch, steps) for branch, steps in _largest_branches(timeline) if branch != main]

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
        timeline = self._record.timeline(name, until=lambda timeline: len(timeline.steps) > index + 1)
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
        sent = None if step is None else step.sent
        if sent is not None:
            used, whole = map(round, request_figures.sizes(sent))
            counted: Counted = "estimate" if request_figures.billed(sent) is None else "bill"
            items = self._items_of(timeline, sent.request.trace_id)
            use = WindowUse(used, whole, counted, sent.request.model, self._profile_of(sent), items)
        elif timeline.totals.results:
            use = self._once(self._use_by_results, timeline)
        else:
            return None
        return window_contents.indicator(use, settings.thresholds)

    def _use_by_results(self, timeline: Timeline) -> WindowUse:
        """The use of the window where no request is on record, as far as the results tell it."""
        totals = timeline.totals
        used = totals.tool_tokens.total()
        shown = ((kept.result, kept.shown_tokens) for kept in timeline.results.values() if is_of_tool(kept))
        items = window_contents.largest_results(shown, totals.results, used)
        parts = window_contents.parts_of_tools(totals.tool_tokens)
        profile = profile_for("", self._record.settings.models)
        return WindowUse(used, totals.whole, "results", "", profile, items, parts)

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


class _TimelineCosts:
    """The costs of a timeline, and how far they are computed."""

    def __init__(self, timeline: Timeline, costs: request_figures.RunningCosts) -> None:
        self.timeline = timeline
        self._costs, self._seq = costs, 0

    def catch_up(self) -> request_figures.RunningCosts:
        """Add the requests that are new, and those that were answered since."""
        if self._seq < self.timeline.seq:
            for step in sorted(self.timeline.steps_changed_after(self._seq), key=lambda step: step.seq):
                if (sent := step.sent) is not None:
                    self._costs.add(sent)
            self._seq = self.timeline.seq
        return self._costs


def window_history(timeline: Timeline) -> dict[str, list[Any]]:
    """The use of the window step by step, on the branch of the main agent; thinned without losing a rewrite.

    `upto` is the last step that a point stands for: its tokens are those of that step.
    """
    main = timeline.totals.main
    asked = main.own(timeline.steps_of_branch(main.branch))
    points = _points_of_requests(asked) if asked else _points_of_results(timeline)
    names = ("seq", "whole", "sent", "cached", "predicted", "rewritten", "index", "ms", "upto")
    return {name: [point[number] for point in points] for number, name in enumerate(names)}


def cost_history(points: Sequence[int], costs: Sequence[tuple[int, request_figures.Cost]]) -> dict[str, list[float]]:
    """The dollars paid up to each point, and those of the same client with `mode: off`; empty where some are unknown.

    The last point has the sum of all requests, so that the chart ends where the session's figures are.
    """
    if not costs or any(cost.dollars is None or cost.dollars_whole is None for _, cost in costs):
        return {}
    seqs = [seq for seq, _ in costs]
    ends = [*(bisect_right(seqs, point) for point in points[:-1]), len(seqs)]
    paid = [0.0, *accumulate(cost.dollars or 0.0 for _, cost in costs)]
    off = [0.0, *accumulate(cost.dollars_whole or 0.0 for _, cost in costs)]
    return {"paid": [paid[end] for end in ends], "off": [off[end] for end in ends]}


def _groups(steps: Sequence[TimelineStep]) -> Iterator[Sequence[TimelineStep]]:
    """The steps that each point of the chart stands for."""
    size = -(-len(steps) // _POINTS) or 1
    return (steps[at : at + size] for at in range(0, len(steps), size))


def _points_of_requests(asked: Sequence[TimelineStep]) -> list[tuple[Any, ...]]:
    """A point has the tokens of its last step, the position of a rewrite among its steps, and their longest time."""
    found: list[tuple[Any, ...]] = []
    for group in _groups(asked):
        last = group[-1]
        if last.request is None:
            continue
        rewritten = next((step for step in group if shapes.rewrite_of(step) is not None), None)
        answers = [step.response for step in group if step.response is not None]
        took = max((answer.total_ms for answer in answers if answer.total_ms is not None), default=None)
        cached = last.response.cached if last.response is not None else None
        sent, whole = map(round, request_figures.sizes_of(last.request, last.response))
        tokens = whole, sent, cached, last.request.predicted
        found.append((last.seq, *tokens, rewritten is not None, (rewritten or last).index, took, last.index))
    return found


def _points_of_results(timeline: Timeline) -> list[tuple[Any, ...]]:
    """The use of the window from results alone: their sum so far, as shown at the end of each step."""
    found: list[tuple[Any, ...]] = []
    whole = sent = 0
    for group in _groups(timeline.steps):
        for step in group:
            for kept in step.results:
                whole += kept.whole_tokens
                sent += shown_tokens(kept.decisions[0]) if kept.decisions else kept.whole_tokens
        last = group[-1]
        found.append((last.seq, whole, sent, None, None, False, last.index, None, last.index))
    return found


def _largest_branches(timeline: Timeline) -> list[tuple[str, int]]:
    return sorted(timeline.branches, key=lambda branch: -branch[1])[:_BRANCHES]


def _shadow(timeline: Timeline) -> dict[str, int] | None:
    """What the requests in `mode: shadow` had in all, and what they would have had; None where there were none."""
    requests, sent, would = timeline.totals.shadow
    return {"requests": requests, "tokens_sent": sent, "would_send": would} if requests else None


def _step_cost(cost: request_figures.Cost) -> dict[str, Any]:
    stated = state_cost(cost)
    paid, off, saved = stated.amounts
    figures = stated.as_dict
    words = {"paid": paid, "off": off, "saved": saved}
    return words | {"is_loss": stated.is_loss, "figures": figures, "basis": figures["basis"]}


def _limits(timeline: Timeline) -> list[dict[str, Any]] | None:
    """The newest rate limits that a provider told; None where none did."""
    told = timeline.totals.limits
    found = parse_limits(None if told is None else told.limits)
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


def _notes(timeline: Timeline) -> list[str]:
    """Sentences about damage, broken answers and foreign cuts in a session."""
    broken = [f"entry {each.seq} is damaged and left out" for each in timeline.broken[:20]]
    broke_off, refused = (timeline.totals.outcomes[outcome] for outcome in ("incomplete", "refused"))
    ended = [f"{broke_off} answer{'s' * (broke_off > 1)} broke off"] if broke_off else []
    ended += [f"the provider refused {refused} request{'s' * (refused > 1)}"] if refused else []
    flagged = timeline.totals.flagged
    whose = "them" if flagged > 1 else "it"
    cut = [f"{flagged} result{'s' * (flagged > 1)} had been cut before Keepwhole got {whose}"] if flagged else []
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
