"""The settings of the policies, and the presets that those of `auto` start from.

Owns: names, defaults and ranges; why these numbers: `docs/decisions/0036-need.md`.
Must not know: the policies. Every command reads settings, and most never need a policy.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

from keepwhole.errors import ConfigError
from keepwhole.install import has_package, install_hint
from keepwhole.settings_section import Count, Range, SettingsSection, Share

BUILT_IN = ("auto", "truncation", "retention", "rolling")
"""The names of Keepwhole's own policies."""

Kind: TypeAlias = Literal["shell", "search", "read", "report", "image", "other"]
"""What kind of work a result comes from; `policies/kinds.py` finds it."""


Weight: TypeAlias = Literal["base", "unsaid", "turns", "user", "again", "written"]


class NeedWeights(SettingsSection):
    """The weights by which need is predicted; `policies/need.py` has the formula, `python -m bench.need` fits them.

    The ranges say what must be so whatever the data: more that is unsaid never means less need, more time never more,
    and a message of the user at most halves it, since few recorded runs have several.
    """

    section = "auto.need"

    base: Annotated[float, Range(0, 1_000, above=True)] = 0.130
    unsaid: Annotated[float, Range(0, 0.9)] = 0.51
    turns: Annotated[float, Range(-5, 0)] = -0.48
    user: Annotated[float, Range(-1, 0)] = -0.91
    again: Share = 0.045
    written: Share = 0.53


class AutoSettings(SettingsSection):
    """Everything under `auto`."""

    section = "auto"

    worth: Annotated[float, Range(0)] = 16_000
    """The value of showing a string that the agent will use, in tokens at the input price: the exchange rate between
    evidence and cost. A larger value shows more of a result, for longer; 0 considers cost alone."""
    horizon: Annotated[float, Range(0, 1_000, above=True)] = 0.15
    """How much longer a run is expected to last, as a share of the turns so far; a batch must pay off within that
    time."""
    need: Mapping[Weight, float] = MappingProxyType(
        {"base": 0.130, "unsaid": 0.51, "turns": -0.48, "user": -0.91, "again": 0.045, "written": 0.53}
    )
    """The weights by which need is predicted; `keepwhole replay --tune FILE` fits them to your own logs."""
    arrival_least: Mapping[Kind, Count] = MappingProxyType({"shell": 8_000, "search": 8_000, "other": 8_000})
    """The fewest characters of a new result that are shown, by kind; a result with many names and numbers is shown at
    greater length. Kinds that are not given here (`read` and `report`) are shown in full."""
    outsized: Count = 120_000
    """Maximum number of characters of any result on arrival."""
    step_cap: Count = 200_000
    """Maximum number of characters of all results of one step; never more than half of what is left of the window."""
    start: Count = 20_000
    """Tokens below which nothing ages; half of what may be sent, where that is less."""
    max_loss: Annotated[float, Range(0, 1_000)] = 0.05
    """The most by which a conversation may cost more than with `mode: off`, as a share, wherever it ends."""
    ceiling: Annotated[float, Range(0, 1, above=True)] = 0.9
    """Share of the window above which results age whatever it costs, if that frees enough room."""
    most: Annotated[int, Range(0)] = 0
    """Tokens above which results age whatever it costs, where that is less than `auto.ceiling`; 0 for that alone."""
    keep: Mapping[Kind, Count] = MappingProxyType(
        {"shell": 1, "search": 1, "other": 1, "read": 1, "report": 1, "image": 3}
    )
    """Newest results of each kind that never age, unless the window forces it."""
    keep_steps: Count = 2
    """Newest steps whose results never age, unless the window forces it."""
    clear_at_least: Count = 8_000
    """Tokens that a batch must free; half of what may be sent, where that is less."""
    min_tokens: Count = 100
    """Results smaller than this never age."""
    recent_steps: Annotated[int, Range(0)] = 1
    """A result that feeds a call of the last steps does not age."""
    arguments: Literal["off", "old"] = "off"
    """Whether long arguments of old calls are cut too, together with their results; only in requests that go to a
    provider as bytes."""
    near_repeats: bool = False
    """Whether a result like an earlier one of the same call shows only the lines that differ."""

    def _check(self) -> None:
        super()._check()
        NeedWeights(**self.need)

    @property
    def weights(self) -> NeedWeights:
        """The weights of `need` as a value."""
        return NeedWeights(**self.need)


_BY_WORTH = "how long and how much of a result is shown follows from `auto.worth`. Give a larger number to keep more."
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        f"auto.{name}": _BY_WORTH
        for name in ("old_after", "new_task", "along", "patience", "arrival_cap", "structured_cap")
    }
)
"""Settings of earlier versions by their key, with what to give instead."""

CAREFUL = AutoSettings()
LEAN = AutoSettings(worth=8_500)
PRESETS: Mapping[str, AutoSettings] = MappingProxyType({"careful": CAREFUL, "lean": LEAN})


class RollingContext(SettingsSection):
    """Everything under `rolling`: for how many steps results are whole, and what stands for older ones."""

    section = "rolling"

    max_age: Annotated[int, Range(0)] = 5
    """Steps after which a result becomes the placeholder."""
    max_tokens_per_output: Count = 2_000
    """Maximum number of tokens of one result, never under 100; longer ones are cut by their tool's strategy."""
    placeholder: str = "[content truncated - {age} steps ago]"
    """The text that replaces an old result; `{age}` or `{N}` is the number of steps since it arrived."""

    def words(self, age: int) -> str:
        """Return the placeholder of a result of that age."""
        return self.placeholder.replace("{age}", str(age)).replace("{N}", str(age))


class RetentionSettings(SettingsSection):
    """Everything under `retention`."""

    section = "retention"

    line_chars: Count = 2_000
    """Maximum number of characters of the three lines of an old result that stay, in total."""


class ImageSettings(SettingsSection):
    """Everything under `images`, whatever the policy."""

    section = "images"

    max_edge: Annotated[int, Range(0)] = 0
    """Maximum length in pixels of the longer edge of an image in a new result; a larger one is sent smaller, and its
    original is kept. Needs the extra `images`. 0 sends images unchanged."""

    def _check(self) -> None:
        super()._check()
        if self.max_edge and not has_package("PIL"):
            raise missing_pillow()


def missing_pillow() -> ConfigError:
    """Return the error for settings that need Pillow where it is not installed."""
    return ConfigError(f"`images.max_edge` needs Pillow, the extra `images`: {install_hint('images')}.")
