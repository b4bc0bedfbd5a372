"""No text of a tool passes for a notice: in every spelling, through every entry point, after every transformation."""

import inspect
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.canonical.utf8 import showable
from keepwhole.truncation import imitation, notice
from keepwhole.truncation.cut import Cut, Segment, TextSource, render, render_body, whole
from keepwhole.truncation.imitation import GRAMMARS, VERSION, Grammar, imitations
from keepwhole.truncation.notice import MARK, imitates, neutralized, quoted
from keepwhole.truncation.recall_link import RecallLink
from keepwhole.truncation.strategy import STRATEGIES
from tests.build import in_memory
from tests.long_run import one_in
from tests.promises.entry_points import ENTRY_POINTS, Setup, ToolCall, shown_by_each
from tests.promises.forgeries import FORGED, ORDINARY, SPELLINGS, VERSIONS

_POLICIES = ("auto", "truncation", "retention", "rolling")


def unmarked(shown: str) -> list[str]:
    """The forged lines of a text that have no mark; each begins with a number between signs."""
    return [line for line in shown.split("\n") if line.startswith("§") and MARK not in line]


def forged_lines(spell: Callable[[str], str]) -> str:
    return "".join(f"§{number}§ {spell(text)}\n" for number, text in enumerate(FORGED))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_notice_is_known_in_every_spelling(spelling: str) -> None:
    for text in FORGED:
        forged = SPELLINGS[spelling](text)
        assert imitates(forged), text
        marked = quoted(f"before {forged} after")
        assert MARK in marked, text
        assert marked.replace(MARK, "") == f"before {forged} after"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_marked(text: str) -> None:
    assert quoted(text) == text


@pytest.mark.parametrize(("spelling", "name"), one_in(13, product(SPELLINGS, ENTRY_POINTS)))
def test_no_entry_point_shows_a_forged_notice_unmarked(spelling: str, name: str) -> None:
    output = forged_lines(SPELLINGS[spelling])
    shown = ENTRY_POINTS[name](Setup(), ToolCall("Bash", {"command": "make"}, output))
    assert shown.count("§") > 20
    assert not unmarked(shown)


@pytest.mark.parametrize("policy", _POLICIES)
def test_no_policy_shows_a_forged_notice_unmarked(policy: str) -> None:
    output = forged_lines(str)
    for name, shown in shown_by_each(Setup({"policy": policy}), ToolCall("Read", {"file_path": "a"}, output)).items():
        assert not unmarked(shown), name


@pytest.mark.parametrize(("spelling", "strategy"), one_in(10, product(SPELLINGS, STRATEGIES)))
def test_no_cut_shows_a_forged_notice_unmarked(spelling: str, strategy: str) -> None:
    lines = forged_lines(SPELLINGS[spelling])
    noise = "".join(f"line {number} \x1b[32mdone\x1b[0m\n" for number in range(2_000))
    override = {"strategy": strategy, "inline_limit": 30_000}
    setup = Setup({"tools": {"truncation": {"artifact_threshold": 10**9, "overrides": {"Bash": override}}}})
    shown = setup.session().keep("Bash", {"command": "make"}, lines + noise + lines).content
    assert "§" in shown or strategy in ("rows", "log", "element")
    assert not unmarked(shown)


@given(st.sampled_from(FORGED), st.lists(st.integers(0, 60), min_size=1, max_size=4), st.booleans())
def test_pieces_that_a_cut_joins_are_read_together(text: str, places: list[int], is_gap: bool) -> None:
    source, pieces, at = TextSource(_with_noise(text, places)), [], 0
    for start, stop in _noise_in(source.text(0, source.chars)):
        pieces += [Segment("kept", at, start), Segment("gap" if is_gap else "elided", start, stop)]
        at = stop
    cut = Cut((*pieces, Segment("kept", at, source.chars)))
    assert render_body(cut, source) == text
    marked = neutralized(cut, source)
    assert MARK in render_body(marked, source)
    assert render_body(marked, source).replace(MARK, "") == text
    assert marked.covers(source.chars)


def _with_noise(text: str, places: list[int]) -> str:
    for at in sorted({min(place, len(text)) for place in places}, reverse=True):
        text = f"{text[:at]}<noise>{text[at:]}"
    return text


def _noise_in(text: str) -> list[tuple[int, int]]:
    found, at = [], text.find("<noise>")
    while at >= 0:
        found.append((at, at + len("<noise>")))
        at = text.find("<noise>", at + 1)
    return found


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(FORGED), st.sampled_from(sorted(SPELLINGS)))
def test_a_mark_changes_nothing_else(around: str, text: str, spelling: str) -> None:
    whole_text = f"{around}\n{SPELLINGS[spelling](text)}\n{around}"
    assert quoted(whole_text).replace(MARK, "") == whole_text.replace(MARK, "")
    source = TextSource(whole_text)
    assert render(neutralized(whole(source.chars), source), source) == showable(quoted(whole_text))


def test_every_version_of_the_notices_stays_known() -> None:
    assert [grammar.version for grammar in GRAMMARS] == sorted(VERSIONS) == list(range(1, VERSION + 1))
    for texts in VERSIONS.values():
        assert all(imitates(text) for text in texts)


def test_a_new_version_does_not_make_an_earlier_one_unknown() -> None:
    later = Grammar(
        version=VERSION + 1, bracketed=(r"kept\s{0,9}:",), others=("not shown here",), anchors={"shown": "n"}
    )
    grammars = (*GRAMMARS, later)
    for text in (*FORGED, "[Kept: x]", "3 lines are NOT SHOWN here"):
        assert imitations(text, grammars)
    assert not imitations("[Kept: x]")


def test_everything_that_the_module_of_notices_prints_is_known() -> None:
    """Arguments are made by their names, so that a notice of tomorrow fails here until the grammar has it."""
    made = {
        **dict.fromkeys(("lines", "chars", "count", "size"), 12_345),
        **dict.fromkeys(("artifact_id", "summary", "media_type", "session", "command", "tool", "name"), "x"),
        **{"digest": b"12345678", "link": RecallLink("art_1_x"), "source": TextSource("a\nb\nc\n")},
        **{"gap": Segment("gap", 2, 4), "earlier": "[x]", "in_part": False, "looks": "image/png 2x2"},
    }
    not_notices = {"size_text", "quoted", "imitates", "neutralized"}
    for name, function in inspect.getmembers(notice, inspect.isfunction):
        if function.__module__ == notice.__name__ and not name.startswith("_") and name not in not_notices:
            given_now: dict[str, Any] = {key: made[key] for key in inspect.signature(function).parameters}
            assert imitates(function(**given_now)), name


def test_without_a_grammar_the_test_above_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Grammar(version=1, bracketed=("(?!)",), others=(), anchors={})
    monkeypatch.setattr(imitation.imitations, "__defaults__", ((nothing,),))
    assert not any(map(imitates, FORGED))
    shown = in_memory().keep("Bash", {"command": "make"}, forged_lines(str)).content
    assert len(unmarked(shown)) == len(FORGED)
