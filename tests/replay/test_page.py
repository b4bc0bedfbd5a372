"""The page of a replay: one self-contained document, in which hostile text is only text."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.replay.page import data, page
from keepwhole.replay.page.figures import share
from keepwhole.replay.page.headline import _savings_sentence
from tests.replay import reports

VOID = {"meta", "link", "input"}
REPORTS = {"full": reports.full, "hostile": reports.hostile, "short": reports.short, "nulls": reports.nulls}
every_report = pytest.mark.parametrize("name", REPORTS)


class Read(HTMLParser):
    """The elements of a document, and whether each was closed in order."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(document)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
            self.inside.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.text.append(data)
        if self._open:
            self.inside[self._open[-1]][-1] += data

    def having(self, attribute: str) -> Iterator[str]:
        return (each[attribute] or "" for _, each in self.elements if attribute in each)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


def read(report: dict[str, Any]) -> Read:
    return Read(page(report))


@cache
def made(name: str) -> Read:
    return read(REPORTS[name]())


@every_report
def test_every_element_is_closed_and_every_id_is_used_once(name: str) -> None:
    ids = list(made(name).having("id"))
    assert len(ids) == len(set(ids))


@every_report
def test_what_is_pointed_at_is_there(name: str) -> None:
    document = made(name)
    ids = set(document.having("id"))
    links = {href[1:] for href in document.having("href") if href.startswith("#")}
    named = {one for names in document.having("aria-labelledby") for one in names.split()}
    assert links | named | set(document.having("for")) <= ids


@every_report
def test_the_page_has_landmarks_one_first_heading_and_named_columns(name: str) -> None:
    document = made(name)
    tags = [tag for tag, _ in document.elements]
    assert [tags.count(one) for one in ("header", "main", "footer", "nav", "h1", "title")][:5] == [1, 1, 1, 1, 1]
    assert all("scope" in attributes for tag, attributes in document.elements if tag == "th")


@every_report
def test_nothing_is_requested_from_the_network(name: str) -> None:
    document = made(name)
    assert list(document.having("src")) == []
    assert all(href.startswith(("#", "data:")) for href in document.having("href"))
    assert not re.search(r"@import|url\(", document.inside["style"][0])


@every_report
def test_only_our_own_script_and_style_may_run(name: str) -> None:
    document = made(name)
    policy = next(each["content"] for tag, each in document.elements if each.get("http-equiv")) or ""
    script, style = document.inside["script"][-1], document.inside["style"][0]
    assert f"script-src {hashed(script)};" in policy
    assert f"style-src {hashed(style)};" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@every_report
def test_no_element_has_a_style_or_a_handler_of_its_own(name: str) -> None:
    attributes = {key for _, each in made(name).elements for key in each}
    assert [key for key in attributes if key.startswith("on") or key == "style"] == []


@every_report
def test_the_data_in_the_page_are_the_report(name: str) -> None:
    document = made(name)
    assert json.loads(document.inside["script"][0]) == REPORTS[name]()


def test_hostile_text_makes_no_element() -> None:
    tags = [tag for tag, _ in made("hostile").elements]
    assert tags.count("script") == 2
    assert "img" not in tags


def test_hostile_text_is_shown_as_it_is_written() -> None:
    words = made("hostile").words
    assert "</script><script>window.hacked = 1</script>" in words
    assert "<img src=x onerror='window.hacked = 2'>" in words
    assert "$title ${script}" in words


def test_characters_that_hide_or_reorder_are_spelled_out() -> None:
    document = page(reports.hostile())
    assert r"\u202eesrever" in document
    assert not set(document) & set("\x00\x1b\u2028\u2029\u202e\ud800")
    document.encode()


@given(st.text(min_size=1))
def test_no_text_of_a_tool_changes_the_elements(text: str) -> None:
    assert elements(text) == elements("harmless")


@cache
def elements(text: str) -> list[str]:
    report = {**reports.full(), "policies": []}
    report["results"] = report["results"][:1]
    report["results"][0]["arguments"] = report["results"][0]["tool"] = text
    report["runs"][0]["task"] = report["totals"]["tools"][0]["tool"] = text
    return [tag for tag, _ in read(report).elements]


def test_data_have_nothing_that_html_or_a_script_would_act_on() -> None:
    assert not set(data({"a": "<&>\u2028\u2029\ud800é"})) & set("<>&\u2028\u2029\ud800é")
    assert json.loads(data({"a": float("nan"), "b": [float("inf"), 1.5]})) == {"a": None, "b": [None, 1.5]}


def test_the_same_report_gives_the_same_page() -> None:
    assert page(reports.full()) == page(reports.full())


def test_a_page_without_findings_is_small_and_says_that_there_are_none() -> None:
    document = page(reports.short())
    assert len(document.encode()) <= 40_000
    words = Read(document).words
    assert "No run here is long enough" in words
    assert "No model was run." in words
    assert "svg" not in [tag for tag, _ in Read(document).elements]


def test_a_report_with_nothing_in_it_is_a_page_too() -> None:
    assert "No run here is long enough" in read({}).words


def test_missing_figures_are_dashes_not_words_of_python() -> None:
    words = made("nulls").words
    assert "None" not in words
    assert "nan" not in words.split()
    assert "–" in words


