"""Every number that is displayed of a session can be recomputed from what the provider itself has logged.

One session per dialect is recorded through the proxy: results that age, an error, a refused request. The provider here
logs the bytes that it got and the bills that it wrote; everything below is computed from these, by formulas of this
file alone, and compared with `status`, `report`, the receipt and the JSON of the inspector.
"""

import json
import re
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.request_figures import profiles_with
from keepwhole.apps.wrap.receipt import Meter, receipt
from keepwhole.models.tokens import estimate
from tests.apps.cli.cli import Cli
from tests.apps.proxy.proxy_server import PATHS, ask, proxy
from tests.upstream.scripted import Scripted, serving
from tests.upstream.spelling import SPELLINGS, Dialect, Json, Text, dialect_of

NAME, STEPS, WINDOW = "counted", 14, 60_000
EAGER = "auto:\n  start: 4000\n  worth: 0\n  horizon: 10\n  keep_steps: 2\n  clear_at_least: 5000\n"
REFUSED = 5
"""The request that the provider refuses; the client sends it again."""


SPLIT = re.compile(r'(?=\{"role"|\{"type")')
"""Where a message or a part of one begins."""


class Price(NamedTuple):
    """What a provider charges for a million uncached tokens, and for others against that."""

    model: str
    dollars: float
    read: float = 0.1
    write: float = 1.0


PRICES: dict[Dialect, Price] = {
    "anthropic": Price("claude-sonnet-4-5", 3.0, write=1.25),
    "openai_chat": Price("gpt-5", 1.25),
    "openai_responses": Price("gpt-5", 1.25),
}


class Bill(NamedTuple):
    """What a provider counts of one request."""

    input: int
    cached: int
    written: int
    output: int = 7

    def dollars(self, price: Price) -> float:
        plain = self.input - self.cached - self.written
        return (plain + price.read * self.cached + price.write * self.written) * price.dollars / 1e6


