"""opencode for one run: addresses in its environment, and settings over its own for the providers that those name.

Its settings are put together from many files and variables, so it is asked what they come to.
"""

import json
import subprocess
from typing import Any

from keepwhole.apps.hooks.payload import mapping
from keepwhole.apps.wrap.launch import ANTHROPIC, BASE, OPENAI, Pointing, Run, by_environment, own_upstreams

CONTENT = "OPENCODE_CONFIG_CONTENT"
_OUTSIDE = "external_directory"
_ANSWERS_WITHIN = 20


def pointed(run: Run) -> Pointing:
    """How opencode is made to speak to the proxy."""
    settings = _settings(run)
    providers = {name: mapping(found).get("options") for name, found in mapping(settings.get("provider")).items()}
    named = own_upstreams({name: mapping(options).get("baseURL") for name, options in providers.items()})
    by_name = {name: {"options": {"baseURL": f"{BASE}/{name}"}} for name in named}
    over = {"provider": by_name, "permission": _may_read(settings.get("permission"), run.results)}
    usual = by_environment(run, openai=OPENAI[:1])
    environ = {**usual.environ, CONTENT: json.dumps(_over(_given(run), over))}
    if "anthropic" not in usual.upstreams:
        environ[ANTHROPIC] = f"{BASE}/v1"
    return Pointing({**usual.upstreams, **named}, environ)


def _may_read(permission: object, results: str) -> dict[str, Any]:
    """Leave to read what was left out, beside what the user allows and forbids."""
    everything = {"*": permission} if isinstance(permission, str) else {}
    outside = everything.get("*") or mapping(permission).get(_OUTSIDE, {})
    before = {"*": outside} if isinstance(outside, str) else mapping(outside)
    return {**everything, _OUTSIDE: {**before, f"{results}/**": "allow"}}


def _over(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """`one` with what `other` says over it."""
    inner = {key: mapping(value) for key, value in other.items() if mapping(value)}
    return {**one, **other, **{key: _over(mapping(one.get(key)), value) for key, value in inner.items()}}


def _given(run: Run) -> dict[str, Any]:
    try:
        return mapping(json.loads(run.environ.get(CONTENT) or "{}"))
    except ValueError:
        return {}


def _settings(run: Run) -> dict[str, Any]:
    """What opencode says that its settings are; nothing where it does not."""
    try:
        asked = subprocess.run(
            [run.argv[0], "debug", "config"],
            env=dict(run.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWERS_WITHIN,
            check=False,
        )
        return mapping(json.loads(asked.stdout))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
