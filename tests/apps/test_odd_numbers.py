"""The numbers of a session in which much goes wrong can be recomputed from the provider's log, wherever they are shown.

One conversation has all of it: requests that are refused and tried again, an answer that breaks off, what is cached for
an hour, a sub-agent with a model of its own, another one of another provider, a result that is read back in a hidden
round, a user who switches to another model, a client that compacts, and a request that is larger than its window is
said to be. The providers' bills are those of `tests.upstream.prompt_cache`.
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.request_figures import profiles_with
from keepwhole.apps.wrap.receipt import Meter, receipt
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.models.profiles import profile_for
from keepwhole.session import Session
from tests.apps.cli.cli import Cli
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.apps.test_displayed_numbers import amounts, listing, requests
from tests.upstream.prompt_cache import Bill, Breakpoints, ChatPrefixes, Clock, Till
from tests.upstream.scripted import Scripted, serving
from tests.upstream.spelling import SPELLINGS, Json, Text

NAME, WINDOW, MADE = "odd", 40_000, 7
MARK = {"type": "ephemeral", "ttl": "1h"}
PRICES = {"claude-sonnet-4-5": 3.0, "claude-haiku-4-5": 1.0, "claude-opus-4-5": 5.0, "gpt-5": 1.25}
EAGER = "auto:\n  start: 4000\n  worth: 0\n  horizon: 10\n  keep_steps: 2\n  clear_at_least: 5000\n"
_ID = re.compile(r"art_[A-Za-z0-9_]+")


class Told(NamedTuple):
    """What the provider has logged of a request."""

    model: str
    status: int
    bill: Bill | None
    is_cut: bool = False

    @property
    def outcome(self) -> str:
        """How it ended, as a step says it."""
        return "refused" if self.bill is None else "incomplete" if self.is_cut else "complete"

    @property
    def dollars(self) -> float:
        return 0.0 if self.bill is None else self.bill.cost * PRICES.get(self.model, 0.0) / 1e6


class Tills(dict[str, Till]):
    """Who bills for each model; a cache has nothing of what another model was asked."""

    def __init__(self) -> None:
        super().__init__()
        self._clock = Clock()

    def __missing__(self, model: str) -> Till:
        self[model] = (ChatPrefixes if model.startswith("gpt") else Breakpoints)(self._clock)
        return self[model]


class Provider(Scripted):
    """Bills what it answers, and logs all that it is asked."""

    log: list[Told]
    tills: Tills
    fate: dict[int, Any]
    """What happens to a request, by its number: a status, `cut` or `recall`."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fate = self.fate.get(len(self.log))
        if isinstance(fate, int):
            self.log.append(Told(body["model"], fate, None))
            return self.answer(fate, "application/json", b'{"type": "error", "error": {"type": "x", "message": "no"}}')
        till = self.tills[body["model"]]
        bill = till.bill(body)
        self.log.append(Told(body["model"], 200, bill, fate == "cut"))
        if self.path.endswith(PATHS["openai_chat"]):
            answered = SPELLINGS["openai_chat"].whole([Text("ok")], 1, till.usage(bill, MADE))
            return self.answer(200, "application/json", json.dumps(answered).encode())
        content: list[Json] = [{"type": "text", "text": "ok"}]
        if fate == "recall":
            found = _ID.findall(json.dumps(body["messages"]))
            call = {"id": "toolu_back", "name": "get_artifact", "input": {"id": found[0], "lines": "1-40"}}
            content = [{"type": "tool_use", **call}]
        about: Json = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_reason": None,
        }
        usage = till.usage(bill, MADE)
        if fate == "cut":
            begun: Json = {"type": "message_start", "message": {**about, "content": [], "usage": usage}}
            return self._break_off(f"event: message_start\ndata: {json.dumps(begun)}\n\n".encode())
        reason = "tool_use" if fate == "recall" else "end_turn"
        data = json.dumps({**about, "content": content, "stop_reason": reason, "usage": usage})
        return self.answer(200, "application/json", data.encode())

    def _break_off(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True


class Post(Protocol):
    """Sends a request; returns the status of its answer."""

    def __call__(self, body: Json, path: str = ..., /) -> int: ...


class Conversation:
    """A client with one conversation, which marks the end of what it sends for the cache."""

    def __init__(self, model: str, system: str, said: str) -> None:
        self.model, self._system = model, system
        self.messages: list[Json] = [{"role": "user", "content": said}]

    def work(self, number: int) -> None:
        """Make a call; its result comes back."""
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"ls part-{number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": listing(number)}
        self.messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    def compact(self) -> None:
        """Go on with a summary and the newest call."""
        summary = "This session is being continued from a previous conversation. It was about all parts. " * 9
        self.messages = [{"role": "user", "content": summary}, *self.messages[-2:]]

    def request(self, streamed: bool = False) -> Json:
        messages = [dict(one) for one in self.messages]
        content = messages[-1]["content"]
        given: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [dict(one) for one in given]
        blocks[-1]["cache_control"] = MARK
        messages[-1]["content"] = blocks
        schema = {"type": "object", "properties": {"command": {"type": "string"}}}
        tools = [{"name": "Bash", "description": "Run a command.", "input_schema": schema}]
        about: Json = {"model": self.model, "max_tokens": 99, "system": self._system, "tools": tools}
        return {**about, "messages": messages, **({"stream": True} if streamed else {})}


