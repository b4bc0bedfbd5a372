"""A call never fails because of the transport: errors, retries, a failing record, requests it cannot read."""

import json
from typing import Any

import pytest

import keepwhole
from keepwhole.errors import NotStored, UsageError
from keepwhole.testing import MemoryStore
from tests.integrations.sdks import SDKS, Anthropic, Chat, Responses
from tests.integrations.test_transport import LOG, USER, recall, recall_of_nothing
from tests.upstream.provider import Provider, Text, Tool, httpx2

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("recall_from_start")]

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
both_ways = pytest.mark.parametrize("way", ["ask", "stream"])


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openai._base_client", "anthropic._base_client"):
        module = pytest.importorskip(name, reason="the SDKs are not installed")
        monkeypatch.setattr(module, "MAX_RETRY_DELAY", 0.001)


def overloaded(_: Any = None) -> httpx2.Response:
    return httpx2.Response(529, json={"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})


class Broken(MemoryStore):
    """A store that refuses every write."""

    def append(self, *_: Any, **__: Any) -> Any:
        raise NotStored("the disk is full")


@every_sdk
def test_a_refused_request_is_tried_again_by_the_sdk(sdk: Any) -> None:
    provider = Provider([overloaded, [Text("a")]])
    assert sdk(provider, store=MemoryStore()).ask([USER]).text == "a"
    assert provider.bodies[0] == provider.bodies[1]


@every_sdk
def test_a_refused_hidden_round_is_tried_again_from_the_beginning(sdk: Any) -> None:
    provider = Provider([recall_of_nothing, overloaded, recall_of_nothing, [Text("a")]])
    assert sdk(provider, store=MemoryStore()).ask([USER]).text == "a"
    assert provider.bodies[0] == provider.bodies[2]


@every_sdk
def test_an_error_reaches_the_client_as_the_provider_wrote_it(sdk: Any) -> None:
    wrong = httpx2.Response(400, json={"type": "error", "error": {"type": "invalid", "message": "no such model"}})
    with pytest.raises(Exception, match="no such model"):
        sdk(Provider([wrong]), store=MemoryStore()).ask([USER])


@every_sdk
def test_a_hidden_round_of_a_stream_that_is_refused_is_an_error_of_the_stream(sdk: Any) -> None:
    provider = Provider([recall_of_nothing, overloaded])
    with pytest.raises(Exception, match=r"busy"):
        sdk(provider, store=MemoryStore()).stream([USER])


@every_sdk
@both_ways
def test_with_a_full_disk_everything_is_sent_whole_and_answered(sdk: Any, way: str) -> None:
    provider = Provider([[Tool("work", {"n": 1})], recall_of_nothing, [Text("a")], [Text("b")]])
    agent = sdk(provider, store=Broken())
    first = getattr(agent, way)([USER])
    messages = [USER, *first.history, *agent.result(first.calls[0][1], LOG)]
    second = getattr(agent, way)(messages)
    assert second.text == "a"
    assert json.dumps(LOG)[1:-1] in json.dumps(provider.requests[1])
    getattr(agent, way)([*messages, *second.history, {"role": "user", "content": "thanks"}])
    before, after = agent.sent(provider.requests[2]), agent.sent(provider.requests[3])
    assert after[: len(before)] == before, "this process remembers the round"


@pytest.mark.parametrize(
    "body", [b"", b"no json", b'{"messages": 3}', b'{"model": "m"}', b"[1]", b'{"messages": [], "messages": []}']
)
def test_what_is_not_understood_passes_untouched_and_is_counted(body: bytes) -> None:
    seen: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.content)
        return httpx2.Response(200, text="ok")

    with keepwhole.http_client(store=MemoryStore(), transport=httpx2.MockTransport(answer)) as client:
        assert client.post("https://api.test/v1/messages", content=body).text == "ok"
        assert client._transport.router.counts["untouched"] == 1  # type: ignore[attr-defined]
    assert seen == [body]


def test_other_paths_and_methods_pass_unchanged() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, text="ok")

    with keepwhole.http_client(store=MemoryStore(), transport=httpx2.MockTransport(answer)) as client:
        client.post("https://api.test/v1/embeddings", content=b'{"input": "x"}')
        client.get("https://api.test/v1/messages")
        client.post("https://api.test/v1/messages/batches", content=b'{"messages": []}')
        assert not client._transport.router.counts  # type: ignore[attr-defined]
    assert len(seen) == 3


