"""The provider on loopback: the SDKs understand it, it refuses what it should, and it misbehaves as it is told."""

import gzip
import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.upstream.answer import Answer, refusal
from tests.upstream.prompt_cache import Breakpoints, Clock
from tests.upstream.server import Line, Upstream, upstream
from tests.upstream.spelling import Dialect, Part, Text, Thinking, Tool

Json = dict[str, Any]
PATHS: dict[Dialect, str] = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
}
SAID: list[Part] = [Thinking("hm"), Text("Hello there."), Tool("work", {"n": 7})]
TOOL = {"type": "object", "properties": {"n": {"type": "integer"}}}
every_dialect = pytest.mark.parametrize("dialect", PATHS)


def body(dialect: Dialect, streamed: bool = False, **more: Any) -> Json:
    said = [{"role": "user", "content": "hello"}]
    key = "input" if dialect == "openai_responses" else "messages"
    return {"model": "m", key: said, **({"stream": True} if streamed else {}), **more}


class Client:
    """A client that knows nothing but HTTP."""

    def __init__(self, server: Upstream) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)

    def ask(self, dialect: Dialect, streamed: bool = False, **more: Any) -> http.client.HTTPResponse:
        self.connection.request("POST", PATHS[dialect], json.dumps(body(dialect, streamed, **more)))
        return self.connection.getresponse()

    def leave(self) -> None:
        self.connection.close()


class Talk:
    """Servers and clients that are gone when the test is."""

    def __init__(self) -> None:
        self.ends: list[Any] = []

    def with_script(self, *script: Line, **more: Any) -> tuple[Upstream, Client]:
        held = upstream(list(script), **more)
        server = held.__enter__()
        client = Client(server)
        self.ends += [client.leave, lambda: held.__exit__(None, None, None)]
        return server, client


@pytest.fixture
def talk() -> Iterator[Talk]:
    made = Talk()
    yield made
    for end in made.ends:
        end()


def until(happens: Any) -> None:
    deadline = time.monotonic() + 5
    while not happens():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize("streamed", [False, True])
def test_the_sdk_of_anthropic_reads_it(talk: Talk, streamed: bool) -> None:
    anthropic = pytest.importorskip("anthropic")
    server, _ = talk.with_script(SAID)
    given: Json = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        if streamed:
            with client.messages.stream(**given) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(**given)
    thought, text, call = message.content
    assert (thought.thinking, thought.signature) == ("hm", Thinking("hm").signature)
    assert (text.text, call.name, call.input) == ("Hello there.", "work", {"n": 7})


@pytest.mark.parametrize("streamed", [False, True])
def test_the_sdk_of_openai_reads_it(talk: Talk, streamed: bool) -> None:
    openai = pytest.importorskip("openai")
    server, _ = talk.with_script(SAID, SAID)
    with openai.OpenAI(api_key="k", base_url=server.url + "/v1", max_retries=0) as client:
        if streamed:
            with client.chat.completions.stream(**body("openai_chat")) as stream:
                chat = stream.get_final_completion()
            with client.responses.stream(**body("openai_responses")) as stream:
                response = stream.get_final_response()
        else:
            chat = client.chat.completions.create(**body("openai_chat"))
            response = client.responses.create(**body("openai_responses"))
    message = chat.choices[0].message
    assert (message.content, message.tool_calls[0].function.name) == ("Hello there.", "work")
    assert (response.output_text, response.output[-1].name) == ("Hello there.", "work")
    assert response.output[0].encrypted_content == f"{Thinking('hm').signature}:hm"


@every_dialect
def test_a_call_without_its_result_is_refused(talk: Talk, dialect: Dialect) -> None:
    server, client = talk.with_script()
    call = {"id": "c1", "function": {"name": "work", "arguments": "{}"}}
    said: Json = {
        "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "work", "input": {}}]},
        "openai_chat": {"role": "assistant", "tool_calls": [call]},
        "openai_responses": {"type": "function_call", "call_id": "c1", "name": "work", "arguments": "{}"},
    }[dialect]
    key = "input" if dialect == "openai_responses" else "messages"
    answer = client.ask(dialect, **{key: [{"role": "user", "content": "go"}, said]})
    assert answer.status == 400
    assert "c1" in json.load(answer)["error"]["message"]
    assert len(server.refused) == 1


