"""Which policies can be compared, by which settings each is chosen, and which may be recommended."""

import pytest
import yaml

from keepwhole.errors import UsageError
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import DEFAULT_CONTENDERS, contender_named, contender_names


@pytest.mark.parametrize(
    ("name", "settings", "ours", "has_tools"),
    [
        ("auto", {"policy": "auto", "preset": "careful"}, True, True),
        ("auto-lean", {"policy": "auto", "preset": "lean"}, True, True),
        ("auto+arguments", {"policy": "auto", "preset": "careful", "auto": {"arguments": "old"}}, False, True),
        ("auto-lean+arguments", {"policy": "auto", "preset": "lean", "auto": {"arguments": "old"}}, False, True),
        ("truncation", {"policy": "truncation"}, False, True),
        ("rolling", {"policy": "rolling"}, False, True),
        ("everything", {"mode": False}, False, False),  # as YAML reads `off`
        ("langchain", {"policy": "langchain"}, False, False),
    ],
)
def test_a_policy_is_chosen_by_its_settings(
    name: str, settings: dict[str, object], ours: bool, has_tools: bool
) -> None:
    one = contender_named(name)
    assert yaml.safe_load(one.settings or "") == settings
    assert (one.name, one.bound, one.ours) == (name, False, ours)
    assert one.tools == (OFFERED_TOKENS if has_tools else 0)
    assert name in contender_names()


def test_what_knows_the_future_is_a_bound_that_nobody_can_choose() -> None:
    bounds = [one for name in contender_names() if (one := contender_named(name)).bound]
    assert len(bounds) >= 2
    assert {(one.settings, one.ours, one.tools) for one in bounds} == {(None, False, 0)}
    assert contender_named(DEFAULT_CONTENDERS[-1]).bound


@pytest.mark.parametrize("name", ["nobody", "mine.yaml", "mine.yml", "truncation+arguments", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"`{name}`".replace("+", r"\+")):
        contender_named(name)
