"""Bedrock's real clients against one on loopback that checks signatures, frames and pairs."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="needs the extra `proxy`")

from keepwhole.integrations.bedrock import _ConverseEvents, attach  # pyright: ignore[reportPrivateUsage]
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from keepwhole.wire.sse import Events
from tests.apps.proxy.proxy_server import offered, proxy
from tests.canonical.pictures import png
from tests.imported_on_use import ImportedOnUse
from tests.upstream.answer import Answer
from tests.upstream.bedrock import ACCESS_KEY, BEARER, REGION, SECRET_KEY
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

pytestmark = [
    pytest.mark.usefixtures("recall_from_start"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore"),
]
boto3: Any = ImportedOnUse("boto3")
botocore_config: Any = ImportedOnUse("botocore.config")
anthropic: Any = ImportedOnUse("anthropic")
MODEL = "us.anthropic.claude-opus-4-5-20251101-v1:0"
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
THROTTLED = (("content-type", "application/json"), ("x-amzn-errortype", "ThrottlingException"))
LONG = "\n".join(f"line {number} of a long output" for number in range(20_000))
STREAMED = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


def model(body: Json) -> list[Part]:
    """Reads something back, then calls the client's tool."""
    return [Tool("work", {"n": 7})] if "get_artifact" in json.dumps(body["messages"]) else [Text("Let me look."), OURS]


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(model) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def runtime(url: str) -> Any:
    keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY}
    config = botocore_config.Config(retries={"total_max_attempts": 1})
    return boto3.client("bedrock-runtime", region_name=REGION, endpoint_url=url, config=config, **keys)


def body(*messages: Json) -> str:
    said = messages or ({"role": "user", "content": "hello"},)
    own = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 50, "tools": offered("anthropic")}
    return json.dumps({**own, "messages": list(said)})


def invoke(client: Any, data: str, is_streamed: bool) -> list[Json]:
    """The blocks of an answer: their types and texts or names."""
    if not is_streamed:
        answer = client.invoke_model(modelId=MODEL, body=data)
        return [{"type": block["type"], "name": block.get("name")} for block in json.load(answer["body"])["content"]]
    stream = client.invoke_model_with_response_stream(modelId=MODEL, body=data)["body"]
    events = [json.loads(event["chunk"]["bytes"]) for event in stream]
    assert events[-1]["type"] == "message_stop"
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    return [{"type": block["type"], "name": block.get("name")} for block in blocks]


CALL: Json = {"toolUse": {"toolUseId": "c1", "name": "work", "input": {}}}
CONFIG: Json = {"tools": [{"toolSpec": {"name": "work", "inputSchema": {"json": {"type": "object"}}}}]}
SHOWN = [{"type": "text", "name": None}, {"type": "tool_use", "name": "work"}]


@STREAMED
def test_boto3_signs_what_was_edited_and_recalls_are_answered_on_the_way(served: Upstream, is_streamed: bool) -> None:
    client = runtime(served.url)
    router = attach(client, "s", store=MemoryStore())
    assert invoke(client, body(), is_streamed) == SHOWN
    router.close()
    assert (served.refused, len(served.asked)) == ([], 2)
    assert "get_artifact" in json.dumps(served.asked[0].body["tools"])


def test_a_long_result_is_kept_whole_and_sent_cut(served: Upstream) -> None:
    store, client = MemoryStore(), runtime(served.url)
    router = attach(client, "s", store=store)
    call: Json = {"type": "tool_use", "id": "c1", "name": "work", "input": {}}
    result: Json = {"type": "tool_result", "tool_use_id": "c1", "content": LONG}
    asked = {"role": "user", "content": "hello"}
    invoke(client, body(asked, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}), False)
    sent = served.asked[0].data
    assert len(sent) < len(LONG) / 2
    artifact = Session("s", store=store).artifacts()[0]
    assert Session("s", store=store).recall_bytes(artifact.artifact_id) == LONG.encode()
    router.close()
    assert not served.refused


@pytest.mark.parametrize("is_converse", [True, False], ids=["converse", "invoke_model"])
def test_what_is_counted_is_what_would_be_sent(served: Upstream, is_converse: bool) -> None:
    store, client = MemoryStore(), runtime(served.url)
    served.model = lambda _: [Text("So.")]
    call: Json = {"type": "tool_use", "id": "c1", "name": "work", "input": {}}
    result: Json = {"type": "tool_result", "tool_use_id": "c1", "content": LONG}
    said = body({"role": "user", "content": "go"}, {"role": "assistant", "content": [call]}, _said_by_user(result))
    messages = asked({"toolResult": {"toolUseId": "c1", "content": [{"text": LONG}]}})
    with closing(attach(client, "s", store=store)) as router:
        if is_converse:
            client.converse(modelId=MODEL, messages=messages, toolConfig=CONFIG)
            counted: Json = {"converse": {"messages": messages, "toolConfig": CONFIG}}
        else:
            client.invoke_model(modelId=MODEL, body=said)
            counted = {"invokeModel": {"body": said}}
        recorded = len(list(store.rows("s")))
        count = client.count_tokens(modelId=MODEL, input=counted)["inputTokens"]
        assert router.counts["count"] == 1
    assert served.refused == []
    turn, counting = served.asked
    inside = counting.body["input"]
    sent = inside["converse"] if is_converse else json.loads(base64.b64decode(inside["invokeModel"]["body"]))
    assert sent == {key: value for key, value in turn.body.items() if key in sent}
    assert turn.body.keys() - sent.keys() <= {"inferenceConfig"}
    assert count < len(LONG) / 8, "else it is the count of the whole"
    assert len(list(store.rows("s"))) == recorded, "what is only counted leaves no trace"


