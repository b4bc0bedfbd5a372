"""The words of the report page: the headline, the facts, the table of policies, the settings and what was not read."""

import re
from typing import Any

import pytest

from keepwhole.replay.page import appendix, policies
from keepwhole.replay.page.headline import facts, headline, title


def plain(markup: object) -> str:
    return re.sub(r"<[^>]*>", "", str(markup))


def row(name: str, all_in: float | None = None, kept: float | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "all_in": all_in, "in_context": kept, **more}


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ({}, "No run here is long enough to say what its tool results cost."),
        ({"share": 0.6}, "60% of the tokens were tool results."),
        (
            {"share": 0.6, "never_used": 0.25},
            "60% of the tokens were tool results, and 25% of those were never used again.",
        ),
    ],
)
def test_the_headline_says_what_results_cost(totals: dict[str, Any], words: str) -> None:
    assert plain(headline({"totals": totals})).strip() == words


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [row("auto", 0.7, 0.9)],
            "With auto the same runs would have cost 30% less, with 90% of what was needed later",
        ),
        ([row("auto", 1.2, None)], "With auto the same runs would have cost 20% more."),
        ([row("auto", 1.0, None)], "With auto the same runs would have cost 0% less."),
        (
            [row("auto", 0.7, dollars=3.5), row("everything", dollars=1_000)],
            "With auto the same runs would have cost 30% less: $1,000 → $3.50.",
        ),
        ([row("auto", 0.7, dollars=3.5), row("everything")], "would have cost 30% less."),
        ([row("auto", 0.7), row("everything", dollars=3.5)], "would have cost 30% less."),
        ([row("other", 0.7)], "cost."),
    ],
)
def test_the_headline_says_what_a_policy_would_have_saved(rows: list[dict[str, Any]], words: str) -> None:
    said = plain(headline({"policies": rows}))
    assert words in said
    assert ("With" in said) is (rows[0]["name"] == "auto")


def test_the_policy_of_the_headline_is_the_recommended_one_else_the_examined_one() -> None:
    rows = [row("auto", 0.7), row("rolling", 0.8), row("none", 0.9)]
    for report, name in (
        ({}, "auto"),
        ({"hidden": {"policy": "none"}}, "none"),
        ({"hidden": {"policy": "none"}, "recommended": {"name": "rolling"}}, "rolling"),
    ):
        assert f"With {name} the same runs" in plain(headline({"policies": rows, **report}))


def test_facts_are_listed_where_they_are_known() -> None:
    report = {
        "totals": {"runs": 12, "replayed": 10, "steps": 2_000, "tokens": 5_410_000},
        "window": 200_000,
        "provider": "anthropic",
        "price": {"read": 0.1, "write": 1.25},
        "read": {"sources": {"codex": 3, "claude": 9}},
    }
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", str(facts(report))) == [
        ("Runs", "10 of 12"),
        ("Steps", "2,000"),
        ("Tokens", "5.4M"),
        ("Window", "200k"),
        ("Prices", "anthropic (cached 0.1×, written 1.25×)"),
        ("Read from", "codex 3, claude 9"),
    ]
    assert str(facts({})) == '<dl class="facts"></dl>'
    same = facts({"totals": {"runs": 12, "replayed": 12}, "provider": "x", "price": {"read": 0.1}})
    assert re.findall(r"<dd>(.*?)</dd>", str(same)) == ["12", "x"]
    only = facts({"totals": {"runs": 12}, "price": {"read": 0.1, "write": 1.0}})
    assert re.findall(r"<dd>(.*?)</dd>", str(only)) == ["12", "(cached 0.1×, written 1×)"]


@pytest.mark.parametrize(("runs", "words"), [(1, "1 run"), (2_000, "2,000 runs")])
def test_the_window_has_a_title(runs: int, words: str) -> None:
    assert title({"totals": {"runs": runs}}) == f"Keepwhole replay: {words}"


FIGURES: dict[str, Any] = {
    "dollars": 3.5,
    "steps_ok": 0.75,
    "overflow": 0.0,
    "rewrites": 1_234,
    "first_compaction": {"median_step": 40, "runs": 0.5},
}


def cells(markup: object) -> list[list[str]]:
    rows = re.findall(r"<tr[ >].*?</tr>", str(markup).split("</thead>")[1], re.DOTALL)
    return [[plain(cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", one, re.DOTALL)] for one in rows]


def test_a_policy_is_a_row_of_figures() -> None:
    table = policies.table({"policies": [row("auto", 0.7, 0.9, **FIGURES), row("none")]})
    (auto, none) = cells(table)
    assert [auto[0][:4], *auto[1:]] == ["auto", "70%", "$3.50", "90%", "75%", "step 40in 50% of runs", "0%", "1,234"]
    assert [none[0][:4], *none[1:]] == ["none", *["–"] * 7]
    assert 'id="policy-0"' in str(table)
    assert 'id="policy-1"' in str(table)
    assert policies.table({}) is None


def test_a_policy_has_its_verdict_below_its_name_and_values_to_sort_by() -> None:
    rows = [row("auto", 0.7, 0.9, **FIGURES, verdict="saves 30 %"), row("none", bound=True), row("z" * 41)]
    table = str(policies.table({"policies": rows}))
    auto, bound, other = table.split("</thead>")[1].split("</tr>")[:3]
    assert ">auto<small>saves 30%</small></th>" in auto
    assert re.findall(r'data-value="([^"]*)"', auto) == ["auto", "0.7", "3.5", "0.9", "0.75", "40", "0", "1234"]
    assert re.findall(r'data-value="([^"]*)"', bound) == ["none"]
    assert ">none</th>" in bound
    assert ['class="auto"' in auto, 'class="bound"' in bound, "class=" in other] == [True, True, False]
    assert f">{'z' * 39}…</th>" in other


@pytest.mark.parametrize(
    ("first", "words"),
    [({"runs": 0}, "never"), ({"runs": 0.5}, "–"), ({"median_step": 1_000}, "step 1,000"), ({}, "–")],
)
def test_the_first_compaction_may_never_come(first: dict[str, Any], words: str) -> None:
    (only,) = cells(policies.table({"policies": [row("auto", first_compaction=first)]}))
    assert only[5] == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.698, 0.702, "70%"), (0.698, 0.7031, "70%70% to 70%"), (0.6, 0.8, "70%60% to 80%")],
)
def test_an_interval_is_told_where_it_is_wide_enough_to_see(low: float, high: float, words: str) -> None:
    spread = {"value": 0.7, "low": low, "high": high}
    (only,) = cells(policies.table({"policies": [row("auto") | {"all_in": spread}]}))
    assert only[1] == words