def test_headers_are_forwarded_but_for_the_one_that_is_addressed_to_us() -> None:
    provider = Provider([[Text("a")]])
    agent = Anthropic(provider, store=MemoryStore())
    agent.ask([USER], extra_headers={"x-keepwhole-session": "mine", "anthropic-beta": "b", "x-mine": "1"})
    headers = provider.headers[0]
    assert "x-keepwhole-session" not in headers
    assert (headers["anthropic-beta"], headers["x-mine"], headers["authorization"]) == ("b", "1", "Bearer k")
    assert int(headers["content-length"]) == len(provider.bodies[0])


@every_sdk
def test_a_counting_request_gets_the_same_view_and_leaves_no_trace(sdk: Any) -> None:
    if sdk is not Anthropic:
        pytest.skip("counted the same way")
    store = MemoryStore()
    provider = Provider([[Tool("work", {"n": 1})], [Text("a")]])
    agent = sdk(provider, session="counted", store=store)
    first = agent.ask([USER])
    messages = [USER, *first.history, *agent.result(first.calls[0][1], LOG)]
    options = {key: value for key, value in agent.options.items() if key != "max_tokens"}
    before = len(list(store.rows("counted")))
    agent.client.messages.count_tokens(messages=messages, **options)
    assert len(list(store.rows("counted"))) == before
    agent.ask(messages)
    counted, sent = provider.requests[1], provider.requests[2]
    assert len(json.dumps(counted["messages"])) == len(json.dumps(sent["messages"]))
    assert len(json.dumps(sent["messages"])) < len(LOG) // 2
    assert counted["tools"] == sent["tools"]
    agent.client.messages.count_tokens(messages=messages, **options)
    assert provider.requests[3]["messages"] == sent["messages"]


def test_the_tool_runner_with_threads_sends_whole_conversations() -> None:
    anthropic = pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed")
    provider = Provider([[Tool("work", {"n": 1})], recall, [Text("It is 4711.")]])
    agent = Anthropic(provider, store=MemoryStore())

    @anthropic.beta_tool
    def work(n: int) -> str:
        """Work.

        Args:
            n: how much
        """
        return LOG

    runner = agent.client.beta.messages.tool_runner(
        model="claude-sonnet-5", max_tokens=100, tools=[work], messages=[USER]
    )
    last = runner.until_done()
    assert [block.text for block in last.content] == ["Let me look.", "It is 4711."]
    assert not any("thread" in body for body in provider.requests)
    assert "the needle is 4711" not in json.dumps(provider.requests[1])


@both_ways
def test_a_response_can_be_continued_by_its_id(way: str) -> None:
    provider = Provider([recall_of_nothing, [Text("a")], [Text("b")]])
    agent = Responses(provider, store=MemoryStore())
    first = getattr(agent, way)([USER])
    agent.ask([{"role": "user", "content": "on"}], previous_response_id=first.raw.id)
    assert provider.requests[2]["previous_response_id"] == "resp_2"
    assert agent.sent(provider.requests[2]) == [{"role": "user", "content": "on"}]


@both_ways
def test_a_response_with_calls_of_both_can_be_continued_by_its_id(way: str) -> None:
    provider = Provider([[Tool("search_artifacts", {"query": "x"}), Tool("work", {})], [Text("b")]])
    agent = Responses(provider, store=MemoryStore())
    first = getattr(agent, way)([USER])
    agent.ask(agent.result(first.calls[0][1], "ok"), previous_response_id=first.raw.id)
    assert [item["call_id"] for item in agent.sent(provider.requests[1])] == ["call_1_0", "call_1_1"]


def test_an_input_that_is_one_string_can_take_rounds() -> None:
    provider = Provider([recall_of_nothing, [Text("a")]])
    agent = Responses(provider, store=MemoryStore())
    answer = agent.read(agent.client.responses.create(input="work", **agent.options))
    assert answer.text == "a"
    assert provider.requests[0]["input"] == "work"
    assert provider.requests[1]["input"][0] == {"role": "user", "content": "work"}


