"""Values are frozen, compared by content, and say what they take."""

import copy
import pickle
from collections.abc import Callable

import pytest

from keepwhole.canonical.value import Value


class Point(Value):
    """A value with a default."""

    x: int
    y: int = 0


class Named(Point):
    """A value made of another."""

    name: str = ""


class Positive(Value):
    """A value that checks itself."""

    x: int

    def _check(self) -> None:
        if self.x < 1:
            raise ValueError(self.x)


def test_a_value_is_built_by_place_or_by_name() -> None:
    assert Point(1, 2) == Point(x=1, y=2) == Point(1, y=2)
    assert Point(1).y == 0


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((), {"y": 1})])
def test_a_value_refuses_what_it_does_not_take(args: tuple[int, ...], kwargs: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **kwargs)


def test_a_value_refuses_a_field_given_twice() -> None:
    with pytest.raises(TypeError):
        Point(1, x=2)  # type: ignore[misc]


def test_a_value_does_not_change() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    assert point == Point(1)


def test_a_replaced_field_makes_another_value() -> None:
    point = Point(1, 2)
    assert point.replace(y=3) == Point(1, 3)
    assert point == Point(1, 2)


def test_a_replacement_is_checked_too() -> None:
    with pytest.raises(ValueError, match="0"):
        Positive(1).replace(x=0)


def test_values_of_different_kinds_are_never_equal() -> None:
    assert Point(1) != Named(1)
    assert Point(1) != (1, 0)
    assert Named(1, 2, "a").as_dict() == {"x": 1, "y": 2, "name": "a"}


def test_equal_values_are_one_in_a_set() -> None:
    assert len({Point(1), Point(1, 0), Point(2)}) == 2


def test_a_value_shows_what_it_is() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0)"


def test_a_value_knows_which_fields_were_given_even_if_they_equal_the_default() -> None:
    assert Point(1, 0).is_given("y")
    assert not Point(1).is_given("y")
    assert not Point(1).is_given("fields")
    assert Point(1) == Point(1, 0)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value)), Point.replace]
)
def test_what_was_given_survives_copies(copied: Callable[[Point], Point]) -> None:
    assert copied(Point(1, 0)).is_given("y")
    assert not copied(Point(1)).is_given("y")


def test_a_replaced_field_is_given_and_the_others_are_as_before() -> None:
    replaced = Named(1).replace(name="")
    assert replaced.is_given("name")
    assert not replaced.is_given("y")
