"""What a strategy may be told besides its budget."""

from keepwhole.canonical.value import Value


class StrategyOptions(Value):
    """The keys that overrides may set, and the question at hand."""

    head_ratio: float = 0.6
    """Share of the room that goes to the beginning where both ends are kept."""
    max_lines: int | None = None
    """Most lines that `lines` keeps; as many as fit where not given."""
    side: str = "head"
    """Which lines `lines` keeps: `head`, `tail` or `both`."""
    max_depth: int = 32
    """How deep `element` looks into nested data before it shows counts only."""
    keep_keys: tuple[str, ...] = ()
    """Keys that `element` keeps first."""
    line_cap: int = 2_000
    """Most characters of one line, where other lines want the room."""
    question: str = ""
    """What the result is wanted for; units that share its rare words are kept first."""