def test_a_thought_with_another_signature_is_refused(talk: Talk) -> None:
    _, client = talk.with_script()
    thought = {"type": "thinking", "thinking": "ha", "signature": Thinking("hm").signature}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [thought]}]
    answer = client.ask("anthropic", messages=messages)
    assert (answer.status, "signature" in json.load(answer)["error"]["message"]) == (400, True)


def test_it_bills_what_it_is_sent_and_refuses_what_is_too_long(talk: Talk) -> None:
    till = Breakpoints(Clock(), window=3_000)
    _, client = talk.with_script(SAID, SAID, till=till)
    block = {"type": "text", "text": "word " * 1_000, "cache_control": {"type": "ephemeral"}}
    usages = [
        json.load(client.ask("anthropic", messages=[{"role": "user", "content": [block]}]))["usage"] for _ in "ab"
    ]
    assert usages[0]["cache_creation_input_tokens"] == usages[1]["cache_read_input_tokens"] == till.bills[1].read
    answer = client.ask("anthropic", messages=[{"role": "user", "content": "word " * 3_000}])
    assert "prompt is too long" in json.load(answer)["error"]["message"]


def test_it_answers_what_is_not_a_conversation(talk: Talk) -> None:
    server, client = talk.with_script()
    for method, path, headers, status in (
        ("HEAD", "/", {}, 200),
        ("GET", "/v1/responses", {"Upgrade": "websocket"}, 426),
        ("GET", "/v1/models", {}, 404),
        ("POST", "/v1/messages/count_tokens?beta=true", {}, 200),
    ):
        client.connection.request(method, path, json.dumps(body("anthropic")) if method == "POST" else None, headers)
        answer = client.connection.getresponse()
        assert (answer.status, bool(answer.read())) == (status, method != "HEAD")
    assert [asked.method for asked in server.asked] == ["HEAD", "GET", "GET", "POST"]
    assert server.connections == 1


@pytest.mark.parametrize("then", ["close", "reset"])
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_can_be_torn(talk: Talk, then: Any, streamed: bool) -> None:
    _, client = talk.with_script(Answer(SAID, after=40, then=then))
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        client.ask("anthropic", streamed).read()


def test_a_client_that_leaves_is_noticed(talk: Talk) -> None:
    server, client = talk.with_script(Answer(SAID, after=40, then="stall"))
    assert client.ask("anthropic", streamed=True).read(10)
    assert (server.open, server.left) == (1, 0)
    client.leave()
    until(lambda: server.left == 1 and server.open == 0)


def test_a_client_that_leaves_before_the_first_byte_is_noticed(talk: Talk) -> None:
    server, client = talk.with_script(Answer(SAID, delay=60))
    client.connection.request("POST", "/v1/messages", json.dumps(body("anthropic")))
    until(lambda: server.asked)
    client.leave()
    until(lambda: server.left == 1)


@every_dialect
def test_an_error_can_come_in_mid_stream(talk: Talk, dialect: Dialect) -> None:
    _, client = talk.with_script(Answer(SAID, breaks_off=2))
    assert b"verloaded" in client.ask(dialect, streamed=True).read().split(b"\n\n")[2]


@every_dialect
@pytest.mark.parametrize("streamed", [False, True])
def test_a_packed_answer_is_the_same(talk: Talk, dialect: Dialect, streamed: bool) -> None:
    packed = talk.with_script(Answer(SAID, packed=True, piece=7))[1].ask(dialect, streamed)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.read()) == talk.with_script(SAID)[1].ask(dialect, streamed).read()


def test_errors_redirects_and_garbage_come_as_they_are_given(talk: Talk) -> None:
    late = refusal("anthropic", 429, "slow down")._replace(headers=(("retry-after", "7"),))
    moved = Answer(status=307, headers=(("location", "/v1/elsewhere"),), body=b"")
    _, client = talk.with_script(late, refusal("anthropic", 529, "too many"), moved, Answer(body=b"\0\xff{"))
    answers = []
    for _ in range(4):
        answer = client.ask("anthropic")
        answers.append((answer.status, answer.headers, answer.read()))
    assert [status for status, _, _ in answers] == [429, 529, 307, 200]
    assert answers[0][1]["retry-after"] == "7"
    assert json.loads(answers[1][2])["error"]["type"] == "overloaded_error"
    assert answers[2][1]["location"] == "/v1/elsewhere"
    assert answers[3][2] == b"\0\xff{"
