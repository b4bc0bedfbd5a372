"""Every view of the inspector's page, in a browser: it shows what is recorded, and every control works."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.apps.inspector.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.torture]  # `make browser`; `test_page_served.py` covers all of it
Look = Callable[..., Any]
WIDTHS = [(1440, "light"), (1024, "dark"), (390, "light"), (360, "dark")]
ROUTES = {
    "/": "table.sessions",
    "/session/fix-the-router/step/61": ".detail .pair, .detail .step",
    "/session/fix-the-router/results": "table.results",
    "/session/fix-the-router/result/giant": ".line-row code",
    "/session/fix-the-router/request/r3": ".run .message",
    "/session/fix-the-router/play": "form.settings",
    "/health": ".doctor",
}


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_every_view_says_nothing_fits_and_asks_only_its_own_server(look: Look, width: int, scheme: str) -> None:
    one = look(width, color_scheme=scheme)
    for route, there in ROUTES.items():
        one.see(route, there)
        one.tab.wait_for_timeout(150)
        assert one.tab.evaluate("document.documentElement.scrollWidth") <= width, route
        assert one.tab.evaluate("window.violations") == []
    assert one.said == []
    assert {address for address in one.asked if not address.startswith(one.fake.url)} <= {"about:blank"}


def test_the_token_is_swapped_for_a_cookie_and_leaves_the_address(look: Look) -> None:
    one = look()
    assert one.hash == "#/"
    assert [each["name"] for each in one.context.cookies() if each["httpOnly"]] == ["keepwhole_inspector"]
    assert one.tab.evaluate("document.cookie") == ""


def test_without_a_key_the_page_says_where_to_get_one(look: Look) -> None:
    one = look(enter=False)
    tab = one.see("/", ".state")
    assert "keepwhole inspect" in tab.locator(".state").inner_text()


def test_an_old_token_is_reported_with_what_to_do(look: Look) -> None:
    one = look(enter=False)
    tab = one.see("token=an-old-one", ".state")
    assert "Run keepwhole inspect again" in tab.locator(".state").inner_text()
    assert "an-old-one" not in tab.url


def test_sessions_are_listed_searched_and_opened(look: Look) -> None:
    tab = look().see("/", "table.sessions")
    rows = tab.locator("table.sessions tbody tr")
    assert rows.count() == 3
    assert "3 requests without a response" in rows.nth(1).inner_text()
    assert rows.nth(1).locator("a").inner_text() == "Mend the router of long-haul"
    assert "fork" in (rows.nth(1).get_attribute("class") or "")
    tab.keyboard.press("/")
    tab.keyboard.type("router")
    until(tab, "document.querySelectorAll('table.sessions tbody tr').length === 1")
    assert "$1.78" in rows.first.inner_text()
    rows.first.locator("a").click()
    tab.wait_for_selector(".row.chosen")
    assert tab.url.endswith("#/session/fix-the-router")


def test_the_indicator_is_there_in_every_view_of_a_session_with_its_marks_explained(look: Look) -> None:
    one = look(1440)
    for route in ("/session/fix-the-router", "/session/fix-the-router/play", "/session/fix-the-router/result/t3-0"):
        tab = one.see(route, ".indicator .mark")
        marks = tab.locator(".mark button")
        assert [each.strip() for each in marks.all_inner_texts()] == [
            "Warning at 75 %",
            "Compaction at 90 %",
            "Hard limit at 95 %",
        ]
    assert "45 % full: 90,300 of 200,000 tokens" in (tab.locator(".gauge svg").get_attribute("aria-label") or "")
    marks.nth(1).focus()
    tip = tab.locator(".mark-1 .tip")
    assert tip.get_attribute("id") == marks.nth(1).get_attribute("aria-describedby")
    assert (tip.bounding_box() or {})["width"] > 100
    tab.locator(".full summary").click()
    assert "read_file" in tab.locator(".panel").inner_text()


def test_a_step_shows_both_sides_the_rule_and_what_a_rewrite_cost(look: Look) -> None:
    tab = look(1600).see("/session/fix-the-router/step/65", ".pair .seen")
    assert tab.locator(".step h2").inner_text() == "Step 65 of 148"
    assert "FAILED" in tab.get_by_role("region", name="What the tool returned").inner_text()
    seen = tab.get_by_role("region", name="What the model saw")
    assert "left out · 412 lines, 31,400 characters" in seen.inner_text()
    assert seen.locator(".segment.notice pre").count() == 1
    assert "tokens" in tab.locator(".rule").first.inner_text()
    tab.goto(tab.url.replace("/step/65", "/step/61"))
    tab.wait_for_selector(".note.turn")
    assert "21,000 tokens had to be read again" in tab.locator(".note.turn").inner_text()
    assert "4 results · ≈ −17k tokens" in tab.locator(".decisions").inner_text()
    tab.locator(".decisions summary").click()
    assert tab.locator(".decisions li a").count() == 4


def test_a_result_that_was_cut_after_its_step_is_shown_as_it_was_then_and_says_so(look: Look) -> None:
    tab = look(1600).see("/session/fix-the-router/step/71", ".pair")
    assert "in full here, now" in tab.locator(".rule").first.inner_text()
    tab.get_by_text("What the tool returned, and the model saw").first.wait_for()


def test_a_result_is_pinned_and_shown_whole_again(look: Look) -> None:
    one = look(1600)
    tab = one.see("/session/fix-the-router/step/65", ".pair .seen")
    tab.get_by_role("button", name="Show in full again").first.click()
    tab.get_by_text("+4,300 tokens").wait_for()
    assert tab.locator(".result").first.get_by_role("button", name="Show in full again").count() == 0
    tab.get_by_role("button", name="Pin").first.click()
    tab.get_by_text("Pinned: never cut").wait_for()
    assert [path.rsplit("/", 1)[1] for path, _ in one.fake.posted] == ["undo", "pin"]


def test_the_chart_is_the_scrubber(look: Look) -> None:
    tab = look().see("/session/long-haul/step/6", ".row.chosen")
    slider = tab.get_by_role("slider", name="Step")
    box = slider.bounding_box() or {}
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.wait_for_selector("#step-1000.chosen")
    slider.press("ArrowRight")
    tab.wait_for_selector("#step-1001.chosen .what")
    assert slider.get_attribute("aria-valuenow") == "1002"
    assert "Steps 999 to 1003, the last:" in (slider.get_attribute("aria-valuetext") or "")
    assert tab.locator(".plot .rewrite").count() == 33


def test_a_step_tells_what_was_said_called_returned_answered_and_done_next(look: Look) -> None:
    tab = look(1440).see("/session/fix-the-router/step/1", ".story .message")
    story = tab.locator(".step").inner_text()
    order = ("Mend the router.", "pytest -q tests/server", "What the tool returned", "I look at the router.", "Step 2")
    for earlier, later in pairwise(order):
        assert story.index(earlier) < story.index(later), story
    tab.get_by_role("link", name="Step 2").click()
    tab.wait_for_selector("#step-1.chosen")


def test_dollars_of_a_plan_are_at_list_price_in_a_step_too(look: Look) -> None:
    tab = look().see("/session/fix-the-router/step/6", ".numbers .facts")
    words = tab.locator(".numbers .facts").inner_text()
    assert "At list price\n$0.009" in words
    assert "Would have been\n$0.021" in words
    assert "Paid" not in words, "a plan has no bill"


def test_the_next_gap_is_brought_into_view_on_both_sides(look: Look) -> None:
    tab = look(1440).see("/session/fix-the-router/step/65", ".pair .seen")
    tab.keyboard.press("n")
    tab.get_by_text("gap 1 of 1").wait_for()
    assert tab.locator(".seen .segment.gap.now").count() == 1


def test_rows_tell_steps_apart_by_the_argument_that_matters(look: Look) -> None:
    tab = look().see("/session/fix-the-router/step/65", ".row.chosen .when")
    shown = tab.locator(".row.chosen .when").inner_text()
    assert "{" not in shown
    assert len(shown) > 3


def test_the_window_follows_the_step_in_view_and_lists_what_fills_it(look: Look) -> None:
    tab = look(1440).see("/session/fix-the-router/step/3", ".indicator .mark")
    until(tab, "document.querySelector('.gauge svg').getAttribute('aria-label').startsWith('3.9 %')")
    assert tab.locator(".gauge .ghost").count() == 1
    tab.locator(".full summary").click()
    assert "Step 3: 3.9 % full" in tab.locator(".panel").first.inner_text()
    assert tab.locator(".items a").first.get_attribute("href") == "#/session/fix-the-router/result/t0-0"


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_labels_of_the_marks_do_not_collide(look: Look, width: int) -> None:
    tab = look(width).see("/session/fix-the-router/step/3", ".indicator .mark")
    boxes = [each.bounding_box() for each in tab.locator(".mark button").all()]
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] + 2 <= right["x"], boxes
    assert boxes[-1]["x"] + boxes[-1]["width"] <= width


def test_a_request_is_folded_messages_with_the_changes_open(look: Look) -> None:
    tab = look(1440).see("/session/fix-the-router/request/r3", ".run .message")
    assert "2 new messages, 1 changed" in tab.locator("main").inner_text()
    assert tab.locator(".run.same .message").count() == 0
    until(tab, "document.querySelectorAll('.run .message').length === 3")
    tab.get_by_role("button", name="30 messages as before").click()
    until(tab, "document.querySelectorAll('.run .message').length === 33")
    tab.locator(".run.changed .returned summary, .run.new .returned summary").first.click()
    tab.get_by_text("In the previous request").wait_for()


def test_a_request_is_indented_json_behind_a_tab_and_copied_as_curl_without_a_key(look: Look) -> None:
    one = look(permissions=["clipboard-read", "clipboard-write"])
    tab = one.see("/session/fix-the-router/request/r3", ".run .message")
    tab.get_by_role("button", name="Copy as curl").click()
    tab.get_by_text("Copied; save the request as r3.json first").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()").endswith("--data-binary @r3.json")
    tab.get_by_role("button", name="JSON", exact=True).click()
    tab.wait_for_selector("pre.body")
    assert tab.locator("pre.body").first.inner_text().startswith('{\n  "model": "claude-sonnet-5"')


def test_sessions_are_sorted_by_their_heads_and_filtered(look: Look) -> None:
    one = look()
    tab = one.see("/", "table.sessions")
    tab.get_by_role("button", name="Errors").click()
    until(tab, "document.querySelector('th[aria-sort=descending]')?.textContent.startsWith('Errors')")
    tab.get_by_label("with errors").check()
    with tab.expect_request(lambda request: "agent=codex" in request.url) as asked:
        tab.get_by_label("Agent").select_option("codex")
    assert "sort=errors" in asked.value.url
    assert "errors=1" in asked.value.url


def test_a_chart_ends_at_the_window_and_has_time(look: Look) -> None:
    tab = look().see("/session/long-haul/step/5", ".plot")
    assert tab.locator(".plot .beyond").inner_text() == "▲ 1.9M"
    tab.get_by_role("button", name="Time").click()
    until(tab, "document.querySelector('.told').textContent.includes('5,400 ms until the last byte')")


def test_a_comparison_is_stopped(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/play", "form.settings")
    one.fake.delay = 2.0
    tab.get_by_role("button", name="Replay this session").click()
    tab.wait_for_selector(".working progress")
    tab.get_by_role("button", name="Stop").click()
    tab.get_by_text("Stopped.").wait_for()
    assert tab.get_by_role("button", name="Replay this session").is_enabled()


def test_a_request_is_paged_copied_and_downloaded(look: Look) -> None:
    one = look(permissions=["clipboard-read", "clipboard-write"])
    tab = one.see("/session/fix-the-router/request/r3", ".run .message")
    tab.get_by_role("button", name="As it was sent").click()
    tab.wait_for_selector("pre.body")
    sent = tab.locator(".paged").first
    assert sent.locator("pre").inner_text().startswith("{")
    sent.get_by_role("button", name="Next").click()
    sent.get_by_text("Characters 65,536 to").wait_for()
    until(tab, "document.querySelector('.paged pre')?.textContent.length > 100")
    sent.get_by_role("button", name="Copy").click()
    until(tab, "document.querySelector('.paged button').textContent === 'Copied'")
    assert "Mend the router." in tab.evaluate("navigator.clipboard.readText()")
    with tab.expect_download() as download:
        sent.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename


def test_results_are_searched_and_narrowed_to_those_cut(look: Look) -> None:
    tab = look().see("/session/fix-the-router/results", "table.results")
    tab.get_by_text("1 to 50 of 148").wait_for()
    tab.get_by_label("only truncated").check()
    until(tab, "!document.querySelector('.pager')?.textContent.includes('148')")
    tab.wait_for_selector("table.results")
    assert tab.locator("td[data-label=Shown]", has_text="in full").count() == 0
    tab.get_by_label("Search results").fill("pytest")
    until(tab, "[...document.querySelectorAll('main tbody th a')].every((one) => one.textContent === 'bash')")


def test_a_gigabyte_is_browsed_without_loading_it(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/result/giant", ".line-row code")
    until(tab, "document.querySelector('.line-row code').textContent.startsWith('        1')")
    lines = tab.locator(".lines")
    lines.hover()
    tab.mouse.wheel(0, 200)  # ten rows, though the whole text is a scale model
    until(tab, "document.querySelector('.line-number').textContent === '11'")
    lines.focus()
    tab.keyboard.press("End")
    tab.get_by_text("20000000 ", exact=False).first.wait_for()
    tab.get_by_label("Line", exact=True).fill("9000000")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.line-row.marked code')?.textContent.includes('9000000')")
    asked = [address for address in one.asked if "/lines?" in address]
    assert len(asked) <= 12


def test_finding_goes_on_until_it_finds_and_says_how_far_it_is(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/result/giant", ".line-row code")
    one.fake.delay = 0.15
    tab.keyboard.press("/")
    tab.keyboard.type("needle")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("progress")
    tab.get_by_text("line 12,345,678").wait_for()
    tab.wait_for_selector(".line-row.marked")
    assert tab.locator(".line-row.marked .line-number").inner_text() == "12,345,678"
    assert len([address for address in one.asked if "/find?" in address]) == 4


def test_the_call_for_the_lines_in_sight_is_copied(look: Look) -> None:
    tab = look(permissions=["clipboard-read", "clipboard-write"]).see(
        "/session/fix-the-router/result/t64-0", ".line-row code"
    )
    tab.get_by_text("Fetch these lines elsewhere").click()
    tab.get_by_role("button", name="Copy: Command line").click()
    until(tab, "document.querySelector('#said').textContent === 'Copied'")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("keepwhole artifacts show art_")
    assert "--lines 1-" in copied


def test_a_policy_is_played_and_its_settings_are_copied(look: Look) -> None:
    one = look(permissions=["clipboard-read", "clipboard-write"])
    tab = one.see("/session/fix-the-router/play", "form.settings")
    tab.get_by_label("horizon").fill("1")
    tab.get_by_label("Preset").select_option("lean")
    tab.get_by_label("read", exact=True).fill("12")
    one.fake.delay = 0.2
    tab.get_by_role("button", name="Replay this session").click()
    tab.get_by_text("Replaying …").wait_for()
    tab.wait_for_selector(".figure")
    assert one.fake.posted[-1][1] == {
        "policy": "auto",
        "preset": "lean",
        "settings": {"auto.horizon": 1, "auto.keep.read": 12},
    }
    assert "−39 %" in tab.locator(".figure").first.inner_text()
    assert tab.get_by_text("+1 point", exact=True).count() == 1
    assert "never" in tab.locator(".figure").last.inner_text()
    tab.get_by_role("button", name="Copy YAML").click()
    until(tab, "document.querySelector('#said').textContent === 'Copied'")
    assert tab.evaluate("navigator.clipboard.readText()").startswith("policy: auto")


def test_a_policy_that_cannot_be_played_says_why(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/play", "form.settings")
    one.fake.broken["/play"] = (409, "Too little is known: keep at least two requests, then try again.")
    tab.get_by_role("button", name="Replay this session").click()
    tab.get_by_text("Too little is known").wait_for()


def test_health_shows_findings_counters_and_verifies(look: Look) -> None:
    one = look()
    tab = one.see("/health", ".doctor")
    assert "keepwhole init" in tab.locator(".doctor").inner_text()
    assert "2,731" in tab.locator(".counters").inner_text()
    tab.get_by_role("button", name="Verify").click()
    tab.get_by_text("740 entries read; nothing has changed since it was kept.").wait_for()


def test_nothing_kept_yet_says_the_two_commands(look: Look) -> None:
    one = look()
    one.fake.steps.clear()
    tab = one.see("/", ".state")
    said = tab.locator(".state").inner_text()
    assert "keepwhole run" in said
    assert "keepwhole proxy" in said


def test_an_empty_session_and_one_that_is_not_there(look: Look) -> None:
    one = look()
    assert (
        "Nothing kept in this session yet" in one.see("/session/nothing-yet", ".state").locator(".state").inner_text()
    )
    said = one.see("/session/absent", ".state").locator(".state").inner_text()
    assert "Not recorded" in said
    assert "keepwhole sessions" in said


def test_what_is_broken_can_be_tried_again(look: Look) -> None:
    one = look()
    one.fake.broken["/api/sessions"] = (503, "The record is locked by another program. Wait, then try again.")
    tab = one.see("/", ".state")
    assert "locked by another program" in tab.locator(".state").inner_text()
    one.fake.broken.clear()
    tab.get_by_role("button", name="Try again").click()
    tab.wait_for_selector("table.sessions")


def test_a_slow_answer_shows_where_it_will_be_and_nothing_jumps(look: Look) -> None:
    one = look()
    one.fake.delay = 0.6
    tab = one.see("/session/fix-the-router/step/4", ".skeleton")
    before = tab.locator("header").bounding_box()
    tab.wait_for_selector(".indicator .mark")
    after = tab.locator("header").bounding_box()
    assert abs(before["height"] - after["height"]) <= 4


def test_searching_all_results_leads_to_the_line(look: Look) -> None:
    tab = look().see("/session/fix-the-router", "[role=search] input")
    tab.keyboard.press("/")
    tab.keyboard.type("assert")
    tab.wait_for_selector(".found a")
    tab.locator(".found a").nth(2).click()
    tab.wait_for_selector(".line-row.marked")
    assert tab.locator(".line-row.marked .line-number").inner_text() == "6"
    assert "/result/t2-0" in tab.url
