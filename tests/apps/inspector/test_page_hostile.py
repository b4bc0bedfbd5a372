"""Hostile text is never run, wherever it is, and the characters it hides are shown."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import keepwhole
from tests.apps.inspector.fake_data import HOSTILE
from tests.apps.inspector.waiting import until

Look = Callable[..., Any]
PAGE = Path(str(keepwhole.__file__)).parent / "apps" / "inspector" / "page"
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|dangerouslySetInnerHTML\s*[:=]|"
    r"srcdoc|createContextualFragment|DOMParser|setHTML|setTimeout\(\s*[\"'`]|javascript:|parseFromString"
)
ROUTES = {
    "": ".row.chosen",
    "/step/2": ".pair .text",
    "/results": "table.results",
    "/result/t1-0": ".line-row code",
    "/request/r1": ".run .message",
    "/play": "form.settings",
}


@pytest.mark.parametrize("path", sorted(PAGE.rglob("*.js")), ids=lambda path: path.name)
def test_no_file_of_the_page_has_a_sink_of_markup_or_code(path: Path) -> None:
    assert SINKS.findall(path.read_text(encoding="utf-8")) == []


def test_the_page_names_no_other_host_and_has_no_script_or_style_in_its_markup() -> None:
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|style=", markup) == []
    for path in [*PAGE.glob("*.js"), PAGE / "index.html", PAGE / "style.css"]:
        assert re.findall(r"https?://|//[a-z]+\.[a-z]{2,}", path.read_text(encoding="utf-8")) == [], path.name


@pytest.mark.browser
def test_hostile_names_are_listed_as_text(look: Look) -> None:
    one = look()
    one.fake.add_hostile()
    tab = one.see("/", "table.sessions")
    assert tab.locator("table.sessions tbody tr").count() == 3 + len(one.fake.hostile)
    tab.locator(".switcher").focus()
    until(tab, f"document.querySelectorAll('.switcher option').length === {4 + len(one.fake.hostile)}")
    assert_quiet(one)


@pytest.mark.browser
@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.torture)], ids=["together", "each"])
@pytest.mark.parametrize(
    "route", [one if at < 3 else pytest.param(one, marks=pytest.mark.torture) for at, one in enumerate(ROUTES)]
)
def test_hostile_text_never_runs_in_any_place(look: Look, route: str, each: bool) -> None:
    one = look(1600)
    one.fake.add_hostile()
    one.fake.hostile["all of them"], one.fake.steps["all of them"] = "\n".join(HOSTILE), 3
    names = [*one.fake.hostile] if each else [*one.fake.hostile][-2:]
    for name in names:
        one.see(f"/session/{quote(name, safe='')}{route}", ROUTES[route])
        one.tab.wait_for_timeout(30)
        assert_quiet(one)


@pytest.mark.browser
def test_hostile_text_never_runs_whatever_is_clicked(look: Look) -> None:
    one = look(1600)
    one.fake.add_hostile()
    name = next(iter(one.fake.hostile))
    tab = one.see(f"/session/{quote(name, safe='')}/step/2", ".pair .text")
    for control in tab.locator("button:visible, summary:visible").all():
        control.click(timeout=2_000)
        tab.keyboard.press("Escape") if tab.locator("dialog[open]").count() else None
    one.fake.progress(name, HOSTILE[1])
    assert_quiet(one)


@pytest.mark.browser
def test_what_is_hidden_in_a_text_is_seen(look: Look) -> None:
    one = look(1600)
    one.fake.add_hostile()
    shown = []
    for text in HOSTILE[13:15]:
        tab = one.see(f"/session/{quote(text, safe='')}/result/t1-0", ".line-row code")
        until(tab, "document.querySelector('.line-row code').textContent.length > 3")
        shown.append(tab.locator(".line-row code").first.inner_text())
    assert shown[0] == "␛]52;c;ZXZpbA==␇␛[2J⟨U+009B⟩31m"
    assert shown[1].startswith("⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+2066⟩x⟨U+2069⟩ ⟨U+200B⟩⟨U+FEFF⟩")


@pytest.mark.browser
def test_a_script_that_is_not_ours_is_refused(look: Look) -> None:
    one = look()
    tab = one.see("/", "table.sessions")
    refused = tab.evaluate("""() => {
        const markup = "<img src=x onerror='window.hacked=1'>";
        try { document.body.insertAdjacentHTML("beforeend", markup); } catch { return true; }
        return false;
    }""")
    assert refused
    assert tab.evaluate("window.hacked") is None


def assert_quiet(one: Any) -> None:
    assert one.tab.evaluate("window.hacked") is None
    assert one.tab.evaluate("window.violations") == []
    assert one.said == []
    assert [address for address in one.asked if not address.startswith((one.fake.url, "about:blank"))] == []
    assert (
        one.tab.evaluate(
            "document.querySelectorAll('iframe, img, base, object, embed, script:not([src^=static])').length"
        )
        == 0
    )
