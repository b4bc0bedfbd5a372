"""How much of a result is shown, and by which strategy, for all tools and for each.

Owns: the limits, their defaults and their validation.
Must not know: files or environment variables (`config.py` reads those).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from holdfast.canonical.value import Value
from holdfast.errors import ConfigError
from holdfast.truncation.strategy import StrategyOptions

SMALLEST_INLINE_LIMIT = 256


class ToolOverride(Value):
    """Settings of one tool; what is not given is taken from the settings for all."""

    strategy: str | None = None
    inline_limit: int | None = None
    artifact_threshold: int | None = None
    preview_limit: int | None = None
    head_ratio: float | None = None


_NO_OVERRIDE = ToolOverride()


class Limits(Value):
    """What holds for one tool, all settings resolved."""

    inline_limit: int
    artifact_threshold: int
    preview_limit: int
    strategy: str
    options: StrategyOptions


class TruncationConfiguration(Value):
    """The settings under `tools.truncation`."""

    inline_limit: int = 8_000
    """Most characters of a result that are shown, notices included. At least 256."""
    artifact_threshold: int = 50_000
    """Results longer than this are shown as a reference and a preview."""
    max_artifact_size: int = 10_485_760
    """Results larger than this, in bytes, are stored whole but returned only in parts."""
    preview_limit: int = 2_000
    """Most characters of the preview above `artifact_threshold`."""
    default_strategy: str = "head_tail"
    """How text is cut where no override says otherwise."""
    head_ratio: float = 0.6
    """Share of the room that `head_tail` gives to the beginning."""
    overrides: Mapping[str, ToolOverride] = MappingProxyType({})
    """Settings per tool, by the tool's name."""

    def _check(self) -> None:
        """Refuse limits that cannot hold."""
        check_settings("tools.truncation", self.as_dict())
        for tool, override in self.overrides.items():
            given = {key: value for key, value in override.as_dict().items() if value is not None}
            check_settings(f"tools.truncation.overrides.{tool}", given)

    def for_tool(self, tool: str) -> Limits:
        """The limits of one tool."""
        own = self.overrides.get(tool, _NO_OVERRIDE)
        return Limits(
            inline_limit=own.inline_limit or self.inline_limit,
            artifact_threshold=own.artifact_threshold or self.artifact_threshold,
            preview_limit=own.preview_limit or self.preview_limit,
            strategy=own.strategy or self.default_strategy,
            options=StrategyOptions(head_ratio=self.head_ratio if own.head_ratio is None else own.head_ratio),
        )


def check_settings(where: str, settings: Mapping[str, Any]) -> None:
    """Raise `ConfigError` where a limit is not a positive integer or a ratio is not between 0 and 1."""
    for key, value in settings.items():
        if key == "overrides":
            continue
        if key in ("strategy", "default_strategy"):
            if not isinstance(value, str):
                raise ConfigError(f"`{where}.{key}` is {value!r}; give the name of a strategy.")
            continue
        if key == "head_ratio":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ConfigError(f"`{where}.{key}` is {value!r}; give a number from 0 to 1.")
            continue
        least = SMALLEST_INLINE_LIMIT if key == "inline_limit" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"`{where}.{key}` is {value!r}; give a whole number of at least {least}.")
