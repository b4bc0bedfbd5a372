"""What other settings would have cost and kept on a session of the record.

Owns: which settings can be tried, and how they are written as YAML.
Must not know: how figures are measured (`replay`), how a session becomes a run (`recorded_run`). Nothing is written.
"""

import inspect
import threading
from ast import AnnAssign, ClassDef, Constant, Expr, Name, parse
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple, cast

import yaml

from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.recorded_run import NotEnoughRecorded, newest_turn, run_of_session
from keepwhole.apps.inspector.timeline import Timeline
from keepwhole.apps.request_figures import profiles_with
from keepwhole.config import Settings
from keepwhole.errors import UsageError
from keepwhole.models.profiles import Profile, input_price, profile_for
from keepwhole.policies.catalog import BUILT_IN, policy_named
from keepwhole.policies.other_systems import PEERS
from keepwhole.policies.settings import PRESETS, AutoSettings
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.cost import price_of
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.outcome import Outcome
from keepwhole.replay.replay import replay, replay_unchanged
from keepwhole.replay.run_facts import RunFacts
from keepwhole.replay.summary import ComparedRun, summarize

EVERYTHING = "everything"
"""Sends all results whole: no policy, the setting `mode: off`."""
_TRUNCATION = ("inline_limit", "head_ratio")
_CHOICES = {"auto.arguments": ("off", "old")}
"""The settings that are one of a few words; all others are numbers."""
_MOST = 64_000_000
"""Characters of results up to which a session is replayed while somebody waits."""
_TICK = 25
"""Messages between two reports."""
_CACHED = 2


class Stopped(Exception):
    """Nobody waits for the figures any more."""


class Progress:
    """How far a comparison is, in words and as a share. A step of it is one replay, or reading the session."""

    def __init__(self, report: Callable[[float, str], None], steps: int) -> None:
        self._report, self._steps, self._done = report, steps, 0

    def begin(self, words: str, total: int = 0) -> Callable[[int], None]:
        """Begin the next step; the function that is returned takes how much of it is done."""
        before, self._done = self._done, self._done + 1
        self._report(before / self._steps, words)

        def tick(done: int) -> None:
            if done % _TICK == 0:
                self._report((before + done / max(total, 1)) / self._steps, words)

        return tick


def _report_nothing(share: float, words: str) -> None:
    """For callers that wait without a report."""


class _ReplayedSession(NamedTuple):
    """A session, measured once for all settings."""

    measured: RunFacts
    full: Outcome
    profile: Profile
    model: str
    outcomes: dict[str, Outcome]


