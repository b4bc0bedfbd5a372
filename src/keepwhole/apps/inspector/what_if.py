"""Policy play: what other settings would have cost and kept on a session of the record.

Owns: a session as a run that `replay` measures, and the settings that can be tried.
Must not know: how figures are found; that is `replay`. Nothing is sent, nothing is written.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import Step, Timeline
from keepwhole.apps.inspector.what_if_settings import EVERYTHING, as_yaml, tried
from keepwhole.config import Settings
from keepwhole.errors import KeepwholeError
from keepwhole.logs.own_format import run_of
from keepwhole.logs.run import Run
from keepwhole.models.profiles import Profile, input_price, profile_for
from keepwhole.policies.catalog import policy_named
from keepwhole.replay.cost import price_of
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import replay, replay_unchanged
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.summary import ComparedRun, summarize
from keepwhole.wire.request_body import read_request

_MOST = 8_000_000
"""Characters of a session that is replayed while somebody waits."""
_REMEMBERED = 2


class TooLittle(KeepwholeError):
    """A session of which not enough is on record to replay it."""


class _Played(NamedTuple):
    """A session, measured once for all settings."""

    facts: RunFacts
    baseline: Outcome
    profile: Profile
    model: str
    outcomes: dict[str, Outcome]


class Play:
    """Replays sessions, one at a time. Safe from threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], _Played] = OrderedDict()

    def play(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the settings that hold came to on a session, and what those asked for would have."""
        now = self._record.settings
        wanted = tried(now, asked)
        with self._lock:
            played, notes = self._played(name)
            before, after = (_figures(played, settings) for settings in (now, wanted))
        return {"before": before, "after": after, "yaml": as_yaml(wanted), "notes": notes}

    def _played(self, name: str) -> tuple[_Played, list[str]]:
        timeline = self._record.timeline(name)
        run, notes = run_of_session(self._record, timeline)
        key = name, timeline.seq
        played = self._known.get(key)
        if played is None:
            model = str(run.meta.get("model", ""))
            profile = profile_for(model, self._record.settings.models)
            facts = RunFacts(run, Frequency([run]))
            played = _Played(facts, replay_unchanged(facts, profile, profile.window), profile, model, {})
            self._known[key] = played
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return played, notes


def run_of_session(record: Record, timeline: Timeline) -> tuple[Run, list[str]]:
    """A session as a run: its newest request with every result whole, else its results alone."""
    with timeline.lock:
        newest = next((step for step in reversed(timeline.steps) if _is_turn(step)), None)
        size = sum(kept.facts.chars for kept in timeline.results.values())
        results = [kept.result for kept in timeline.results.values()]
    if len(results) < 2:
        raise TooLittle("There are fewer than two results on record, so there is nothing to compare yet.")
    if size > _MOST:
        raise TooLittle(
            f"This session has {size:,} characters of results: too many to replay while you wait. Export its log and "
            "use `keepwhole replay`."
        )
    if newest is not None and newest.request is not None:
        messages = _hydrated(record, timeline.session, newest.request.trace_id)
        made = {"source": "record", "id": timeline.session, "messages": messages}
        return run_of({**made, "meta": {"model": newest.request.model}}), []
    messages = [message for result in results for message in _messages(record, timeline.session, result)]
    notes = ["No request is on record: results and calls are replayed, without what user and assistant said."]
    return run_of({"source": "record", "id": timeline.session, "messages": messages}), notes


def _is_turn(step: Step) -> bool:
    return step.request is not None and step.request.purpose == "turn"


def _hydrated(record: Record, name: str, trace_id: str) -> list[Any]:
    """The messages of a request, what came after it not among them, each result as it is on record."""
    request = read_request(record.sent(name, trace_id))
    if request is None or not request.messages:
        raise TooLittle("The newest request has no messages that can be read.")
    fields = (request.fields.get(key) for key in ("system", "instructions"))
    system = [{"role": "system", "content": value} for value in fields if value]
    end = {"role": "assistant", "content": ""}  # the step that the request was made for
    return [*system, *record.session(name).hydrate(request.messages), end]


def _messages(record: Record, name: str, result: Any) -> Iterator[dict[str, Any]]:
    """A call and its result, as a chat has them."""
    with record.reading(name, result.trace_id) as (kept, reader):
        text = reader.text() if kept.result.media_type == "text/plain" else ""
    call = {"name": result.tool, "arguments": result.arguments or "{}"}
    calls = [{"id": result.trace_id, "type": "function", "function": call}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": result.trace_id, "content": text}


def _figures(played: _Played, settings: Settings) -> dict[str, Any]:
    """What one choice of settings comes to."""
    name = settings.policy if settings.mode != "off" else EVERYTHING
    key = f"{name} {settings.auto!r} {settings.truncation!r}"
    outcome = played.outcomes.get(key)
    if outcome is None:
        outcome = played.baseline
        if name != EVERYTHING:
            policy = policy_named(name, auto=settings.auto, truncation=settings.truncation)
            outcome = replay(played.facts, policy, played.profile, played.profile.window)
        played.outcomes[key] = outcome
    price = price_of(played.profile, input_price(played.model))
    row = summarize([ComparedRun(outcome, played.baseline)], price, {}, played.profile.window)
    total, whole = (sum(request.total for request in one.requests) for one in (outcome, played.baseline))
    return {
        "policy": name,
        "tokens": total,
        "tokens_whole": whole,
        "cost": row.cost.prefix.value,
        "cost_all_in": row.cost.all_in_context.value,
        "dollars": row.cost.dollars,
        "evidence": row.evidence.in_context.value if outcome.evidence else None,
        "evidence_total": outcome.evidence,
        "rewrites": outcome.rewrites,
        "compaction_step": outcome.first_compaction,
    }
