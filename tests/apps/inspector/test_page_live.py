"""The page while the record grows, and with the keyboard alone: the position stays, and nothing is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.apps.inspector.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.torture]  # `make browser`; `test_page_served.py` covers all of it
Look = Callable[..., Any]
TOP = "document.querySelector('.timeline').scrollTop"


def test_a_new_step_shows_at_the_end_when_one_is_at_the_end(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router", "#step-147.chosen")
    tab.wait_for_selector(".line.connected")
    one.fake.hear_of_steps("fix-the-router")
    tab.wait_for_selector("#step-148.chosen .what")
    assert tab.locator(".pill").count() == 0


def test_a_new_step_moves_nothing_when_one_looks_elsewhere(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/step/41", "#step-40.chosen .what")
    tab.wait_for_selector(".line.connected")
    before = tab.evaluate(TOP)
    one.fake.hear_of_steps("fix-the-router", 3)
    tab.get_by_role("button", name="3 new steps").wait_for()
    assert tab.evaluate(TOP) == before
    assert tab.locator("#step-40.chosen").count() == 1
    assert tab.locator("#said").inner_text() == "3 new steps"
    tab.get_by_role("button", name="3 new steps").click()
    tab.wait_for_selector("#step-150.chosen")
    assert tab.locator(".pill").count() == 0


def test_the_indicator_follows(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router", ".full summary")
    tab.wait_for_selector(".line.connected")
    assert tab.locator(".full summary b").inner_text() == "45 %"
    one.fake.hear_of_steps("fix-the-router", 20)
    until(tab, "document.querySelector('.full summary b').textContent === '54 %'")


def test_what_arrives_is_shown_before_its_step(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router", ".row.chosen")
    tab.wait_for_selector(".line.connected")
    one.fake.progress("fix-the-router", "collected 41 items\x1b[0m")
    tab.wait_for_selector(".arriving")
    assert "48,000 characters kept so far" in tab.locator(".arriving").inner_text()
    assert "␛[0m" in tab.locator(".arriving").inner_text()
    one.fake.hear_of_steps("fix-the-router")
    until(tab, "!document.querySelector('.arriving')")


def test_a_lost_connection_is_shown_and_missed_steps_appear_after_it(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/step/41", "#step-40.chosen .what")
    tab.wait_for_selector(".line.connected")
    one.fake.refuse_live = True
    one.fake.hang_up()
    tab.wait_for_selector(".line.reconnecting")
    before = tab.evaluate(TOP)
    one.fake.steps["fix-the-router"] += 2
    one.fake.refuse_live = False
    tab.wait_for_selector(".line.connected")
    tab.get_by_role("button", name="2 new steps").wait_for()
    tab.wait_for_selector("#step-40.chosen .what")
    assert tab.evaluate(TOP) == before


def test_reload_keeps_the_place(look: Look) -> None:
    one = look()
    tab = one.see("/session/long-haul/step/1235", "#step-1234.chosen .what")
    tab.keyboard.press("j")
    tab.wait_for_selector("#step-1235.chosen")
    tab.reload()
    tab.wait_for_selector("#step-1235.chosen .what")
    tab = one.see("/session/fix-the-router/result/giant/line/7000000", ".line-row code")
    until(tab, "document.querySelector('.line-number').textContent === '7,000,000'")
    tab.locator(".lines").focus()
    tab.keyboard.press("PageDown")
    until(tab, "/line\\/70000[1-9]\\d/.test(location.hash)")
    first = tab.locator(".line-number").first.inner_text()
    tab.reload()
    tab.wait_for_selector(".line-row code")
    until(tab, f"document.querySelector('.line-number').textContent === '{first}'")


def test_steps_are_walked_with_the_keyboard(look: Look) -> None:
    tab = look().see("/session/fix-the-router/step/41", "#step-40.chosen .what")
    for key, index in (("j", 41), ("ArrowDown", 42), ("k", 41), ("ArrowUp", 40), ("Home", 0), ("End", 147)):
        tab.keyboard.press(key)
        tab.wait_for_selector(f"#step-{index}.chosen")
    box = tab.locator(".timeline")
    box.focus()
    assert box.get_attribute("aria-activedescendant") == "step-147"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.className") == "detail"


def test_help_opens_and_closes_and_escape_leads_up(look: Look) -> None:
    one = look()
    tab = one.see("/session/fix-the-router/step/41", "#step-40.chosen .what")
    tab.keyboard.press("?")
    tab.wait_for_selector("dialog[open]")
    tab.keyboard.press("j")
    assert tab.locator("#step-40.chosen").count() == 1
    tab.keyboard.press("Escape")
    until(tab, "!document.querySelector('dialog[open]')")
    tab.wait_for_selector("[role=search] input")
    tab.keyboard.press("/")
    tab.keyboard.type("jk")
    assert tab.locator("#step-40.chosen").count() == 1
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("table.sessions")
    tab = one.see("/session/fix-the-router/play", "form.settings")
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".timeline")


def test_everything_of_the_header_is_reached_with_the_keyboard_and_shows_its_focus(look: Look) -> None:
    tab = look().see("/session/fix-the-router", ".row.chosen")
    reached: list[str] = []
    for _ in range(30):
        tab.keyboard.press("Tab")
        reached.append(
            tab.evaluate("document.activeElement.textContent.trim().slice(0, 20) || document.activeElement.className")
        )
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached[-1]
        if tab.evaluate("document.activeElement.classList.contains('timeline')"):
            break
    assert reached[0] == "Skip to the content"
    assert {"Timeline", "Health", "Warning at 75 %", "Compaction at 90 %", "Hard limit at 95 %"} <= set(reached)


def test_on_a_narrow_screen_a_step_opens_in_the_place_of_the_list(look: Look) -> None:
    one = look(360, 760)
    tab = one.see("/session/fix-the-router", ".row.chosen")
    assert not tab.locator(".detail").is_visible()
    tab.locator("#step-146").click()
    tab.get_by_role("heading", name="Step 147").wait_for()
    assert not tab.locator(".timeline").is_visible()
    tab.get_by_role("button", name="Steps").click()
    tab.wait_for_selector("#step-146.chosen")
    assert tab.locator(".timeline").is_visible()


def test_colors_follow_the_system_until_switched_and_the_switch_is_remembered(look: Look) -> None:
    one = look(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    tab = one.see("/", "table.sessions")
    assert tab.evaluate(ground) == "rgb(19, 22, 26)"
    tab.get_by_role("button", name="Colors: auto").click()
    until(tab, f"{ground} === 'rgb(255, 255, 255)'")
    assert tab.evaluate(ground) == "rgb(255, 255, 255)"
    tab.reload()
    tab.wait_for_selector("table.sessions")
    assert tab.evaluate(ground) == "rgb(255, 255, 255)"


def test_nothing_is_animated_for_users_who_prefer_reduced_motion(look: Look) -> None:
    one = look(reduced_motion="reduce")
    one.fake.delay = 0.5
    tab = one.see("/", ".skeleton span")
    assert tab.evaluate("getComputedStyle(document.querySelector('.skeleton span')).animationName") == "none"
