"""A policy's figures in plain words, and the settings to recommend.

Owns: the words and the thresholds at which they change.
Must not know: how figures are computed or drawn.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_ABOUT = 0.01
"""Costs within this share of sending everything count as equal to it."""
_SHORT = 100_000
"""Runs whose largest request has fewer tokens are short: hardly any policy clears anything there."""
_LITTLE_KEPT = 0.8
"""Below this share of kept evidence the verdict warns."""
_BETTER = 0.95
"""A setting that hides more must cost less than this share of one that hides less."""
_LEAST_KEPT = 0.9


def verdict(row: Mapping[str, Any]) -> str:
    """Return the figures of one policy in plain words.

    The cost is the all-in cost, as in every column: with fetching back what was missing.

    >>> verdict({"all_in_context": {"value": 1.4, "low": 1.2, "high": 1.6}, "tokens": 0.5})
    'costs 40 % more than sending everything'
    """
    cost = row["all_in_context"]
    if row.get("name") == "everything":
        return "what all others are measured against"
    if row["tokens"] > 1 - _ABOUT / 10:
        return "saves nothing on runs this short" if row.get("peak", 0) < _SHORT else "saves nothing on these runs"
    if cost["value"] >= 1 + _ABOUT:
        more = f"costs {_percent(cost['value'] - 1)} more than sending everything"
        return more if cost["low"] > 1 else f"{more}, if anything"
    if cost["value"] > 1 - _ABOUT:
        return "saves nothing: what it leaves out is paid for by what it rewrites and fetches back"
    saved = f"saves {_percent(1 - cost['value'])}"
    if row.get("bound"):
        return f"{saved}: the best possible without hiding anything that was needed"
    return saved + _unsure(cost) + _what_it_hides(row)


def _unsure(cost: Mapping[str, float]) -> str:
    return "" if cost["high"] < 1 else " here and maybe nothing on other runs"


def _what_it_hides(row: Mapping[str, Any]) -> str:
    kept = row["in_context"]["value"]
    hidden = f"{_percent(1 - kept)} of what was used later" if kept < 1 else "nothing that was used later"
    return f" but hides {hidden}" if kept < _LITTLE_KEPT else f" and hides {hidden}"


def recommend(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the row whose settings to recommend: `auto`, or a cheaper setting of Keepwhole that hides little.

    None if every setting that saves hides much: a policy that hides most of what was used is never recommended.
    """
    own = [row for row in rows if row["ours"] and row["in_context"]["value"] >= _LITTLE_KEPT]
    saving = [row for row in own if row["all_in_context"]["value"] < 1 - _ABOUT]
    best: Mapping[str, Any] | None = None
    for row in saving:
        if best is None or _is_better(row, best):
            best = row
    return best


def reason_for(best: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return why a row is recommended, against `auto` with its defaults where it is another one."""
    cost, kept = best["all_in_context"]["value"], best["in_context"]["value"]
    plain = f"it costs {_percent(1 - cost)} less than sending everything and shows {_percent(kept)} of what was needed"
    auto = next((row for row in rows if row["name"] == "auto"), None)
    if auto is None or auto["name"] == best["name"]:
        return f"{plain}; no setting of Keepwhole that hides as little costs {_percent(1 - _BETTER)} less"
    more, less = auto["all_in_context"]["value"], auto["in_context"]["value"]
    return f"{plain}; `auto` with its defaults costs {_percent(1 - more)} less and shows {_percent(less)}"


def _is_better(row: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    cheaper = row["all_in_context"]["value"] < _BETTER * than["all_in_context"]["value"]
    return cheaper and row["in_context"]["value"] >= min(_LEAST_KEPT, than["in_context"]["value"])


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= _ABOUT else "less than 1 %"
