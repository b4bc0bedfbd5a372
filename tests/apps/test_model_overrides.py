"""What the settings say of a model under `models` counts in every figure: windows, costs, limits of a client, undo."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.request_figures import cost_of, profiles_with
from keepwhole.apps.undo_figures import foresee_undo
from keepwhole.apps.wrap.receipt import Tally, receipt
from keepwhole.config import Settings
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from keepwhole.store.protocol import Store
from tests.apps.cli.cli import Cli
from tests.apps.test_displayed_numbers import listing

NAME, WINDOW, READ, WRITE = "ours", 40_000, 0.5, 1.5
SIZES = (8_000, 16_000, 24_000, 32_000, 36_500)
DOLLARS = 2.0 / 1e6
"""The list price of the model that answers."""


class Recorded(NamedTuple):
    """A session with a deployment whose window and prices are in the settings."""

    cli: Cli
    settings: Settings
    store: Store

    @property
    def session(self) -> Session:
        return Session(NAME, store=self.store, settings=self.settings)

    def inspected(self, answer: Any, *names: str, **query: str) -> Any:
        services = InspectorServices(self.settings, self.store)
        try:
            return answer(services, PageRequest((NAME, *names), query))
        finally:
            services.close()


@pytest.fixture(scope="module", params=["team-helper", "gpt-4.1", "gpt-4.1-2025-04-14"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The settings may name the deployment that is asked, or the model that answers."""
    cli = Cli(tmp_path_factory.mktemp("ours"))
    fields = {"window": WINDOW, "read": READ, "write": WRITE, "minimum": 0}
    (cli.folder / "keepwhole.yaml").write_text(json.dumps({"models": {request.param: fields}}))
    settings = config.load(folder=str(cli.folder), environ=cli.environ)
    store = config.open_record(settings)
    session = Session(NAME, store=store, settings=settings)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number, size in enumerate(SIZES):
        function = {"name": "bash", "arguments": json.dumps({"command": f"make {number}"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": f"c{number}", "content": listing(number) * 5}]
        sent = session.view(messages, policy="truncation")
        cached = SIZES[number - 1] if number else 0
        usage = AnswerFacts(size, cached, size - cached, output=9, answered_by="gpt-4.1-2025-04-14")
        about = RequestFacts("openai_chat", "team-helper", tokens_whole=2 * size, tokens_sent=size, edited=1, mode="on")
        body = json.dumps({"model": "team-helper", "messages": sent}).encode()
        RequestLog(session).add(body, about, LoggedAnswer(b"{}", 200, usage=usage))
    yield Recorded(cli, settings, store)
    store.close()


def test_every_window_is_that_of_the_settings(recorded: Recorded) -> None:
    status = recorded.cli.json("status", "--session", NAME)
    summary = recorded.inspected(answers.one_session)
    assert (status["window"], status["level"]) == (WINDOW, "compact")
    assert (summary["window"], summary["indicator"]["window"], summary["indicator"]["state"]) == (
        WINDOW,
        WINDOW,
        "compaction",
    )
    steps = RequestLog(recorded.session).all()
    (line,) = [line for line in told(recorded, steps) if line.startswith("  window")]
    assert line == f"  window    90 % full at request {len(SIZES)}, with everything at 3"
    assert recorded.cli.json("report")["groups"]["viewed"]["full"]["value"] == len(SIZES)


def test_every_cost_is_by_the_prices_of_the_settings(recorded: Recorded) -> None:
    before = (0, *SIZES[:-1])
    paid = sum(READ * cached + WRITE * (size - cached) for size, cached in zip(SIZES, before, strict=True)) * DOLLARS
    figures = recorded.inspected(answers.one_session)["cost"]["figures"]
    assert (figures["paid"], figures["unit"]) == (pytest.approx(paid, abs=0.00051), "usd")
    assert recorded.cli.json("status", "--session", NAME)["input"] == figures
    assert recorded.cli.json("report")["groups"]["viewed"]["input"] == figures
    assert [each["cost"] for each in recorded.cli.json("sessions", "list")] == [figures]
    assert f"paid ≈ ${figures['paid']:.3f}" in "\n".join(told(recorded, RequestLog(recorded.session).all()))


def test_a_client_with_mode_off_would_have_had_the_same_window(recorded: Recorded) -> None:
    steps = RequestLog(recorded.session).all()
    known, other = cost_of(steps, profiles_with(recorded.settings.models)), cost_of(steps, profiles_with({}))
    assert known is not None
    assert other is not None
    assert (known.compactions > 0, other.compactions) == (True, 0)
    assert recorded.inspected(answers.one_session)["cost"]["compactions"] == known.compactions


def test_an_undo_costs_what_the_settings_say(recorded: Recorded) -> None:
    row = next(iter(recorded.store.rows(NAME, kind="result")))
    undo = foresee_undo(recorded.session, row)
    assert undo.dollars == pytest.approx(((WRITE - READ) * undo.reread + WRITE * undo.tokens) * DOLLARS)


def test_what_if_replays_with_the_window_and_the_prices_of_the_settings(recorded: Recorded) -> None:
    services = InspectorServices(recorded.settings, recorded.store)
    try:
        before = services.what_if.compare(NAME, {})["before"]
    finally:
        services.close()
    cheaper = recorded.settings.replace(models={name: {"window": WINDOW} for name in recorded.settings.models})
    services = InspectorServices(cheaper, recorded.store)
    try:
        other = services.what_if.compare(NAME, {})["before"]
    finally:
        services.close()
    assert before["dollars"] > other["dollars"] > 0


def told(recorded: Recorded, steps: list[Any]) -> list[str]:
    return receipt(Tally({NAME: steps}), profiles_with(recorded.settings.models), "agent")
