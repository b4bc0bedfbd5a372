"""The smaller charts of the report page: bars by tool, and the choice of a run."""

from typing import Any

from keepwhole.replay.page import charts


def tool(name: str, tokens: int, never_used: float | None = 0.25) -> dict[str, Any]:
    return {"tool": name, "results": 3, "tokens": tokens, "share": 0.5, "never_used": never_used}


def bars(*tools: dict[str, Any]) -> str:
    return str(charts.tools({"totals": {"tools": list(tools)}}))


def test_nothing_is_drawn_where_no_tool_and_no_run_is_known() -> None:
    assert charts.tools({}) is None
    assert charts.runs({"runs": [{"id": "a"}]}) is None


def test_a_bar_is_as_long_as_its_share_of_the_largest_and_ends_with_what_was_never_used() -> None:
    page = bars(tool("read", 400), tool("grep", 100, 2.0), tool("none", 0, None), {"tool": "odd", "never_used": -1})
    read, grep, none, odd = page.split("<tbody>")[1].split("</tr>")[:4]
    assert '<rect width="75" height="10" class="used"/><rect x="75" width="25" ' in read
    assert "<td>3</td>" in read
    assert "400<small>50%</small>" in read
    assert "25%" in read.split("</svg>")[1]
    assert '<rect width="0' in grep
    assert 'width="25' in grep
    assert 'width="0' in none
    assert "–" in odd
    assert 'width="-' not in page
    assert all(words in page for words in ("Never used again", ">used</span>", ">never used</span>"))
    alone = bars({"tool": "x" * 41, "never_used": None})
    assert f"<bdi>{'x' * 39}…</bdi>" in alone
    assert '<rect width="0' in alone
    assert 'x="0" width="0" height="10" class="unused"' in alone


def test_twelve_tools_have_a_row_of_their_own_and_of_more_the_last_share_one() -> None:
    twelve = bars(*(tool(f"tool{number}", 100) for number in range(12)))
    assert twelve.count("<tr>") == 1 + 12
    assert "others" not in twelve
    more = bars(*(tool(f"tool{number}", 100 if number < 11 else 200, number / 20) for number in range(14)))
    assert more.count("<tr>") == 1 + 12
    assert "tool10" in more
    last = more.split("</tr>")[-2]
    assert "3 others" in last
    assert "<td>9</td>" in last
    assert "600<small>150%</small>" in last
    assert last.endswith("<td>60%</td>")


def test_what_is_not_known_of_the_last_tools_counts_as_nothing() -> None:
    rest = [{"tool": "a", "results": 1, "never_used": 1}, {"tool": "b", "tokens": 10}, tool("c", 10, 1)]
    last = bars(*(tool(f"tool{number}", 100) for number in range(11)), *rest).split("</tr>")[-2]
    assert "<td>4</td>" in last
    assert "20<small>50%</small>" in last
    assert last.endswith("<td>50%</td>")
    none = bars(*(tool(f"tool{number}", 100) for number in range(11)), *[{"never_used": 1}] * 2).split("</tr>")[-2]
    assert none.endswith("<td>0%</td>")


def test_a_choice_lists_the_runs_with_figures_by_their_task() -> None:
    runs = [
        {"id": "one", "task": "Fix it", "steps": 1, "tokens": 2_000, "context": {"a": 1}},
        {"id": "two", "context": {}},
        {"id": "three", "steps": 1_200, "tokens": None, "context": {"a": 1}},
        {"id": "x" * 99, "context": {"a": 1}},
    ]
    page = str(charts.runs({"runs": runs}))
    assert '<option value="0">Fix it · 1 step · 2k</option>' in page
    assert '<option value="2">three · 1,200 steps · –</option>' in page
    assert 'value="1"' not in page
    assert f"{'x' * 79}…" in page
