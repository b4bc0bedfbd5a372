"""The provider whose prices and window a replay uses: the one that is named, else the one of the recorded model.

Owns: the names of providers, and the model that a log names.
Must not know: the prices themselves; they are in `models.profiles`.
"""

from collections.abc import Mapping

from keepwhole.errors import UsageError
from keepwhole.models.profiles import PROFILES, Profile, is_known, profile_for
from keepwhole.replay.survey import LogTotals
from keepwhole.settings_section import nearest

PROVIDERS: dict[str, str] = {
    "anthropic": "claude",
    "openai": "gpt-5",
    "google": "gemini",
    "deepseek": "deepseek",
    "moonshot": "kimi",
    "zhipu": "glm",
    "minimax": "minimax",
}
"""The usual model of each provider."""
_CLIENTS = {"claude-code": "anthropic", "codex": "openai", "gemini": "google", "gemini-cli": "google"}
_SIZES = {"k": 1_000, "m": 1_000_000}
_Overrides = Mapping[str, Mapping[str, object]]


def profile_named(provider: str, models: _Overrides) -> Profile:
    """Return the profile of a provider or of a model."""
    model = PROVIDERS.get(provider, provider)
    if not is_known(model, models):
        near = nearest(provider, (*PROVIDERS, *PROFILES, *models))
        hint = f"Did you mean `{near}`?" if near else f"Use a model's name or one of {', '.join(PROVIDERS)}."
        raise UsageError(f"There are no prices for `{provider}`. {hint}")
    return profile_for(model, models)


def recorded_profile(totals: LogTotals, models: _Overrides) -> tuple[str, Profile]:
    """Return the model with the most recorded tokens, else the client's usual provider, and its profile."""
    names = [name for name, _ in totals.models.most_common()]
    names += [_CLIENTS[source] for source, _ in totals.sources.most_common() if source in _CLIENTS]
    name = next((name for name in names if is_known(PROVIDERS.get(name, name), models)), "anthropic")
    return name, profile_for(PROVIDERS.get(name, name), models)


def parse_tokens(text: str) -> int:
    """Return a number of tokens as people write it.

    >>> parse_tokens("128k"), parse_tokens("1m"), parse_tokens("200_000")
    (128000, 1000000, 200000)
    """
    digits, unit = (text[:-1], text[-1].lower()) if text[-1:].lower() in _SIZES else (text, "")
    try:
        found = int(float(digits) * _SIZES[unit]) if unit else int(digits)
    except (ValueError, OverflowError):
        found = 0
    if found < 1_000:
        raise UsageError(f"`{text}` is not a valid window. Give tokens, such as 128k or 200000.")
    return found
