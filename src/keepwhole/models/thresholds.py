"""How full the window is: the thresholds of warning, compaction and hard limit, and the indicator that shows them."""

from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError, UsageError

Level: TypeAlias = Literal["normal", "warn", "compact", "hard"]

_WORDS: tuple[tuple[Level, str, str], ...] = (
    (
        "warn",
        "Warning",
        "Only a warning: the policy shortens old results whenever that pays, at any share.",
    ),
    (
        "compact",
        "Compaction",
        "From here on, a summary replaces the oldest steps and says how to read them back.",
    ),
    (
        "hard",
        "Hard limit",
        "From here on, a summary replaces the oldest steps even if the client usually compacts by itself.",
    ),
)


class Threshold(NamedTuple):
    """One of the three lines of the indicator."""

    level: Level
    label: str
    """`Warning at 75 %`."""
    explanation: str
    """One sentence: what happens from here on."""
    tokens: int
    """Tokens of this window at which it is reached."""
    reached: bool


class Indicator(Value):
    """How full a window is, and which thresholds are reached."""

    tokens: int
    window: int
    share: float
    """Of the window; more than 1 where it overflows."""
    level: Level
    lines: tuple[Threshold, ...]


class Thresholds(Value):
    """Everything under `thresholds`: the shares of the window at which something happens."""

    warn: float = 0.75
    """Share of the window from which the indicator warns."""
    compact: float = 0.90
    """Share of the window from which the oldest steps are replaced by a summary."""
    hard: float = 0.95
    """Share of the window from which that happens even if the client usually compacts by itself."""

    def _check(self) -> None:
        for name in self.fields:
            share: object = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
                raise ConfigError(
                    f"`thresholds.{name}` is {share!r}; it is a share of the window above 0 and up to 1. "
                    "Write 0.75 for 75 %."
                )
        if not self.warn < self.compact < self.hard:
            raise ConfigError(
                f"`thresholds` must rise: `warn` {self.warn:g}, `compact` {self.compact:g}, `hard` {self.hard:g}. "
                "Set them in this order, for example 0.75, 0.9, 0.95."
            )

    def level(self, tokens: int, window: int) -> Level:
        """Return the highest threshold that `tokens` reach in a window of this size.

        >>> Thresholds().level(150_000, 200_000)
        'warn'
        """
        return self.indicator(tokens, window).level

    def indicator(self, tokens: int, window: int) -> Indicator:
        """Return how full the window is, with the three thresholds in words."""
        if window <= 0 or tokens < 0:
            raise UsageError(
                f"{tokens:,} tokens in a window of {window:,} are impossible. Give the model's window in tokens."
            )
        lines = tuple(self._line(level, word, why, tokens, window) for level, word, why in _WORDS)
        reached: list[Level] = ["normal", *(line.level for line in lines if line.reached)]
        return Indicator(tokens=tokens, window=window, share=tokens / window, level=reached[-1], lines=lines)

    def _line(self, level: Level, word: str, why: str, tokens: int, window: int) -> Threshold:
        share: float = getattr(self, level)
        at = round(share * window)
        return Threshold(level, f"{word} at {round(share * 100, 2):g} %", why, at, tokens >= at)