def test_a_count_for_another_vendors_model_is_sent_as_it_came(served: Upstream) -> None:
    client = runtime(served.url)
    data = json.dumps({"prompt": "hello"})
    with closing(attach(client, "s", store=MemoryStore())) as router, pytest.raises(Exception, match="anthropic"):
        client.count_tokens(modelId="amazon.titan-text-express-v1", input={"invokeModel": {"body": data}})
    assert router.counts["untouched: not understood"] == 1
    assert base64.b64decode(served.asked[0].body["input"]["invokeModel"]["body"]) == data.encode()


def _said_by_user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def asked(*blocks: Json) -> list[Json]:
    """A conversation of Converse; with results, they answer `CALL`."""
    first = {"role": "user", "content": [{"text": "hello"}]}
    return (
        [first, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": list(blocks)}]
        if blocks
        else [first]
    )


def converse(client: Any, messages: list[Json], is_streamed: bool) -> list[Json]:
    """The blocks of an answer."""
    if not is_streamed:
        answer = client.converse(modelId=MODEL, messages=messages, toolConfig=CONFIG)
        assert (answer["stopReason"], answer["ResponseMetadata"]["HTTPStatusCode"]) == ("tool_use", 200)
        assert answer["usage"]["inputTokens"] > 0
        return answer["output"]["message"]["content"]
    stream = client.converse_stream(modelId=MODEL, messages=messages, toolConfig=CONFIG)["stream"]
    blocks: dict[int, Json] = {}
    names: list[str] = []
    for event in stream:
        [(name, data)] = event.items()
        names.append(name)
        if name == "contentBlockStart":
            blocks[data["contentBlockIndex"]] = {"toolUse": {**data["start"]["toolUse"], "input": ""}}
        elif name == "contentBlockDelta" and "text" in data["delta"]:
            text = blocks.setdefault(data["contentBlockIndex"], {"text": ""})
            text["text"] += data["delta"]["text"]
        elif name == "contentBlockDelta" and "toolUse" in data["delta"]:
            blocks[data["contentBlockIndex"]]["toolUse"]["input"] += data["delta"]["toolUse"]["input"]
    assert (names[0], names[-2:], names.count("messageStart")) == ("messageStart", ["messageStop", "metadata"], 1)
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return [blocks[at] for at in sorted(blocks)]


@STREAMED
def test_converse_is_signed_edited_and_recalls_are_answered_on_the_way(served: Upstream, is_streamed: bool) -> None:
    client = runtime(served.url)
    with closing(attach(client, "s", store=MemoryStore())):
        blocks = converse(client, asked(), is_streamed)
    assert [next(iter(block)) for block in blocks] == ["text", "toolUse"]
    assert (blocks[0]["text"], blocks[1]["toolUse"]["input"]) == ("Let me look.", {"n": 7})
    assert (served.refused, len(served.asked)) == ([], 2)
    assert "get_artifact" in json.dumps(served.asked[0].body["toolConfig"])


@STREAMED
def test_converse_keeps_a_long_result_and_an_image_whole(served: Upstream, is_streamed: bool) -> None:
    store, client = MemoryStore(), runtime(served.url)
    picture = png(64, 48, 1, 40)
    image = {"image": {"format": "png", "source": {"bytes": picture}}}
    with closing(attach(client, "s", store=store)):
        result = {"toolResult": {"toolUseId": "c1", "content": [{"text": LONG}, image]}}
        converse(client, asked(result), is_streamed)
    assert served.refused == []
    assert len(served.asked[0].data) < len(LONG) / 2
    assert base64.b64encode(picture) in served.asked[0].data, "boto3 took bytes, and base64 is what is sent"
    [long] = Session("s", store=store).artifacts()
    assert Session("s", store=store).recall_bytes(long.artifact_id) == LONG.encode()


def test_what_is_not_changed_is_given_as_boto3_read_it(served: Upstream) -> None:
    sealed: Json = {"reasoningContent": {"redactedContent": b"\0\1"}}
    plain, attached = runtime(served.url), runtime(served.url)
    served.model = lambda _: [Text("So."), Tool("work", {"n": 7})]
    with closing(attach(attached, "s", store=MemoryStore())):
        answers = [one.converse(modelId=MODEL, messages=asked(), toolConfig=CONFIG) for one in (plain, attached)]
        streams = [
            list(one.converse_stream(modelId=MODEL, messages=asked(), toolConfig=CONFIG)["stream"])
            for one in (plain, attached)
        ]
    first, second = ({**answer, "ResponseMetadata": {}, "metrics": {}, "usage": {}} for answer in answers)
    assert json.dumps(first).replace("call_1", "call_2") == json.dumps(second)
    assert [next(iter(event)) for event in streams[0]] == [next(iter(event)) for event in streams[1]]
    convert = _ConverseEvents()
    event = Events().feed(convert.event_of({"contentBlockDelta": {"contentBlockIndex": 0, "delta": sealed}}) or b"")
    assert convert.given_for(event[0]) == {"contentBlockDelta": {"contentBlockIndex": 0, "delta": sealed}}


def test_a_refused_further_round_is_the_callers_error(served: Upstream) -> None:
    script: list[Any] = [[OURS], Answer(status=429, body=b'{"message":"slow down"}', headers=THROTTLED)]
    served.model = lambda _: script.pop(0)
    client = runtime(served.url)
    thrown = pytest.raises(client.exceptions.ThrottlingException, match="slow")
    with closing(attach(client, "s", store=MemoryStore())), thrown:
        converse(client, asked(), False)


def test_hidden_rounds_are_put_back_into_the_next_call(served: Upstream) -> None:
    client = runtime(served.url)
    with closing(attach(client, "s", store=MemoryStore())):
        blocks = converse(client, asked(), True)
        result = {"toolResult": {"toolUseId": blocks[1]["toolUse"]["toolUseId"], "content": [{"json": {"a": 1}}]}}
        grown = [*asked(), {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
        served.model = lambda _: [Tool("work", {"n": 8})]
        converse(client, grown, True)
    assert served.refused == []
    sent = served.asked[-1].body["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[1]["content"][1]["toolUse"]["name"] == "get_artifact"


@STREAMED
def test_anthropics_client_for_bedrock_is_signed_again(
    served: Upstream, monkeypatch: pytest.MonkeyPatch, is_streamed: bool
) -> None:
    from keepwhole.integrations.anthropic_bedrock import http_client

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with http_client("s", store=MemoryStore()) as sender:
        client = anthropic.AnthropicBedrock(aws_region=REGION, base_url=served.url, http_client=sender, max_retries=0)
        assert blocks_of(client, is_streamed) == SHOWN
    assert (served.refused, len(served.asked)) == ([], 2)


def test_what_was_signed_with_other_credentials_is_sent_as_it_came(
    served: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keepwhole.integrations.anthropic_bedrock import http_client

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    with http_client("s", store=MemoryStore()) as sender:
        client = anthropic.AnthropicBedrock(
            aws_access_key=ACCESS_KEY,
            aws_secret_key=SECRET_KEY,
            aws_region=REGION,
            base_url=served.url,
            http_client=sender,
            max_retries=0,
        )
        client.messages.create(
            model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "hello"}], tools=offered("anthropic")
        )
    assert not served.refused
    assert "get_artifact" not in json.dumps(served.asked[0].body["tools"])


@STREAMED
def test_with_an_api_key_the_proxy_serves_anthropics_client(served: Upstream, is_streamed: bool) -> None:
    with proxy({"bedrock": served.url}) as running:
        url = f"{running.url}/bedrock"
        client = anthropic.AnthropicBedrock(api_key=BEARER, aws_region=REGION, base_url=url, max_retries=0)
        assert blocks_of(client, is_streamed) == SHOWN
    assert (served.refused, len(served.asked)) == ([], 2)


def test_boto3_sends_no_api_key_to_a_proxy_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", BEARER)
    with pytest.raises(Exception, match="requires an HTTPS endpoint"):
        invoke(boto3.client("bedrock-runtime", region_name=REGION, endpoint_url="http://127.0.0.1:9"), body(), False)


def test_the_proxy_refuses_what_is_signed_and_says_why(served: Upstream) -> None:
    wanted = pytest.raises(Exception, match=r"keepwhole\.integrations\.bedrock")
    with proxy({"bedrock": served.url}) as running, wanted:
        invoke(runtime(f"{running.url}/bedrock"), body(), False)
    assert not served.asked


def test_the_upstream_refuses_a_body_that_was_changed_after_it_was_signed(served: Upstream) -> None:
    def change(request: Any, **_: Any) -> None:
        request.data = request.data.replace(b"hello", b"hullo")

    def send(request: Any, **_: Any) -> None:
        request.body = request.body.replace(b"hello", b"hullo")

    client = runtime(served.url)
    client.meta.events.register("before-sign.bedrock-runtime.*", change)
    invoke(client, body(), False)
    client = runtime(served.url)
    client.meta.events.register("before-send.bedrock-runtime.*", send)
    with pytest.raises(Exception, match="does not match the signature"):
        invoke(client, body(), False)
    assert len(served.refused) == 1


def blocks_of(client: Any, is_streamed: bool) -> list[Json]:
    asked: Json = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}
    asked["tools"] = offered("anthropic")
    if is_streamed:
        with client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**asked)
    return [{"type": block.type, "name": getattr(block, "name", None)} for block in message.content]
