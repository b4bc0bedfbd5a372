"""Calls are read as they are printed, brackets in their arguments and all."""

import pytest

from keepwhole.testing import printed_calls


@pytest.mark.parametrize("id", ["art_1_x", "a (1)", "((", "))", ")" * 3_000])
def test_a_call_ends_at_the_bracket_that_makes_it_valid(id: str) -> None:
    (call,) = printed_calls(f'left out: get_artifact(id="{id}", lines="3-9") and more (of it)')
    assert (call.name, call.arguments) == ("get_artifact", {"id": id, "lines": "3-9"})


@pytest.mark.parametrize(
    "text",
    [
        'get_artifact(id="art',
        'get_artifact(id="art)',
        'get_artifact("art_1_x")',
        "get_artifact(id=open(1))",
        f'get_artifact(id="{")" * 5_000}")',
    ],
)
def test_what_is_no_call_with_plain_named_values_is_none(text: str) -> None:
    assert printed_calls(text) == []
