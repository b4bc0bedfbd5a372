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


@pytest.mark.parametrize(
    ("other", "area"),
    [
        (Box(0, 0, 10, 10), 100),
        (Box(5, 5, 20, 20), 25),
        (Box(-5, 4, 20, 6), 20),
        (Box(10, 0, 20, 10), 0),
        (Box(-10, 0, 0, 10), 0),
        (Box(0, 10, 10, 20), 0),
        (Box(0, -10, 10, 0), 0),
        (Box(9, 9, 10, 10), 1),
    ],
)
def test_two_boxes_share_the_area_that_both_cover(other: Box, area: float) -> None:
    box = Box(0, 0, 10, 10)
    assert box.overlap(other) == other.overlap(box) == area
    assert box.outside(other) == 100 - area


@pytest.mark.parametrize(
    ("wall", "align", "x", "y"),
    [
        (None, "start", 110, 92),
        (Box(106, 0, 300, 300), "end", 90, 92),
    ],
)
def test_the_cheapest_place_is_ten_away(wall: Box | None, align: str, x: float, y: float) -> None:
    obstacles = [] if wall is None else [Obstacle(wall, 80)]
    [label] = place_labels([Anchor(100, 100, 60, 16)], FRAME, obstacles)
    assert (label.align, round(label.x), round(label.box.top)) == (align, x, y)
    assert (round(label.box.right - label.box.left), round(label.box.bottom - label.box.top)) == (60, 16)


def test_a_label_between_two_walls_is_above_and_centered() -> None:
    walls = [Obstacle(Box(60, 90, 99, 300), 80), Obstacle(Box(101, 90, 300, 300), 80)]
    [label] = place_labels([Anchor(100, 100, 20, 10)], FRAME, walls)
    assert (label.align, round(label.x), round(label.box.bottom)) == ("middle", 100, 90)


def test_a_label_farther_than_twenty_has_a_line_to_its_nearest_place() -> None:
    wall = Obstacle(Box(70, 70, 130, 130), 80)
    [label] = place_labels([Anchor(100, 100, 20, 10)], FRAME, [wall])
    assert label.leader is not None
    assert label.box.overlap(wall.box) == 0
    x, y = label.leader
    assert (x, y) == (min(max(100, label.box.left), label.box.right), min(max(100, label.box.top), label.box.bottom))
    narrow = Obstacle(Box(80, 80, 120, 120), 80)
    [near_label] = place_labels([Anchor(100, 100, 20, 10)], FRAME, [narrow])
    assert near_label.leader is not None


def test_a_label_keeps_off_points_and_inside_the_frame() -> None:
    points = [Anchor(100 + 14 * number, 100, 20, 10) for number in range(3)]
    labels = place_labels(points, FRAME, [])
    dots = [Box(point.x - 6, point.y - 6, point.x + 6, point.y + 6) for point in points]
    assert all(label.box.overlap(dot) == 0 for label in labels for dot in dots)
    [corner] = place_labels([Anchor(895, 5, 60, 16)], FRAME, [])
    assert corner.box.outside(FRAME) == 0


@given(st.lists(near, min_size=2, max_size=10))
def test_no_label_covers_another_or_is_outside(points: list[tuple[float, float]]) -> None:
    labels = place_labels([Anchor(x, y, 90, 16) for x, y in points], FRAME, [])
    assert all(a.box.overlap(b.box) < 1 for a, b in combinations(labels, 2))
    assert all(label.box.outside(FRAME) < 1e-6 for label in labels)


@pytest.mark.parametrize(("align", "x"), [("start", 10), ("middle", 30), ("end", 50)])
def test_the_text_of_a_label_is_fixed_at_one_end_of_its_box(align: str, x: float) -> None:
    [label] = place_labels([Anchor(100, 100, 60, 16)], FRAME, [])
    assert label._replace(box=Box(10, 0, 50, 16), align=align).x == x  # type: ignore[arg-type]


def test_a_crowded_plot_is_laid_out_as_it_always_was() -> None:
    points = [Anchor(150 + 7 * (at % 4) + 3 * at, 90 + 11 * (at % 3) + at, 40 + 9 * (at % 5), 12) for at in range(14)]
    labels = place_labels(points, Box(0, 0, 420, 200), [Obstacle(Box(205, 60, 240, 140), 5)])
    assert [(label.align, round(label.x, 1), round(label.box.top, 1)) for label in labels] == [
        ("end", 140.0, 84.0),
        ("middle", 160.0, 44.0),
        ("middle", 170.0, 160.0),
        ("start", 244.0, 87.0),
        ("end", 152.0, 99.0),
        ("end", 170.0, 145.4),
        ("start", 187.3, 42.9),
        ("start", 256.0, 102.0),
        ("end", 164.0, 114.0),
        ("end", 192.4, 58.6),
        ("middle", 194.0, 143.0),
        ("start", 222.8, 141.4),
        ("end", 193.4, 70.6),
        ("end", 187.0, 126.0),
    ]
    ends = [label.leader and tuple(map(round, label.leader)) for label in labels]
    assert ends[:6] == [None, (160, 56), (170, 160), (244, 93), None, (170, 145)]
