"""Images and arguments in the inspector: what a browser is given to display, and what is beside it."""

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.policies.settings import CAREFUL
from keepwhole.session import Session
from keepwhole.store.protocol import result_of
from tests.apps.inspector.browser_tab import Looked
from tests.apps.inspector.inspector_server import TOKEN, Served
from tests.apps.inspector.waiting import until
from tests.apps.proxy.screenshots import picture_part, step_messages
from tests.canonical.pictures import pdf, png
from tests.conversation.argument_agents import WritingAgent, arguments_in

EAGER = CAREFUL.replace(
    arguments="old",
    start=1_000,
    keep_steps=1,
    worth=0,
    horizon=1_000,
    max_loss=1_000.0,
    clear_at_least=1,
)


def eager(session: Session) -> Session:
    """The same session, in which nearly everything ages."""
    return Session("s", store=session.store, settings=session.settings.replace(auto=EAGER))


def view_of_screenshots(session: Session, first: bytes) -> tuple[str, str]:
    """Look at a screen many times; return the ids of the last screenshot, which is shown, and of the first, which is
    not."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
    with eager(session) as other:
        for number in range(12):
            data = first if number == 0 else png(1280, 800, 90 + number, 300)
            parts = [picture_part("anthropic", data)]
            messages += step_messages("anthropic", f"c{number}", "computer", {"at": number}, parts)
            other.view(json.dumps({"model": "claude-sonnet-5", "messages": messages}).encode())
    kept = [result_of(row).trace_id for row in session.store.rows("s", kind="result")]
    return kept[-1], kept[0]


def view_of_scripts(session: Session) -> tuple[WritingAgent, bytes]:
    """Write twelve files; return the agent and the last request as it was sent."""
    agent = WritingAgent("anthropic")
    with eager(session) as other:
        for number in range(12):
            agent.write(number)
            sent = other.view(agent.body())
    return agent, sent


def test_an_image_is_displayed_with_its_own_type_and_runs_nothing(page: Served, session: Session) -> None:
    data = png(640, 480, 3, 900)
    trace = session.keep("screenshot", None, data).trace_id
    answer = page.get(f"/api/sessions/s/results/{trace}/image")
    assert (answer.status, answer.body) == (200, data)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"] == "inline"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html><script>alert(1)</script></html>",
        b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
        png(9_000, 9_000)[:60],
        pdf(2),
        b"plain text",
    ],
)
def test_what_is_no_raster_image_of_common_size_is_only_a_download(page: Served, session: Session, data: bytes) -> None:
    trace = session.keep("fetch", None, data).trace_id
    assert page.get(f"/api/sessions/s/results/{trace}/image").status == 404
    raw = page.get(f"/api/sessions/s/results/{trace}/raw")
    assert raw.body == data
    assert raw.headers["Content-Type"] == "application/octet-stream"


def test_an_image_that_was_left_out_is_beside_the_line_that_the_model_saw(
    services: InspectorServices, session: Session
) -> None:
    data = png(1280, 800, 3, 900)
    whole, cut = view_of_screenshots(session, data)
    found = answers.one_result(services, PageRequest(("s", cut)))
    media = found["result"]["media"]
    assert (media["width"], media["height"], media["is_displayed"]) == (1280, 800, True)
    assert media["size"] == len(data)
    assert found["result"]["tokens"] == media["tokens"] == 1_334
    (notice,) = found["shown"]["segments"]
    assert "image/png 1280x800" in notice["text"]
    assert answers.one_result(services, PageRequest(("s", whole)))["shown"] is None


def test_arguments_that_were_cut_are_shown_whole_beside_what_was_sent(
    services: InspectorServices, session: Session
) -> None:
    agent, body = view_of_scripts(session)
    written, sent = arguments_in(agent.body()), arguments_in(body)
    (first, *_) = services.record.timeline("s").results.values()
    found = answers.one_result(services, PageRequest(("s", first.result.trace_id)))["arguments"]
    assert json.loads(found["whole"]) == written["call_0"]
    assert json.loads(found["shown"]) == sent["call_0"] != written["call_0"]
    last = [*services.record.timeline("s").results.values()][-1]
    assert answers.one_result(services, PageRequest(("s", last.result.trace_id)))["arguments"]["shown"] is None


@pytest.fixture
def looked(browser: Any, page: Served, request: pytest.FixtureRequest) -> Generator[Callable[[str], Looked]]:
    """Enters the inspector with its token, at a part of the address, in light or dark."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=request.param)
    context.set_default_timeout(15_000)

    def enter(after: str) -> Looked:
        one = Looked(context, page)
        one.tab.goto(f"http://127.0.0.1:{page.port}/#token={TOKEN}")
        one.tab.wait_for_selector("table.sessions")
        one.tab.goto(f"http://127.0.0.1:{page.port}/#{after}")
        return one

    yield enter
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("looked", ["light", "dark"], indirect=True)
def test_a_screenshot_is_seen_beside_the_line_in_its_place(looked: Callable[[str], Looked], session: Session) -> None:
    _, hidden = view_of_screenshots(session, png(1280, 800, 150, 900))
    one = looked(f"/session/s/result/{hidden}")
    image = one.tab.locator("figure.media img")
    image.wait_for()
    until(one.tab, "document.querySelector('figure.media img').naturalWidth === 1280")
    assert image.get_attribute("alt") == "image/png 1280x800, as the tool returned it"
    assert "1,334 tokens" in one.tab.locator("figure.media figcaption").inner_text()
    assert image.bounding_box()["height"] <= 0.7 * 900 + 1  # pyright: ignore
    one.tab.get_by_role("button", name="What the model saw").click()
    assert "image/png 1280x800" in one.tab.locator(".segment.notice").inner_text()
    assert one.tab.evaluate("window.violations") == []
    assert one.said == []


@pytest.mark.browser
@pytest.mark.parametrize("looked", ["light", "dark"], indirect=True)
def test_cut_arguments_are_seen_beside_the_whole_ones(looked: Callable[[str], Looked], session: Session) -> None:
    view_of_scripts(session)
    first = next(result_of(row).trace_id for row in session.store.rows("s", kind="result"))
    one = looked(f"/session/s/result/{first}")
    whole = one.tab.get_by_role("region", name="Arguments as the model wrote them")
    whole.wait_for()
    assert "value_0_119" in whole.inner_text()
    sent = one.tab.get_by_role("region", name="Arguments as they are sent").inner_text()
    assert "this view hides them]" in sent
    assert one.tab.locator("p.arguments").inner_text().endswith("…"), "the head of the page stays short"
    assert "value_0_119" not in sent
    assert one.tab.evaluate("window.violations") == []
    assert one.said == []


@pytest.mark.browser
@pytest.mark.parametrize("looked", ["light"], indirect=True)
def test_an_svg_is_a_download(looked: Callable[[str], Looked], session: Session) -> None:
    kept = session.keep("fetch", None, b"\x00<svg onload='window.hacked=1'/>" + bytes(300))
    one = looked(f"/session/s/result/{kept.trace_id}")
    one.tab.get_by_role("link", name="Download it").wait_for()
    assert one.tab.locator("figure.media img").count() == 0
    assert one.tab.evaluate("window.hacked") is None
