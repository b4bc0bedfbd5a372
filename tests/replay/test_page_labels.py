"""Labels of points that are close together."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.replay.page.labels import Anchor, Box, Obstacle, place_labels

FRAME = Box(0, 0, 900, 500)
near = st.tuples(st.floats(300, 600), st.floats(150, 350))


def test_a_lone_label_is_right_of_its_point_and_needs_no_line() -> None:
    [label] = place_labels([Anchor(100, 100, 60, 16)], FRAME, [])
    assert label.align == "start"
    assert label.x > 100
    assert label.leader is None


def test_a_label_at_the_right_edge_goes_to_the_left() -> None:
    [label] = place_labels([Anchor(899, 100, 60, 16)], FRAME, [])
    assert label.align == "end"
    assert label.box.right < 899


def test_a_label_stays_off_what_matters() -> None:
    wall = Box(105, 80, 200, 120)
    [label] = place_labels([Anchor(100, 100, 60, 16)], FRAME, [Obstacle(wall, 10)])
    assert label.box.overlap(wall) == 0


def test_points_in_one_place_get_lines_to_their_labels() -> None:
    labels = place_labels([Anchor(400, 200, 90, 16)] * 6, FRAME, [])
    assert any(label.leader for label in labels)
    assert all(a.box.overlap(b.box) == 0 for a, b in combinations(labels, 2))


@given(st.lists(near, min_size=2, max_size=10))
def test_no_label_covers_another_or_is_outside(points: list[tuple[float, float]]) -> None:
    labels = place_labels([Anchor(x, y, 90, 16) for x, y in points], FRAME, [])
    assert all(a.box.overlap(b.box) < 1 for a, b in combinations(labels, 2))
    assert all(label.box.outside(FRAME) < 1e-6 for label in labels)


@pytest.mark.parametrize(("align", "x"), [("start", 10), ("middle", 30), ("end", 50)])
def test_the_text_of_a_label_is_fixed_at_one_end_of_its_box(align: str, x: float) -> None:
    [label] = place_labels([Anchor(100, 100, 60, 16)], FRAME, [])
    assert label._replace(box=Box(10, 0, 50, 16), align=align).x == x  # type: ignore[arg-type]
