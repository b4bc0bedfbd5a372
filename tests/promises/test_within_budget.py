"""Within budget: no view of any text is longer than its limit, notices included."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.truncation.configuration import TruncationConfiguration
from tests.build import in_memory
from tests.promises.recorded_outputs import NAMES, read_output
from tests.promises.texts import texts
from tests.promises.views import ALL_STRATEGIES, check_budget, view_of


@pytest.mark.parametrize("strategy", ["head", "head_tail"])
@pytest.mark.parametrize("name", NAMES)
def test_no_view_of_real_output_is_longer_than_its_limit(name: str, strategy: str) -> None:
    for limit in (256, 257, 300, 500, 1_000, 4_000, 8_000, 20_000):
        policy = TruncationConfiguration(inline_limit=limit, default_strategy=strategy)
        assert len(in_memory(policy=policy).keep(name, {"name": name * 9}, read_output(name)).content) <= limit


@pytest.mark.parametrize("name", NAMES)
def test_a_view_of_real_output_never_costs_more_than_the_output(name: str) -> None:
    shown = in_memory().keep(name, None, read_output(name).decode("utf-8", "replace"))
    assert len(shown.content) <= len(read_output(name).decode("utf-8", "replace"))


@pytest.mark.parametrize("name", NAMES)
def test_a_view_of_real_text_uses_most_of_its_room(name: str) -> None:
    text = read_output(name).decode("utf-8", "replace")
    shown = in_memory().keep(name, None, text)
    if 8_000 < len(text) <= 50_000:
        assert len(shown.content) > 5_000


@settings(max_examples=100)
@given(texts, st.sampled_from([None, *ALL_STRATEGIES]), st.integers(256, 9_000), st.text(max_size=20))
def test_no_view_of_any_text_by_any_strategy_is_longer_than_its_limit(
    text: str, strategy: str | None, limit: int, question: str
) -> None:
    check_budget(view_of(text, strategy, limit, question), limit)


@pytest.mark.parametrize("strategy", ALL_STRATEGIES)
@pytest.mark.parametrize("name", NAMES)
def test_no_view_of_real_output_by_any_strategy_is_longer_than_its_limit(name: str, strategy: str) -> None:
    text = read_output(name).decode("utf-8", "surrogateescape")
    for limit in (256, 300, 1_000, 8_000):
        check_budget(view_of(text, strategy, limit), limit)
        check_budget(view_of(text * 3, strategy, limit, "error"), limit)


@settings(max_examples=60)
@given(texts, st.integers(256, 2_000))
def test_marking_what_imitates_a_notice_does_not_go_over_the_limit(text: str, limit: int) -> None:
    imitating = ("[Artifact: art_1] x\n" * 100 + text)[: limit - 1]
    check_budget(view_of(imitating, None, limit), limit)
