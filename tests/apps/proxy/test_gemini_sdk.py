"""Google's own SDK: through the proxy and inside the process, whole and streamed; its types accept what is sent."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import keepwhole
from keepwhole import MemoryStore
from tests.apps.proxy.proxy_server import proxy
from tests.imported_on_use import ImportedOnUse
from tests.upstream.gemini_rules import gemini_complaint
from tests.upstream.prompt_cache import Clock, GeminiPrefixes
from tests.upstream.provider import Provider
from tests.upstream.server import Asked, Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Thinking, Tool

genai: Any = ImportedOnUse("google.genai")
types: Any = ImportedOnUse("google.genai.types")
pytestmark = pytest.mark.usefixtures("recall_from_start")
TOKEN = "token-" + "x" * 30
LOG = "".join(f"line {number} of a long output\n" for number in range(3_000))
PROJECT = "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:"


def played(body: Json) -> list[Part]:
    """Calls the client's tool, reads back what was left out, and says what it found."""
    told = json.dumps(body["contents"])
    if "art_" not in told:
        return [Thinking("hm"), Text("Let me run it."), Tool("work", {"n": 7})]
    if "get_artifact" not in json.dumps([one for one in body["contents"] if one["role"] == "model"]):
        [name, *_] = re.findall(r"art_\w+", told)
        return [Thinking("what else?"), Tool("get_artifact", {"id": name, "lines": "1500"})]
    return [Text("Line 1499." if "line 1499 of" in told else "Nothing was read back.")]


def work(n: int) -> str:
    """Do some work."""
    return LOG


class Connected:
    """A client of the SDK, and what its provider received."""

    def __init__(self, client: Any, received: Callable[[], list[Json]]) -> None:
        self.client, self.received = client, received


@pytest.fixture(params=["proxy", "proxy, Vertex AI", "transport"])
def connected(request: pytest.FixtureRequest) -> Iterator[Connected]:
    if request.param == "transport":
        provider = Provider([played] * 12)
        options = types.HttpOptions(
            httpx_client=keepwhole.http_client(transport=provider.transport, store=MemoryStore())
        )
        yield Connected(genai.Client(api_key="k", http_options=options), lambda: provider.requests)
        return
    with upstream(played, GeminiPrefixes(Clock())) as served, proxy(served.url, TOKEN) as running:
        options = types.HttpOptions(base_url=f"{running.url}/kw-{TOKEN}")
        yield Connected(
            _vertex(options) if "Vertex" in request.param else genai.Client(api_key="k", http_options=options),
            lambda: [asked.body for asked in served.asked],
        )
        assert served.refused == []


def _vertex(options: Any) -> Any:
    from google.oauth2.credentials import Credentials

    own = {"project": "p", "location": "global", "credentials": Credentials("ya29.fake")}
    return genai.Client(vertexai=True, http_options=options, **own)


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_the_sdk_calls_a_function_and_the_model_reads_back(connected: Connected, is_streamed: bool) -> None:
    asked = {"model": "gemini-2.5-pro", "contents": "go", "config": types.GenerateContentConfig(tools=[work])}
    if is_streamed:
        chunks = list(connected.client.models.generate_content_stream(**asked))
        text = "".join(chunk.text or "" for chunk in chunks)
    else:
        text = connected.client.models.generate_content(**asked).text
    assert text.endswith("Line 1499.")
    received = connected.received()
    assert len(received) == 3, "two of the client, one hidden"
    for body in received:
        assert gemini_complaint(body) == ""
        for content in body["contents"]:
            types.Content.model_validate(content)
        for tool in body["tools"]:
            types.Tool.model_validate(tool)
    assert len(json.dumps(received[1])) < 0.5 * len(LOG)


def test_the_sdk_counts_tokens_and_chats_on(connected: Connected) -> None:
    assert connected.client.models.count_tokens(model="gemini-2.5-pro", contents="go").total_tokens > 0
    chat = connected.client.chats.create(model="gemini-2.5-pro", config=types.GenerateContentConfig(tools=[work]))
    assert chat.send_message("go").text == "Line 1499."
    assert chat.send_message("and now?").text == "Line 1499."
    [*_, before, last] = connected.received()
    assert last["contents"][: len(before["contents"])] == before["contents"], "hidden rounds are put back"


def test_the_sdk_from_an_event_loop() -> None:
    provider = Provider([played] * 6)
    http = keepwhole.async_http_client(transport=provider.async_transport, store=MemoryStore())
    client = genai.Client(api_key="k", http_options=types.HttpOptions(httpx_async_client=http))

    async def ask() -> str:
        config = types.GenerateContentConfig(tools=[work])
        stream = await client.aio.models.generate_content_stream(model="gemini-2.5-pro", contents="go", config=config)
        return "".join([chunk.text or "" async for chunk in stream])

    assert asyncio.run(ask()).endswith("Line 1499.")


def test_errors_are_those_of_the_sdk() -> None:
    def refuse(body: Json) -> Any:
        raise RuntimeError("no")

    with upstream(refuse) as served, proxy(served.url, TOKEN) as running:
        for token, status in ((TOKEN, "INTERNAL"), ("wrong", "UNAUTHENTICATED")):
            options = types.HttpOptions(base_url=f"{running.url}/kw-{token}")
            client = genai.Client(api_key="k", http_options=options)
            with pytest.raises(genai.errors.APIError, match=status):
                client.models.generate_content(model="m", contents="go")


def test_vertex_paths_go_to_vertex() -> None:
    addresses: dict[str, str] = {}
    with upstream(played) as gemini, upstream(played) as vertex:
        addresses |= {"gemini": gemini.url, "vertex": vertex.url}
        with proxy(addresses, TOKEN) as running:
            client = _vertex(types.HttpOptions(base_url=f"{running.url}/kw-{TOKEN}"))
            client.models.generate_content(model="gemini-2.5-pro", contents="go")
    asked: list[Asked] = vertex.asked
    assert [one.path for one in asked] == [PROJECT + "generateContent"]
    assert _no_requests(gemini)


def _no_requests(served: Upstream) -> bool:
    return not served.asked
