"""JSON that a harness broke off is cut by its structure as far as it is whole, and nothing is added to close it."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.truncation.test_structure import documents, shown

ITEMS = [{"id": number, "city": f"Town-{number}", "note": "words " * 12} for number in range(400)]
LIST, OBJECT = json.dumps(ITEMS), json.dumps({"total": 400, "hits": ITEMS}, indent=2)
NESTED = {"a": "x" * 17, "b": 1, "c": {"k": {"k": {"k": {"k": [1, 1, 1]}}}}, "d": "y" * 40}
ENDINGS = ("", "\n... [output truncated]", "…\n\n[12,000 characters left out by the harness]")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("text", [LIST, OBJECT])
def test_whole_elements_are_shown_and_the_others_counted(text: str, ending: str) -> None:
    view = shown(text[:30_000] + ending)
    assert view.metadata.strategy_used == "element"
    assert "items omitted" in view.body
    assert view.body.rstrip().endswith(ending.strip())
    assert len(view.content) <= 8_000
    assert all(f"Town-{number}" in view.body for number in range(10))


def test_the_element_that_is_asked_for_is_shown() -> None:
    assert "Town-117" in shown(LIST[:30_000], question="which note has Town-117?").body
    assert "Town-117" not in shown(LIST[:30_000]).body


def test_what_a_shell_says_before_it_is_kept() -> None:
    view = shown(f"Exit code: 0\nOutput:\n{LIST[:30_000]}")
    assert view.body.startswith("Exit code: 0\nOutput:\n[{")
    assert "items omitted" in view.body


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"b": 2}]\n' + "A log line that is no JSON at all\n" * 900,
        '{"a": }, {"b"\n' * 900,
        "[INFO] server is up\n" * 900,
        '{"a": 1}\n{"b": 2}\n' * 900 + '{"c',
    ],
)
def test_what_only_looks_like_it_is_not_taken_for_json(text: str) -> None:
    assert sniff(TextSource(text)) != "broken"


@settings(max_examples=60)
@given(documents, st.floats(0.1, 1), st.integers(60, 900), st.sampled_from(ENDINGS))
@example(NESTED, 0.5, 60, "")  # the gap hides brackets that would have closed it
def test_any_text_that_is_broken_anywhere_is_cut_within_its_budget(
    value: Any, share: float, budget: int, ending: str
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    source = TextSource(text[: int(len(text) * share)] + ending)
    cut = STRATEGIES["element"](source, budget, StrategyOptions())
    assert cut.covers(source.chars)
    assert len(render(cut, source)) <= budget or not any(part.stop > part.start for part in cut.kept)
