"""Which calls of a conversation tell another session's, and how the owner in a session's name is read."""

from typing import Any

import pytest

from keepwhole.exchange.fork import _answered_calls as answered_calls
from keepwhole.exchange.fork import owner_of


def step(number: int, *more: int) -> list[dict[str, Any]]:
    ids = [f"c{one}" for one in (number, *more)]
    calls = [{"type": "tool_use", "id": id, "name": "look", "input": {}} for id in ids]
    results = [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ids]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def test_only_results_that_the_model_has_answered_tell_a_conversation() -> None:
    begun = [{"role": "user", "content": "go"}, *step(1), *step(2, 3)]
    assert answered_calls(begun) == ["c1"]
    assert answered_calls([*begun, {"role": "assistant", "content": "done"}]) == ["c2", "c3", "c1"]
    assert answered_calls(begun[:1]) == answered_calls([]) == []


@pytest.mark.parametrize(("name", "owner"), [("p1@alice", "alice"), ("p1@a@b", "b"), ("p1", ""), ("p1@", "")])
def test_an_owner_is_what_is_behind_the_last_at_sign(name: str, owner: str) -> None:
    assert owner_of(name) == owner
