"""What was sent in full while the record could not be written stays whole when it can be again: the prefix holds."""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.errors import StoreError
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter

POLICIES = ("auto", "truncation")


class Failing(MemoryStore):
    """A store that cannot be written, or neither be read, for a while."""

    cannot_write = cannot_read = False

    def append(self, *args: Any, **options: Any) -> Any:
        if self.cannot_write:
            raise StoreError("the disk is full")
        return super().append(*args, **options)

    def rows(self, *args: Any, **options: Any) -> Any:
        if self.cannot_read:
            raise StoreError("the server does not answer")
        return super().rows(*args, **options)


def long_text(number: int) -> str:
    return "\n".join(f"result {number} line {line} {line * 7919 % 10_007}" for line in range(3_000))


def messages_of(steps: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "work", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": long_text(number)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def sent(desk: SessionRouter, steps: int) -> list[Any]:
    tools = [{"name": "work", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 9, "messages": messages_of(steps), "tools": tools}
    exchange = desk.begin("POST", "/v1/messages", {"x-keepwhole-session": "s"}, json.dumps(body).encode())
    assert isinstance(exchange, Exchange)
    if exchange.is_unsettled:
        exchange.settle()
    return json.loads(exchange.body)["messages"]


@pytest.mark.parametrize("settles", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("trouble", ["write", "read and write"])
def test_results_that_were_sent_whole_stay_whole_after_the_trouble(policy: str, trouble: str, settles: bool) -> None:
    store = Failing()
    desk = SessionRouter(each=True, settles=settles, store=store, policy=policy)
    before = sent(desk, 1)
    assert len(before[-1]["content"][0]["content"]) < len(long_text(0)), "nothing is hidden, so nothing is tested"
    store.cannot_write, store.cannot_read = True, trouble == "read and write"
    for steps in (2, 3):
        during = sent(desk, steps)
        assert during[: len(before)] == before
        assert during[-1]["content"][0]["content"] == long_text(steps - 1)
        before = during
    store.cannot_write = store.cannot_read = False
    after = sent(desk, 4)
    assert after[: len(before)] == before, "the prefix has changed"
    assert len(after[-1]["content"][0]["content"]) < len(long_text(3)), "new results are cut again"
    assert sent(desk, 5)[: len(after)] == after
    again = SessionRouter(each=True, settles=settles, store=store, policy=policy)
    assert sent(again, 4) == after, "another process sends it otherwise"
