"""What providers charge and allow, as data. Users override it in their settings.

Owns: the table of models, how a model's name finds its row, and when a rewrite pays.
Must not know: which model a session uses; it is given the name.
"""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import Annotated

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.canonical.value import Value
from keepwhole.models.media_tokens import RuleName
from keepwhole.settings_section import Count, Range, check_value, refuse_unknown

_Number = Annotated[int, Range(0)]
_Price = Annotated[float, Range(0, 1_000)]


class Profile(Value):
    """One provider's model: prices against the input price, window and cache rules."""

    name: str
    window: Count = 200_000
    """Tokens that a request may take."""
    read: _Price = 0.1
    """Price of a cached token; an uncached one costs 1."""
    write: _Price = 1.25
    """Price of a token written to the cache."""
    write_hour: _Price = 2.0
    """Price of a token written to the cache where the client wants it to stay there for an hour."""
    long_from: _Number = 0
    """Tokens of a request above which all of its input costs `long_price` times as much; 0 where none does."""
    long_price: _Price = 2.0
    minimum: _Number = 1_024
    """Shortest prefix that is cached."""
    lifetime: _Number = 300
    """Seconds until the cache is cold."""
    breakpoints: _Number = 4
    """Explicit breakpoints a request may carry; 0 where prefixes are cached automatically."""
    images: RuleName = "claude"
    """The rule by which images and documents are counted: one of those in `media_tokens.py`."""
    assumed: tuple[str, ...] = ()
    """Fields that no source gives: a guess on the careful side, worth overriding where it matters."""

    def factor(self, tokens: int) -> float:
        """How many times the usual price the input of a request of this size costs."""
        return self.long_price if 0 < self.long_from < tokens else 1.0


HOUR = 3_600
"""Seconds for which a client may want an entry to live, at the price `write_hour`."""

DEFAULT = Profile("default", assumed=("window", "read", "write", "minimum", "lifetime", "breakpoints", "images"))

_MILLION = 1_048_576
_CLAUDE = Profile("claude", assumed=("window",))
_CLAUDE_SHARP = _CLAUDE.replace(images="claude_large")
_CLAUDE_LATER = _CLAUDE_SHARP.replace(assumed=("window", "minimum", "lifetime", "images"))
_GPT = Profile("gpt-5", window=272_000, write=1.0, breakpoints=0, images="gpt_5_tiles", assumed=("window",))
_GPT_4 = _GPT.replace(images="gpt_tiles", assumed=())
_GPT_LATER = _GPT.replace(
    write=1.25, lifetime=1_800, breakpoints=4, images="gpt_original", assumed=("window", "breakpoints")
)
_GEMINI = Profile(
    "gemini", window=_MILLION, write=1.0, minimum=4_096, breakpoints=0, images="gemini", assumed=("lifetime",)
)
_GEMINI_3 = _GEMINI.replace(images="gemini_3")
_DEEPSEEK = Profile(
    "deepseek", window=128_000, write=1.0, minimum=64, lifetime=7_200, breakpoints=0, assumed=("lifetime",)
)
_OTHERS = Profile(
    "others", window=128_000, write=1.0, breakpoints=0, assumed=("window", "write", "minimum", "lifetime")
)
_MISTRAL = _OTHERS.replace(read=0.1)