def test_a_stream_that_the_client_leaves_is_closed_to_its_end() -> None:
    provider = Provider([[Text("a" * 100)]])
    agent = Chat(provider, store=MemoryStore())
    stream = agent.client.chat.completions.create(messages=[USER], stream=True, **agent.options)
    next(iter(stream))
    stream.close()
    assert provider.closed == 1


def test_a_recall_call_that_was_cut_off_is_left_out_and_not_answered() -> None:
    def cut_off(_: Any) -> httpx2.Response:
        blocks = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "get_artifact", "input": {}}]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks}
        more = {"stop_reason": "max_tokens", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        return httpx2.Response(200, json=body | more)

    provider = Provider([cut_off])
    answer = Anthropic(provider, store=MemoryStore()).ask([USER])
    assert (answer.text, answer.calls, answer.raw.stop_reason) == ("a", [], "max_tokens")
    assert len(provider.requests) == 1


ODD: list[Any] = [
    {"content": None, "choices": None, "output": None},
    {"content": [None, 3, "x"], "choices": [None], "output": [None, 3]},
    {"content": {"a": 1}, "choices": {"a": 1}, "output": "text"},
    {"content": [{"type": "tool_use"}], "choices": [{"message": 3}], "output": [{"type": "function_call"}]},
    {"type": "message_start", "message": 3},
    {"type": "content_block_start", "index": "x", "content_block": 3},
    {"type": "content_block_delta", "index": 0, "delta": 3},
    {"type": "response.completed", "response": 3},
    {"choices": [{"index": None, "delta": {"tool_calls": [3, {"index": None, "function": 3}]}}]},
    [1, 2],
]


@pytest.mark.parametrize("path", ["messages", "chat/completions", "responses"])
@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_is_not_understood_reaches_the_client(path: str, odd: Any, stream: bool) -> None:
    data = f"data: {json.dumps(odd)}\n\nrest".encode() if stream else json.dumps(odd).encode()
    kind = {"content-type": "text/event-stream" if stream else "application/json"}

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=kind, content=data)

    asked = {"messages" if path != "responses" else "input": [USER], "tools": [{"name": "work"}]}
    with keepwhole.http_client(store=MemoryStore(), transport=httpx2.MockTransport(answer)) as client:
        got = client.post(f"https://api.test/v1/{path}", json=asked)
    assert got.status_code == 200
    if not stream:
        assert got.json() == odd or "tool_use" in str(odd)
    else:
        assert b"rest" in got.content


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_off_and_shadow_change_nothing(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWHOLE_MODE", mode)
    provider = Provider([[Tool("work", {})], [Text("a")]])
    agent = Anthropic(provider, store=MemoryStore())
    first = agent.ask([USER])
    agent.ask([USER, *first.history, *agent.result(first.calls[0][1], LOG)])
    assert len(provider.requests[0]["tools"]) == 1
    assert json.dumps(LOG)[1:-1] in json.dumps(provider.requests[1])


def test_a_session_is_the_one_given_or_the_one_a_request_names(tmp_path: Any) -> None:
    def after(**more: Any) -> set[str]:
        provider = Provider([[Tool("work", {})], [Text("a")]])
        store = MemoryStore()
        agent = Anthropic(provider, store=store, **more.pop("client", {}))
        first = agent.ask([USER], **more)
        agent.ask([USER, *first.history, *agent.result(first.calls[0][1], "ok")], **more)
        return {info.name for info in store.sessions()}

    assert after(client={"session": "given"}) == {"given"}
    assert after(extra_headers={"x-keepwhole-session": "named"}) == {"named"}
    assert after(client={"session": "given"}, extra_headers={"x-keepwhole-session": "named"}) == {"named"}
    assert after(metadata={"user_id": "user-7"}) == {"user-7"}
    assert after(metadata={"user_id": json.dumps({"session_id": "inner"})}) == {"inner"}
    assert all(name.startswith("told-") for name in after(metadata={"user_id": "no id/of ours"}))
    assert all(name.startswith("s_") for name in after())


def test_a_session_brings_its_own_store() -> None:
    with keepwhole.session("mine", store=MemoryStore()) as own, pytest.raises(UsageError, match="the session"):
        keepwhole.http_client(own, store=MemoryStore())
