"""The proxy's spans in OpenTelemetry's own SDK: named by the GenAI conventions in every dialect, without content."""

import json
import time
from typing import Any

import pytest

# ruff: noqa: E402 the proxy's package may not be there
pytestmark = pytest.mark.adapters
pytest.importorskip("aiohttp", reason="needs the extra `proxy`")
pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry's SDK is not installed; `make adapters` installs it")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.proxy.telemetry import span_reporter
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.promises import conversations as talk
from tests.promises import entry_points
from tests.upstream.answer import Answer
from tests.upstream.bedrock import BEARER
from tests.upstream.prompt_cache import TILLS, Clock
from tests.upstream.server import upstream
from tests.upstream.spelling import Json, Part, Text, Tool

OTHERS = ("gemini", "converse")
"""The dialects whose conversations are those of `tests.promises.conversations`."""
PROVIDERS = {
    "anthropic": "anthropic",
    "openai_chat": "openai",
    "openai_responses": "openai",
    "gemini": "gcp.gemini",
    "converse": "aws.bedrock",
}
SECRET = "the secret of line 2000"
LOG = "".join(f"{number:05} a line of output\n" for number in range(4_000)).replace("02000 a line of output", SECRET)
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
KNOWN = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
"""The names that the conventions have."""


def request_of(dialect: str, stream: bool) -> Json:
    if dialect in OTHERS:
        said = [
            talk.user_message("What does line 2,000 say?", dialect),
            *talk.call_messages(dialect, [("c1", "bash", {})]),
            *talk.result_messages(dialect, [("c1", LOG)]),
        ]
        return {talk.list_name(dialect): said, **talk.tools_fields(dialect, ["bash"])}
    question = {"role": "user", "content": "What does line 2,000 say?"}
    schema = {"type": "object", "properties": {}}
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": LOG}
        said = [question, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        tool: Json = {"name": "Bash", "input_schema": schema}
        return {"model": "claude-sonnet-5", "max_tokens": 99, "messages": said, "tools": [tool], "stream": stream}
    if dialect == "openai_chat":
        made = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
        asked = {"role": "assistant", "content": None, "tool_calls": [made]}
        said = [question, asked, {"role": "tool", "tool_call_id": "c1", "content": LOG}]
        tool = {"type": "function", "function": {"name": "Bash", "parameters": schema}}
        return {"model": "gpt-5", "messages": said, "tools": [tool], "stream": stream}
    call = {"type": "function_call", "call_id": "c1", "name": "Bash", "arguments": "{}"}
    items = [question, call, {"type": "function_call_output", "call_id": "c1", "output": LOG}]
    tool = {"type": "function", "name": "Bash", "parameters": schema}
    return {"model": "gpt-5", "store": False, "input": items, "tools": [tool], "stream": stream}


def model(body: Json) -> list[Part]:
    told = json.dumps(body.get("messages") or body.get("contents") or body["input"])
    artifact = told.partition("[Artifact: ")[2].partition("]")[0]
    if SECRET not in told:
        return [Tool("get_artifact", {"id": artifact, "lines": "2001-2001"})]
    return [Text(f"It says {SECRET}.")]


def path_of(dialect: str, stream: bool) -> str:
    """Where a dialect is asked; two of them stream at a path of its own."""
    if dialect not in OTHERS:
        return PATHS[dialect]  # type: ignore[index]
    path = entry_points.PATHS[dialect]
    if dialect == "converse":
        return f"{path}-stream" if stream else path
    return path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path


def spans_of(dialect: str, answers: Any, stream: bool = False) -> list[Any]:
    """The spans of one request through the proxy, the request's own last."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    till = TILLS[dialect](Clock()) if dialect in TILLS else None
    names = ("anthropic", "openai", "gemini", "bedrock")
    served_by = upstream(answers, till)
    headers = {"x-keepwhole-session": "s", "authorization": f"Bearer {BEARER}", **TRACE}
    report = span_reporter(provider)
    assert report is not None

    def report_late(proxied: ProxiedRequest) -> None:
        time.sleep(0.15)  # a busy machine writes a span after it ended
        report(proxied)

    with served_by as served, proxy(dict.fromkeys(names, served.url), reporter=report_late) as running:
        ask(running.port, path_of(dialect, stream), request_of(dialect, stream), headers)
        running.rest()
    return list(exporter.get_finished_spans())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", sorted(PROVIDERS))
def test_a_request_and_its_recalls_are_spans_of_the_conventions(dialect: str, stream: bool) -> None:
    tool, chat = spans_of(dialect, model, stream)
    facts = chat.attributes
    named = facts["gen_ai.request.model"]
    assert (chat.name, chat.kind, chat.status.status_code) == (f"chat {named}", SpanKind.CLIENT, StatusCode.UNSET)
    assert facts["gen_ai.operation.name"] == "chat"
    assert facts["gen_ai.provider.name"] == PROVIDERS[dialect]
    assert facts["gen_ai.conversation.id"].startswith("s")
    assert facts["gen_ai.usage.input_tokens"] > 0
    assert facts.get("gen_ai.response.id") or dialect == "converse", "answers of Converse have no id"
    assert facts["gen_ai.response.finish_reasons"][0] in ("end_turn", "stop", "completed", "STOP")
    assert facts["gen_ai.request.stream"] is stream
    assert tool.name == "execute_tool get_artifact"
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert ("gen_ai.tool.call.id" in tool.attributes) is (dialect != "gemini"), "Gemini's calls may have no id"
    assert tool.parent.span_id == chat.context.span_id
    assert {tool.context.trace_id, chat.context.trace_id} == {0x0AF7651916CD43DD8448EB211C80319C}
    assert chat.start_time <= tool.start_time <= tool.end_time <= chat.end_time


@pytest.mark.skipif(
    "gen_ai.request.stream" not in KNOWN, reason="these conventions are older; the trial `telemetry` has the newest"
)
@pytest.mark.parametrize("dialect", sorted(PROVIDERS))
def test_spans_have_only_known_names_and_no_content(dialect: str) -> None:
    spans = spans_of(dialect, model)
    for span in spans:
        names = {name for name in span.attributes if not name.startswith("keepwhole.")}
        assert names <= KNOWN | {"error.type"}
    written = "".join(span.to_json() for span in spans)
    assert SECRET not in written
    assert "a line of output" not in written
    assert "What does line" not in written


def test_a_refused_request_is_an_error() -> None:
    (chat,) = spans_of("openai_chat", lambda _: Answer([Text("")], status=429))
    assert chat.status.status_code is StatusCode.ERROR
    assert chat.attributes["error.type"] == "429"