# Prices of November 2026, from the table bundled in litellm 1.108.4 (1.106.2 for Gemini) and the vendors' pages. By the
# beginning of the model's name, dots as dashes; the longest that fits holds.
_ROWS: dict[str, Profile] = {
    "claude": _CLAUDE,
    "claude-haiku-4-5": _CLAUDE.replace(minimum=4_096),
    "claude-opus-4-5": _CLAUDE.replace(minimum=4_096),
    "claude-opus-4-6": _CLAUDE.replace(minimum=4_096),
    "claude-opus-4-7": _CLAUDE_SHARP,
    "claude-opus-4-8": _CLAUDE_SHARP,
    "claude-opus-5": _CLAUDE_SHARP.replace(minimum=512),
    "claude-opus-5-5": _CLAUDE_LATER.replace(read=0.05),
    "claude-sonnet-5": _CLAUDE_SHARP.replace(assumed=("window", "images")),
    "claude-sonnet-5-5": _CLAUDE_LATER.replace(read=0.05),
    "claude-fable-5": _CLAUDE_SHARP,
    "claude-fable-5-1": _CLAUDE_LATER.replace(read=0.025),
    "gpt-4o": _GPT_4.replace(window=128_000, read=0.5),
    "gpt-4-1": _GPT_4.replace(window=1_047_576, read=0.25),
    "gpt-4-1-mini": _GPT_4.replace(window=1_047_576, read=0.25, images="gpt_patches"),
    "gpt-4-1-nano": _GPT_4.replace(window=1_047_576, read=0.25, images="gpt_nano_patches"),
    "gpt-5": _GPT,
    "gpt-5-mini": _GPT.replace(images="gpt_patches"),
    "gpt-5-nano": _GPT.replace(images="gpt_nano_patches"),
    "gpt-5-2": _GPT.replace(images="gpt_large", assumed=("window", "images")),
    "gpt-5-4": _GPT.replace(images="gpt_large"),
    "gpt-5-5": _GPT.replace(images="gpt_original"),
    "gpt-5-6": _GPT_LATER,
    "gpt-6": _GPT_LATER,
    "gpt-6-1-sol": _GPT_LATER.replace(read=0.05),
    "gemini": _GEMINI,
    "gemini-2-5-pro": _GEMINI.replace(long_from=200_000),
    "gemini-3": _GEMINI_3,
    "gemini-3-pro": _GEMINI_3.replace(long_from=200_000),
    "gemini-2-5-flash": _GEMINI.replace(minimum=1_024),
    "gemini-3-flash": _GEMINI_3.replace(minimum=1_024),
    "gemini-3-1-pro": _GEMINI_3.replace(long_from=200_000),
    "gemini-pro-latest": _GEMINI_3.replace(long_from=200_000),
    "gemini-4": _GEMINI_3.replace(read=0.05),
    "deepseek": _DEEPSEEK,
    "deepseek-v4": _DEEPSEEK.replace(read=0.02, assumed=("window", "minimum", "lifetime")),
    "deepseek-v4-pro": _DEEPSEEK.replace(read=0.033, assumed=("window", "minimum", "lifetime")),
    "kimi": _OTHERS.replace(read=0.17),
    "glm": _OTHERS.replace(read=0.18),
    "minimax": _OTHERS.replace(read=0.1, write=1.25, assumed=("window", "minimum", "lifetime")),
    "grok": _OTHERS.replace(read=0.25, assumed=("window", "minimum", "lifetime")),
    "mistral": _MISTRAL,
    "magistral": _MISTRAL,
    "ministral": _MISTRAL,
    "devstral": _MISTRAL,
    "codestral": _MISTRAL,
    "gpt-oss": _OTHERS.replace(read=0.5),
}
PROFILES: Mapping[str, Profile] = MappingProxyType({key: row.replace(name=key) for key, row in _ROWS.items()})
"""The rows by the beginnings of models' names."""

_INPUT: Mapping[str, float] = MappingProxyType(
    {
        "claude-fable-5": 10.0,
        "claude-fable-5-1": 10.0,
        "claude-haiku-4-5": 1.0,
        "claude-opus-4-5": 5.0,
        "claude-opus-4-6": 5.0,
        "claude-opus-4-7": 5.0,
        "claude-opus-4-8": 5.0,
        "claude-opus-5": 5.0,
        "claude-opus-5-5": 4.0,
        "claude-sonnet-4-5": 3.0,
        "claude-sonnet-4-6": 3.0,
        "claude-sonnet-5": 2.0,
        "claude-sonnet-5-5": 2.0,
        "deepseek-chat": 0.28,
        "deepseek-reasoner": 0.28,
        "deepseek-v4-flash": 0.3,
        "deepseek-v4-pro": 1.32,
        "gemini-2-5-flash": 0.3,
        "gemini-2-5-flash-lite": 0.1,
        "gemini-2-5-pro": 1.25,
        "gemini-3-1-flash-lite": 0.25,
        "gemini-3-1-pro": 2.0,
        "gemini-3-5-flash": 1.5,
        "gemini-3-5-flash-lite": 0.3,
        "gemini-3-6-flash": 0.75,
        "gemini-3-7-flash": 0.75,
        "gemini-3-8-flash": 0.75,
        "gemini-3-flash": 0.5,
        "gemini-4-argon": 2.0,
        "gemini-flash-latest": 0.75,
        "gemini-flash-lite-latest": 0.3,
        "gemini-pro-latest": 2.0,
        "glm-4-7": 0.6,
        "gpt-4-1": 2.0,
        "gpt-4o": 2.5,
        "gpt-5": 1.25,
        "gpt-5-1": 1.25,
        "gpt-5-2": 1.75,
        "gpt-5-4": 2.5,
        "gpt-5-5": 5.0,
        "gpt-5-6": 4.0,
        "gpt-6-sol": 2.0,
        "gpt-6-1-sol": 2.0,
        "kimi-k2-5": 0.6,
        "minimax-m2-1": 0.3,
    }
)
"""Dollars for a million input tokens by a model's whole name, from the same table; a date may follow the name."""
_DATED = lazy_pattern(r"(?:[-@:](?:\d{6,}|\d{4}-\d\d-\d\d|latest|preview|v\d+)(?:[:]\d)?)*")
_PLACES = lazy_pattern(r"^(?:[a-z]+(?:-[a-z]+)*\.|[a-z]+:(?!latest$|free$|\d))+")
"""Regions and vendors before a name: `us-gov.anthropic.`, `ft:`; what Ollama has behind the colon of `mistral:7b` is no
name."""
_OVERRIDABLE = tuple(name for name in Profile.fields if name not in ("name", "assumed"))
_NO_OVERRIDES: Mapping[str, Mapping[str, object]] = MappingProxyType({})


