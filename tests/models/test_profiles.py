"""Prices and windows are found by a model's name, and users may correct them."""

from math import inf

import pytest

from keepwhole.errors import ConfigError
from keepwhole.models.forecast import Breakpoint, Forecast, Prompt
from keepwhole.models.profiles import DEFAULT, PROFILES, Profile, input_price, payback, profile_for


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("claude-sonnet-4-6", "claude"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-5-20260601", "claude-opus-5"),
        ("claude-opus-5.5", "claude-opus-5-5"),
        ("anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("us.anthropic.claude-sonnet-4-6-v1:0", "claude"),
        ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude"),
        ("openai:gpt-5", "gpt-5"),
        ("mistral:7b", "mistral"),
        ("mistral:latest", "mistral"),
        ("vertex_ai/claude-opus-4-6@20260101", "claude-opus-4-6"),
        ("openrouter/openai/gpt-5.6-mini", "gpt-5-6"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.5", "gpt-5-5"),
        ("GPT-4o-mini", "gpt-4o"),
        ("ft:gpt-4o:acme", "gpt-4o"),
        ("gpt-4.1-mini", "gpt-4-1-mini"),
        ("gemini/gemini-2.5-flash", "gemini-2-5-flash"),
        ("gemini-3.1-pro", "gemini-3-1-pro"),
        ("deepseek-chat", "deepseek"),
        ("deepseek-v4-flash", "deepseek-v4"),
        ("deepseek-v4-pro", "deepseek-v4-pro"),
        ("openrouter/z-ai/glm-4.7:free", "glm"),
    ],
)
def test_the_longest_beginning_of_a_name_decides(model: str, row: str) -> None:
    assert profile_for(model) == PROFILES[row]


@pytest.mark.parametrize("model", [None, "", "llama-4", "claudette", "claudes-2", "gpt-4-1106-preview", "/"])
def test_an_unknown_model_has_the_default(model: str | None) -> None:
    assert profile_for(model) == DEFAULT


def test_a_row_says_what_no_source_gives() -> None:
    assert "window" in profile_for("claude-opus-5").assumed
    assert profile_for("gpt-4o").assumed == ()
    assert all(set(row.assumed) <= set(Profile.fields) for row in PROFILES.values())


def test_overrides_change_what_they_name_and_nothing_else() -> None:
    changed = profile_for("claude-opus-5", {"claude": {"window": 1_000_000}, "gpt-5": {"read": 0.5}})
    assert changed == PROFILES["claude-opus-5"].replace(window=1_000_000, assumed=())


def test_the_longer_override_holds() -> None:
    overrides = {"claude-opus-5": {"read": 0.2}, "claude": {"read": 0.3, "write": 2.0}}
    changed = profile_for("anthropic/claude-opus-5", overrides)
    assert (changed.read, changed.write) == (0.2, 2.0)


def test_an_override_may_be_for_a_model_that_the_table_does_not_have() -> None:
    assert profile_for("acme/own-1.5", {"own-1.5": {"window": 9_000}}).window == 9_000
    assert profile_for("own-2", {"default": {"window": 9_000}}).window == 9_000
    assert profile_for("claude", {"default": {"window": 9_000}}).window == 200_000


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"windw": 5}, "There is no setting `models.claude.windw`. Did you mean `window`?"),
        ({"name": "x"}, "is no setting"),
        ({"window": 0}, "`models.claude.window` is 0"),
        ({"window": "big"}, "whole number of at least 1"),
        ({"minimum": -1}, "whole number"),
        ({"lifetime": 1.5}, "whole number"),
        ({"breakpoints": True}, "whole number"),
        ({"read": "cheap"}, "`models.claude.read` is 'cheap'"),
        ({"read": True}, "a number from 0"),
        ({"write": -0.1}, "a number from 0"),
        ({"write": inf}, "a number from 0"),
        (5, "`models.claude` is 5; give keys and values"),
    ],
)
def test_a_wrong_override_is_refused_even_for_another_model(fields: object, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        profile_for("gpt-5", {"claude": fields})  # type: ignore[dict-item]
    assert words in str(refused.value)


@pytest.mark.parametrize(("model", "factor"), [("claude", 11.5), ("gpt-5", 9), ("deepseek-v4", 49), ("unknown", 11.5)])
def test_payback_grows_with_what_follows_and_with_cheap_reads(model: str, factor: float) -> None:
    profile = profile_for(model)
    assert payback(profile, 10_000, 10_000) == pytest.approx(factor)
    assert payback(profile, 30_000, 10_000) == pytest.approx(3 * factor)


def test_payback_without_gain_never_comes_and_without_loss_at_once() -> None:
    assert payback(DEFAULT, 10, 0) == inf
    assert payback(DEFAULT.replace(read=0.0), 10, 10) == inf
    assert payback(DEFAULT.replace(read=1.0, write=1.0), 10, 10) == 0
    assert payback(DEFAULT, 0, 10) == 0


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("anthropic/claude-sonnet-4.5", 3.0),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.0),
        ("claude-opus-5.5", 4.0),
        ("gpt-5-2025-08-07", 1.25),
        ("gpt-5-mini", None),
        ("claude", None),
        (None, None),
    ],
)
def test_an_input_price_is_known_by_a_models_whole_name_or_not_at_all(model: str | None, dollars: float | None) -> None:
    assert input_price(model) == dollars


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro"])
def test_a_long_request_to_gemini_costs_more_from_200000_tokens_on(model: str) -> None:
    profile = profile_for(model)
    prices = [profile.replace(long_price=2.0).factor(tokens) for tokens in (1, 200_000, 200_001)]
    assert prices == [1.0, 1.0, 2.0]


