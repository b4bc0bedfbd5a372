"""A recorded session of 2,000 requests in a browser: readable at every width, and what its chart says is on record."""

import json
import re
from collections.abc import Generator
from typing import Any

import pytest

from keepwhole import config
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.apps.inspector.browser_tab import Looked
from tests.apps.inspector.inspector_server import TOKEN, Served, served
from tests.apps.inspector.test_page_figures import AXE
from tests.apps.inspector.waiting import until

pytestmark = pytest.mark.browser
STEPS = 2_000
TITLE = "Mend all cranes of the harbour."


def whole(step: int) -> int:
    """Tokens of everything at a step: ten times what the window holds at the end."""
    return 5_000 + 1_000 * step


def sent(step: int) -> int:
    return 5_000 + 97 * (step % 1_500)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """The record, served: each request brings a result, and every twentieth rewrites the prompt."""
    settings = config.load(home=str(tmp_path_factory.mktemp("long")), environ={})
    session = Session("haul", store=MemoryStore(), settings=settings, agent="tests")
    log = RequestLog(session)
    for step in range(STEPS):
        if step:
            session.keep("bash", {"command": f"mend --crane {step}"}, f"crane {step} is whole\n", call_id=f"c{step}")
        about = RequestFacts(
            "anthropic", "claude-sonnet-4-5", mode="on", tokens_whole=whole(step), tokens_sent=sent(step)
        )
        usage = AnswerFacts(input=sent(step), cached=sent(step) - 100, written=100, first_ms=300, total_ms=900 + step)
        said = [{"role": "user", "content": TITLE}, {"role": "user", "content": f"It is {step} o'clock."}]
        answer = LoggedAnswer(b'{"content": []}', 200, usage=usage)
        log.add(json.dumps({"messages": said}).encode(), about, answer)
    with served(InspectorServices(settings, session.store)) as found:
        yield found


@pytest.fixture
def looked(browser: Any, long: Served) -> Generator[Any]:
    contexts: list[Any] = []

    def enter(width: int, scheme: str, after: str = "/session/haul/step/1000", **options: Any) -> Looked:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options))
        contexts[-1].set_default_timeout(15_000)
        one = Looked(contexts[-1], long)
        url = f"http://127.0.0.1:{long.port}"
        one.tab.goto(f"{url}/#token={TOKEN}")
        one.tab.wait_for_selector("table.sessions")
        one.tab.goto(f"{url}/#{after}")
        return one

    yield enter
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_at_every_width_in_both_schemes(looked: Any, width: int, scheme: str) -> None:
    one = looked(width, scheme)
    one.tab.get_by_role("heading", name="Step 1,000 of 2,000").wait_for()
    one.tab.wait_for_selector(".step .answer")
    assert one.tab.locator("h1").inner_text() == TITLE
    assert "mend --crane 999" in one.tab.locator(".step .result, .step .story").first.inner_text()
    assert one.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert one.tab.evaluate("document.querySelectorAll('*').length") < 3_000
    assert one.said == []
    if not AXE.exists():
        return
    axed = looked(width, scheme, bypass_csp=True).tab
    axed.wait_for_selector(".step .answer")
    axed.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = axed.evaluate("axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)")
    assert [each["id"] for each in found if each["impact"] != "minor"] == []


def test_what_the_chart_says_of_a_step_is_on_record(looked: Any) -> None:
    tab = looked(1440, "light").tab
    tab.wait_for_selector(".told")
    assert tab.locator(".beyond").inner_text() == "▲ 2.0M", "what no window holds leaves the chart"
    for step in (1_000, 1_447):
        tab.goto(tab.url.partition("#")[0] + f"#/session/haul/step/{step}")
        until(tab, f"document.querySelector('.plot').getAttribute('aria-valuenow') === '{step}'")
        words = tab.locator(".told").inner_text()
        found = re.match(r"Steps ([\d]+) to ([\d]+), the last: ([\d,]+) everything, ([\d,]+) sent", words)
        assert found is not None, words
        first, last, everything, shown = (int(number.replace(",", "")) for number in found.groups())
        assert first <= step <= last < first + 10
        assert (everything, shown) == (whole(last - 1), sent(last - 1))
    tab.get_by_role("button", name="Time").click()
    until(tab, "document.querySelector('.told').textContent.includes('the longest: ')")


def test_a_request_has_the_window_of_its_own_step(looked: Any) -> None:
    tab = looked(1440, "light").tab
    tab.get_by_role("link", name="The whole request").click()
    tab.wait_for_selector(".run .message")
    until(tab, f"document.querySelector('.gauge svg')?.getAttribute('aria-label').includes(': {sent(999):,} of')")
    tab.reload()
    until(tab, f"document.querySelector('.gauge svg')?.getAttribute('aria-label').includes(': {sent(999):,} of')")


def test_the_outcome_of_another_search_is_not_shown_for_this_one(looked: Any) -> None:
    tab = looked(1440, "light").tab
    asked = tab.get_by_label("Search in all results")
    asked.fill("tugboat")
    tab.get_by_text("Nothing found.").wait_for()
    asked.fill("crane 1999")
    assert tab.get_by_text("Nothing found.").count() == 0
    tab.locator(".found a", has_text="crane 1999 is whole").wait_for()


def test_sessions_are_sorted_where_their_table_has_no_heads(looked: Any) -> None:
    tab = looked(390, "light", "/").tab
    with tab.expect_request(re.compile("sort=errors")):
        tab.get_by_label("Sort by").select_option(label="by errors")
    wide = looked(1440, "light", "/").tab
    assert not wide.get_by_label("Sort by").is_visible()


def test_a_session_is_chosen_by_its_title(looked: Any) -> None:
    tab = looked(1440, "light").tab
    tab.wait_for_selector("h1")
    until(tab, f"document.querySelector('.switcher').selectedOptions[0].textContent === '{TITLE}'")
    until(tab, f"document.title === '{TITLE} · Keepwhole'")
