"""The asynchronous SDKs: the same, many at a time, and canceled."""

import asyncio
import json
from typing import Any

import pytest

import keepwhole
from keepwhole.testing import MemoryStore
from tests.integrations.sdks import SDKS
from tests.integrations.test_transport import LOG, USER, recall, recall_of_nothing
from tests.upstream.provider import Provider, Text, Tool

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("recall_from_start")]

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)


def client_of(agent: Any, provider: Provider, **options: Any) -> Any:
    """The asynchronous client for an agent's SDK."""
    module = pytest.importorskip(type(agent.client).__module__.partition(".")[0])
    http = keepwhole.async_http_client(transport=provider.async_transport, **options)
    kind = module.AsyncAnthropic if agent.name == "anthropic" else module.AsyncOpenAI
    return kind(api_key="k", http_client=http, max_retries=0)


async def ask(agent: Any, client: Any, messages: list[Any], stream: bool) -> Any:
    if agent.name == "anthropic":
        if not stream:
            return agent.read(await client.messages.create(messages=messages, **agent.options))
        async with client.messages.stream(messages=messages, **agent.options) as events:
            return agent.read(await events.get_final_message())
    if agent.name == "openai_chat":
        if not stream:
            return agent.read(await client.chat.completions.create(messages=messages, **agent.options))
        async with client.chat.completions.stream(messages=messages, **agent.options) as events:
            return agent.read(await events.get_final_completion())
    if not stream:
        return agent.read(await client.responses.create(input=messages, **agent.options))
    async with client.responses.stream(input=messages, **agent.options) as events:
        return agent.read(await events.get_final_response())


@every_sdk
@pytest.mark.parametrize("stream", [False, True])
def test_an_asynchronous_agent_is_answered_as_if_nothing_were_between(sdk: Any, stream: bool) -> None:
    provider = Provider([[Tool("work", {"n": 1})], recall, [Text("It is 4711.")], [Text("Bye.")]])
    agent = sdk(provider, store=MemoryStore())

    async def run() -> None:
        async with client_of(agent, provider, store=MemoryStore()) as client:
            first = await ask(agent, client, [USER], stream)
            messages = [USER, *first.history, *agent.result(first.calls[0][1], LOG)]
            second = await ask(agent, client, messages, stream)
            assert second.calls == []
            assert "It is 4711." in second.text
            messages += [*second.history, {"role": "user", "content": "thanks"}]
            await ask(agent, client, messages, stream)

    asyncio.run(run())
    before, after = agent.sent(provider.requests[2]), agent.sent(provider.requests[3])
    assert after[: len(before)] == before
    assert "the needle is 4711" not in json.dumps(provider.requests[1])


@every_sdk
def test_many_conversations_at_a_time_do_not_meet(sdk: Any) -> None:
    provider = Provider([])
    agent = sdk(provider, store=MemoryStore())

    async def one(client: Any, number: int) -> None:
        user = {"role": "user", "content": f"conversation {number}"}
        answer = await ask(agent, client, [user], stream=bool(number % 2))
        assert answer.text == f"conversation {number}"

    def echo(body: Any) -> list[Any]:
        sent = agent.sent(body)
        return [Text(sent[0]["content"])] if len(sent) > 1 else recall_of_nothing(body)

    async def run() -> None:
        provider.script = [echo] * 40
        async with client_of(agent, provider, store=MemoryStore()) as client:
            await asyncio.gather(*(one(client, number) for number in range(20)))

    asyncio.run(run())
    assert len(provider.requests) == 40


def test_a_canceled_stream_closes_that_of_the_provider() -> None:
    provider = Provider([[Text("a" * 100)]])
    agent = SDKS[1](provider, store=MemoryStore())

    async def run() -> None:
        async with client_of(agent, provider, store=MemoryStore()) as client:
            stream = await client.chat.completions.create(messages=[USER], stream=True, **agent.options)
            async for _ in stream:
                break
            await stream.close()

    asyncio.run(run())
    assert provider.closed >= 1
