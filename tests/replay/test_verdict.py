"""Figures in plain words."""

from typing import Any

import pytest

from keepwhole.errors import UsageError
from keepwhole.replay import prices
from keepwhole.replay.survey import LogTotals
from keepwhole.replay.verdict import reason_for, recommend, verdict


def row(cost: float, kept: float = 0.95, back: float | None = None, **more: Any) -> dict[str, Any]:
    around = {"value": cost, "low": cost - 0.05, "high": cost + 0.05}
    value = cost if back is None else back
    fetched = {"value": value, "low": value - 0.05, "high": value + 0.05}
    plain = {"name": "auto", "tokens": 0.7, "bound": False, "ours": True, "settings": "policy: auto\n"}
    return {**plain, "cost": around, "in_context": {"value": kept}, "all_in_context": fetched, **more}


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (row(0.6), "saves 40 % and hides 5 % of what was used later"),
        (row(0.6, 1.0), "saves 40 % and hides nothing that was used later"),
        (row(0.6, 0.7), "saves 40 % but hides 30 % of what was used later"),
        (row(0.97), "saves 3 % here and maybe nothing on other runs and hides 5 %"),
        (row(0.97, 0.7), "saves 3 % here and maybe nothing on other runs but hides 30 %"),
        (row(1.3), "costs 30 % more than sending everything"),
        (row(1.02), "if anything"),
        (row(1.0), "saves nothing: what it leaves out is paid for"),
        (row(0.9, back=1.1), "costs 10 % more than sending everything"),
        (row(1.0, tokens=1.0), "saves nothing on runs this short"),
        (row(1.0, tokens=1.0, peak=150_000), "saves nothing on these runs"),
        (row(1.0, tokens=1.0, peak=99_999), "saves nothing on runs this short"),
        (row(1.0, tokens=1.0, peak=100_000), "saves nothing on these runs"),
        (row(0.5, tokens=0.9991), "saves nothing on runs this short"),
        (row(0.5, tokens=0.999), "saves 50 %"),
        (row(0.991), "saves nothing: what it leaves out is paid for"),
        (row(0.989), "saves 1 % here"),
        (row(1.009), "saves nothing: what it leaves out is paid for"),
        (row(1.011), "costs 1 % more than sending everything, if anything"),
        (row(0.6, 0.8), "saves 40 % and hides 20 %"),
        (row(0.6, 0.79), "saves 40 % but hides 21 %"),
        (row(0.6, 0.995), "saves 40 % and hides less than 1 % of what was used later"),
        (row(0.9, all_in_context={"value": 0.9, "low": 0.8, "high": 0.999}), "saves 10 % and hides 5 %"),
        (row(0.9, all_in_context={"value": 0.9, "low": 0.8, "high": 1.0}), "saves 10 % here and maybe nothing on"),
        (row(1.2, all_in_context={"value": 1.2, "low": 1.001, "high": 1.4}), "costs 20 % more than sending everything"),
        (row(1.2, all_in_context={"value": 1.2, "low": 1.0, "high": 1.4}), "more than sending everything, if anything"),
        (row(0.5, name="everything"), "what all others are measured against"),
        (row(0.3, 1.0, bound=True), "saves 70 %: the best possible without hiding anything that was needed"),
    ],
)
def test_each_outcome_has_its_words(figures: dict[str, Any], words: str) -> None:
    assert words in verdict(figures)


def test_the_careful_setting_is_recommended_unless_a_leaner_one_is_clearly_cheaper_and_hides_little() -> None:
    careful, lean = row(0.60, 0.97), row(0.50, 0.94, settings="policy: auto\npreset: lean\n")
    assert recommend([careful, lean]) is lean
    assert recommend([careful, row(0.58, 0.94)]) is careful
    assert recommend([careful, row(0.40, 0.70)]) is careful


def test_what_is_recommended_has_a_reason_with_the_figures_of_both() -> None:
    careful, lean = row(0.60, 0.97), row(0.50, 0.94, name="auto-lean")
    said = "it costs 50 % less than sending everything and shows 94 % of what was needed; "
    assert reason_for(lean, [careful, lean]) == f"{said}`auto` with its defaults costs 40 % less and shows 97 %"
    assert "no setting of Keepwhole that hides as little costs 5 % less" in reason_for(careful, [careful, lean])


def test_nothing_is_recommended_where_nothing_is_saved_or_only_by_others() -> None:
    assert recommend([row(1.0), row(0.4, ours=False)]) is None


def test_a_policy_that_hides_much_is_not_recommended_however_cheap() -> None:
    assert recommend([row(1.0, 1.0), row(0.4, 0.1)]) is None


def test_prices_are_those_of_the_model_that_recorded_most_else_of_the_client() -> None:
    totals = LogTotals()
    assert prices.recorded_profile(totals, {})[0] == "anthropic"
    totals.sources.update({"codex": 3, "claude-code": 1})
    assert prices.recorded_profile(totals, {})[1].name == "gpt-5"
    totals.models.update({"my-own": 900, "deepseek-v4": 500, "claude-opus-5": 100})
    assert prices.recorded_profile(totals, {})[0] == "deepseek-v4"


def test_providers_and_models_have_prices_and_others_are_refused() -> None:
    assert prices.profile_named("openai", {}).name == "gpt-5"
    assert prices.profile_named("claude-opus-5.5", {}).read == 0.05
    with pytest.raises(UsageError, match="anthropic"):
        prices.profile_named("nobody", {})


@pytest.mark.parametrize("text", ["", "k", "12", "many", "-3k", "nan", "infk", "nank"])
def test_a_window_that_is_no_number_of_tokens_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="128k"):
        prices.parse_tokens(text)


def test_a_setting_that_hides_more_has_to_cost_a_twentieth_less_and_show_nine_tenths() -> None:
    careful = row(0.60, 0.97)
    for cost, kept, is_better in ((0.569, 0.90, True), (0.571, 0.99, False), (0.5, 0.89, False)):
        other = row(cost, kept)
        assert recommend([careful, other]) is (other if is_better else careful)
    hiding = row(0.60, 0.85)
    for kept, is_better in ((0.85, True), (0.84, False)):
        other = row(0.5, kept)
        assert recommend([hiding, other]) is (other if is_better else hiding)
    assert recommend([row(0.98, 0.80)]) is not None
    assert recommend([row(0.98, 0.79)]) is None
    assert recommend([row(0.995)]) is None
