"""The page in a real browser: no errors, hostile text does nothing, and every control works."""

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from keepwhole.replay.page import page
from tests.browser import browser
from tests.replay import reports

__all__ = ["browser"]
pytestmark = pytest.mark.browser
REPORTS = {"full": reports.full, "hostile": reports.hostile, "short": reports.short, "nulls": reports.nulls}


class Opened:
    """A page in a tab, with all of its messages and requests."""

    def __init__(self, tab: Any, path: Path) -> None:
        self.tab = tab
        self.said: list[str] = []
        self.asked: list[str] = []
        tab.on("console", lambda message: self.said.append(message.text))
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.goto(path.as_uri())


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    contexts: list[Any] = []

    def open_page(report: dict[str, Any], width: int = 1200, **options: Any) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(page(report), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        return Opened(contexts[-1].new_page(), path)

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (320, "dark")])
def test_a_page_says_nothing_asks_for_nothing_and_fits(
    opened: Callable[..., Opened], name: str, width: int, scheme: str
) -> None:
    one = opened(REPORTS[name](), width, color_scheme=scheme)
    one.tab.wait_for_timeout(100)
    assert one.said == []
    assert [address for address in one.asked if not address.startswith(("file:", "data:"))] == []
    assert len([address for address in one.asked if address.startswith("file:")]) == 1
    assert one.tab.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_never_runs_whatever_is_clicked(opened: Callable[..., Opened]) -> None:
    one = opened(reports.hostile())
    for control in one.tab.locator("button:visible, summary:visible, .lines input").all():
        control.click()
    for choice in one.tab.locator("select").all():
        for at in range(choice.locator("option").count()):
            choice.select_option(index=at)
    assert one.tab.evaluate("window.hacked") is None
    assert one.said == []


def test_a_script_that_is_not_ours_is_refused(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    one.tab.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        document.body.setAttribute("onclick", "window.hacked = 2");
        document.body.click();
    }""")
    assert one.tab.evaluate("window.hacked") is None
    assert any("Content Security Policy" in said for said in one.said)


@pytest.mark.torture
def test_the_switch_shows_the_plot_of_another_cost(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    shown = one.tab.locator("svg.plot:visible")
    assert [each.get_attribute("data-mode") for each in shown.all()] == ["all-in"]
    one.tab.locator(".switch span", has_text="Tail").click()
    assert [each.get_attribute("data-mode") for each in shown.all()] == ["tail"]
    one.tab.keyboard.press("ArrowLeft")
    assert [each.get_attribute("data-mode") for each in shown.all()] == ["blind"]


@pytest.mark.torture
def test_a_point_leads_to_its_row(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    one.tab.locator("svg.plot:visible a", has_text="opencode").focus()
    one.tab.keyboard.press("Enter")
    assert one.tab.locator("tr:target th").inner_text().startswith("opencode")


@pytest.mark.torture
@pytest.mark.parametrize("width", [1200, 375])
def test_no_label_of_a_plot_covers_another(opened: Callable[..., Opened], width: int) -> None:
    one = opened(reports.full(), width)
    for mode in ("All-in", "Cached", "Blind", "Tail"):
        one.tab.locator(".switch span", has_text=mode).click()
        boxes = [label.bounding_box() for label in one.tab.locator("svg.plot:visible .point text").all()]
        assert len(boxes) >= 9
        assert [pair for pair in combinations(boxes, 2) if overlap(*pair) > 6] == []


def overlap(a: dict[str, float], b: dict[str, float]) -> float:
    """How far two labels overlap, without the space above and below letters."""
    width = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    height = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    return min(max(0.0, width), max(0.0, height))


@pytest.mark.torture
def test_column_heads_sort_both_ways_and_what_has_no_figure_is_last(opened: Callable[..., Opened]) -> None:
    report = reports.full()
    report["policies"][0]["all_in_context"] = report["policies"][0]["all_in"] = None
    one = opened(report)
    head = one.tab.locator("#policies th", has_text="All-in cost")
    names = one.tab.locator("#policies tbody:visible th")
    for order, first in (("ascending", "clairvoyant"), ("descending", "rolling")):
        head.locator("button").press("Enter")
        assert head.get_attribute("aria-sort") == order
        assert names.first.inner_text().startswith(first)
        assert names.last.inner_text().startswith("everything")


@pytest.mark.torture
def test_a_source_can_be_looked_at_alone(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    one.tab.locator("#source").select_option("codex")
    assert one.tab.locator("#policies tbody tr:visible").count() == 4


@pytest.mark.torture
def test_results_are_searched_and_shown_in_full(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    shown = one.tab.locator("#results > li:visible")
    assert shown.count() == 8
    one.tab.get_by_role("button", name="Show all 30").click()
    assert shown.count() == 30
    one.tab.get_by_role("searchbox", name="Search results").fill("ANCHORS read")
    assert {"anchors.ts" in text for text in shown.all_inner_texts()} == {True}


@pytest.mark.torture
def test_a_run_is_drawn_chosen_and_read_with_the_keyboard(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    lines = one.tab.locator("#chart polyline")
    assert lines.count() == 2
    one.tab.get_by_role("checkbox", name="clear_tool_uses").check()
    assert lines.count() == 3
    one.tab.locator("#chart svg").focus()
    one.tab.keyboard.press("End")
    assert one.tab.locator("#readout").inner_text().startswith("Step 183: everything 36")
    one.tab.locator("#run").select_option(index=2)
    one.tab.locator("#chart svg").hover(position={"x": 44, "y": 50})
    assert one.tab.locator("#readout").inner_text() == "Step 0: everything 6k · auto 6k · clear_tool_uses 6k"


@pytest.mark.torture
def test_rings_mark_the_rewrites_of_the_lines_that_are_shown(opened: Callable[..., Opened]) -> None:
    report = reports.full()
    one = opened(report)
    assert one.tab.locator("#chart .ring").count() == len(report["runs"][0]["rewrites"]["auto"])


@pytest.mark.torture
def test_settings_are_copied_as_they_are(opened: Callable[..., Opened]) -> None:
    report = reports.full()
    one = opened(report, permissions=["clipboard-read", "clipboard-write"])
    one.tab.locator("#settings pre .copy").first.click()
    one.tab.wait_for_function("document.querySelector('#settings .copy').textContent === 'Copied'")
    assert one.tab.evaluate("navigator.clipboard.readText()") == report["settings"].strip()


@pytest.mark.torture
def test_the_data_can_be_saved(opened: Callable[..., Opened], tmp_path: Path) -> None:
    one = opened(reports.full())
    with one.tab.expect_download() as download:
        one.tab.locator("#save").click()
    download.value.save_as(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text(encoding="utf-8")) == reports.full()


def test_without_scripts_all_but_the_chart_of_a_run_is_there(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full(), java_script_enabled=False)
    assert one.tab.locator("svg.plot:visible").count() == 1
    assert one.tab.locator("#results > li:visible").count() == 30
    assert one.tab.locator("select:visible, button:visible").count() == 0
    assert one.tab.get_by_text("The chart of a run needs JavaScript").is_visible()


@pytest.mark.torture
def test_everything_that_can_be_used_can_be_reached_with_the_keyboard(opened: Callable[..., Opened]) -> None:
    one = opened(reports.full())
    reached: list[str] = []
    for _ in range(120):
        one.tab.keyboard.press("Tab")
        reached.append(one.tab.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if reached[-1] == "save":
            break
    assert reached[0] == "A"  # the link that skips to the findings
    assert {"source", "run", "save", "a", "SUMMARY", "BUTTON"} <= set(reached)
