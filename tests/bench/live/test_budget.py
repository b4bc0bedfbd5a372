"""What is tried to get a live run over its budget: many jobs, two commands, kills, streams, prices, odd answers."""

import json
import random
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.live.__main__ import main
from bench.live.budget import Budget, open_budget
from bench.live.meter import Meter, Provider
from bench.live.oracle import PlanOracle
from bench.live.prices import _OUTPUT, prices_of
from bench.live.runner import Plan, read_rows, run_all
from bench.live.wires import WIRES
from bench.live.wires.wire import arguments_of
from bench.peers.live import free_port
from keepwhole.models.profiles import _INPUT
from keepwhole.wire.usage import Usage
from tests.upstream.answer import Answer, refusal
from tests.upstream.prompt_cache import TILLS, Breakpoints, Clock, GeminiPrefixes
from tests.upstream.server import Said, Upstream, upstream
from tests.upstream.spelling import Dialect, Json, Text

MODEL, RUN = "claude-haiku-4-5", "0123456789ab"
TASKS = ("reconciliation-1-16k", "config_drift-1-16k", "flaky_tool-1-16k")
ASKED: dict[Dialect, tuple[str, Json]] = {
    "anthropic": ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": f"Run {RUN}."}]}),
    "openai_chat": ("/v1/chat/completions", {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}),
    "openai_responses": ("/v1/responses", {"max_output_tokens": 9, "input": "hi"}),
    "gemini": (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        {"generationConfig": {"maxOutputTokens": 9}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
}

CASHIERS = {**TILLS, "gemini": GeminiPrefixes}


@contextmanager
def provider(model: Callable[[Json], Said] | None = None) -> Generator[tuple[Upstream, Breakpoints]]:
    till = Breakpoints(Clock(), minimum=4_096)
    with upstream(model or PlanOracle(), till) as served:
        yield served, till


def run(
    url: str, out: Path, dollars: float, *, jobs: int = 1, arms: tuple[str, ...] = ("direct",), port: int = 0
) -> bool:
    plan = Plan(MODEL, "16k", arms, TASKS, repeats=2, jobs=jobs)
    return run_all(
        plan,
        Provider(url, "anthropic", prices_of(MODEL), "k", pause=0),
        Budget(dollars),
        out,
        lambda words: None,
        port,
    )


def meter(served: str, dialect: str = "anthropic", dollars: float = 5.0) -> Meter:
    return Meter(Provider(served, dialect, prices_of(MODEL), "k", pause=0), Budget(dollars))


@pytest.mark.parametrize("dollars", [0.15, 0.4, 0.9])
def test_many_jobs_and_every_kind_of_trouble_stay_within_the_budget(dollars: float, tmp_path: Path) -> None:
    chance, model, billed = random.Random(dollars), PlanOracle(), list[Usage]()
    out = tmp_path / "runs.jsonl"

    def troubled(body: Json) -> Said:
        kind = chance.choice(("fine", "fine", "fine", "torn", "silent", 429, 504, 529))
        if kind not in (429, 529):
            bill = till.bills[-1]
            billed.append(Usage(bill.tokens, bill.read, bill.written, 100))
        if kind == "fine":
            return model(body)
        if kind == "torn":
            return Answer(model(body), after=10, then="reset")
        return Answer(body=b"{}") if kind == "silent" else refusal("anthropic", int(kind), "later")

    with provider(troubled) as (served, till):
        run(served.url, out, dollars, jobs=6, arms=("direct", "head-tail"))
    paid = sum(map(prices_of(MODEL).dollars, billed))
    assert 0 < paid <= dollars, "the provider bills requests that broke off too"
    assert sum(row["dollars"] for row in read_rows(out)) <= dollars


def test_jobs_wait_for_what_others_have_reserved(tmp_path: Path) -> None:
    with provider() as (served, _):
        assert run(served.url, tmp_path / "runs.jsonl", 0.6, jobs=6), "six requests could cost more, and do not"


def test_money_of_a_run_that_was_killed_counts(tmp_path: Path) -> None:
    file = tmp_path / "runs.spent"
    with open_budget(1.0, file) as budget:
        assert budget.reserve(0.25)
        budget.settle(0.25, 0.05)
        assert budget.reserve(0.5)  # and here the command is killed
        with pytest.raises(ValueError, match="Another command"), open_budget(1.0, file):
            pass
    with open_budget(1.0, file) as budget:
        assert budget.spent == pytest.approx(0.55)
        assert not budget.reserve(0.5)
        assert budget.reserve(0.4)


def test_the_command_counts_what_rows_do_not_tell(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    given = f"--model {MODEL} --arms direct --length 16k --max-dollars 3 --seeds 1 --oracle plan --out {out}"
    out.with_suffix(".spent").write_text("2.999\n")
    assert main([*given.split(), "--families", "config_drift"]) == 1
    assert {row["outcome"] for row in read_rows(out)} == {"unfinished"}


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupt_ends_all_runs(jobs: int, tmp_path: Path) -> None:
    def interrupted(words: str) -> None:
        if "1/" in words:
            raise KeyboardInterrupt

    with provider() as (served, _):
        plan = Plan(MODEL, "16k", ("direct",), TASKS, repeats=9, jobs=jobs)
        where = Provider(served.url, "anthropic", prices_of(MODEL), "k", pause=0)
        with pytest.raises(KeyboardInterrupt):
            run_all(plan, where, Budget(50.0), tmp_path / "runs.jsonl", interrupted)
    assert len(read_rows(tmp_path / "runs.jsonl")) <= 4 * jobs


@pytest.mark.parametrize("dialect", ASKED)
def test_a_stream_that_a_proxy_asks_for_is_billed_by_its_usage(dialect: Dialect) -> None:
    path, body = ASKED[dialect]
    streaming = {} if dialect == "gemini" else {"stream": True, "stream_options": {"include_usage": True}}
    with upstream(lambda body: [Text("hello")], CASHIERS[dialect](Clock())) as asked:
        metered = meter(asked.url, dialect)
        with metered.bill_of(RUN) as bill:
            reply = metered.relay(path, {}, json.dumps({"model": MODEL, **body, **streaming}).encode())
    assert reply.status == 200
    assert b"data:" in reply.data
    assert (bill.requests, bill.unknown) == (1, 0)
    assert bill.input > 0
    assert bill.dollars == pytest.approx(metered.budget.spent)
    assert 0 < bill.dollars < 0.001


@pytest.mark.parametrize("dialect", ASKED)
def test_a_request_is_sent_only_if_it_limits_the_answer_and_that_is_reserved(dialect: Dialect) -> None:
    path, body = ASKED[dialect]
    sent = json.dumps({"model": MODEL, **body}).encode()
    with upstream(lambda body: [Text("hello")], None) as asked:
        metered = meter(asked.url, dialect, dollars=0.1)
        with metered.bill_of(RUN) as bill:
            unlimited = json.dumps({key: value for key, value in body.items() if "max" not in str((key, value))})
            assert metered.relay(path, {}, unlimited.encode()).status == 400
            assert metered.relay(path, {}, sent.replace(b": 9", b": 90000")).status == 402
            assert (asked.asked, bill.is_out_of_money) == ([], True)
            assert metered.relay(path, {}, sent).status == 200


def test_several_answers_to_one_request_are_reserved() -> None:
    assert WIRES["openai_chat"].most_output({"max_tokens": 5, "max_completion_tokens": 7, "n": 4}) == 28
    assert WIRES["gemini"].most_output({"generationConfig": {"maxOutputTokens": 7, "candidateCount": 2}}) == 14


def test_a_request_of_no_run_is_charged_to_the_only_one_that_is_made() -> None:
    path, body = ASKED["anthropic"]
    named = json.dumps({"model": MODEL, **body}).encode()
    with upstream(lambda body: [Text("hello")], None) as asked:
        metered = meter(asked.url)
        assert metered.relay(path, {}, named).status == 400, "the run has ended, or never began"
        with metered.bill_of(RUN) as bill:
            assert metered.relay(path, {}, named.replace(RUN.encode(), b"of a proxy")).status == 200
            with metered.bill_of("0" * 12):
                assert metered.relay(path, {}, named.replace(RUN.encode(), b"of a proxy")).status == 400
    assert bill.requests == 1


@pytest.mark.parametrize("status", [408, 502, 504, 524])
def test_what_a_gateway_lost_may_be_billed_and_is_charged(status: int) -> None:
    path, body = ASKED["anthropic"]
    with upstream(lambda body: Answer(status=status, body=b"{}"), None) as asked:
        metered = meter(asked.url)
        with metered.bill_of(RUN) as bill:
            assert metered.relay(path, {}, json.dumps({"model": MODEL, **body}).encode()).status == status
    assert (bill.unknown, len(asked.asked)) == (5, 5)
    assert bill.dollars == pytest.approx(metered.budget.spent)


@contextmanager
def proxy_before(meter_port: int, disguise: int) -> Generator[str]:
    """A proxy that hides from its client why a request was refused."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            request = urllib.request.Request(f"http://127.0.0.1:{meter_port}{self.path}", data)
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    status, answer = response.status, response.read()
            except urllib.error.HTTPError as error:
                status, answer = disguise, error.read()
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_proxy_that_disguises_the_end_of_the_money_has_not_failed(tmp_path: Path) -> None:
    out, port = tmp_path / "runs.jsonl", free_port()
    with provider() as (served, _), proxy_before(port, disguise=500) as url:
        assert not run(served.url, out, 0.2, arms=(f"proxy:{url}",), port=port)
    outcomes = [row["outcome"] for row in read_rows(out)]
    assert outcomes.count("unfinished") == 1
    assert set(outcomes) <= {"solved", "unfinished"}


@pytest.mark.parametrize("body", [b"{}", b"<html>", b'{"content": [7]}', b'{"error": {"message": "no"}}', b"[]"])
def test_an_answer_that_nobody_foresaw_fails_its_run_and_is_charged(body: bytes, tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    with provider(lambda asked: Answer(body=body)) as (served, _):
        assert run(served.url, out, 5.0)
    rows = read_rows(out)
    assert [row["outcome"] for row in rows] == ["error"] * 6, "the others are made all the same"
    assert all(row["unknown"] == 1 and row["dollars"] > 0.04 and row["problem"] for row in rows)


def test_arguments_that_are_no_object_are_none() -> None:
    assert [arguments_of(written) for written in ('{"a": 1}', "[1]", "7", "", '{"a"')] == [{"a": 1}, {}, {}, {}, {}]


def test_a_line_that_a_crash_has_torn_takes_no_other_with_it(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    out.write_text('{"task": "reconciliation-1-16k", "ar')
    with provider() as (served, _):
        assert run(served.url, out, 5.0)
        asked = len(served.asked)
        assert run(served.url, out, 5.0)
        assert len(served.asked) == asked
    assert len(read_rows(out)) == 6


def test_runs_in_another_dialect_are_not_mixed_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = f"--model gpt-5 --arms direct --length 16k --max-dollars 3 --seeds 1 --oracle plan --out {tmp_path}/a.jsonl"
    for dialect in ("openai_chat", "openai_responses"):
        assert main([*given.split(), "--families", "config_drift", "--dialect", dialect]) == 0
    page = capsys.readouterr().out
    assert page.count("| `direct` | 1 | 1 |") == 2
    assert "gpt-5`, openai_responses" in page


def test_the_most_that_a_request_can_cost_covers_what_it_does_cost() -> None:
    prices, body = prices_of(MODEL), b"x" * 10_000
    assert prices.worst(body, 4_000) >= prices.dollars(Usage(10_000, 0, 10_000, 4_000))
    for kind in (b"png", b"jpeg", b"webp"):
        assert prices.worst(b'"image/' + kind, 0) > prices.worst(b'"text/' + kind, 0) + 0.004
    an_hour = b'{"cache_control": {"type": "ephemeral", "ttl": "1h"}}' + body
    assert prices.dollars(Usage(10_000, 0, 10_000, 0), an_hour) == pytest.approx(0.02)
    assert prices.worst(an_hour, 0) >= 0.02
    quoted = json.dumps(an_hour.decode()).encode()
    assert prices.dollars(Usage(10_000, 0, 10_000, 0), quoted) == pytest.approx(0.0125)


def test_long_requests_cost_more_in_and_out() -> None:
    pro, sol = prices_of("gemini-2.5-pro"), prices_of("gpt-6-sol-2026-11-01")
    assert pro.dollars(Usage(200_000, 0, 0, 1_000)) == pytest.approx(0.25 + 0.01)
    assert pro.dollars(Usage(300_000, 100_000, 0, 1_000)) == pytest.approx(0.5 + 0.025 + 0.015)
    assert sol.dollars(Usage(272_000, 0, 0, 0)) == pytest.approx(0.544)
    assert sol.dollars(Usage(300_000, 0, 0, 1_000)) == pytest.approx(1.2 + 0.015)
    assert pro.worst(b"x" * 300_000, 1_000) >= pro.dollars(Usage(300_000, 0, 0, 1_000))


def test_prices_are_known_by_the_whole_name_of_a_model_or_given() -> None:
    assert set(_OUTPUT) <= set(_INPUT), "each has both"
    assert prices_of("gemini-2.5-flash-lite")[:4] == pytest.approx((0.1, 0.01, 0.1, 0.4))
    assert prices_of("new-model", "2,0.2,2.5,10").dollars(Usage(1_000_000, 500_000, 100_000, 100_000)) == 2.15
    for unknown in ("new-model", "gpt-5-pro", "gpt-5-mini", "gpt-5.6-sol-pro", "glm-4.7"):
        with pytest.raises(ValueError, match="--prices"):
            prices_of(unknown)
    for wrong in ("1,2", "1,2,3,4,5", "a,b,c,d", "-1,0,0,1", "nan,0,0,1", "inf,0,0,1"):
        with pytest.raises(ValueError, match="four prices"):
            prices_of(MODEL, wrong)


@pytest.mark.parametrize("limit", [float("nan"), float("inf"), -1.0])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="--max-dollars"):
        Budget(limit)
