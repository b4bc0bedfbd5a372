"""What is told of a request: in headers, a line, counters and spans; and sessions that are left as they are."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from keepwhole import config
from keepwhole.apps.proxy.destination import Tenants
from keepwhole.apps.proxy.proxied_request import ProxiedRequest
from keepwhole.apps.proxy.telemetry import attributes, span_reporter, summary_line
from keepwhole.exchange.exchange import AnsweredRecall
from keepwhole.exchange.request_log import RequestLog
from keepwhole.session import Session
from tests.apps.proxy.proxy_server import PATHS, Talk, ask, offered, proxy, until, written
from tests.upstream.answer import Answer
from tests.upstream.prompt_cache import TILLS, Clock
from tests.upstream.server import upstream
from tests.upstream.spelling import Json, Text

LOG = "".join(f"{number:05} a line of output\n" for number in range(4_000))


def _request(**more: Any) -> Json:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": LOG}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    tool = {"name": "Bash", "description": "Run.", "input_schema": {"type": "object"}}
    return {"model": "claude-sonnet-5", "max_tokens": 9, "messages": messages, "tools": [tool], **more}


def _asked(told: list[ProxiedRequest], session: str = "s", **settings: Any) -> tuple[Any, bytes, str]:
    """The headers of an answer, what the upstream got, and the proxy's own counters."""
    provider = upstream(lambda _: [Text("hello")], TILLS["anthropic"](Clock()))
    with provider as served, proxy(served.url, reporter=told.append, **settings) as running:
        answer = ask(running.port, PATHS["anthropic"], _request(), {"x-keepwhole-session": session})
        assert answer.status == 200
        running.rest()
        metrics = ask(running.port, "/metrics", method="GET").data.decode()
        return answer.headers, served.asked[-1].data, metrics


def test_headers_say_what_was_done() -> None:
    headers, sent, _ = _asked([])
    assert headers["x-keepwhole-session"].startswith("s")
    assert headers["x-keepwhole-mode"] == "on"
    assert int(headers["x-keepwhole-tokens-sent"]) < int(headers["x-keepwhole-tokens-whole"]) / 2
    assert (headers["x-keepwhole-edited"], LOG.encode()[:9_000] in sent) == ("1", False)


def test_in_the_shadow_everything_is_said_to_have_been_sent() -> None:
    told: list[ProxiedRequest] = []
    headers, sent, metrics = _asked(told, mode="shadow")
    assert json.loads(sent) == _request()
    assert headers["x-keepwhole-tokens-sent"] == headers["x-keepwhole-tokens-whole"]
    assert headers["x-keepwhole-edited"] == "0"
    assert attributes(told[0])["keepwhole.tokens.saved"] == 0
    assert "changed" not in summary_line(told[0])
    assert "with mode: on" in summary_line(told[0])
    assert "keepwhole_proxy_decisions_total 0\n" in metrics


def test_in_the_shadow_headers_and_metrics_say_what_would_be_left_out() -> None:
    headers, _, metrics = _asked([], mode="shadow")
    assert headers["x-keepwhole-would-edit"] == "1"
    whole, would = int(headers["x-keepwhole-tokens-whole"]), int(headers["x-keepwhole-would-send"])
    assert would < whole / 2
    assert f"keepwhole_proxy_shadow_tokens_saved_total {whole - would}\n" in metrics
    assert "keepwhole_proxy_shadow_edited_total 1\n" in metrics
    headers, _, metrics = _asked([], session="other")
    assert "x-keepwhole-would-send" not in headers
    assert not [line for line in metrics.splitlines() if line.startswith("keepwhole_proxy_shadow")]


def test_a_conversation_that_has_no_name_yet_is_given_none() -> None:
    told: list[ProxiedRequest] = []
    first = _request() | {"messages": [{"role": "user", "content": "go"}]}
    with upstream(lambda _: [Text("hello")]) as served, proxy(served.url, reporter=told.append) as running:
        headers = ask(running.port, PATHS["anthropic"], first).headers
        running.rest()
    assert {name: value for name, value in headers.items() if name.startswith("x-keepwhole")} == {
        "x-keepwhole-mode": "off"
    }
    assert told[0].exchange is not None
    assert told[0].exchange.session not in summary_line(told[0])
    assert "gen_ai.conversation.id" not in attributes(told[0])