def test_rows_of_each_source_can_be_chosen_where_there_are_several() -> None:
    rows = [row("auto", 0.7)]
    one = str(policies.table({"policies": rows, "sources": {"codex": rows}}))
    assert "<select" not in one
    assert one.count("<tbody") == 1
    two = str(policies.table({"policies": rows, "sources": {"codex": rows, "claude": rows}}))
    assert re.findall(r'<option value="(\w*)">', two) == ["", "codex", "claude"]
    assert re.findall(r'<tbody data-source="(\w*)"( hidden)?>', two) == [
        ("", ""),
        ("codex", " hidden"),
        ("claude", " hidden"),
    ]
    assert two.count('id="policy-0"') == 1
    long = str(policies.table({"policies": rows, "sources": {"s" * 60: rows, "t" * 61: rows}}))
    assert f">{'s' * 60}</option>" in long
    assert f'<option value="{"t" * 61}">{"t" * 59}…</option>' in long


AUTO = "policy: auto\n"


def settings(rows: list[dict[str, Any]], **more: Any) -> str:
    return str(appendix.settings({"policies": rows, **more}))


def test_settings_to_copy_are_those_recommended_and_then_the_others() -> None:
    rows = [
        row("none"),
        row("auto", settings=AUTO, verdict="saves 30 %"),
        row("rolling", settings="policy: rolling"),
        row("same", settings=AUTO),
    ]
    found = settings(rows, recommended={"reason": "it hides little"})
    assert plain(found) == "auto: saves 30%Because it hides little.policy: autorollingpolicy: rolling"
    assert found.count("<details>") == 1
    other = settings(rows, settings="policy: rolling")
    assert plain(other).startswith("rollingpolicy: rollingautopolicy: auto")
    assert "Because" not in other
    assert found.count("<code data-copy>") == 2


def test_without_settings_that_save_anything_that_is_said() -> None:
    assert appendix.settings({"policies": [row("none")]}) is None
    none = settings([row("rolling", settings="policy: rolling")])
    assert plain(none) == (
        "On these runs no setting of Keepwhole saves anything without hiding much.rollingpolicy: rolling"
    )
    alone = settings([], settings="policy: mine")
    assert plain(alone) == "policy: mine"


def test_what_was_not_read_is_listed_with_its_reason() -> None:
    read: dict[str, Any] = {"files": 3, "bytes": 2_048, "runs": 1}
    assert plain(appendix.unread({"read": read})) == "3 files (2.0 KB) held 1 run.Nothing was left out."
    read["unread"] = [
        {"path": "/a", "why": "empty"},
        {"path": "/b", "why": "broken", "count": 1},
        {"path": "/c", "why": "broken", "count": 2_000},
    ]
    assert plain(appendix.unread({"read": read | {"bytes": None}})) == (
        "3 files held 1 run./a empty/b broken/c broken, 2,000 times"
    )
    read["unread"] = [{"path": "p" * 200, "why": "w" * 200}, {"path": "q" * 201, "why": "v" * 201}]
    assert plain(appendix.unread({"read": read})).endswith(f".{'p' * 200} {'w' * 200}{'q' * 199}… {'v' * 199}…")


def test_long_names_and_reasons_are_cut() -> None:
    rows = [row("n" * 198, settings=AUTO), row("m" * 41, settings="policy: m")]
    found = plain(settings(rows, settings=AUTO, recommended={"reason": "r" * 401}))
    assert found.startswith(f"{'n' * 198}Because {'r' * 399}….policy: auto")
    assert f"{'m' * 39}…policy: m" in found
    long = plain(settings([row("n" * 201, settings=AUTO)], settings=AUTO))
    assert long == f"{'n' * 199}…policy: auto"
    said = plain(headline({"policies": [row("h" * 41, 0.7)], "hidden": {"policy": "h" * 41}}))
    assert f"With {'h' * 39}… the same runs" in said


def test_terms_are_defined_and_no_model_was_run() -> None:
    found = str(appendix.method({}))
    assert "<strong>No model was run.</strong>" in found
    terms = re.findall(r"<dt>(.*?)</dt><dd>.+?</dd>", found)
    assert terms[:3] == ["Replay", "Evidence", "In context"]
    assert len(terms) == 10
