"""Bedrock over the proxy with an API key: in frames and whole, what is recorded of it, and what its spans say."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator

import pytest

from keepwhole.apps.inspector.messages import read_answer
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.proxy.telemetry import attributes
from keepwhole.exchange.request_log import RequestLog
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.wire.event_stream import FramedStream, Frames
from keepwhole.wire.sse import Events
from tests.apps.proxy.proxy_server import Answered, Served, ask, offered, proxy
from tests.upstream.answer import Answer
from tests.upstream.bedrock import BEARER
from tests.upstream.prompt_cache import CachePoints, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")
MODEL = "/bedrock/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0"
KEY = {"authorization": f"Bearer {BEARER}", "content-type": "application/json", "x-keepwhole-session": "s"}
CONFIG: Json = {"tools": [{"toolSpec": {"name": "work", "inputSchema": {"json": {"type": "object"}}}}]}
CONVERSE: Json = {"messages": [{"role": "user", "content": [{"text": "hello"}]}], "toolConfig": CONFIG}
INVOKE: Json = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 50,
    "tools": offered("anthropic"),
    "messages": [{"role": "user", "content": "hello"}],
}
ENDS = {
    "/converse": CONVERSE,
    "/converse-stream": CONVERSE,
    "/invoke": INVOKE,
    "/invoke-with-response-stream": INVOKE,
}
EACH = pytest.mark.parametrize("end", ENDS)


def model(body: Json) -> list[Part]:
    """Reads something back, then answers."""
    is_read = "get_artifact" in json.dumps(body["messages"])
    return [Text("All done.")] if is_read else [Text("Let me look."), Tool("get_artifact", {"id": "art_1"})]


class Bedrock:
    """A proxy in front of Bedrock, what it told and what it recorded."""

    def __init__(self, served: Upstream, running: Served, told: list[ProxiedRequest], store: MemoryStore) -> None:
        self.served, self.running, self.told, self.store = served, running, told, store

    def ask(self, end: str, headers: Json | None = None) -> Answered:
        """An answer, once all is recorded."""
        answer = ask(self.running.port, MODEL + end, ENDS[end], {**KEY, **(headers or {})})
        self.running.rest()
        return answer

    def answers(self) -> list[bytes]:
        """The answers on record."""
        [name] = [info.name for info in self.store.sessions()]
        log = RequestLog(Session(name, store=self.store))
        return [log.response(one.request.trace_id) for one in log.all()]


@pytest.fixture
def bedrock() -> Iterator[Bedrock]:
    told: list[ProxiedRequest] = []
    store = MemoryStore()
    with upstream(model) as served, proxy({"bedrock": served.url}, store=store, reporter=told.append) as running:
        yield Bedrock(served, running, told, store)


def words_in(end: str, data: bytes) -> str:
    """What a client reads of an answer."""
    if "stream" not in end:
        body = json.loads(data)
        blocks = body["output"]["message"]["content"] if "output" in body else body["content"]
        return "".join(block.get("text", "") for block in blocks)
    assert b"".join(frame.raw for frame in Frames().feed(data)) == data, "every checksum is right"
    stream = FramedStream("events" if "converse" in end else "chunks")
    events = [event.data() for event in Events().feed(stream.decode(data))]
    return "".join(event["delta"].get("text", "") for event in events if "delta" in event)


@EACH
def test_a_recall_is_answered_on_the_way(bedrock: Bedrock, end: str) -> None:
    answer = bedrock.ask(end)
    assert (answer.status, words_in(end, answer.data)) == (200, "Let me look.All done.")
    assert b"get_artifact" not in answer.data
    assert (bedrock.served.refused, len(bedrock.served.asked)) == ([], 2)
    kind = answer.headers["content-type"]
    assert kind == ("application/vnd.amazon.eventstream" if "stream" in end else "application/json")


@pytest.mark.parametrize("end", ["/converse", "/invoke"])
def test_what_is_counted_is_what_would_be_sent(bedrock: Bedrock, end: str) -> None:
    bedrock.served.model = lambda _: [Text("So.")]
    long = "".join(f"line {number} of a long output\n" for number in range(20_000))
    body = {**ENDS[end], "messages": _with_result(end, long)}
    assert ask(bedrock.running.port, MODEL + end, body, KEY).status == 200
    bedrock.running.rest()
    before = len(bedrock.answers())
    data = json.dumps(body).encode()
    inside: Json = {"converse": body} if end == "/converse" else {"invokeModel": {"body": b64encode(data).decode()}}
    counted = ask(bedrock.running.port, f"{MODEL}/count-tokens", {"input": inside}, KEY)
    assert (counted.status, bedrock.served.refused) == (200, [])
    assert 0 < counted.body["inputTokens"] < len(long) / 8
    sent = bedrock.served.asked[-1].body["input"]
    request = sent.get("converse") or json.loads(b64decode(sent["invokeModel"]["body"]))
    assert request == bedrock.served.asked[0].body
    bedrock.running.rest()
    assert len(bedrock.answers()) == before, "what is only counted is not recorded"


def _with_result(end: str, text: str) -> list[Json]:
    if end == "/converse":
        call: Json = {"toolUse": {"toolUseId": "c1", "name": "work", "input": {}}}
        result: Json = {"toolResult": {"toolUseId": "c1", "content": [{"text": text}]}}
    else:
        call = {"type": "tool_use", "id": "c1", "name": "work", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": text}
    first = ENDS[end]["messages"]
    return [*first, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


@EACH
def test_what_is_recorded_of_an_answer_can_be_read_and_has_no_credentials(bedrock: Bedrock, end: str) -> None:
    bedrock.served.model = lambda _: [Text(f"The key is {BEARER}-{BEARER}.")]
    bedrock.ask(end)
    [recorded] = bedrock.answers()
    assert BEARER.encode() not in recorded
    assert b" key is" in recorded, "the words are there, in plain text"
    dialect = bedrock.told[0].exchange.dialect.name  # type: ignore[union-attr]
    assert read_answer(dialect, recorded).is_readable


@EACH
def test_a_span_names_bedrock_and_why_the_answer_ended(bedrock: Bedrock, end: str) -> None:
    bedrock.ask(end)
    facts = attributes(bedrock.told[0])
    assert facts["gen_ai.provider.name"] == "aws.bedrock"
    assert facts["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert facts["gen_ai.request.stream"] is ("stream" in end)
    assert facts["gen_ai.usage.input_tokens"] > 0  # type: ignore[operator]
    assert str(facts["gen_ai.request.model"]).startswith("us.anthropic.claude-opus-4-5")


@EACH
def test_an_exception_in_a_stream_and_an_error_before_it_are_the_providers(bedrock: Bedrock, end: str) -> None:
    bedrock.served.model = lambda _: Answer([Text("So.")], breaks_off=1)
    data = bedrock.ask(end).data
    assert ("stream" not in end) or Frames().feed(data)[-1].headers[":message-type"] == "exception"
    bedrock.served.model = lambda _: Answer(status=429, body=b'{"message":"slow down"}')
    answer = bedrock.ask(end)
    assert (answer.status, answer.body) == (429, {"message": "slow down"})


def test_bills_are_learned_with_cache_points() -> None:
    told: list[ProxiedRequest] = []
    point = {"cachePoint": {"type": "default"}}
    long = "a rule of the house. " * 2_000
    messages = [{"role": "user", "content": [{"text": "hello"}, point]}]
    body = {**CONVERSE, "system": [{"text": long}, point], "messages": messages}
    till = CachePoints(Clock())
    provider = upstream(lambda _: [Text("So.")], till)
    with provider as served, proxy({"bedrock": served.url}, reporter=told.append) as running:
        for _ in range(2):
            assert ask(running.port, f"{MODEL}/converse", body, KEY).status == 200
            running.rest()
    first, second = (one.usage for one in told)
    assert first is not None
    assert second is not None
    assert (first.cached, second.written) == (0, 0)
    assert first.written == second.cached > 10_000
    foreseen = told[1].predicted
    assert foreseen is not None
    assert abs(foreseen - second.cached) < 0.2 * second.cached, "what the cache points serve is foreseen"
