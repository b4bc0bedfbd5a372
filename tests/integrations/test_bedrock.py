"""Bedrock's real clients against one on loopback that checks signatures, frames and pairs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole.integrations.bedrock import attach
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.apps.proxy.proxy_server import offered, proxy
from tests.upstream.bedrock import ACCESS_KEY, BEARER, REGION, SECRET_KEY
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

pytestmark = [
    pytest.mark.usefixtures("recall_from_start"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore"),
]
boto3: Any = pytest.importorskip("boto3")
Config: Any = pytest.importorskip("botocore.config").Config
anthropic: Any = pytest.importorskip("anthropic")
MODEL = "us.anthropic.claude-opus-4-5-20251101-v1:0"
OURS = Tool("get_artifact", {"id": "art_1700000000_AAAAAAAAAAAAAAAAAAAAAA"})
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
    config = Config(retries={"total_max_attempts": 1})
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