def test_a_line_says_it_for_people_and_has_no_content() -> None:
    told: list[ProxiedRequest] = []
    _asked(told)
    said = summary_line(told[0])
    assert "1 result changed" in said
    assert "200 · complete" in said
    assert "cached 0 of" in said
    assert "a line of output" not in said
    assert "\n" not in said


def test_a_name_that_a_client_chose_cannot_write_to_a_terminal() -> None:
    told: list[ProxiedRequest] = []
    _asked(told)
    exchange = told[0].exchange
    assert exchange is not None
    exchange.identity = exchange.identity._replace(branch="\x1b[2J\n")
    assert summary_line(told[0]).isprintable()


def test_counters_count_tokens_and_results() -> None:
    *_, metrics = _asked([])
    values = dict(row.rsplit(" ", 1) for row in metrics.splitlines() if not row.startswith("#"))
    assert values['keepwhole_proxy_requests_total{dialect="anthropic",outcome="complete"}'] == "1"
    assert float(values["keepwhole_proxy_tokens_sent_total"]) < float(values["keepwhole_proxy_tokens_whole_total"])
    assert float(values["keepwhole_proxy_input_tokens_total"]) > 1_000
    assert values["keepwhole_results_total"] == "1"


def test_a_span_goes_by_the_names_of_the_semantic_conventions() -> None:
    told: list[ProxiedRequest] = []
    _asked(told)
    facts = attributes(told[0])
    assert facts["gen_ai.operation.name"] == "chat"
    assert facts["gen_ai.request.model"] == "claude-sonnet-5"
    assert facts["gen_ai.usage.input_tokens"] == told[0].usage.input  # type: ignore[union-attr]
    assert int(str(facts["keepwhole.tokens.saved"])) > 1_000
    assert facts["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert facts["gen_ai.request.stream"] is False
    assert "error.type" not in facts
    assert all(name.startswith(("gen_ai.", "keepwhole.")) for name in facts)


def test_spans_are_written_where_there_is_a_tracer_and_belong_to_the_clients_trace() -> None:
    trace: Any = pytest.importorskip("opentelemetry.trace", reason="opentelemetry-api is not installed")
    begun: list[tuple[str, Any]] = []

    class Tracer(trace.NoOpTracer):
        def start_span(self, name: str, context: Any = None, **_: Any) -> Any:
            begun.append((name, trace.get_current_span(context).get_span_context().trace_id))
            return trace.INVALID_SPAN

    class Provider(trace.TracerProvider):
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            return Tracer()

    told: list[ProxiedRequest] = []
    _asked(told)
    told[0].trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    report = span_reporter(Provider())
    assert report is not None
    report(told[0])
    assert begun == [("chat claude-sonnet-5", 0x0AF7651916CD43DD8448EB211C80319C)]


def test_without_a_tracer_nothing_is_written() -> None:
    assert span_reporter() is None


def test_a_session_that_is_held_out_is_left_as_it_is_and_put_on_record() -> None:
    headers, sent, _ = _asked([], holdout=1.0)
    assert json.loads(sent) == _request()
    assert headers["x-keepwhole-mode"] == "shadow"
    with Session(headers["x-keepwhole-session"], settings=config.load()) as session:
        (step,) = RequestLog(session).all()
        assert (step.request.mode, step.request.tokens_sent) == ("shadow", step.request.tokens_whole)


@pytest.mark.parametrize("how", ["nobody is there", "the client leaves"])
def test_a_request_that_gets_no_answer_is_on_record_with_its_results(how: str) -> None:
    short = _request()
    short["messages"][2]["content"][0]["content"] = "a short result"
    said = {"x-keepwhole-session": "s"}
    with upstream(lambda _: Answer([Text("late")], delay=30)) as served:
        there = served.url if how == "the client leaves" else "http://127.0.0.1:9"
        with proxy(there, tenants="one") as running:
            if how == "the client leaves":
                with Talk(running.port) as client:
                    data = json.dumps(short).encode()
                    client.say(written("POST", PATHS["anthropic"], running.port, said, data))
                    until(lambda: bool(served.asked))
            else:
                assert ask(running.port, PATHS["anthropic"], short, said).status == 502
            running.rest()
    with Session("s", settings=config.load()) as session:
        sent = RequestLog(session)
        (step,) = sent.all()
        assert step.outcome == "no answer"
        assert json.loads(sent.body(step.request.trace_id))["messages"] == short["messages"]
        assert [row.inline for row in session.store.rows("s", kind="result")] == [b"a short result"]


def test_answers_are_learned_from_in_the_order_in_which_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the second would be expected to find nothing in the cache, and the first what the second put there."""
    finish, slow = ProxiedRequest.finish, [0.4]

    def finish_slowly(proxied: ProxiedRequest) -> None:
        time.sleep(slow.pop() if slow else 0)
        finish(proxied)

    monkeypatch.setattr(ProxiedRequest, "finish", finish_slowly)
    more = [{"role": "assistant", "content": "well"}, {"role": "user", "content": "go on"}]
    said = {"x-keepwhole-session": "s"}
    till = TILLS["openai_chat"](Clock())
    chat = {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": "go on, " * 3_000}],
        "tools": offered("openai_chat"),
    }
    with upstream(lambda _: [Text("hello")], till) as served, proxy(served.url, tenants="one") as running:
        for messages in (chat["messages"], [*chat["messages"], *more]):
            assert ask(running.port, PATHS["openai_chat"], {**chat, "messages": messages}, said).status == 200
        running.rest()
        assert not running.proxy._latest
    with Session("s", settings=config.load()) as session:
        steps = RequestLog(session).all()
    assert [step.request.size for step in steps] == sorted(step.request.size for step in steps)
    billed = [step.response.cached for step in steps if step.response is not None]
    assert [step.request.predicted for step in steps] == billed
    assert (billed[1] or 0) > 1_000


def test_one_session_in_ten_is_held_out_and_always_the_same(tmp_path: Path) -> None:
    tenants = Tenants(str(tmp_path), "one", 0.1)
    held = [name for name in map(str, range(2_000)) if tenants.is_held_out(name)]
    assert 140 < len(held) < 260
    assert held == [name for name in map(str, range(2_000)) if Tenants(str(tmp_path), "one", 0.1).is_held_out(name)]
    assert not any(Tenants(str(tmp_path), "one").is_held_out(name) for name in held)


@pytest.mark.parametrize(
    ("outcome", "error"), [("refused", "529"), ("incomplete", "incomplete"), ("no answer", "no answer")]
)
def test_a_request_without_a_whole_answer_says_why_and_nothing_of_the_answer(outcome: Any, error: str) -> None:
    told: list[ProxiedRequest] = []
    _asked(told)
    told[0].outcome, told[0].status, told[0].last_answer = outcome, 529, None
    facts = attributes(told[0])
    assert facts["error.type"] == error
    assert facts["keepwhole.outcome"] == outcome
    assert not [name for name in facts if name.startswith("gen_ai.response")]


def test_each_recall_is_a_span_below_that_of_its_request_and_an_error_is_marked() -> None:
    trace: Any = pytest.importorskip("opentelemetry.trace", reason="opentelemetry-api is not installed")
    begun: list[tuple[str, dict[str, Any]]] = []
    statuses: list[Any] = []
    ended: list[Any] = []

    class Span(trace.NonRecordingSpan):
        def set_status(self, status: Any, description: Any = None) -> None:
            statuses.append(status)

        def end(self, end_time: Any = None) -> None:
            ended.append(end_time)

    class Tracer(trace.NoOpTracer):
        def start_span(self, name: str, context: Any = None, attributes: Any = None, **_: Any) -> Any:
            begun.append((name, dict(attributes)))
            return Span(trace.INVALID_SPAN_CONTEXT)

    class Provider(trace.TracerProvider):
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            return Tracer()

    told: list[ProxiedRequest] = []
    _asked(told)
    exchange, report = told[0].exchange, span_reporter(Provider())
    assert exchange is not None
    assert report is not None
    exchange.recalls = [AnsweredRecall("get_artifact", "call_1", 1, 2), AnsweredRecall("search_artifacts", "", 3, 4)]
    report(told[0])
    assert statuses == []
    assert [name for name, _ in begun] == [
        "chat claude-sonnet-5",
        "execute_tool get_artifact",
        "execute_tool search_artifacts",
    ]
    assert begun[1][1] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_artifact",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
    }
    assert "gen_ai.tool.call.id" not in begun[2][1]
    assert ended[:2] == [2, 4]
    assert len(ended) == 3
    told[0].outcome = "incomplete"
    report(told[0])
    assert statuses == [trace.StatusCode.ERROR]
