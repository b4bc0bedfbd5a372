"""Within budget: no view of real output is longer than its limit, notices included."""

import pytest

from holdfast import TruncationConfiguration
from tests.build import in_memory
from tests.promises.real import NAMES, real


@pytest.mark.parametrize("strategy", ["head", "head_tail"])
@pytest.mark.parametrize("name", NAMES)
def test_no_view_of_real_output_is_longer_than_its_limit(name: str, strategy: str) -> None:
    for limit in (256, 257, 300, 500, 1_000, 4_000, 8_000, 20_000):
        policy = TruncationConfiguration(inline_limit=limit, default_strategy=strategy)
        assert len(in_memory(policy=policy).keep(name, {"name": name * 9}, real(name)).content) <= limit


@pytest.mark.parametrize("name", NAMES)
def test_a_view_of_real_output_never_costs_more_than_the_output(name: str) -> None:
    shown = in_memory().keep(name, None, real(name).decode("utf-8", "replace"))
    assert len(shown.content) <= len(real(name).decode("utf-8", "replace"))


@pytest.mark.parametrize("name", NAMES)
def test_a_view_of_real_text_uses_most_of_its_room(name: str) -> None:
    text = real(name).decode("utf-8", "replace")
    shown = in_memory().keep(name, None, text)
    if 8_000 < len(text) <= 50_000:
        assert len(shown.content) > 7_000
