"""The frontier plot: where points, lines, ticks and intervals are, for each kind of cost and each width of screen."""

import re
from typing import Any

import pytest

from keepwhole.replay.page.frontier import frontier


def policy(name: str, cost: float, kept: float | None, **more: Any) -> dict[str, Any]:
    return {"name": name, "all_in": cost, "in_context": kept, **more}


def page(*rows: dict[str, Any]) -> str:
    found = frontier({"policies": list(rows)})
    assert found is not None
    return str(found)


def plots(text: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", text, re.DOTALL)


def ticks(plot: str) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The labels of the columns with their places from the left, and those of the rows with theirs from the top."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*text-anchor="(middle|end)" class="tick">([^<]*)', plot)
    columns = [(label, float(x)) for x, _, anchor, label in found if anchor == "middle"]
    return columns, [(label, float(y)) for _, y, anchor, label in found if anchor == "end"]


def circles(plot: str) -> list[tuple[float, float, float]]:
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', plot)
    return [(float(x), float(y), float(r)) for x, y, r in found]


TWO = (policy("everything", 1.0, 1.0), policy("auto", 0.5, 0.9))


def test_without_a_policy_that_has_both_figures_nothing_is_drawn() -> None:
    assert frontier({}) is None
    assert frontier({"policies": [policy("auto", 0.5, None), {"name": "x", "in_context": 1.0}]}) is None


def test_points_are_where_the_wide_scale_says() -> None:
    wide, narrow = plots(page(*TWO))
    columns, rows = ticks(wide)
    assert [label for label, _ in columns] == [f"{share}%" for share in range(45, 111, 5)]
    assert [label for label, _ in rows] == ["88%", "90%", "92%", "94%", "96%", "98%", "100%"]
    places, heights = dict(columns), dict(rows)
    assert (heights["88%"], heights["100%"], heights["90%"]) == (472.4, 47.6, 401.6)
    assert (places["45%"], places["100%"], places["50%"]) == (44.8, 824.47, 115.68)
    assert circles(wide) == [(824.47, 47.6, 5.0), (115.68, 401.6, 6.5)]
    assert 'viewBox="0 0 1000 520"' in wide
    assert 'viewBox="0 0 360 420"' in narrow
    columns, rows = ticks(narrow)
    assert [label for label, _ in columns] == ["40%", "50%", "60%", "70%", "80%", "90%", "100%", "110%"]
    assert [round(y, 2) for _, y, _ in circles(narrow)] == [round(dict(rows)[label], 2) for label in ("100%", "90%")]


def test_the_grid_and_the_region_over_everything_fill_the_frame() -> None:
    (wide, _) = plots(page(*TWO))
    assert '<rect x="824.47" y="47.6" width="155.93" height="424.8" class="over"/>' in wide
    assert '<line x1="824.47" x2="824.47" y1="47.6" y2="472.4" class="par"/>' in wide
    assert '<line x1="44.8" x2="980.4" y1="401.6" y2="401.6" class="grid"/>' in wide
    assert '<line x1="115.68" x2="115.68" y1="472.4" y2="476.4" class="grid"/>' in wide
    assert '<text x="36.8" y="401.6" dy="0.35em" text-anchor="end" class="tick">90%</text>' in wide
    assert '<text x="115.68" y="493.4" text-anchor="middle" class="tick">50%</text>' in wide
    assert '<text x="0" y="14" class="axis">Evidence kept in context ↑</text>' in wide
    assert '<text x="980.4" y="517" text-anchor="end" class="axis">← cheaper · all-in cost against sending' in wide
    assert '<text x="972.4" y="444.4" text-anchor="end" class="over-words">costs more than</text>' in wide
    assert '<text x="972.4" y="462.6" text-anchor="end" class="over-words">sending everything</text>' in wide


def test_a_narrow_plot_says_it_in_fewer_words() -> None:
    (_, narrow) = plots(page(*TWO))
    assert ">← cheaper · all-in cost</text>" in narrow
    assert re.search(r'class="over-words"></text><text [^>]*class="over-words">costs more</text>', narrow)


def test_a_cost_beyond_the_scale_is_at_the_edge_and_named() -> None:
    wide, _ = plots(page(*TWO, policy("dear", 3.0, 0.95), policy("limit", 1.25, 0.95)))
    columns, _ = ticks(wide)
    assert columns[-1][0] == "120%"
    x, _, _ = circles(wide)[2]
    assert x == circles(wide)[3][0] == 980.4
    assert ">dear 300% →</text>" in wide
    assert ">limit</text>" in wide


def test_a_figure_of_nothing_is_at_the_beginning_of_the_scale() -> None:
    wide, _ = plots(page(policy("everything", 1.0, 1.0), policy("none", 0.0, 0.0)))
    assert circles(wide)[1][:2] == (44.8, 472.4)
    assert ticks(wide)[0][0] == ("0%", 44.8)
    assert ticks(wide)[1][0] == ("0%", 472.4)


def test_close_points_get_a_fine_scale() -> None:
    wide, _ = plots(page(policy("everything", 1.0, 1.0), policy("auto", 0.99, 0.99)))
    columns, rows = ticks(wide)
    assert columns[0][0] == "97%"
    assert columns[1][0] == "98%"
    assert rows[0][0] == "97%"
    assert rows[1][0] == "98%"


def test_a_scale_of_everything_has_the_widest_steps() -> None:
    _, narrow = plots(page(policy("everything", 1.25, 1.0), policy("none", 0.0, 0.0)))
    columns, rows = ticks(narrow)
    assert [label for label, _ in columns] == ["0%", "20%", "40%", "60%", "80%", "100%", "120%"]
    assert [label for label, _ in rows] == ["0%", "20%", "40%", "60%", "80%", "100%"]


def test_rows_are_two_percent_apart_where_there_would_be_more_than_six() -> None:
    wide, _ = plots(page(policy("everything", 1.0, 1.0), policy("auto", 0.5, 0.93)))
    assert [label for label, _ in ticks(wide)[1]] == ["92%", "94%", "96%", "98%", "100%"]


def test_a_long_name_is_cut_and_crowded_labels_are_led_to_their_points() -> None:
    crowd = [policy(f"policy {number}", 0.9 + number / 1_000, 0.95) for number in range(12)]
    wide, _ = plots(
        page(policy("everything", 1.0, 1.0), *crowd, policy("x" * 25, 0.5, 0.9), policy("y" * 24, 0.5, 1.0))
    )
    assert f">{'x' * 23}…</text>" in wide
    assert f">{'y' * 24}</text>" in wide
    led = re.findall(
        r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" class="leader"/>'
        r'<circle cx="([\d.]+)" cy="([\d.]+)" [^>]*><text x="([\d.]+)" y="([\d.]+)"',
        wide,
    )
    assert led
    for x1, y1, x2, y2, cx, cy, x, y in (tuple(map(float, one)) for one in led):
        assert (x1, y1) == (cx, cy)
        assert abs(x2 - x) < 9 * 14
        assert abs(y2 - y) < 2 * 14


def test_a_line_goes_through_the_policies_that_no_other_beats() -> None:
    rows = (policy("a", 0.5, 0.9), policy("b", 0.6, 0.85), policy("c", 0.7, 0.95), policy("e", 0.7, 0.94))
    wide, _ = plots(page(policy("everything", 1.0, 1.0), *rows, policy("bound", 0.4, 1.0, bound=True)))
    (points,) = re.findall(r'<polyline points="([^"]*)" class="edge"/>', wide)
    drawn = circles(wide)
    corners = [f"{x:.1f},{y:.1f}" for x, y, _ in (drawn[1], drawn[3], drawn[0])]
    assert points.split() == corners
    assert "<polyline" not in page(policy("a", 0.5, 1.0), policy("b", 0.6, 0.9))


def test_a_bound_is_a_diamond_and_kinds_have_classes() -> None:
    wide, _ = plots(page(*TWO, policy("none", 0.7, 0.92), policy("seer", 0.4, 1.0, bound=True)))
    kinds = re.findall(r'href="#policy-(\d)" class="point (\w+)"', wide)
    assert kinds == [("0", "everything"), ("1", "auto"), ("2", "other"), ("3", "bound")]
    (path,) = re.findall(r'<path d="M([\d.]+) ([\d.]+)l7 7l-7 7l-7 -7z" class="dot"/>', wide)
    assert float(path[1]) == pytest.approx(47.6 - 7)


def test_an_interval_is_a_line_unless_it_is_shorter_than_a_pixel() -> None:
    spread = {"value": 0.5, "low": 0.4, "high": 0.6}
    rows = (
        policy("everything", 1.0, 1.0),
        {"name": "auto", "all_in": spread, "in_context": {"value": 0.9, "low": 0.8}},
    )
    wide, _ = plots(page(*rows))
    lines = re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)" y2="([\d.]+)" class="whisker auto"/>', wide)
    across, upright = [tuple(map(float, one)) for one in lines]
    (x, y, _) = circles(wide)[1]
    assert across[2] == across[3] == y
    assert across[0] < x < across[1]
    assert upright[0] == upright[1] == x
    assert upright[2] == y < upright[3]
    thin = {"value": 0.5, "low": 0.4999, "high": 0.5001}
    assert "whisker" not in page(policy("everything", 1.0, 1.0), policy("auto", 0.5, 0.9) | {"all_in": thin})


def test_every_kind_of_cost_that_has_figures_is_a_choice() -> None:
    one = page(*TWO)
    assert "<fieldset" not in one
    assert len(plots(one)) == 2
    both = page(*(row | {"cost": 0.8, "tail": 0.9, "all_in_blind": None} for row in TWO))
    assert re.findall(r'<input type="radio" name="mode" value="([a-z-]+)"( checked)?/>', both) == [
        *(("all-in", " checked"), ("cached", ""), ("tail", ""))
    ]
    assert len(plots(both)) == 6
    assert re.findall(r'data-mode="([a-z-]+)">', both)[-3:] == ["all-in", "cached", "tail"]
    assert ">← cheaper · cached cost against sending everything</text>" in both


def test_a_plot_is_told_in_words_the_cheapest_first() -> None:
    (wide, _) = plots(page(*TWO))
    assert '<title id="title-all-in-wide">Cost (all-in) against evidence kept in context</title>' in wide
    assert (
        '<desc id="desc-all-in-wide">auto costs 50% and keeps 90%; everything costs 100% and keeps 100%.</desc>' in wide
    )
    assert 'aria-labelledby="title-all-in-wide desc-all-in-wide"' in wide
    assert "<title>auto costs 50% and keeps 90%</title>" in wide
