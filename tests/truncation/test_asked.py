"""What a question asks for is kept, however deep it lies and however it is spelled; else there is some of all."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.strategy import STRATEGIES, StrategyOptions
from tests.truncation.test_structure import documents, shown

FACTS = ("the gateway rejected a refund: swordfish", "Lisbon fell behind: marlin", "greenhouse lost heat: halibut")
SECRETS = tuple(fact.rpartition(" ")[2] for fact in FACTS)
QUESTION = "Why are refunds rejected, how far is Lisbon behind, and which greenhouses lost heat?"


def items(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": first + n, "note": f"order {n % 7} of the day was served in time"} for n in range(count)]


def groups(count: int = 30) -> list[list[dict[str, Any]]]:
    """Groups of forty objects, three of which say what is asked for."""
    made = [items(40, 100 * n) for n in range(count)]
    for fact, group in zip(FACTS, (3, 15, 27), strict=True):
        made[group][19]["note"] = fact
    return made


@pytest.mark.parametrize("limit", [2_000, 8_000])
@pytest.mark.parametrize(
    "value",
    [
        {"data": {"groups": [{"group": n, "items": group} for n, group in enumerate(groups())]}, "total": 30},
        {"hosts": {f"host-{n}": group for n, group in enumerate(groups())}},
        groups(),
    ],
)
def test_all_members_that_are_asked_for_share_the_room_however_deep_they_lie(value: Any, limit: int) -> None:
    view = shown(json.dumps(value), limit, question=QUESTION)
    assert [secret for secret in SECRETS if secret in view.body] == list(SECRETS)
    assert len(view.content) <= limit
    json.loads(view.body)


def test_an_element_of_a_very_long_array_is_found() -> None:
    value = [*range(30_000), FACTS[0], *range(30_000)]
    assert SECRETS[0] in shown(json.dumps(value), question=QUESTION).body


@settings(max_examples=50)
@given(documents, st.integers(60, 900), st.text(max_size=20))
def test_a_cut_with_a_question_covers_fits_and_parses(value: Any, budget: int, question: str) -> None:
    text = json.dumps(value)
    source = TextSource(text)
    cut = STRATEGIES["element"](source, budget, StrategyOptions(question=f"{question} true null 0"))
    assert cut.covers(len(text))
    if any(part.stop > part.start for part in cut.kept):
        assert len(render(cut, source)) <= budget
        json.loads(render(cut, source))


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Шлюз отклонил возврат: swordfish", "почему отклонены возвраты шлюзом?"),
        ("支付网关拒绝了退款 swordfish", "为什么退款会被网关拒绝？"),
        ("게이트웨이가 환불을 거부했습니다 swordfish", "환불이 거부되는 이유는?"),
    ],
)
@pytest.mark.parametrize("as_rows", [True, False])
def test_a_question_finds_text_that_json_has_escaped(fact: str, question: str, as_rows: bool) -> None:
    value = items(900)
    value[450]["note"] = fact
    text = "".join(json.dumps(item) + "\n" for item in value) if as_rows else json.dumps(value)
    assert "swordfish" in shown(text, 2_000, question=question).body


def prose(end: str) -> str:
    ordinary = "The order of the day was served in time. Nobody waited for long, and every page was loaded."
    parts = [f"{ordinary} {n}. {ordinary}" for n in range(300)]
    for fact, at in zip(FACTS, (40, 150, 260), strict=True):
        parts[at] = f"{ordinary} {fact}. {ordinary}"
    return end.join(parts)


@pytest.mark.parametrize("end", ["\n\n", "\n", " "])
def test_all_sentences_that_are_asked_for_are_kept_whole(end: str) -> None:
    body = shown(prose(end), 2_000, question=QUESTION).body
    assert [fact for fact in FACTS if f"{fact}." in body] == list(FACTS)


def test_where_there_is_room_the_whole_paragraph_is_kept() -> None:
    text = prose("\n\n")
    body = shown(text, 8_000, question=QUESTION).body
    for paragraph in text.split("\n\n"):
        assert paragraph in body or not any(fact in paragraph for fact in FACTS)


def functions(count: int, lines: int = 4) -> str:
    bodies = ["".join(f"    step_{n}_{line} = {line}\n" for line in range(lines)) for n in range(count)]
    return "import os\n" + "".join(f"\n\ndef function_{n}(value: int) -> int:\n{body}" for n, body in enumerate(bodies))


@pytest.mark.parametrize("limit", [2_000, 8_000])
def test_code_that_nobody_asked_about_shows_bodies_too(limit: int) -> None:
    body = shown(functions(800), limit, strategy="code").body
    assert "step_0_3 = 3" in body
    assert "step_799_3 = 3" in body
    assert body.count("def function_") > limit / 200


def test_a_line_deep_in_a_long_function_is_kept_with_the_signature() -> None:
    text = functions(40, 120).replace("step_20_80 = 80", "rejected_refund = 'swordfish'")
    body = shown(text, 2_000, question="where are refunds rejected?", strategy="code").body
    assert "swordfish" in body
    assert "def function_20(" in body


def hunks(count: int, lines: int) -> str:
    return "".join(
        f"diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -1,0 +1,{lines} @@\n"
        + "".join(f"+line {line} of file {n}\n" for line in range(lines))
        for n in range(count)
    )


@pytest.mark.parametrize("limit", [2_000, 8_000])
def test_a_diff_that_nobody_asked_about_shows_hunks_too(limit: int) -> None:
    body = shown(hunks(300, 5), limit).body
    assert "+line 4 of file 0\n" in body
    assert "+line 4 of file 299" in body


def test_a_line_deep_in_a_long_hunk_is_kept_whole_with_the_header_of_the_hunk() -> None:
    text = hunks(20, 300).replace("+line 150 of file 9\n", "+rejected refunds: swordfish\n")
    body = shown(text, 2_000, question="where is a refund rejected?").body
    assert "\n+rejected refunds: swordfish\n" in body
    assert "+++ b/f9\n@@" in body


@pytest.mark.parametrize("strategy", ["head", "tail", "head_tail"])
def test_whichever_end_is_kept_the_line_that_is_asked_for_is_too(strategy: str) -> None:
    lines = [f"drwxr-xr-x 2 root root 4096 Jan 5 backup of day {n}" for n in range(600)]
    lines[300] = "-rw-r--r-- 1 root root 812 Jan 5 swordfish.conf"
    text = "\n".join(["first of all", *lines, "last of all"])
    view = shown(text, question="How large is swordfish.conf?", strategy=strategy)
    assert (view.metadata.strategy_used, "swordfish.conf" in view.body) == (strategy, True)
    assert "last of all" in view.body if strategy != "head" else "first of all" in view.body
    assert len(view.content) <= 8_000
    assert "swordfish" not in shown(text, strategy=strategy).body


def test_a_head_with_a_question_keeps_no_scrap_of_the_last_line() -> None:
    text = "".join(f"row {number:05d} of the nightly report, nothing of note\n" for number in range(600))
    source = TextSource(text.replace("row 00400 of", "row 00400 delta-island-42 of"))
    cut = STRATEGIES["head"](source, 5_000, StrategyOptions(question="What of delta-island-42?"))
    content = render(cut, source)
    assert "delta-island-42" in content
    assert content.startswith("row 00000")
    assert all(
        segment.stop == source.chars or source.text(segment.stop - 1, segment.stop) == "\n" for segment in cut.kept
    )
