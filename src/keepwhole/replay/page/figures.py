"""Reads figures from the report, of which any part may be missing, and formats them.

Owns: what a missing figure is, and the format of shares, tokens and dollars.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from keepwhole.replay.summary import Interval

NONE = "–"
"""The text of a missing figure."""
Part: TypeAlias = Mapping[str, Any]


def part(of: Part, key: str) -> Part:
    """Return the mapping under `key`, or an empty one."""
    found: Any = of.get(key)
    return cast(Part, found) if isinstance(found, Mapping) else {}


def parts(of: Part, key: str) -> list[Part]:
    """Return the mappings in the list under `key`."""
    return [cast(Part, each) for each in items_in(of, key) if isinstance(each, Mapping)]


def items_in(of: Part, key: str) -> Sequence[Any]:
    """Return the list under `key`, or an empty one."""
    found: Any = of.get(key)
    return cast(Sequence[Any], found) if isinstance(found, list | tuple) else ()


def number(of: Part, key: str) -> float | None:
    """Return the finite number under `key`; None for anything else."""
    found: Any = of.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found)


def words(of: Part, key: str) -> str:
    """Return the text under `key`, or an empty one."""
    found: Any = of.get(key)
    return "" if found is None else str(found)


def verdict(row: Part) -> str:
    """Return the verdict of a policy, with percentages formatted as on the page."""
    return words(row, "verdict").replace(" %", "%")


def interval(of: Part, key: str) -> Interval | None:
    """Return a figure with its interval; a bare number is its own interval."""
    found = part(of, key)
    value = number(found, "value") if found else number(of, key)
    if value is None:
        return None
    low, high = number(found, "low"), number(found, "high")
    return Interval(value, value if low is None else low, value if high is None else high)


def all_in(row: Part) -> Interval | None:
    """Return the all-in cost: with fetching back what was missing in context, else what was not visible."""
    return interval(row, "all_in_context") or interval(row, "all_in")


def in_context(row: Part) -> Interval | None:
    """Return the share of evidence that was shown in context."""
    return interval(row, "in_context")


def share(value: float | None) -> str:
    """Return a share in percent; nearly all does not become 100%.

    >>> share(0.541), share(0.9968), share(0.0004), share(None)
    ('54%', '99.7%', '<0.1%', '–')
    """
    if value is None:
        return NONE
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.9995 <= value < 1:
        return ">99.9%"
    near = round(value, 2) in (0, 1) and value not in (0, 1)
    return f"{value:.1%}" if near else f"{value:.0%}"


def count(value: float | None) -> str:
    """Return a whole number with thousands separators."""
    return NONE if value is None else f"{value:,.0f}"


def tokens(value: float | None) -> str:
    """Return a rounded number of tokens.

    >>> tokens(912), tokens(5_410_000), tokens(94_100), tokens(2_010), tokens(999_700)
    ('912', '5.4M', '94k', '2k', '1M')
    """
    if value is None:
        return NONE
    if value < 1_000:
        return f"{value:.0f}"
    if value < 999_500:
        return _short(value / 1_000, "k") if value < 9_950 else f"{value / 1_000:.0f}k"
    return _short(value / 1_000_000, "M")


def dollars(value: float | None) -> str:
    """Return an amount of money."""
    if value is None:
        return NONE
    return f"${value:,.0f}" if value >= 1_000 else f"${value:,.2f}"


def plural(many: float | None, one: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "run"), plural(2_000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count(many)} {one}" + ("" if many == 1 else "s")


def _short(value: float, unit: str) -> str:
    return f"{value:.1f}".removesuffix(".0") + unit