def profile_for(
    model: str | None,
    overrides: Mapping[str, Mapping[str, object]] = _NO_OVERRIDES,
    answered_by: str | None = None,
) -> Profile:
    """Return the profile of a model by the longest beginning of its name that the table has.

    Overrides go by beginnings of names too, longer ones last; `default` is for models that the table does not have.
    `answered_by` is the model that the provider says it used: its row holds where `model` is no model's name.

    >>> profile_for("openrouter/anthropic/claude-opus-5.5-20260801").read
    0.05
    """
    check_overrides(overrides)
    name, answered = _normalize(model or ""), _normalize(answered_by or "")
    found = _row_of(name)
    if found:
        profile, names = PROFILES[found], (name,)
    else:
        profile = _with_given(PROFILES.get(_row_of(answered), DEFAULT), overrides.get("default", {}))
        names = answered, name
    for each in names:
        for key in sorted(overrides, key=len):
            if _is_prefix(each, _normalize(key)):
                profile = _with_given(profile, overrides[key])
    return profile


def _row_of(name: str) -> str:
    """Return the longest beginning of a name that the table has; empty where it has none."""
    return max((key for key in PROFILES if _is_prefix(name, key)), key=len, default="")


def _with_given(profile: Profile, given: Mapping[str, object]) -> Profile:
    """Return a profile with the fields that a user gives, which are no guesses."""
    return profile.replace(**given, assumed=tuple(name for name in profile.assumed if name not in given))


def check_overrides(overrides: Mapping[str, Mapping[str, object]]) -> None:
    """Raise `ConfigError` for a field under `models` that no profile has, or that does not accept its value."""
    for model, given in check_value("models", overrides, Mapping[str, Mapping[str, object]]).items():
        refuse_unknown(f"models.{model}.", given, _OVERRIDABLE)
        for name, value in given.items():
            check_value(f"models.{model}.{name}", value, Profile.__annotations__[name])


def is_known(model: str, overrides: Mapping[str, Mapping[str, object]] = _NO_OVERRIDES) -> bool:
    """Return whether the table or the settings say anything of a model.

    >>> is_known("our-deployment"), is_known("our-deployment-2", {"our-deployment": {"read": 0.2}})
    (False, True)
    """
    name = _normalize(model)
    return bool(_row_of(name)) or any(_is_prefix(name, _normalize(key)) for key in overrides)


def is_listed(model: str | None) -> bool:
    """Return whether the table has a row for a model.

    >>> is_listed("gpt-5-mini-2025-08-07"), is_listed("our-deployment")
    (True, False)
    """
    return bool(_row_of(_normalize(model or "")))


def input_price(model: str | None) -> float | None:
    """Return the dollars for a million input tokens of a model; None where the table lacks its whole name.

    >>> input_price("claude-sonnet-4-5-20250929"), input_price("claude-of-tomorrow")
    (3.0, None)
    """
    name = _normalize(model or "")
    found = max((key for key in _INPUT if _is_prefix(name, key)), key=len, default="")
    return _INPUT[found] if found and _DATED.fullmatch(name[len(found) :]) else None


def payback(profile: Profile, after: int, aged: int) -> float:
    """Return the requests until leaving `aged` tokens out has earned what rewriting the `after` tokens behind cost."""
    if aged <= 0 or profile.read <= 0:
        return inf
    return after / aged * max(0.0, profile.write - profile.read) / profile.read


def _normalize(model: str) -> str:
    """Return a model's name without its vendor, in lower case, dots as dashes."""
    return _PLACES.sub("", model.strip().lower().rpartition("/")[2]).replace(".", "-")


def _is_prefix(name: str, key: str) -> bool:
    """Return whether `key` is the beginning of `name`, up to the end of a word."""
    return key != "" and name.startswith(key) and not name[len(key) : len(key) + 1].isalnum()