class Recorded(NamedTuple):
    """The session on record, beside what its provider and its client know of it."""

    cli: Cli
    log: list[Told]
    asked: int
    """How many requests the client has sent."""
    receipt: str
    metrics: str
    without: list[Told]
    """The same log of the same client without Keepwhole."""
    calls: int
    """How many results the client has sent."""

    @property
    def unit(self) -> str:
        """Dollars, unless they would leave out what a model without a price has cost."""
        return "usd" if all(told.model in PRICES for told in self.log) else "tokens"

    @property
    def figures(self) -> Any:
        return self.inspected(answers.one_session)["cost"]["figures"]

    @property
    def bills(self) -> list[Bill]:
        return [told.bill for told in self.log if told.bill is not None]

    def inspected(self, answer: Callable[..., Any], *names: str, **query: str) -> Any:
        settings = config.load(folder=str(self.cli.folder), environ=self.cli.environ)
        store = config.open_record(settings)
        services = InspectorServices(settings, store)
        try:
            return answer(services, PageRequest((NAME, *names), query))
        finally:
            services.close()
            store.close()


def in_unit(log: Sequence[Told], unit: str) -> float:
    """What all of it has cost."""
    return sum(told.dollars if unit == "usd" else told.bill.cost for told in log if told.bill is not None)


def play(post: Post, sub_agent: str) -> None:
    """What happens. A request that is refused is sent again once."""
    main = Conversation("claude-sonnet-4-5", "You are an agent. " * 80, "Look at all parts, please.")

    def send(one: Conversation, streamed: bool = False) -> None:
        if post(one.request(streamed)) >= 400:
            post(one.request(streamed))

    numbers = count()
    # The last call of each conversation has no request behind it, so its result is never sent.
    for turn in range(8):
        send(main, streamed=turn == 5)
        main.work(next(numbers))
        if turn == 3:
            other = Conversation(sub_agent, "You search. " * 120, "Find part 3.")
            for _ in range(3):
                send(other)
                other.work(next(numbers))
        if turn == 4:
            for body in islice(requests("openai_chat"), OF_OTHER):
                post(body, PATHS["openai_chat"])
        if turn == 5:
            main.model = "claude-opus-4-5"
    main.compact()
    for _ in range(4):
        send(main)
        main.work(next(numbers))


CALLS, OF_OTHER = 16, 4
FATE = {2: 529, 6: 429, 16: "cut", 18: "recall"}
"""The numbers are those of the provider's log."""


