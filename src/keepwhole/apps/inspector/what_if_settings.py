"""Settings that somebody tries on a session: what can be changed, what may be, and how it is written down.

Must not know: sessions, figures.
"""

import inspect
from ast import AnnAssign, ClassDef, Constant, Expr, Name, parse
from collections.abc import Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any, cast

import yaml

from keepwhole.config import Settings
from keepwhole.errors import UsageError
from keepwhole.policies.catalog import BUILT_IN
from keepwhole.policies.peers import PEERS
from keepwhole.policies.settings import PRESETS, AutoSettings

EVERYTHING = "everything"
"""Sends all results whole: no policy, the setting `mode: off`."""
_TRUNCATION = ("inline_limit", "head_ratio")


def tried(now: Settings, asked: Mapping[str, Any]) -> Settings:
    """The settings with what the page asks to try; `ConfigError` or `UsageError` for what cannot be."""
    preset = asked.get("preset") or now.preset
    policy = asked.get("policy") or now.policy
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UsageError(f"There is no preset `{preset}`. Give one of {', '.join(PRESETS)}.")
    if not isinstance(policy, str) or policy not in (*BUILT_IN, *PEERS, EVERYTHING):
        raise UsageError(f"There is no policy `{policy}`. Ours: {', '.join(BUILT_IN)}.")
    given: object = {} if asked.get("settings") is None else asked["settings"]
    if not isinstance(given, dict):
        raise UsageError("`settings` holds keys and values, such as `auto.patience: 1`.")
    start = now.auto if preset == now.preset else PRESETS[preset]
    auto, truncation = start, now.truncation
    for key, value in cast("dict[str, Any]", given).items():
        group, _, rest = key.partition(".")
        if group == "auto":
            auto = _changed(auto, rest, value)
        elif key.startswith("tools.truncation.") and rest.partition(".")[2] in _TRUNCATION:
            truncation = truncation.replace(**{rest.partition(".")[2]: value})
        else:
            raise UsageError(f"`{key}` cannot be tried here. `GET /api/policies` lists what can.")
    mode = "off" if policy == EVERYTHING else "on"
    return now.replace(
        preset=preset, policy=now.policy if mode == "off" else policy, mode=mode, auto=auto, truncation=truncation
    )


def _changed(auto: AutoSettings, path: str, value: object) -> AutoSettings:
    name, _, member = path.partition(".")
    if name not in AutoSettings.fields or isinstance(getattr(auto, name), Mapping) != bool(member):
        raise UsageError(f"`auto.{path}` is no setting of one number.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"`auto.{path}` is {value!r}; give a number.")
    if not member:
        return auto.replace(**{name: value})
    return auto.replace(**{name: {**cast("Mapping[str, int]", getattr(auto, name)), member: value}})


def as_yaml(settings: Settings) -> str:
    """What to write into `keepwhole.yaml` to have these settings; only what is not usual."""
    if settings.mode == "off":
        return "mode: off\n"
    found: dict[str, Any] = {"policy": settings.policy}
    if settings.policy == "auto":
        found["preset"] = settings.preset
        start = PRESETS[settings.preset]
        own = {name: getattr(settings.auto, name) for name in AutoSettings.fields}
        changed = {name: value for name, value in own.items() if value != getattr(start, name)}
        found |= {"auto": {name: _plain(value) for name, value in changed.items()}} if changed else {}
    usual = type(settings.truncation)()
    cuts = {name: getattr(settings.truncation, name) for name in _TRUNCATION}
    cuts = {name: value for name, value in cuts.items() if value != getattr(usual, name)}
    found |= {"tools": {"truncation": cuts}} if cuts else {}
    return yaml.safe_dump(found, sort_keys=False)


def _plain(value: object) -> object:
    return dict(cast("Mapping[str, int]", value)) if isinstance(value, Mapping) else value


def policies(settings: Settings) -> dict[str, Any]:
    """What can be tried: policies, presets, and every number of `auto`."""
    sentences = _sentences(AutoSettings)
    rows: list[dict[str, Any]] = []
    for name in AutoSettings.fields:
        value = getattr(settings.auto, name)
        members = cast("Mapping[str, Any]", value).items() if isinstance(value, Mapping) else [("", value)]
        for member, default in members:
            key = f"auto.{name}.{member}".rstrip(".")
            rows.append(_row(key, default, sentences[name]))
    usual = settings.truncation
    rows.append(_row("tools.truncation.inline_limit", usual.inline_limit, _sentences(type(usual))["inline_limit"]))
    rows.append(_row("tools.truncation.head_ratio", usual.head_ratio, _sentences(type(usual))["head_ratio"]))
    return {
        "policies": [*BUILT_IN, EVERYTHING, *PEERS],
        "presets": list(PRESETS),
        "now": {"policy": settings.policy, "preset": settings.preset, "mode": settings.mode},
        "settings": rows,
    }


def _row(key: str, default: object, explained: str) -> dict[str, Any]:
    return {"key": key, "default": default, "explained": explained, "kind": "number", "choices": None}


def _sentences(kind: type) -> dict[str, str]:
    """The sentence under each field of a class, so that it is written once."""
    body = cast("ClassDef", parse(dedent(inspect.getsource(kind))).body[0]).body
    found: dict[str, str] = {}
    for here, after in pairwise(body):
        if isinstance(here, AnnAssign) and isinstance(here.target, Name):
            told = after.value if isinstance(after, Expr) else None
            found[here.target.id] = str(told.value) if isinstance(told, Constant) else ""
    return found
