"""The page over a real record: it shows what the server answers, from the list to the last byte."""

import itertools
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.sample import NAME, play
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.models.thresholds import Thresholds
from keepwhole.record.words_note import TOOL as WORDS
from keepwhole.record.words_note import SaidWords
from keepwhole.session import Session
from tests.apps.inspector.browser_tab import Looked
from tests.apps.inspector.inspector_server import TOKEN, Served
from tests.apps.inspector.waiting import until
from tests.build import NOON, numbered_lines

pytestmark = pytest.mark.browser
FACTS = (
    "[...document.querySelectorAll('.above .facts div')].map((one) => [...one.children].map((each) => each.innerText))"
)


@pytest.fixture
def looked(browser: Any, page: Served) -> Generator[Callable[[str], Looked]]:
    """Enters the inspector with its token; a part of the address may follow it."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(15_000)

    def enter(after: str = "") -> Looked:
        one = Looked(context, page)
        one.url = f"http://127.0.0.1:{page.port}"
        one.tab.goto(f"{one.url}/#token={TOKEN}{after}")
        return one

    yield enter
    context.close()


def test_a_session_is_looked_at_from_the_list_to_the_request(looked: Callable[..., Looked], played: str) -> None:
    one = looked()
    tab = one.tab
    tab.locator(f"table.sessions tr:has-text('{played}') a").click()
    tab.wait_for_selector(".row.chosen .what")
    assert tab.locator(".mark button").count() == 3
    tab.locator(".timeline").focus()
    tab.keyboard.press("Home")
    tab.wait_for_selector("#step-0.chosen")
    while not tab.locator(".detail .badge.cut").count():
        tab.keyboard.press("j")
        tab.wait_for_timeout(100)
    tab.wait_for_selector(".detail .pair .seen .segment")
    assert tab.locator(".step .answer").inner_text().strip()
    tab.get_by_role("link", name="The whole request").click()
    tab.wait_for_selector(".run .message")
    tab.get_by_role("button", name="As it was sent").click()
    tab.wait_for_selector("pre.body")
    assert tab.locator("pre.body").first.inner_text().startswith("{")
    assert tab.evaluate("window.violations") == []
    assert one.said == []


def test_the_list_and_the_session_show_what_was_paid_and_saved_or_lost(
    looked: Callable[..., Looked], services: InspectorServices, session: Session, played: str
) -> None:
    """A session that saved, and one whose prefix was rewritten at its end."""
    log = RequestLog(session)
    for whole, sent, cached in ((10_000, 10_000, 0), (12_000, 11_000, 0), (13_000, 12_000, 11_000)):
        about = RequestFacts("anthropic", "claude-sonnet-4-5", mode="on", tokens_whole=whole, tokens_sent=sent)
        usage = AnswerFacts(input=sent, cached=cached, written=sent - cached)
        log.add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200, usage=usage))
    one = looked()
    tab = one.tab
    for name in ("s", played):
        cost = answers.one_session(services, PageRequest((name,)))["cost"]
        row = tab.locator("table.sessions tr", has=tab.locator(f"a[href='#/session/{name}']"))
        assert f"{cost['saved']} {cost['words']}" in row.locator("td[data-label=Saved]").inner_text()
        paid = row.locator("td[data-label=Paid]").inner_text()
        assert paid.startswith(cost["paid"])
        assert f"would be {cost['off']}" in paid
        row.locator("a").click()
        tab.wait_for_selector(".above .facts")
        terms = {term: value for term, value in tab.evaluate(FACTS)}
        assert (terms["Paid"], terms["Would have paid"]) == (cost["paid"], cost["off"])
        assert terms["Lost" if cost["is_loss"] else "Saved"] == f"{cost['saved'].removeprefix('−')}, {cost['words']}"
        assert tab.locator(".above .loss").count() == (name == "s")
        tab.go_back()
        tab.wait_for_selector("table.sessions")
    assert one.said == []


def test_a_session_in_the_shadow_says_what_mode_on_would_send(looked: Callable[..., Looked], session: Session) -> None:
    about = RequestFacts("openai_chat", "gpt-5", mode="shadow", tokens_whole=12_000, tokens_sent=12_000)
    about = about._replace(would_send=7_000, would_edit=2)
    RequestLog(session).add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200))
    tab = looked("&session=s").tab
    tab.wait_for_selector(".detail .note")
    assert "2 results would be changed, and 7,000 of 12,000 tokens sent" in tab.locator(".detail").inner_text()
    terms = {term: value for term, value in tab.evaluate(FACTS)}
    assert (terms["Sent in shadow mode"], terms["With mode: on"]) == ("12k", "7.0k")


def test_an_address_for_one_session_leads_there(looked: Callable[..., Looked], session: Session, kept: str) -> None:
    one = looked("&session=s")
    one.tab.wait_for_selector(".row.chosen .what")
    assert one.hash == "#/session/s"
    assert TOKEN not in one.tab.url


def test_a_result_is_read_found_in_pinned_and_downloaded(
    looked: Callable[..., Looked], session: Session, kept: str
) -> None:
    one = looked("&session=s")
    tab = one.tab
    tab.locator(".result h3 a").click()
    tab.wait_for_selector(".line-row code")
    tab.get_by_label("Line", exact=True).fill("4000")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.line-row.marked .line-number')?.textContent === '4,000'")
    tab.get_by_label("Find in this result").fill("4500")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.line-row.marked .line-number')?.textContent === '4,500'")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download").click()
    assert download.value.path().read_text() == session.recall_bytes(kept).decode()
    assert one.said == []


def test_a_result_that_is_kept_meanwhile_appears_without_a_reload(
    looked: Callable[..., Looked], session: Session, kept: str
) -> None:
    one = looked("&session=s")
    one.tab.wait_for_selector(".line.connected")
    one.tab.wait_for_selector("#step-0.chosen .what")
    session.keep("grep", {"pattern": "<img src=x onerror=hacked=1>"}, numbered_lines(40))
    one.tab.wait_for_selector(".row .what:has-text('grep')")
    assert one.said == []


def test_health_and_verify_speak_of_the_record(looked: Callable[..., Looked], session: Session, kept: str) -> None:
    one = looked()
    one.tab.wait_for_selector("table.sessions")
    one.tab.get_by_role("link", name="Health").click()
    one.tab.wait_for_selector(".doctor li")
    one.tab.get_by_role("button", name="Verify").click()
    one.tab.get_by_text("nothing has changed since it was kept").wait_for()
    assert one.said == []


def test_a_policy_is_played_over_the_record(looked: Callable[..., Looked], played: str) -> None:
    one = looked(f"&session={played}")
    one.tab.get_by_role("link", name="What if?").click()
    one.tab.get_by_label("Policy", exact=True).select_option("everything")
    one.tab.get_by_role("button", name="Replay this session").click()
    one.tab.wait_for_selector(".figure")
    assert (
        "policy: everything" in one.tab.locator(".outcome").inner_text()
        or one.tab.locator(".outcome .figure").count() >= 4
    )
    assert one.said == []


def test_an_empty_record_says_how_to_fill_it(looked: Callable[..., Looked]) -> None:
    one = looked()
    one.tab.wait_for_selector(".state")
    assert "keepwhole run" in one.tab.locator(".state").inner_text()


def test_the_window_is_that_of_the_step_in_view(
    looked: Callable[..., Looked], services: InspectorServices, played: str
) -> None:
    steps = answers.list_steps(services, PageRequest((played,)))["steps"]
    tab = looked(f"&session={played}").tab
    for index in (len(steps) - 1, 2):
        tab.goto(tab.url.partition("#")[0] + f"#/session/{played}/step/{index + 1}")
        used = answers.window_of_step(services, PageRequest((played, str(index))))["used"]
        until(tab, f"document.querySelector('.gauge svg')?.getAttribute('aria-label').includes(': {used:,} of')")


def test_the_sample_opens_at_the_first_stop_of_its_tour(looked: Callable[..., Looked], played: str) -> None:
    tab = looked(f"&session={played}").tab
    tab.locator(".tour button[aria-pressed=true]", has_text="A cut on arrival").wait_for()
    tab.wait_for_selector(".step .segment.gap")
    tab.get_by_role("button", name="A recall").click()
    tab.locator(".step .answer", has_text="get_artifact").wait_for()


def test_a_comparison_reports_and_can_be_stopped(
    looked: Callable[..., Looked], services: InspectorServices, played: str
) -> None:
    one = looked(f"&session={played}")
    one.tab.get_by_role("link", name="What if?").click()
    one.tab.get_by_label("Preset").select_option("lean")
    one.tab.get_by_role("button", name="Replay this session").click()
    one.tab.wait_for_selector(".figure")
    assert "auto, lean" in one.tab.locator(".outcome").inner_text()
    services.what_if._lock.acquire()  # another comparison is at work
    one.tab.get_by_role("button", name="Replay this session").click()
    one.tab.get_by_text("waiting for another comparison").wait_for()
    one.tab.get_by_role("button", name="Stop").click()
    one.tab.get_by_text("Stopped.").wait_for()
    services.what_if._lock.release()
    assert one.said == []


def test_the_last_words_of_a_log_come_after_its_last_result(looked: Callable[..., Looked], session: Session) -> None:
    for number, (role, text) in enumerate((("user", "Mend the crane."), ("assistant", "It is mended."))):
        note = SaidWords(role, number).as_arguments()
        session.keep(WORDS, note, text)
        if role == "user":
            session.keep("bash", {"command": "mend"}, "a bolt was loose")
    tab = looked("&session=s").tab
    tab.wait_for_selector(".step .story :text('a bolt was loose')")
    story = tab.locator(".step .story").inner_text()
    assert story.index("Mend the crane.") < story.index("a bolt was loose") < story.index("It is mended.")


def test_both_tables_of_the_window_add_up_to_how_full_it_is(looked: Callable[..., Looked], played: str) -> None:
    tab = looked(f"&session={played}").tab
    tab.locator(".full summary").click()

    def adds_up(at: int) -> bool:
        full = float(tab.locator(".full summary b").inner_text().rstrip(" %"))
        shares = tab.locator(".fills").nth(at).locator("tbody td:nth-child(3)").all_inner_texts()
        known = [0.05 if share.startswith("<") else float(share.rstrip(" %")) for share in shares]
        return abs(sum(known) - full) < 0.05 * len(known) + 0.5

    tries = 50  # they are another step's until the one that is looked at has come
    while not (adds_up(0) and adds_up(1)):
        tab.wait_for_timeout(100)
        tries -= 1
        assert tries, "they do not add up"


def test_a_limit_is_named_once(looked: Callable[..., Looked], session: Session) -> None:
    session.keep("t", None, "x")
    usage = AnswerFacts(input=5, limits='[["5h", 0.42, null]]')
    about = RequestFacts("anthropic", "claude-sonnet-4-5", mode="on", tokens_whole=5, tokens_sent=5)
    RequestLog(session).add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200, usage=usage))
    tab = looked("&session=s").tab
    tab.wait_for_selector(".above .facts")
    terms = {term: value for term, value in tab.evaluate(FACTS)}
    assert terms["Limit of 5h"] == "42 % used"


def test_the_sample_opens_at_its_first_stop_while_it_plays_and_announces_nothing(
    looked: Callable[..., Looked], services: InspectorServices
) -> None:
    """All of it is new to whoever opens it: nobody has seen it without the steps that are played behind."""
    record, opened, asked = services.record, threading.Event(), itertools.count()

    def keeps_going() -> bool:
        return next(asked) < 20 or opened.wait(15)

    with ThreadPoolExecutor() as pool:
        done = pool.submit(play, record.settings, record.store, float(NOON), 3, keeps_going)
        while next(iter(record.store.rows(NAME, kind="decision")), None) is None:
            time.sleep(0.01)
        tab = looked(f"&session={NAME}").tab
        tab.wait_for_selector("#step-2.chosen .what")
        tab.wait_for_selector(".line.connected")
        before = len(record.timeline(NAME).steps)
        opened.set()
        done.result(15)
    total: Any = answers.one_session(services, PageRequest((NAME,)))["steps"]
    assert total > before
    until(tab, f"document.querySelector('.spacer').style.height === '{56 * total}px'")
    tab.wait_for_timeout(1_300)  # until the page knows that it is over
    assert tab.locator(".pill").count() == 0
    assert tab.locator("#step-2.chosen").count() == 1
    assert tab.locator("#said").inner_text() == ""


def test_the_names_of_the_thresholds_are_under_their_ticks_and_do_not_touch(
    looked: Callable[..., Looked], services: InspectorServices, played: str
) -> None:
    names = "[...document.querySelectorAll('.mark button')].map((one) => one.getBoundingClientRect().toJSON())"
    ticks = "[...document.querySelectorAll('.tick')].map((one) => one.getBoundingClientRect().x)"
    usual = services.record.settings
    for thresholds in (Thresholds(warn=0.4, compact=0.6, hard=0.8), Thresholds()):
        services.record.settings = usual.replace(thresholds=thresholds)
        tab = looked(f"&session={played}").tab
        for width in (1440, 1024, 390, 360):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_selector(".mark button")
            boxes = tab.evaluate(names)
            for box, tick in zip(boxes, tab.evaluate(ticks), strict=True):
                assert box["left"] - 15 < tick < box["right"] + 15, (width, thresholds)
            for one, other in pairwise(boxes):
                assert one["right"] + 4 < other["left"], (width, thresholds)
