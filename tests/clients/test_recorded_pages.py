"""A session of every real client: what is displayed of it can be recomputed from what the provider itself has logged,
and the page shows it at every width in both schemes.

The model is scripted and on loopback; everything else is the client as users have it. The provider logs the bytes that
it got and the bills that it wrote, and nothing else is taken for true.
"""

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.models.profiles import input_price, is_listed, profile_for
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.cli.cli import Cli
from tests.apps.inspector.browser_tab import Looked
from tests.apps.inspector.inspector_server import TOKEN, Served, served
from tests.apps.inspector.test_page_figures import AXE
from tests.apps.proxy.agent_proxy import proxy
from tests.browser import browser
from tests.clients import test_gemini
from tests.clients.agents import POINTED, WRAPPED
from tests.clients.drive import Start
from tests.clients.test_agents import SCRIPT, run
from tests.clients.test_wrap import CASES, PROMPT, wrap
from tests.clients.upstream import results, upstream
from tests.upstream.spelling import Dialect, Json, gemini_usage, responses_usage

__all__ = ["browser"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]
MODELS: dict[Dialect, str] = {
    "anthropic": "claude-sonnet-5",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}
"""The models that the provider says it used where a request names none that is known."""
MADE = 7
"""Tokens that each answer takes."""


class Bill(NamedTuple):
    """What the provider charged for one request."""

    model: str
    input: int
    cached: int
    is_turn: bool
    """Whether it offers tools; others are asked beside the conversation, as for a title."""
    has_results: bool


class Provider:
    """Bills a request by its length, and what it has in common with the turn before as read from the cache."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect: Dialect = dialect
        self._before = ""
        self.bills: list[Bill] = []

    def __call__(self, body: Mapping[str, Any]) -> Json:
        front = [body.get(key) for key in ("tools", "system", "systemInstruction", "instructions")]
        said = body.get("messages") or body.get("input") or body.get("contents")
        text = json.dumps([*front, said])
        pairs = enumerate(zip(text, self._before, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(text), len(self._before)))
        cached = same // 4
        is_turn = bool(body.get("tools"))
        if is_turn:
            self._before = text
        model = str(body.get("model", ""))
        model = model if is_listed(model) else MODELS[self._dialect]
        bill = Bill(model, len(text) // 4, cached if cached >= 1_024 else 0, is_turn, bool(results(said)))
        self.bills.append(bill)
        return self._spelled(bill)

    def _spelled(self, bill: Bill) -> Json:
        if self._dialect == "anthropic":
            cache = {"cache_read_input_tokens": bill.cached, "cache_creation_input_tokens": 0}
            return {"input_tokens": bill.input - bill.cached, **cache, "output_tokens": MADE}
        if self._dialect == "gemini":
            return gemini_usage(bill.input, MADE, bill.cached)
        if self._dialect == "openai_responses":
            return responses_usage(bill.input, MADE, bill.cached)
        details = {"prompt_tokens_details": {"cached_tokens": bill.cached}}
        return {"prompt_tokens": bill.input, "completion_tokens": MADE, "total_tokens": bill.input + MADE, **details}


class Recorded(NamedTuple):
    """The record of a client's run, beside what its provider knows of it."""

    client: str
    home: Path
    bills: list[Bill]


Drive = Callable[[Path, int], None]
"""Runs a client in a home of its own, with the provider at a port; the record is in `.keepwhole` there then."""


def _wrapped(start: Callable[[Path, int], Start]) -> Drive:
    def drive(home: Path, port: int) -> None:
        home.mkdir()
        start(home, port).run(home, wrap())

    return drive


def _agent(name: str) -> Drive:
    def drive(home: Path, port: int) -> None:
        address = f"http://127.0.0.1:{port}/v1"
        if name in WRAPPED:
            run(WRAPPED[name], home, address, *wrap())
            return
        settings = {"upstreams": {"fake": address}, "tenants": "one"}
        with proxy(home.parent / "proxy", address.removesuffix("/v1"), proxy=settings) as running:
            run(POINTED[name], home, f"{running.url}/fake")
        (home.parent / "proxy" / "home").rename(home / ".keepwhole")

    return drive


