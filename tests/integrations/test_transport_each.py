"""The official SDKs where each conversation has its own session: nothing is lost before it has a name."""

import json
from typing import Any

import pytest

from keepwhole.exchange.router import SessionRouter
from keepwhole.testing import MemoryStore
from tests.integrations.sdks import SDKS
from tests.integrations.test_transport import LOG, USER, recall, recall_of_nothing
from tests.upstream.provider import Provider, Text, Tool

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("recall_from_start")]

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
both_ways = pytest.mark.parametrize("way", ["ask", "stream"])


def agent_of(sdk: Any, provider: Provider) -> tuple[Any, SessionRouter]:
    agent, desk = sdk(provider, store=MemoryStore()), SessionRouter(each=True, store=MemoryStore())
    agent.client._client._transport.router = desk
    if sdk.name == "openai_responses":
        agent.options["store"] = False
    return agent, desk


@every_sdk
@both_ways
def test_a_round_hidden_before_there_is_a_session_is_put_back(sdk: Any, way: str) -> None:
    first_answer = [Text("Hm."), Tool("work", {"n": 1})]
    provider = Provider([recall_of_nothing, first_answer, recall, [Text("It is 4711.")], [Text("Bye.")]])
    agent, desk = agent_of(sdk, provider)
    messages: list[Any] = [USER]
    first = getattr(agent, way)(messages)
    messages += [*first.history, *agent.result(first.calls[0][1], LOG)]
    second = getattr(agent, way)(messages)
    assert "It is 4711." in second.text
    before, after = agent.sent(provider.requests[1]), agent.sent(provider.requests[2])
    assert after[: len(before)] == before, "the hidden round of the first answer too"
    getattr(agent, way)([*messages, *second.history, {"role": "user", "content": "thanks"}])
    before, after = agent.sent(provider.requests[3]), agent.sent(provider.requests[4])
    assert after[: len(before)] == before
    assert len(desk.own.store.sessions()) == 1


@every_sdk
def test_two_at_once_with_the_same_prompt_read_back_what_is_their_own(sdk: Any) -> None:
    script = [[Tool("work", {"n": n}, f"call_of_{n}")] for n in (1, 2)]
    provider = Provider([*script, recall, [Text("a")], recall, [Text("b")]])
    agent, desk = agent_of(sdk, provider)
    first, second = agent.ask([USER]), agent.ask([USER])
    for answer, needle in ((first, "4711"), (second, "4712")):
        agent.ask([USER, *answer.history, *agent.result(answer.calls[0][1], LOG.replace("4711", needle))])
        assert f"the needle is {needle}" in json.dumps(provider.requests[-1])
    assert len(desk.own.store.sessions()) == 2
