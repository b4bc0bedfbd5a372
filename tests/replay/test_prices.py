"""Whose prices a replay uses: a provider's or a model's that is named, else those of what was recorded."""

import pytest

from keepwhole.errors import UsageError
from keepwhole.models.profiles import profile_for
from keepwhole.replay.prices import PROVIDERS, parse_tokens, profile_named, recorded_profile
from keepwhole.replay.survey import LogTotals


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_has_a_usual_model(provider: str) -> None:
    assert profile_named(provider, {}) == profile_for(PROVIDERS[provider])


def test_a_name_without_prices_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"There are no prices for `nobody`\..*anthropic, openai"):
        profile_named("nobody", {})


def test_a_model_that_only_the_settings_know_has_their_prices() -> None:
    models = {"our-model": {"window": 50_000, "read": 0.3}}
    expected = profile_for("our-model-2", models)
    assert (expected.window, expected.read) == (50_000, 0.3)
    assert profile_named("our-model-2", models) == expected
    assert recorded_profile(totals({"our-model-2": 9, "gpt-5": 5}, {}), models) == ("our-model-2", expected)
    with pytest.raises(UsageError, match="Did you mean `our-model`"):
        profile_named("our-modle", models)


def totals(models: dict[str, int], sources: dict[str, int]) -> LogTotals:
    made = LogTotals()
    made.models.update(models)
    made.sources.update(sources)
    return made


@pytest.mark.parametrize(
    ("models", "sources", "name"),
    [
        ({"gpt-5": 5, "claude-sonnet-4-5": 9}, {}, "claude-sonnet-4-5"),
        ({"nobody": 9, "gpt-5": 5}, {}, "gpt-5"),
        ({}, {"codex": 3, "claude-code": 2}, "openai"),
        ({"nobody": 9}, {"gemini-cli": 1}, "google"),
        ({}, {"unknown": 3}, "anthropic"),
    ],
)
def test_the_model_with_the_most_tokens_counts_else_the_usual_one_of_the_client(
    models: dict[str, int], sources: dict[str, int], name: str
) -> None:
    found, profile = recorded_profile(totals(models, sources), {})
    assert found == name
    assert profile == profile_for(PROVIDERS.get(name, name))


@pytest.mark.parametrize(
    ("text", "tokens"), [("1000", 1_000), ("1k", 1_000), ("1.5K", 1_500), ("2m", 2_000_000), ("200_000", 200_000)]
)
def test_a_window_is_read_as_people_write_it(text: str, tokens: int) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize("text", ["999", "0.9k", "", "k", "many", "1e999k", "-5k"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid window"):
        parse_tokens(text)
