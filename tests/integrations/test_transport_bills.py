"""Every round's bill is learned from once, whether the answer is whole, streamed, compressed or broken off."""

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.exchange.exchange import Exchange
from keepwhole.wire.usage import Usage
from tests.integrations.sdks import SDKS, Anthropic
from tests.integrations.test_transport import LOG, USER, recall
from tests.integrations.test_transport_async import ask, client_of
from tests.upstream.provider import Provider, Text, Tool

pytestmark = pytest.mark.adapters

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
both_ways = pytest.mark.parametrize("way", ["ask", "stream"])


class Finished(NamedTuple):
    """One call of `learn_bill`."""

    exchange: Exchange
    status: int
    complete: bool
    usage: Usage | None


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> list[Finished]:
    """The list of calls of `learn_bill`."""
    calls: list[Finished] = []
    real = Exchange.learn_bill

    def finish(self: Exchange, status: int, data: bytes, complete: bool) -> Usage | None:
        usage = real(self, status, data, complete)
        calls.append(Finished(self, status, complete, usage))
        return usage

    monkeypatch.setattr(Exchange, "learn_bill", finish)
    return calls


def script() -> Provider:
    return Provider([[Tool("work", {"n": 1})], recall, [Text("It is 4711.")]])


@every_sdk
@both_ways
def test_every_round_is_learned_from_and_hidden_ones_are_summed(sdk: Any, way: str, finished: list[Finished]) -> None:
    provider = script()
    agent = sdk(provider, store=MemoryStore())
    first = getattr(agent, way)([USER])
    getattr(agent, way)([USER, *first.history, *agent.result(first.calls[0][1], LOG)])
    assert [one.usage and one.usage.input for one in finished] == [100, 200, 300]
    assert all(one.complete and one.status == 200 for one in finished)
    assert finished[0].exchange.tokens == {"input_tokens": 100, "output_tokens": 5}
    assert finished[2].exchange is finished[1].exchange
    assert finished[2].exchange.tokens == {"input_tokens": 500, "output_tokens": 10}
    assert finished[2].exchange.expected is not None


@every_sdk
@pytest.mark.parametrize("stream", [False, True])
def test_asynchronous_answers_are_learned_from_too(sdk: Any, stream: bool, finished: list[Finished]) -> None:
    provider = script()
    agent = sdk(provider, store=MemoryStore())
    if stream and agent.name == "openai_chat":
        agent.options["stream_options"] = {"include_usage": True}

    async def run() -> None:
        async with client_of(agent, provider, store=MemoryStore()) as client:
            first = await ask(agent, client, [USER], stream)
            await ask(agent, client, [USER, *first.history, *agent.result(first.calls[0][1], LOG)], stream)

    asyncio.run(run())
    assert [one.usage and one.usage.input for one in finished] == [100, 200, 300]
    assert finished[2].exchange.tokens == {"input_tokens": 500, "output_tokens": 10}


@every_sdk
@both_ways
@pytest.mark.parametrize("packed", [False, True])
def test_without_recall_tools_answers_pass_unchanged_and_are_learned_from(
    sdk: Any, way: str, packed: bool, finished: list[Finished]
) -> None:
    provider = Provider([[Text("Hello.")]], packed=packed)
    agent = sdk(provider, store=MemoryStore(), recall="off")
    assert getattr(agent, way)([USER]).text == "Hello."
    assert [one.usage and one.usage.input for one in finished] == [100]
    assert finished[0].complete


@every_sdk
def test_without_recall_tools_asynchronous_answers_are_learned_from(sdk: Any, finished: list[Finished]) -> None:
    provider = Provider([[Text("Hello.")], [Text("Bye.")]], packed=True)
    agent = sdk(provider, store=MemoryStore())

    async def run() -> None:
        async with client_of(agent, provider, store=MemoryStore(), recall="off") as client:
            assert (await ask(agent, client, [USER], False)).text == "Hello."
            await ask(agent, client, [USER], True)

    asyncio.run(run())
    assert finished[0].usage is not None
    assert finished[0].usage.input == 100
    assert [one.complete for one in finished] == [True, True]


@pytest.mark.parametrize("recall", ["tools", "off"])
def test_a_stream_that_is_left_early_is_learned_from_once(recall: str, finished: list[Finished]) -> None:
    provider = Provider([[Text("a long answer")]])
    agent = Anthropic(provider, store=MemoryStore(), recall=recall)
    with agent.client.messages.stream(messages=[USER], **agent.options) as stream:
        next(iter(stream))
    assert [(one.complete, one.usage and one.usage.input) for one in finished] == [(False, 100)]


def test_a_refusal_is_no_bill(finished: list[Finished]) -> None:
    session = Session("s", store=MemoryStore())
    agent = Anthropic(Provider([]), session=session)
    with pytest.raises(Exception, match="are called and not offered"):
        agent.ask([USER, {"role": "assistant", "content": [CALL]}, *agent.result("c", "x")])
    assert all(one.usage is None for one in finished)
    assert session.billing.requests == 0


CALL = {"type": "tool_use", "id": "c", "name": "unknown", "input": json.loads("{}")}