def test_the_model_that_answered_counts_where_the_name_that_was_asked_is_no_models() -> None:
    assert profile_for("team-helper", answered_by="gpt-4.1-2025-04-14").name == "gpt-4-1"
    assert profile_for("gpt-5", answered_by="gpt-4.1-2025-04-14").name == "gpt-5"
    settings = {"team-helper": {"window": 5_000}, "gpt-4.1": {"window": 9_000, "lifetime": 60}}
    found = profile_for("team-helper", settings, "gpt-4.1-2025-04-14")
    assert (found.window, found.lifetime, found.read) == (5_000, 60, 0.25)


def _served_after(model: str, tokens: int, pause: int) -> bool:
    """Whether the cache of a model is expected to serve a prompt of so many tokens that comes again after a pause."""
    profile, forecast = profile_for(model), Forecast()
    prompt = Prompt([b"prompt"], [tokens], [1], (Breakpoint(0),) if profile.breakpoints else None)
    forecast.learn(prompt, profile, 0, forecast.hit(prompt, profile, 0))
    return forecast.hit(prompt, profile, pause).at == 0


@pytest.mark.parametrize(
    ("least", "models"),
    {
        512: ["claude-opus-5"],
        1_024: [
            "claude-sonnet-5",
            "gpt-4o",
            "gpt-5.6",
            "gemini-2.5-flash",
            "gemini-3-flash",
            "kimi-k2",
            "an-unknown-1",
        ],
        4_096: ["claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-6", "gemini-2.5-pro", "gemini-3-pro"],
        64: ["deepseek-chat", "deepseek-v4-pro"],
    }.items(),
)
def test_a_prefix_is_served_from_the_length_on_that_its_provider_publishes(least: int, models: list[str]) -> None:
    for model in models:
        assert _served_after(model, least, 1), model
        assert not _served_after(model, least - 1, 1), model


@pytest.mark.parametrize(
    ("seconds", "models"),
    {
        300: ["claude-sonnet-5", "claude-opus-5-5", "gpt-5", "gemini-3-pro", "an-unknown-1"],
        1_800: ["gpt-5.6", "gpt-6.1-sol"],
        7_200: ["deepseek-chat"],
    }.items(),
)
def test_a_prefix_is_served_for_as_long_as_its_provider_keeps_it(seconds: int, models: list[str]) -> None:
    for model in models:
        assert _served_after(model, 9_000, seconds), model
        assert not _served_after(model, 9_000, seconds + 1), model


@pytest.mark.parametrize(
    ("window", "models"),
    {
        128_000: ["gpt-4o", "deepseek-chat", "deepseek-v4-pro", "kimi-k2", "gpt-oss-120b"],
        200_000: ["claude-sonnet-5", "an-unknown-1"],
        272_000: ["gpt-5", "gpt-5-mini", "gpt-5.6"],
        1_047_576: ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"],
        1_048_576: ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro", "gemini-4"],
    }.items(),
)
def test_a_window_is_as_large_as_its_provider_publishes(window: int, models: list[str]) -> None:
    assert {model: profile_for(model).window for model in models} == dict.fromkeys(models, window)


def test_a_client_may_set_four_breakpoints_where_prefixes_are_not_cached_without_any() -> None:
    for model in ("claude-sonnet-5", "gpt-5.6", "an-unknown-1"):
        assert profile_for(model).breakpoints == 4
    for model in ("gpt-4o", "gpt-5", "gemini-3-pro", "deepseek-chat", "kimi-k2"):
        assert profile_for(model).breakpoints == 0


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro", "gemini-3.1-pro", "gemini-pro-latest"])
def test_each_pro_of_gemini_costs_twice_as_much_above_200000_tokens(model: str) -> None:
    assert [profile_for(model).factor(tokens) for tokens in (200_000, 200_001)] == [1, 2]
    assert profile_for("gemini-2.5-flash").factor(900_000) == 1