def test_the_headline_says_what_auto_saves_and_keeps() -> None:
    words = made("full").words
    assert "77% of the tokens were tool results, and 62% of those were never used again." in words
    assert re.search(
        r"With auto the same runs would have cost 46% less: \$[\d,.]+ → \$[\d,.]+, with 95% of what was needed", words
    )


def test_the_headline_does_not_hide_that_auto_costs_more() -> None:
    report = reports.full()
    report["policies"][1]["all_in_context"]["value"] = 1.3
    assert "would have cost 30% more" in read(report).words


def test_the_headline_speaks_of_the_policy_that_was_watched() -> None:
    report = reports.full()
    report["hidden"]["policy"] = "opencode"
    assert "With opencode the same runs would have cost 31% less" in read(report).words


def test_every_policy_has_its_row_with_its_verdict() -> None:
    document = made("full")
    rows = [each["id"] for tag, each in document.elements if tag == "tr" and "id" in each]
    assert rows == [f"policy-{number}" for number in range(10)]
    assert "cheap, but forgets four of ten" in document.words


def test_a_policy_off_the_scale_is_at_the_edge_with_its_cost() -> None:
    assert "rolling 230% →" in made("full").words


def test_each_source_has_rows_of_its_own_that_wait_to_be_chosen() -> None:
    bodies = [each for tag, each in made("full").elements if tag == "tbody" and "data-source" in each]
    assert [(each["data-source"], "hidden" in each) for each in bodies] == [
        ("", False),
        ("claude-code", True),
        ("codex", True),
    ]


def test_tools_beyond_the_largest_are_one_row() -> None:
    report = reports.full()
    one = report["totals"]["tools"][0]
    report["totals"]["tools"] = [{**one, "tool": f"tool{number}"} for number in range(30)]
    words = read(report).words
    assert "tool10" in words
    assert "tool11" not in words
    assert "19 others" in words


def test_the_history_of_a_result_is_listed_step_by_step() -> None:
    words = made("full").words
    assert "step 3: cut when it arrived, 2k tokens left" in words
    assert "step 41: replaced by a pointer in a batch, 31 tokens left" in words
    assert "in full to the end" in words


def test_what_was_hidden_comes_with_the_call_that_brings_it_back() -> None:
    words = made("full").words
    assert "146 of 3,108 pieces of evidence; one call each brings back 141 of them." in words
    assert 'One call brings it back get_artifact(id="art_1760000000_' in words
    assert "Not found by the call that its notice names" in words


def test_settings_come_with_the_name_and_the_verdict_of_their_policy() -> None:
    words = made("full").words
    assert "auto: cheapest of those that keep more than nine in ten# keepwhole.yaml policy: auto" in words


def test_where_nothing_saves_the_page_shows_a_sentence_instead_of_settings() -> None:
    report = reports.full()
    report["settings"] = None
    assert "On these runs no setting of Keepwhole saves anything without hiding much." in read(report).words


def test_what_was_not_read_is_listed_with_the_reason() -> None:
    assert "~/.codex/sessions no tool was called, 3 times" in made("full").words


STYLE = (files("keepwhole.replay.page") / "page.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("colour", ["ink", "quiet", "accent", "bound", "warn"])
def test_text_has_enough_contrast(theme: int, colour: str) -> None:
    ground, text = (re.findall(rf"--{name}: (#\w+)", STYLE)[theme] for name in ("ground", colour))
    assert (max(light(text), light(ground)) + 0.05) / (min(light(text), light(ground)) + 0.05) >= 4.5


def light(colour: str) -> float:
    """The relative luminance of WCAG."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_page_says_how_much_was_hidden_and_what_other_policies_did() -> None:
    text = read(reports.full()).words
    assert "had taken out of context when a step used it. That is 146 of 3,108 pieces of evidence" in text
    assert "Under 7 other policies" in text
    assert "Sending everything is 100%. Below each share is its 95% interval." in text
    assert "SESSION_TTL_SECONDS" in text


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (None, "uses not counted"),
        (0, "never used again"),
        (1, "used once"),
        (2, "used 2 times"),
        (1_200, "used 1,200 times"),
    ],
)
def test_a_result_says_how_often_it_was_used(used: int | None, words: str) -> None:
    report = reports.full()
    for result in report["results"]:
        result["used"] = used
    assert f" · {words}" in read(report).words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0, "0%"),
        (0.0009, "<0.1%"),
        (0.001, "0.1%"),
        (0.004, "0.4%"),
        (0.5, "50%"),
        (0.994, "99%"),
        (0.996, "99.6%"),
        (0.9994, "99.9%"),
        (0.9995, ">99.9%"),
        (0.9999, ">99.9%"),
        (1, "100%"),
    ],
)
def test_nearly_nothing_and_nearly_all_are_told_as_such(value: float | None, words: str) -> None:
    assert share(value) == words


@pytest.mark.parametrize(
    ("in_context", "ends"), [(None, " less."), ({"value": 0.9}, "of what was needed later still in context.")]
)
def test_the_headline_says_what_a_policy_saves_and_keeps(in_context: object, ends: str) -> None:
    sentence = _savings_sentence({"name": "auto", "all_in": {"value": 0.6}, "in_context": in_context}, {})
    assert str(sentence[-1]).endswith(ends) or "".join(map(str, sentence[-2:])).endswith(ends)