def _gemini(home: Path, port: int) -> None:
    test_gemini.start(home, port).run(home, wrap())


CLIENTS: dict[str, tuple[Dialect, Drive]] = {
    "claude": ("anthropic", _wrapped(CASES["claude"].start)),
    "codex": ("openai_responses", _wrapped(CASES["codex"].start)),
    "opencode": ("openai_chat", _wrapped(CASES["opencode"].start)),
    "gemini": ("gemini", _gemini),
    **{name: ("openai_chat", _agent(name)) for name in (*WRAPPED, *POINTED)},
}


@pytest.fixture(scope="module", params=CLIENTS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    dialect, drive = CLIENTS[request.param]
    home, provider = tmp_path_factory.mktemp(request.param) / "home", Provider(dialect)
    with upstream(SCRIPT, usage=provider) as port:
        drive(home, port)
    return Recorded(request.param, home, provider.bills)


@contextmanager
def services(recorded: Recorded) -> Generator[InspectorServices]:
    settings = config.load(home=str(recorded.home / ".keepwhole"), environ={})
    store = SqliteStore(settings.home)
    made = InspectorServices(settings, store)
    try:
        yield made
    finally:
        made.close()
        store.close()


class Displayed(NamedTuple):
    """What the page has of a session."""

    name: str
    summary: Any
    steps: list[Any]


def displayed(made: InspectorServices) -> list[Displayed]:
    """All sessions of a record, the one with most requests first."""
    listed: Any = answers.list_sessions(made, PageRequest())
    found: list[Displayed] = []
    for row in listed["sessions"]:
        asked = (row["name"],)
        summary: Any = answers.one_session(made, PageRequest(asked))
        assert {key: summary[key] for key in ("requests", "results", "errors", "cost", "title")} == {
            key: row[key] for key in ("requests", "results", "errors", "cost", "title")
        }
        page: Any = answers.list_steps(made, PageRequest(asked, {"count": "100"}))
        found.append(Displayed(row["name"], summary, page["steps"]))
    return sorted(found, key=lambda one: -one.summary["requests"])


def paid(bills: Sequence[Bill]) -> tuple[Decimal, str]:
    """What the bills come to as it is stated: dollars where the model has a price, else uncached tokens."""
    total, unit = 0.0, "usd"
    for bill in bills:
        price = input_price(bill.model)
        cost = bill.input - bill.cached + profile_for(bill.model).read * bill.cached
        total += cost if price is None else cost * price / 1e6
        unit = "tokens" if price is None else unit
    exact = Decimal(total)
    return exact.quantize(Decimal(1) if unit == "tokens" else Decimal("0.01") if total >= 1 else Decimal("0.001")), unit


def test_all_numbers_are_those_of_the_provider(recorded: Recorded) -> None:
    turns = [bill for bill in recorded.bills if bill.is_turn]
    assert len(turns) >= 4
    with services(recorded) as made:
        sessions = displayed(made)
        usages = [step["usage"] for one in sessions for step in one.steps if step["usage"]]
        recorded_bills = [(each["input"], each["cached"] or 0) for each in usages]
        beside = Counter((bill.input, bill.cached) for bill in recorded.bills)
        beside.subtract(recorded_bills)
        assert min(beside.values()) == 0, "nothing is on record that the provider did not bill"
        first = Counter((bill.input, bill.cached) for bill in recorded.bills if not bill.has_results)
        assert +beside <= first, "where a client names no session, a request without results belongs to none"
        for at, key in enumerate(("input", "cached")):
            stated = sum(one.summary["cost"]["tokens"][key] for one in sessions if one.summary["cost"])
            assert stated == sum(bill[at] for bill in recorded_bills)
        main = sessions[0]
        own = {step["usage"]["input"] for step in main.steps if step["usage"]}
        amount, unit = paid([bill for bill in turns if bill.input in own])
        figures = main.summary["cost"]["figures"]
        assert (figures["paid"], figures["unit"]) == (float(amount), unit)
        assert figures["saved"] == pytest.approx(figures["mode_off"] - figures["paid"], abs=1e-9)
        for step in main.steps:
            if step["clock"]:
                assert (
                    sum(step["clock"][key] for key in ("queue", "keepwhole", "first", "stream"))
                    == step["clock"]["total"]
                )
            if step["usage"]:
                window: Any = answers.window_of_step(made, PageRequest((main.name, str(step["index"]))))
                assert window["used"] == step["usage"]["input"]
                assert sum(item["tokens"] for item in window["items"]) == window["used"]
                assert sum(part["tokens"] for part in window["parts"]) == window["used"]
        assert main.summary["indicator"]["used"] == turns[-1].input
    cli = Cli(recorded.home.parent)
    cli.environ["KEEPWHOLE_HOME"] = str(recorded.home / ".keepwhole")
    status = cli.json("status", "--session", main.name)
    assert (status["tokens_shown"], status["counted"]) == (turns[-1].input, "bill")
    assert status["input"]["paid"] == figures["paid"]


def test_the_story_has_what_was_said_and_done(recorded: Recorded) -> None:
    with services(recorded) as made:
        main = displayed(made)[0]
        assert PROMPT in (main.summary["title"] or "")
        asked = [step for step in main.steps if step["id"] and step["purpose"] == "turn"]
        told: list[Any] = [answers.story(made, PageRequest((main.name, step["id"]))) for step in asked]
    assert all(each["is_readable"] and each["answer"]["is_readable"] for each in told)
    said = json.dumps(told)
    assert "listing 0 line" in said
    assert "All done." in said or "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in said
    arguments = [each["argument"] or "" for step in main.steps for each in step["results"]]
    assert any("listing 0" in each for each in arguments), "a row says which command it was"


@pytest.fixture
def page(recorded: Recorded) -> Iterator[tuple[Served, Displayed]]:
    with services(recorded) as made:
        main = displayed(made)[0]
        with served(made) as one:
            yield one, main


def test_the_page_shows_it_at_every_width_in_both_schemes(browser: Any, page: tuple[Served, Displayed]) -> None:
    one, main = page
    for width in (1440, 1024, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            context.set_default_timeout(20_000)
            looked = Looked(context, one)
            _look(looked, f"http://127.0.0.1:{one.port}", main)
            assert looked.said == []
            context.close()


def _look(looked: Looked, url: str, main: Displayed) -> None:
    """See the list, a step and the request of it; each fits its width, and axe finds nothing serious."""
    tab, total = looked.tab, len(main.steps)
    tab.goto(f"{url}/#token={TOKEN}")
    tab.locator("table.sessions a", has_text=main.summary["title"]).first.wait_for()
    _check(tab)
    tab.goto(f"{url}/#/session/{main.name}/step/{total}")
    tab.locator("h2", has_text=f"Step {total} of {total}").wait_for()
    tab.locator(".step .answer").wait_for()
    summary = tab.locator("dl.facts").first
    terms, values = (summary.locator(part).all_inner_texts() for part in ("dt", "dd"))
    facts = dict(zip(terms, values, strict=True))
    assert facts["Paid"].startswith(main.summary["cost"]["paid"])
    assert facts["Requests"] == str(main.summary["requests"])
    _check(tab)
    tab.get_by_role("link", name="The whole request").click()
    tab.locator(".run .message").first.wait_for()
    _check(tab)


def _check(tab: Any) -> None:
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if AXE.exists():
        tab.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        found = tab.evaluate("axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)")
        assert [
            (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
        ] == []