class Till:
    """Bills each message as the product estimates it: this is about sums, and not about tokenizers."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect, self._before = dialect, ""

    def bill(self, body: Json) -> Bill:
        said = [body.get("tools"), body.get("messages") or body.get("input")]
        text = json.dumps(said)
        pairs = enumerate(zip(text, self._before, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(text), len(self._before)))
        self._before = text
        total, cached = (sum(map(estimate, SPLIT.split(part))) for part in (text, text[:same]))
        cached = cached if cached >= 1_024 else 0
        return Bill(total, cached, total - cached if self._dialect == "anthropic" else 0)


def spelled(dialect: Dialect, bill: Bill) -> Json:
    if dialect == "anthropic":
        plain = bill.input - bill.cached - bill.written
        cache = {"cache_read_input_tokens": bill.cached, "cache_creation_input_tokens": bill.written}
        return {"input_tokens": plain, **cache, "output_tokens": bill.output}
    told, given = ("prompt", "completion") if dialect == "openai_chat" else ("input", "output")
    total = {"total_tokens": bill.input + bill.output}
    details = {f"{told}_tokens_details": {"cached_tokens": bill.cached}}
    return {f"{told}_tokens": bill.input, f"{given}_tokens": bill.output, **details, **total}


class Provider(Scripted):
    """Logs what it gets, and what it bills for that."""

    till: Till
    log: list[Bill]
    asked: list[int]

    def events(self, path: str, body: Json) -> bytes | None:
        dialect = dialect_of(path)
        assert dialect is not None
        self.asked.append(len(self.asked))
        if len(self.asked) == REFUSED:
            return None
        self.log.append(self.till.bill(body))
        return json.dumps(SPELLINGS[dialect].whole([Text("ok")], 1, spelled(dialect, self.log[-1]))).encode()

    def answer(self, status: int, kind: str, body: bytes) -> None:
        super().answer(429 if status == 404 else status, kind, body)


def listing(number: int) -> str:
    return "".join(f"row {row} of listing {number}, as the tool has printed it\n" for row in range(180))


def step(dialect: Dialect, number: int) -> list[Json]:
    """A call and its result; the third is an error."""
    call_id, text, failed = f"call_{number}", listing(number), number == 2
    arguments = {"command": f"ls part-{number}"}
    if dialect == "anthropic":
        result = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": failed}
        return [
            {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}]},
            {"role": "user", "content": [result]},
        ]
    text = f"Error: exit code 1\n{text}" if failed else text
    if dialect == "openai_chat":
        function = {"name": "Bash", "arguments": json.dumps(arguments)}
        return [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call_id, "content": text},
        ]
    return [
        {"type": "function_call", "call_id": call_id, "name": "Bash", "arguments": json.dumps(arguments)},
        {"type": "function_call_output", "call_id": call_id, "output": text},
    ]


def requests(dialect: Dialect) -> Iterator[Json]:
    """What the client means to send, request by request."""
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    about: Json = {"name": "Bash", "description": "Run a command."}
    tool: Json = {**about, "input_schema": schema}
    if dialect != "anthropic":
        given: Json = {**about, "parameters": schema}
        tool = {"type": "function", "function": given} if dialect == "openai_chat" else {"type": "function", **given}
    key = "input" if dialect == "openai_responses" else "messages"
    said: list[Json] = [{"role": "user", "content": "Look at all parts, please."}]
    for number in range(STEPS):
        yield {"model": PRICES[dialect].model, "max_tokens": 99, "tools": [tool], key: list(said)}
        said += step(dialect, number)


class Recorded(NamedTuple):
    """A session on record, beside what its provider and its client know of it."""

    dialect: Dialect
    cli: Cli
    bills: list[Bill]
    whole: list[Bill]
    """What the provider would have billed for what the client meant to send."""
    receipt: str

    @property
    def paid(self) -> float:
        return sum(bill.dollars(PRICES[self.dialect]) for bill in self.bills)


@pytest.fixture(scope="module", params=list(PATHS))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    dialect: Dialect = request.param
    cli = Cli(tmp_path_factory.mktemp(dialect))
    model = f"models:\n  {PRICES[dialect].model}:\n    window: {WINDOW}\n"
    (cli.folder / "keepwhole.yaml").write_text(EAGER + model)
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    till, off, whole, log = Till(dialect), Till(dialect), list[Bill](), list[Bill]()
    meter = Meter(round(time.time() * 1000) - 1_000)
    with serving(Provider, till=till, log=log, asked=[]) as port:
        own = proxy(f"http://127.0.0.1:{port}", settings=settings, reporter=meter.add, tenants="one")
        with own as running:
            for body in requests(dialect):
                while ask(running.port, PATHS[dialect], body, {"x-keepwhole-session": NAME}).status == 429:
                    pass
                running.rest()
                whole.append(off.bill(body))
    store = config.open_record(settings)
    lines = receipt(meter.tally(store, settings), profiles_with(settings.models), "agent")
    store.close()
    return Recorded(dialect, cli, log, whole, "\n".join(lines))


def inspected(recorded: Recorded, answer: Any, *names: str, **query: str) -> Any:
    settings = config.load(folder=str(recorded.cli.folder), environ=recorded.cli.environ)
    store = config.open_record(settings)
    services = InspectorServices(settings, store)
    try:
        return answer(services, PageRequest((NAME, *names), query))
    finally:
        services.close()
        store.close()


def amounts(text: str) -> tuple[Decimal, ...]:
    found = re.findall(r"(−?)\$([\d,]+\.\d+)", text)
    return tuple(Decimal(sign.replace("−", "-") + number.replace(",", "")) for sign, number in found)


def test_the_sessions_are_worth_counting(recorded: Recorded) -> None:
    assert len(recorded.bills) == STEPS
    assert recorded.bills[-1].input < recorded.whole[-1].input / 2, "results have aged"
    assert max(bill.input for bill in recorded.whole) < 0.9 * WINDOW, "with `mode: off` nothing is compacted"


def test_paid_is_what_the_provider_billed_everywhere(recorded: Recorded) -> None:
    paid = Decimal(recorded.paid).quantize(Decimal("0.001"))
    cost = inspected(recorded, answers.one_session)["cost"]
    report = recorded.cli("report").stdout.decode()
    rows = [line for line in report.splitlines() if line.startswith(("paid", "would have", "saved"))]
    line = next(line for line in recorded.receipt.splitlines() if line.startswith("  input"))
    status = recorded.cli("status", "--session", NAME).stdout.decode()
    stated = {
        amounts(" ".join(rows)),
        amounts(line),
        amounts(next(row for row in status.splitlines() if row.startswith("Input"))),
        amounts(" ".join((cost["paid"], cost["off"], cost["saved"]))),
    }
    ((shown, off, saved),) = stated
    assert shown == paid
    assert shown + saved == off
    assert cost["figures"]["paid"] == recorded.cli.json("status", "--session", NAME)["input"]["paid"] == float(paid)
    assert cost["figures"] == {**cost["figures"], **recorded.cli.json("report")["groups"]["viewed"]["input"]}


def test_would_have_paid_is_what_the_provider_would_have_billed_the_same_client(recorded: Recorded) -> None:
    off = sum(bill.dollars(PRICES[recorded.dialect]) for bill in recorded.whole)
    cost = inspected(recorded, answers.one_session)["cost"]
    assert cost["figures"]["mode_off"] == pytest.approx(off, rel=0.05)
    assert cost["compactions"] == 0


def test_the_costs_of_steps_add_up_to_the_cost_of_the_session(recorded: Recorded) -> None:
    steps = inspected(recorded, answers.list_steps, count="100")["steps"]
    paid = [each["cost"]["figures"]["paid"] for each in steps if each["cost"]]
    assert len(paid) == STEPS
    own = [bill.dollars(PRICES[recorded.dialect]) for bill in recorded.bills]
    assert paid == [float(Decimal(one).quantize(Decimal("0.001"))) for one in own]
    total = inspected(recorded, answers.one_session)["cost"]["tokens"]
    assert total == {key: sum(getattr(bill, key) for bill in recorded.bills) for key in Bill._fields}


def test_the_window_is_the_last_bill_and_its_items_add_up_to_it(recorded: Recorded) -> None:
    used = recorded.bills[-1].input
    status = recorded.cli.json("status", "--session", NAME)
    shown = inspected(recorded, answers.one_session)["indicator"]
    assert (status["tokens_shown"], status["counted"], status["window"]) == (used, "bill", WINDOW)
    assert (shown["used"], shown["counted"], shown["window"]) == (used, "bill", WINDOW)
    assert status["share"] == shown["share"] == used / WINDOW
    for items in (status["items"], shown["items"], shown["parts"]):
        assert sum(item["tokens"] for item in items) == used
    assert [mark["tokens"] for mark in shown["thresholds"]] == [45_000, 54_000, 57_000]
    assert [mark["tokens"] for mark in status["thresholds"]] == [45_000, 54_000, 57_000]
    results = [item for item in status["items"] if item["kind"] == "tool"]
    assert len(results) == STEPS - 1
    assert all(item["recall"] and item["artifact_id"] in item["recall"] for item in results)
    assert {item["argument"] for item in results} == {f"ls part-{number}" for number in range(STEPS - 1)}


def test_the_window_of_any_step_is_its_own_bill(recorded: Recorded) -> None:
    steps = [each for each in inspected(recorded, answers.list_steps, count="100")["steps"] if each["usage"]]
    for each, bill in list(zip(steps, recorded.bills, strict=True))[::4]:
        window = inspected(recorded, answers.window_of_step, str(each["index"]))
        assert window["used"] == bill.input == each["usage"]["input"]
        assert sum(item["tokens"] for item in window["items"]) == bill.input


def test_clocks_add_up_and_errors_are_counted(recorded: Recorded) -> None:
    session = inspected(recorded, answers.one_session)
    steps = inspected(recorded, answers.list_steps, count="100")["steps"]
    clocks = [each["clock"] for each in steps if each["clock"]]
    assert len(clocks) == STEPS + 1
    assert all(sum(one[key] for key in ("queue", "keepwhole", "first", "stream")) == one["total"] for one in clocks)
    assert session["requests"] == STEPS + 1
    marked = recorded.dialect == "anthropic"
    assert session["errors"] == 1 + marked, "a refused request, and the result that its dialect can mark as an error"
    assert session["title"] == "Look at all parts, please."


def test_report_and_receipt_have_the_means_and_sums_of_the_bills(recorded: Recorded) -> None:
    group = recorded.cli.json("report")["groups"]["viewed"]
    total, cached = (sum(getattr(bill, key) for bill in recorded.bills) for key in ("input", "cached"))
    price = PRICES[recorded.dialect]
    assert group["cached"]["value"] == pytest.approx(cached / total)
    assert group["cost"]["value"] == pytest.approx(recorded.paid * 1e6 / price.dollars)
    assert f"{round(cached / 1000)}k of {round(total / 1000)}k input tokens came from it" in recorded.receipt
    assert re.search(rf"sent +≈ {round(total / 1000)}k of", recorded.receipt)
    assert "request failed, 429 (once)" in recorded.receipt


def test_what_a_step_the_chart_and_the_list_of_requests_have_is_the_bill_and_its_parts_are_no_more(
    recorded: Recorded,
) -> None:
    """An estimate beside parts of a bill does not add up: more could come from the cache than was sent."""
    steps = [each for each in inspected(recorded, answers.list_steps, count="100")["steps"] if each["usage"]]
    course = inspected(recorded, answers.one_session)["course"]
    shown = {
        seq: (sent, whole) for seq, sent, whole in zip(course["seq"], course["sent"], course["whole"], strict=True)
    }
    listed = [row.split() for row in recorded.cli.said("sent", "--session", NAME).splitlines()[2:]]
    rows = [row for row in listed if "complete" in row]
    for each, bill, row in zip(steps, recorded.bills, rows, strict=True):
        window = inspected(recorded, answers.window_of_step, str(each["index"]))
        assert each["tokens_sent"] == window["used"] == bill.input
        assert each["tokens_whole"] == window["whole"]
        assert shown[each["seq"]] == (bill.input, window["whole"])
        assert f"{bill.input:,}" in row
        assert f"{window['whole']:,}" in row
        assert (each["usage"]["cached"] or 0) + (each["usage"]["written"] or 0) <= each["tokens_sent"]
