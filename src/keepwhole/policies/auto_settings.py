"""The settings of the policy `auto`, and where they start from."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError


class AutoSettings(Value):
    """Everything under `auto`."""

    arrival_cap: Mapping[str, int] = MappingProxyType({"shell": 8_000, "search": 8_000, "other": 8_000})
    """Most characters of a result on arrival, by kind; `read` and `report` are shown whole unless named here."""
    structured_cap: int = 24_000
    """The same for data and diffs, which are cut by their structure."""
    outsized: int = 120_000
    """Most characters of any result on arrival."""
    step_cap: int = 200_000
    """Most characters of all results of one step; never more than half of what is left of the window."""
    old_after: Mapping[str, int] = MappingProxyType({"shell": 19, "search": 33, "other": 5, "read": 48, "report": 96})
    """Turns after which a result of each kind is old."""
    new_task: float = 2.0
    """How much faster results age that are older than the user's last words."""
    along: float = 0.25
    """A batch takes along what has gone this share of the way to being old."""
    patience: float = 2.0
    """A batch is made when carrying what it leaves out has cost so many times what it costs to send the rest anew."""
    start: int = 50_000
    """Tokens below which nothing ages; half of what may be sent, where that is less."""
    most: int = 118_000
    """Tokens above which results age whatever it costs, oldest first, down to two thirds of it."""
    ceiling: float = 0.9
    """The same as a share of the window; the smaller of both holds."""
    keep: Mapping[str, int] = MappingProxyType({"shell": 1, "search": 1, "other": 1, "read": 1, "report": 1})
    """Newest results of each kind that never age, unless the window forces it."""
    clear_at_least: int = 1_000
    """Tokens that a batch must free."""
    min_tokens: int = 100
    """Results smaller than this never age."""
    recent_steps: int = 1
    """A result that feeds a call of the last steps does not age."""

    def _check(self) -> None:
        """Refuse settings that cannot hold."""
        for name in ("structured_cap", "outsized", "step_cap", "start", "most", "clear_at_least", "min_tokens"):
            _at_least_one(name, getattr(self, name))
        for group in ("arrival_cap", "keep", "old_after"):
            for kind, value in getattr(self, group).items():
                _at_least_one(f"{group}.{kind}", value)
        for name, least, most in (("ceiling", 0, 1), ("along", 0, 1), ("patience", 0, 1_000), ("new_task", 0, 1_000)):
            if not least < getattr(self, name) <= most:
                found = getattr(self, name)
                raise ConfigError(f"`auto.{name}` is {found!r}; give a number above {least} and up to {most}.")


def _at_least_one(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"`auto.{name}` is {value!r}; give a whole number of at least 1.")


CAREFUL = AutoSettings()
LEAN = AutoSettings(
    arrival_cap=MappingProxyType({"shell": 6_000, "search": 6_000, "other": 6_000}),
    old_after=MappingProxyType({"shell": 12, "search": 24, "other": 4, "read": 40, "report": 80}),
    new_task=3.0,
    along=0.1,
    patience=1.25,
    start=20_000,
    recent_steps=0,
)
PRESETS: Mapping[str, AutoSettings] = MappingProxyType({"careful": CAREFUL, "lean": LEAN})
