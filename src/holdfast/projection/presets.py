"""The settings of the policy `auto`, and where they start from."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from holdfast.canonical.value import Value
from holdfast.errors import ConfigError


class AutoSettings(Value):
    """Everything under `auto`."""

    arrival_cap: Mapping[str, int] = MappingProxyType({"shell": 8_000, "search": 8_000, "other": 8_000})
    """Most characters of a result on arrival, by kind; `read` and `report` are shown whole unless named here."""
    structured_cap: int = 16_000
    """The same for data that is cut by its structure."""
    outsized: int = 120_000
    """Most characters of any result on arrival."""
    step_cap: int = 200_000
    """Most characters of all results of one step; never more than half of what is left of the window."""
    start: int = 100_000
    """Tokens below which nothing ages."""
    start_share: float = 0.6
    """The same as a share of the window; the smaller of both holds."""
    keep: Mapping[str, int] = MappingProxyType({"shell": 3, "search": 3, "other": 3, "read": 10, "report": 10})
    """Newest results of each kind that never age, unless the window forces it."""
    clear_at_least: int = 20_000
    """Tokens that a batch must free."""
    min_tokens: int = 200
    """Results smaller than this never age."""
    recent_steps: int = 3
    """A result that feeds a call of the last steps does not age."""
    horizon: int = 30
    """Further steps that are expected at least, when a batch must pay for itself."""
    ceiling: float = 0.9
    """Share of the window above which results age whatever it costs."""

    def _check(self) -> None:
        """Refuse settings that cannot hold."""
        for name in ("structured_cap", "outsized", "step_cap", "start", "clear_at_least", "min_tokens"):
            _at_least_one(name, getattr(self, name))
        for group in ("arrival_cap", "keep"):
            for kind, value in getattr(self, group).items():
                _at_least_one(f"{group}.{kind}", value)
        for name in ("start_share", "ceiling"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"`auto.{name}` is {getattr(self, name)!r}; give a number above 0 and up to 1.")


def _at_least_one(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"`auto.{name}` is {value!r}; give a whole number of at least 1.")


CAREFUL = AutoSettings()
LEAN = AutoSettings(
    arrival_cap=MappingProxyType({"shell": 4_000, "search": 4_000, "other": 4_000}), start=60_000, start_share=0.4
)
PRESETS: Mapping[str, AutoSettings] = MappingProxyType({"careful": CAREFUL, "lean": LEAN})
