"""Which strategy cuts a result: what the user said, else what its data needs, else its tool's job, else its kind."""

from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import Source

BY_DATA: dict[str, str] = {"json": "element", "wrapped": "element", "xml": "element", "ndjson": "rows", "csv": "rows"}
BY_KIND: dict[str, str] = {"diff": "diff", "log": "log", "code": "code", "search": "element", "listing": "element"}
TEXT_STRATEGIES = frozenset(("head", "tail", "head_tail", "lines", "log", "code", "diff"))
"""Strategies whose views may leave noise out; the others keep their structure to the letter."""


def choose(source: Source, limits: Limits) -> str:
    """The name of the strategy for `source`."""
    if limits.chosen_by_user:
        return limits.strategy
    kind = _kind(source)
    if kind in BY_DATA:
        return BY_DATA[kind]
    if limits.firm:
        return limits.strategy
    return BY_KIND.get(kind, limits.strategy)


def reason(source: Source, limits: Limits) -> str:
    """Why `choose` chooses what it does, in words."""
    if limits.chosen_by_user:
        return "you asked for it"
    kind = _kind(source)
    if kind == "wrapped":
        return "it is JSON after what a shell says of its command, cut by structure"
    if kind in BY_DATA:
        return f"it is {kind.upper()}, cut by structure so that what is left stays valid"
    if limits.firm or kind not in BY_KIND:
        return "that is how results of this tool are cut" if limits.firm else "it is plain text"
    return f"it looks like {kind}"


def _kind(source: Source) -> str:
    """The kind of a text; its patterns are compiled only where something is cut."""
    from keepwhole.truncation.sniff import sniff

    return sniff(source)