@pytest.fixture(scope="module", params=["claude-haiku-4-5", "house-model"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    cli = Cli(tmp_path_factory.mktemp("odd"))
    models = f"models:\n  claude-sonnet-4-5:\n    window: {WINDOW}\n"
    (cli.folder / "keepwhole.yaml").write_text(EAGER + models)
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    meter, asked, log, without = Meter(0), list[int](), list[Told](), list[Told]()
    fate = {number: what for number, what in FATE.items() if what != "recall"}
    with serving(Provider, tills=Tills(), log=without, fate=fate) as port:
        play(lambda body, path="/v1/messages": ask(port, path, body).status, request.param)
    with serving(Provider, tills=Tills(), log=log, fate=FATE) as port:
        own = proxy(f"http://127.0.0.1:{port}", settings=settings, reporter=meter.add, tenants="one")
        with own as running:

            def post(body: Json, path: str = "/v1/messages") -> int:
                answered = ask(running.port, path, body, {"x-keepwhole-session": NAME})
                running.rest()
                asked.append(answered.status)
                return answered.status

            play(post, request.param)
            metrics = ask(running.port, "/metrics", method="GET").data.decode()
    store = config.open_record(settings)
    lines = receipt(meter.tally(store, settings), profiles_with(settings.models), "agent")
    store.close()
    return Recorded(cli, log, len(asked), "\n".join(lines), metrics, without, CALLS)


def test_a_deployment_has_the_window_of_the_model_that_answers(tmp_path: Path) -> None:
    """Its own name is in no table; by what the provider says it is, results are shown and costs are counted."""
    cli = Cli(tmp_path)
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    store = config.open_record(settings)
    usage = AnswerFacts(input=50_000, cached=0, written=0, output=MADE, answered_by="gpt-4.1-2025-04-14")
    RequestLog(Session(NAME, store=store, settings=settings)).add(
        b'{"model": "team-helper", "messages": []}',
        RequestFacts("openai_chat", "team-helper", tokens_whole=50_000, tokens_sent=50_000),
        LoggedAnswer(b"{}", 200, usage=usage),
    )
    services = InspectorServices(settings, store)
    summary: Any = answers.one_session(services, PageRequest((NAME,)))
    services.close()
    store.close()
    status, window = cli.json("status", "--session", NAME), profile_for("gpt-4.1").window
    assert (status["window"], status["window_is_known"], status["model"]) == (window, True, "team-helper")
    assert (summary["indicator"]["window"], summary["indicator"]["is_known"], summary["window"]) == (
        window,
        True,
        window,
    )


def test_all_of_it_has_happened(recorded: Recorded) -> None:
    assert [told.status for told in recorded.log if told.status != 200] == [529, 429]
    assert [told.is_cut for told in recorded.log].count(True) == 1
    assert len(recorded.log) == recorded.asked + 1, "one hidden round"
    assert sum(bill.written_long for bill in recorded.bills)
    assert len({told.model for told in recorded.log}) == 4


def test_paid_is_what_was_billed_everywhere(recorded: Recorded) -> None:
    figures, unit = recorded.figures, recorded.unit
    paid = Decimal(in_unit(recorded.log, unit)).quantize(Decimal("0.001") if unit == "usd" else Decimal(1))
    assert (Decimal(str(figures["paid"])), figures["unit"]) == (paid, unit)
    assert recorded.cli.json("status", "--session", NAME)["input"] == figures
    assert recorded.cli.json("report")["groups"]["viewed"]["input"] == figures
    (listed,) = recorded.cli.json("sessions", "list")
    assert listed["cost"] == figures
    line = next(line for line in recorded.receipt.splitlines() if line.startswith("  input"))
    assert line in f"  input     {recorded.cli.said('status', '--session', NAME).partition('Input: ')[2]}"
    if unit == "usd":
        assert amounts(line)[0] == paid


def test_would_have_paid_is_what_the_same_client_would_have_been_billed(recorded: Recorded) -> None:
    """What it begins anew by itself, another agent beside it, or after a summary, it would not have found cached."""
    off = in_unit(recorded.without, recorded.unit)
    assert recorded.figures["mode_off"] == pytest.approx(off, rel=0.05)


def test_no_step_is_said_to_save_or_to_lose_what_a_change_of_conversation_costs(recorded: Recorded) -> None:
    """A sub-agent's first request, the next one of the conversation that called it, and the first after a summary."""
    steps = [step for step in recorded.inspected(answers.list_steps, count="100")["steps"] if step["cost"]]
    for step, told in zip(steps, [told for told in recorded.log if told.bill], strict=True):
        if not step["rewritten"] and step["purpose"] == "turn":
            figures = step["cost"]["figures"]
            most = 0.5 * max(figures["paid"], figures["mode_off"]) + (0.001 if figures["unit"] == "usd" else 50)
            assert abs(figures["saved"]) <= most, (step["index"], told)


def test_metrics_have_the_sums_of_the_bills(recorded: Recorded) -> None:
    counted = dict(line.rsplit(" ", 1) for line in recorded.metrics.splitlines() if not line.startswith("#"))
    assert int(counted["keepwhole_proxy_input_tokens_total"]) == sum(bill.tokens for bill in recorded.bills)
    assert int(counted["keepwhole_proxy_cached_tokens_total"]) == sum(bill.read for bill in recorded.bills)
    outcomes = {name: int(value) for name, value in counted.items() if "requests_total" in name}
    assert sum(outcomes.values()) == recorded.asked


def test_what_was_read_back_is_no_result_that_was_kept(recorded: Recorded) -> None:
    results = recorded.calls
    summary = recorded.inspected(answers.one_session)
    assert f"kept      {results} results in full, read back once" in recorded.receipt
    words = f"{results} results in full, read back once"
    assert summary["kept"] == words
    assert words in recorded.cli.said("status", "--session", NAME)


def test_tokens_windows_errors_and_times_are_those_of_the_log(recorded: Recorded) -> None:
    summary = recorded.inspected(answers.one_session)
    steps = recorded.inspected(answers.list_steps, count="100")["steps"]
    bills = recorded.bills
    assert summary["cost"]["tokens"] == {
        "input": sum(bill.tokens for bill in bills),
        "cached": sum(bill.read for bill in bills),
        "written": sum(bill.written_long for bill in bills),
        "output": MADE * len(bills),
    }
    assert (summary["requests"], summary["errors"]) == (len(recorded.log), 2)
    assert [step["usage"]["input"] for step in steps if step["usage"]] == [bill.tokens for bill in bills]
    assert [step["outcome"] for step in steps] == [told.outcome for told in recorded.log]
    assert all(
        sum(step["clock"][key] for key in ("queue", "keepwhole", "first", "stream")) == step["clock"]["total"]
        for step in steps
    )
    for step in steps:
        if step["usage"]:
            window = recorded.inspected(answers.window_of_step, str(step["index"]))
            assert window["used"] == step["usage"]["input"] == step["tokens_sent"]
            assert sum(item["tokens"] for item in window["items"]) == window["used"]
    assert recorded.cli.json("status", "--session", NAME)["tokens_shown"] == bills[-1].tokens
    course, figures = summary["course"], recorded.figures
    if figures["unit"] == "usd":
        assert round(course["paid"][-1], 3) == figures["paid"]
        assert round(course["off"][-1], 3) == figures["mode_off"]
    paid = sum(step["cost"]["figures"]["paid"] for step in steps if step["cost"])
    assert paid == pytest.approx(figures["paid"], abs=0.0005 * len(bills) if figures["unit"] == "usd" else len(bills))
    saved = sum(step["cost"]["figures"]["saved"] for step in steps if step["cost"])
    assert saved == pytest.approx(figures["saved"], abs=0.001 * len(bills) if figures["unit"] == "usd" else len(bills))


def test_an_exported_file_has_the_figures_of_the_page(recorded: Recorded) -> None:
    page = recorded.cli("sessions", "export", NAME, "--format", "html").stdout.decode()
    (data,) = re.findall(r'<script type="application/json" id="record">(.*?)</script>', page, re.S)
    exported = json.loads(data)
    summary, steps = exported["summary"], exported["steps"]
    assert summary["cost"]["figures"] == recorded.figures
    assert summary["indicator"]["used"] == sum(item["tokens"] for item in summary["indicator"]["items"])
    assert [step["usage"]["input"] for step in steps if step["usage"]] == [bill.tokens for bill in recorded.bills]
    assert [step["cost"] for step in steps] == [
        step["cost"] for step in recorded.inspected(answers.list_steps, count="100")["steps"]
    ]
