"""Rate limits as providers tell them in the headers of an answer: how much of each is used, and when it begins anew.

Owns: the names of these headers. Must not know: who asks, and what is done about a limit.
"""

import calendar
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

_UNIFIED = "anthropic-ratelimit-unified-"
_ANTHROPIC = "anthropic-ratelimit-"
_OPENAI = "x-ratelimit-"
_CODEX = "x-codex-"
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|\+00:00)$")
_SPAN = re.compile(r"(?<![\d.])(\d{1,12}+(?>(?:\.\d{1,12}+)?))(ms|[dhms])")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_MOST = 12
"""Limits that are taken of one answer."""


class RateLimit(NamedTuple):
    """One limit."""

    name: str
    """`5h` and `7d` of a plan, `tokens` or `requests` of a key."""
    used: float
    """Share of it that is used."""
    resets_at: int | None = None
    """When it begins anew, in unix milliseconds."""

    @property
    def words(self) -> str:
        """The limit in words.

        >>> RateLimit("5h", 0.42).words
        '5h: 42 % used'
        """
        return f"{self.name}: {self.used * 100:.0f} % used"


def read_limits(headers: Mapping[str, str], now: float) -> list[RateLimit]:
    """The limits that the headers of an answer tell; those that cannot be read are left out.

    >>> read_limits({"anthropic-ratelimit-unified-5h-utilization": "0.42"}, 0.0)
    [RateLimit(name='5h', used=0.42, resets_at=None)]
    """
    given = {name.lower(): value for name, value in headers.items() if _is_about_limits(name.lower())}
    found = [*_unified(given), *_codex(given, now), *_of_key(given, now)] if given else []
    return found[:_MOST]


def limits_text(headers: Mapping[str, str], now: float) -> str | None:
    """The limits as they are recorded; None where there are none."""
    found = read_limits(headers, now)
    return json.dumps(found, separators=(",", ":")) if found else None


def parse_limits(text: str | None) -> list[RateLimit]:
    """The limits that `limits_text` wrote."""
    try:
        return [RateLimit(str(name), float(used), resets) for name, used, resets in json.loads(text or "[]")]
    except (ValueError, TypeError):
        return []


def _is_about_limits(name: str) -> bool:
    return name.startswith((_ANTHROPIC, _OPENAI, _CODEX))


def _unified(given: Mapping[str, str]) -> Iterator[RateLimit]:
    """The limits of a plan of Claude: `…-5h-utilization`, `…-5h-reset`."""
    for name, value in given.items():
        if name.startswith(_UNIFIED) and name.endswith("-utilization") and (used := _number(value)) is not None:
            window = name[len(_UNIFIED) : -len("-utilization")]
            reset = _number(given.get(f"{_UNIFIED}{window}-reset", ""))
            yield RateLimit(window, used, None if reset is None else round(reset * 1000))


def _codex(given: Mapping[str, str], now: float) -> Iterator[RateLimit]:
    """The limits of a plan of ChatGPT: `x-codex-primary-used-percent`, its window in minutes, seconds to its reset."""
    for which in ("primary", "secondary"):
        used = _number(given.get(f"{_CODEX}{which}-used-percent", ""))
        minutes = _number(given.get(f"{_CODEX}{which}-window-minutes", ""))
        after = _number(given.get(f"{_CODEX}{which}-reset-after-seconds", ""))
        if used is not None:
            name = which if minutes is None else f"{minutes / 60:g}h" if minutes < 1_440 else f"{minutes / 1_440:g}d"
            yield RateLimit(name, used / 100, None if after is None else round((now + after) * 1000))


def _of_key(given: Mapping[str, str], now: float) -> Iterator[RateLimit]:
    """The limits of a key: `anthropic-ratelimit-tokens-limit`, `x-ratelimit-limit-tokens`, and what remains of them."""
    for name, value in given.items():
        anthropic = name.startswith(_ANTHROPIC) and name.endswith("-limit")
        openai = name.startswith(f"{_OPENAI}limit-")
        if not anthropic and not openai:
            continue
        what = name[len(_ANTHROPIC) : -len("-limit")] if anthropic else name[len(f"{_OPENAI}limit-") :]
        form = f"{_ANTHROPIC}{what}-{{}}" if anthropic else f"{_OPENAI}{{}}-{what}"
        limit, left = _number(value), _number(given.get(form.format("remaining"), ""))
        if limit and left is not None:
            used = min(1.0, max(0.0, 1 - left / limit))
            yield RateLimit(what.replace("-", " "), used, _moment(given.get(form.format("reset"), ""), now))


def _number(text: str) -> float | None:
    with suppress(ValueError):
        value = float(text)
        return value if 0 <= value < 1e15 else None
    return None


def _moment(text: str, now: float) -> int | None:
    """When a limit begins anew: a date, or how long from now, such as `6m0s`."""
    if (date := _DATE.match(text)) is not None:
        with suppress(ValueError):
            return calendar.timegm((*map(int, date.groups()), 0, 0, 0)) * 1000
        return None
    spans = _SPAN.findall(text)
    return round((now + sum(float(count) * _SECONDS[unit] for count, unit in spans)) * 1000) if spans else None
