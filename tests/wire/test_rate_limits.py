"""Rate limits are read from the headers of every provider, and what cannot be read is left out."""

import pytest

from keepwhole.wire.rate_limits import RateLimit, limits_text, parse_limits, read_limits

NOW = 1_900_000_000.0
IN_MS = 1_900_000_000_000


def test_a_plan_of_claude_says_how_much_is_used_and_when_it_begins_anew() -> None:
    headers = {
        "Anthropic-RateLimit-Unified-5h-Utilization": "0.42",
        "anthropic-ratelimit-unified-5h-reset": "1900000300",
        "anthropic-ratelimit-unified-7d-utilization": "1.0",
    }
    assert read_limits(headers, NOW) == [RateLimit("5h", 0.42, IN_MS + 300_000), RateLimit("7d", 1.0, None)]


@pytest.mark.parametrize(
    ("minutes", "name"),
    [("300", "5h"), ("1439", "23.9833h"), ("1440", "1d"), ("10080", "7d"), ("", "primary"), ("soon", "primary")],
)
def test_a_plan_of_chatgpt_is_named_by_its_window(minutes: str, name: str) -> None:
    headers = {"x-codex-primary-used-percent": "25", "x-codex-primary-window-minutes": minutes}
    assert read_limits(headers, NOW) == [RateLimit(name, 0.25)]


def test_both_windows_of_a_plan_of_chatgpt_are_read_with_their_resets() -> None:
    headers = {
        "x-codex-primary-used-percent": "50",
        "x-codex-primary-reset-after-seconds": "1.5",
        "x-codex-secondary-used-percent": "0",
    }
    assert read_limits(headers, NOW) == [RateLimit("primary", 0.5, IN_MS + 1_500), RateLimit("secondary", 0.0)]


@pytest.mark.parametrize(
    ("reset", "at"),
    [
        ("6m0s", IN_MS + 360_000),
        ("1d2h3m4s", IN_MS + 93_784_000),
        ("500ms", IN_MS + 500),
        ("1.5s", IN_MS + 1_500),
        ("2030-03-17T17:46:41Z", IN_MS + 1_000),
        ("2030-03-17T17:46:41.25+00:00", IN_MS + 1_000),
        ("2030-03-17", None),
        ("later", None),
        ("", None),
    ],
)
def test_a_key_begins_anew_at_a_date_or_after_a_time(reset: str, at: int | None) -> None:
    for form in ("anthropic-ratelimit-tokens-{}", "x-ratelimit-{}-tokens"):
        headers = {form.format("limit"): "200", form.format("remaining"): "50", form.format("reset"): reset}
        assert read_limits(headers, NOW) == [RateLimit("tokens", 0.75, at)]


@pytest.mark.parametrize(
    ("limit", "left", "used"),
    [("100", "100", 0.0), ("100", "0", 1.0), ("100", "150", 0.0), ("1", "0.5", 0.5)],
)
def test_the_share_that_a_key_has_used_is_from_none_to_all(limit: str, left: str, used: float) -> None:
    headers = {"x-ratelimit-limit-input-tokens": limit, "x-ratelimit-remaining-input-tokens": left}
    assert read_limits(headers, NOW) == [RateLimit("input tokens", used)]


@pytest.mark.parametrize(
    ("limit", "left"),
    [("0", "0"), ("-1", "0"), ("many", "1"), ("100", ""), ("100", "nan"), ("1e15", "1"), ("inf", "1"), ("100", "-1")],
)
def test_what_cannot_be_read_is_no_limit(limit: str, left: str) -> None:
    headers = {"x-ratelimit-limit-tokens": limit, "x-ratelimit-remaining-tokens": left}
    assert read_limits(headers, NOW) == []
    assert read_limits({"anthropic-ratelimit-unified-5h-utilization": "much", "server": "0.5"}, NOW) == []
    assert limits_text(headers, NOW) is None


def test_twelve_limits_of_one_answer_are_taken() -> None:
    for many, taken in ((11, 11), (12, 12), (13, 12)):
        headers = {f"anthropic-ratelimit-unified-{number}d-utilization": "0.5" for number in range(many)}
        assert len(read_limits(headers, NOW)) == taken


def test_what_is_recorded_is_read_again_and_anything_else_is_nothing() -> None:
    headers = {"x-codex-primary-used-percent": "50", "x-codex-primary-reset-after-seconds": "60"}
    written = limits_text(headers, NOW)
    assert written == f'[["primary",0.5,{IN_MS + 60_000}]]'
    assert parse_limits(written) == read_limits(headers, NOW)
    for odd in (None, "", "{", "[1]", '[["a"]]', '[["a", "much", null]]', "7"):
        assert parse_limits(odd) == []


def test_a_limit_is_told_in_per_cent() -> None:
    assert RateLimit("5h", 0.426).words == "5h: 43 % used"