class WhatIf:
    """Replays sessions under other settings, one at a time. Safe from threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], _ReplayedSession] = OrderedDict()

    def compare(
        self, name: str, asked: Mapping[str, Any], report: Callable[[float, str], None] = _report_nothing
    ) -> dict[str, Any]:
        """The figures of a session under the current settings and under those asked for.

        `report` is told how far it is; it may raise `Stopped`, then nothing of the unfinished replay is kept.
        """
        now = self._record.settings
        wanted = settings_to_try(now, asked)
        progress = Progress(report, 5)
        progress.begin("waiting for another comparison")
        while not self._lock.acquire(timeout=0.2):
            report(0.0, "waiting for another comparison")
        try:
            replayed, notes = self._replay_session(name, progress)
            before = _figures(replayed, now, progress)
            after = _figures(replayed, wanted, progress)
        finally:
            self._lock.release()
        return {"before": before, "after": after, "yaml": as_yaml(wanted), "notes": notes}

    def require(self, name: str, asked: Mapping[str, Any]) -> None:
        """Raise what is wrong with a question, as far as that is known without replaying anything."""
        settings_to_try(self._record.settings, asked)
        _require_enough(self._record.timeline(name))

    def _replay_session(self, name: str, progress: Progress) -> tuple[_ReplayedSession, list[str]]:
        progress.begin("reading the session")
        timeline = self._record.timeline(name)
        _require_enough(timeline)
        run, notes = run_of_session(self._record, timeline)
        key = name, timeline.seq
        replayed = self._known.get(key)
        tick = progress.begin("sending everything", len(run.messages))
        if replayed is None:
            newest, models = newest_turn(self._record, timeline), self._record.settings.models
            profile = profile_for("", models) if newest is None else profiles_with(models)(newest)
            measured = RunFacts(run, Frequency([run]), images=profile.images)
            full = replay_unchanged(measured, profile, profile.window, tick)
            replayed = _ReplayedSession(measured, full, profile, newest.model if newest else "", {})
            self._known[key] = replayed
            while len(self._known) > _CACHED:
                self._known.popitem(last=False)
        return replayed, notes


def _require_enough(timeline: Timeline) -> None:
    with timeline.lock:
        sizes = [kept.facts.chars for kept in timeline.results.values()]
    size = sum(sizes)
    if len(sizes) < 2:
        raise NotEnoughRecorded("There are fewer than two results in the record, so there is nothing to compare yet.")
    if size > _MOST:
        raise NotEnoughRecorded(
            f"This session has {size:,} characters of results: too many to replay while you wait. Export its log and "
            "use `keepwhole replay`."
        )


def _figures(replayed: _ReplayedSession, settings: Settings, progress: Progress) -> dict[str, Any]:
    """The figures of a session under one choice of settings."""
    name = settings.policy if settings.mode != "off" else EVERYTHING
    tick = progress.begin(_named(name, settings), len(replayed.measured.run.messages))
    key = f"{name} {settings.auto!r} {settings.truncation!r}"
    outcome = replayed.outcomes.get(key)
    if outcome is None:
        outcome = replayed.full
        if name != EVERYTHING:
            policy = policy_named(name, auto=settings.auto, truncation=settings.truncation)
            profile, tools = replayed.profile, OFFERED_TOKENS if name in BUILT_IN else 0
            outcome = replay(replayed.measured, policy, profile, profile.window, tools=tools, on_message=tick)
        replayed.outcomes[key] = outcome
    price = price_of(replayed.profile, input_price(replayed.model))
    row = summarize([ComparedRun(outcome, replayed.full)], price, {}, replayed.profile.window)
    total, whole = (sum(request.total for request in one.requests) for one in (outcome, replayed.full))
    return {
        "policy": name,
        "name": _named(name, settings),
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


def _named(policy: str, settings: Settings) -> str:
    """A policy with what sets it apart: its preset, and whether settings of it were changed."""
    if policy != "auto":
        return policy
    is_changed = settings.auto != PRESETS[settings.preset]
    return f"auto, {settings.preset}{' with changes' if is_changed else ''}"


def settings_to_try(now: Settings, asked: Mapping[str, Any]) -> Settings:
    """The settings with the changes that the page asks for; `ConfigError` or `UsageError` for an impossible one."""
    preset = asked.get("preset") or now.preset
    policy = asked.get("policy") or now.policy
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UsageError(f"There is no preset `{preset}`. Give one of {', '.join(PRESETS)}.")
    if not isinstance(policy, str) or policy not in (*BUILT_IN, *PEERS, EVERYTHING):
        raise UsageError(f"There is no policy `{policy}`. Keepwhole has {', '.join(BUILT_IN)}.")
    given: object = {} if asked.get("settings") is None else asked["settings"]
    if not isinstance(given, dict):
        raise UsageError("`settings` is a map of keys and values, such as `auto.worth: 8000`.")
    start = now.auto if preset == now.preset else PRESETS[preset]
    auto, truncation = start, now.truncation
    for key, value in cast("dict[str, Any]", given).items():
        group, _, rest = key.partition(".")
        if group == "auto":
            auto = _with_value(auto, rest, value)
        elif key.startswith("tools.truncation.") and rest.partition(".")[2] in _TRUNCATION:
            truncation = truncation.replace(**{rest.partition(".")[2]: value})
        else:
            raise UsageError(f"`{key}` cannot be tried here. `GET /api/policies` lists what can.")
    mode = "off" if policy == EVERYTHING else "on"
    return now.replace(
        preset=preset, policy=now.policy if mode == "off" else policy, mode=mode, auto=auto, truncation=truncation
    )


def _with_value(auto: AutoSettings, path: str, value: object) -> AutoSettings:
    name, _, member = path.partition(".")
    if name not in AutoSettings.fields or isinstance(getattr(auto, name), Mapping) != bool(member):
        raise UsageError(f"`auto.{path}` is not a setting with one value.")
    choices = _CHOICES.get(f"auto.{name}")
    if choices is not None:
        if value not in choices:
            raise UsageError(f"`auto.{path}` is {value!r}; give one of {', '.join(choices)}.")
        return auto.replace(**{name: value})
    if isinstance(getattr(auto, name), bool):
        if value not in (0, 1):
            raise UsageError(f"`auto.{path}` is {value!r}; give true or false.")
        return auto.replace(**{name: bool(value)})
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"`auto.{path}` is {value!r}; give a number.")
    if not member:
        return auto.replace(**{name: value})
    return auto.replace(**{name: {**cast("Mapping[str, int]", getattr(auto, name)), member: value}})


def as_yaml(settings: Settings) -> str:
    """The text for `keepwhole.yaml` that gives these settings; only what differs from the defaults."""
    if settings.mode == "off":
        return "mode: off\n"
    found: dict[str, Any] = {"policy": settings.policy}
    if settings.policy == "auto":
        found["preset"] = settings.preset
        start = PRESETS[settings.preset]
        own = {name: getattr(settings.auto, name) for name in AutoSettings.fields}
        changed = {name: value for name, value in own.items() if value != getattr(start, name)}
        found |= {"auto": {name: _as_dict(value) for name, value in changed.items()}} if changed else {}
    default = type(settings.truncation)()
    cuts = {name: getattr(settings.truncation, name) for name in _TRUNCATION}
    cuts = {name: value for name, value in cuts.items() if value != getattr(default, name)}
    found |= {"tools": {"truncation": cuts}} if cuts else {}
    return yaml.safe_dump(found, sort_keys=False)


def _as_dict(value: object) -> object:
    return dict(cast("Mapping[str, int]", value)) if isinstance(value, Mapping) else value


def policies(settings: Settings) -> dict[str, Any]:
    """The policies, the presets and every setting that can be tried."""
    sentences = _sentences(AutoSettings)
    rows: list[dict[str, Any]] = []
    for name in AutoSettings.fields:
        value = getattr(settings.auto, name)
        members = cast("Mapping[str, Any]", value).items() if isinstance(value, Mapping) else [("", value)]
        for member, default in members:
            key = f"auto.{name}.{member}".rstrip(".")
            rows.append(_row(key, default, sentences[name]))
    truncation = settings.truncation
    rows.append(
        _row("tools.truncation.inline_limit", truncation.inline_limit, _sentences(type(truncation))["inline_limit"])
    )
    rows.append(_row("tools.truncation.head_ratio", truncation.head_ratio, _sentences(type(truncation))["head_ratio"]))
    return {
        "policies": list(dict.fromkeys((*BUILT_IN, EVERYTHING, *PEERS))),
        "presets": list(PRESETS),
        "now": {"policy": settings.policy, "preset": settings.preset, "mode": settings.mode},
        "settings": rows,
    }


def _row(key: str, default: object, explained: str) -> dict[str, Any]:
    choices = _CHOICES.get(key)
    kind = "number" if choices is None else "choice"
    return {"key": key, "default": default, "explained": explained, "kind": kind, "choices": choices}


def _sentences(kind: type) -> dict[str, str]:
    """The docstring under each field of a class, so that each sentence is written once."""
    body = cast("ClassDef", parse(dedent(inspect.getsource(kind))).body[0]).body
    found: dict[str, str] = {}
    for here, after in pairwise(body):
        if isinstance(here, AnnAssign) and isinstance(here.target, Name):
            docstring = after.value if isinstance(after, Expr) else None
            found[here.target.id] = str(docstring.value) if isinstance(docstring, Constant) else ""
    return found
