"""Frozen values behave as frozen dataclasses with slots do; the standard ones are the oracle."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from abc import ABC, abstractmethod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.frozen import Frozen, FrozenMeta, derived
from tests.soak import examples


class Point(Frozen):
    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class StandardPoint:
    x: int
    y: int = 0


class Pair(Frozen):
    x: int
    y: int = 0


class Place(Point):
    name: str = "somewhere"


class Unchanged(Point):
    pass


class Empty(Frozen):
    pass


class Square(Frozen):
    side: int
    area: int = derived()

    def __post_init__(self) -> None:
        self._derive(area=self.side**2)


class Cube(Square):
    depth: int = 1


class Shape(ABC):
    __slots__ = ()

    @abstractmethod
    def area(self) -> int:
        """Its area."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name."""


class Rectangle(Shape, Frozen):
    width: int
    height: int = 1
    name = "rectangle"

    def area(self) -> int:
        return self.width * self.height


class Nameless(Shape, Frozen):
    width: int

    def area(self) -> int:
        return self.width


@examples(100)
@given(x=st.integers(), y=st.integers(), other_x=st.integers(), other_y=st.integers())
def test_values_compare_and_hash_by_their_fields(
    x: int, y: int, other_x: int, other_y: int
) -> None:
    assert Point(x, y) == Point(x, y)
    assert hash(Point(x, y)) == hash(Point(x, y))
    assert (Point(x, y) == Point(other_x, other_y)) is ((x, y) == (other_x, other_y))
    assert (Point(x, y) != Point(other_x, other_y)) is ((x, y) != (other_x, other_y))


def test_values_of_two_types_are_never_equal() -> None:
    same: list[object] = [Point(1, 2), Pair(1, 2), Unchanged(1, 2), StandardPoint(1, 2), (1, 2)]
    for index, value in enumerate(same):
        assert [index for index, other in enumerate(same) if other == value] == [index]
    assert len(set(same)) == len(same)


def test_values_do_not_order() -> None:
    with pytest.raises(TypeError):
        sorted([Point(1), Point(2)])  # type: ignore[type-var]


def test_a_value_that_holds_something_mutable_has_no_hash() -> None:
    holder: Any = Point
    with pytest.raises(TypeError):
        hash(holder([]))


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        pytest.param((1, 2), {}, id="by position"),
        pytest.param((1,), {}, id="default"),
        pytest.param((1,), {"y": 2}, id="mixed"),
        pytest.param((), {"y": 2, "x": 1}, id="by name"),
    ],
)
def test_values_are_made_and_shown_as_dataclasses_are(
    arguments: tuple[int, ...], keywords: dict[str, int]
) -> None:
    made, standard = Point(*arguments, **keywords), StandardPoint(*arguments, **keywords)
    assert (made.x, made.y) == (standard.x, standard.y)
    assert repr(made) == repr(standard).removeprefix("Standard")


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        pytest.param((), {}, id="too few"),
        pytest.param((1, 2, 3), {}, id="too many"),
        pytest.param((1,), {"x": 1}, id="twice"),
        pytest.param((1,), {"z": 1}, id="unknown"),
        pytest.param((), {"y": 1}, id="only the default"),
    ],
)
@pytest.mark.parametrize("kind", [Point, StandardPoint])
def test_wrong_arguments_are_type_errors(
    kind: Any, arguments: tuple[int, ...], keywords: dict[str, int]
) -> None:
    with pytest.raises(TypeError):
        kind(*arguments, **keywords)


@pytest.mark.parametrize("name", ["x", "y", "z", "__class__"])
def test_nothing_can_be_set_or_deleted(name: str) -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        setattr(point, name, 3)
    with pytest.raises(AttributeError, match="frozen"):
        delattr(point, name)
    assert point == Point(1, 2)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Point(1), id="plain"),
        pytest.param(Place(1), id="with a field more"),
        pytest.param(Unchanged(1), id="with nothing more"),
        pytest.param(Empty(), id="without fields"),
        pytest.param(Square(2), id="with a derived field"),
        pytest.param(Rectangle(1), id="of an abstract class"),
    ],
)
def test_values_have_slots_and_no_dictionary(value: Frozen) -> None:
    assert not hasattr(value, "__dict__")
    assert isinstance(type(value).__slots__, tuple)  # type: ignore[attr-defined]


def test_a_subclass_adds_its_fields_after_the_inherited_ones() -> None:
    place = Place(1, 2, "home")
    assert (place.x, place.y, place.name) == (1, 2, "home")
    assert Place(1) == Place(1, 0, "somewhere")
    assert repr(Place(1)) == "Place(x=1, y=0, name='somewhere')"
    assert isinstance(place, Point)


def test_a_subclass_may_change_a_default() -> None:
    class Moved(Point):
        y: int = 7

    assert Moved(1).y == 7
    assert Point(1).y == 0
    assert Moved(1, 2).y == 2
    assert repr(Moved(1)).endswith("Moved(x=1, y=7)")


def test_replace_changes_some_fields_and_keeps_the_type() -> None:
    place = Place(1, 2, "home")
    assert place.replace(y=5) == Place(1, 5, "home")
    assert place == Place(1, 2, "home")
    assert place.replace() == place
    assert place.replace() is not place
    with pytest.raises(TypeError):
        place.replace(z=1)


def test_a_derived_field_follows_from_the_others_and_is_no_argument() -> None:
    assert Square(3).area == 9
    assert Square(3).replace(side=4).area == 16
    assert repr(Square(3)) == "Square(side=3)"
    assert Square(3) == Square(3)
    assert pickle.loads(pickle.dumps(Square(3))).area == 9
    assert copy.deepcopy(Square(3)).area == 9
    with pytest.raises(TypeError):
        Square(3, area=9)  # type: ignore[call-arg]
    assert (Cube(3).area, Cube(3).depth, Cube(3, 2).depth) == (9, 1, 2)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value",
    [Point(1, 2), Place(1, 2, "a"), Empty(), Square(3), Rectangle(2, 3)],
    ids=repr,
)
def test_values_survive_pickling_and_copying(value: Frozen, protocol: int) -> None:
    for twin in (
        pickle.loads(pickle.dumps(value, protocol)),
        copy.copy(value),
        copy.deepcopy(value),
    ):
        assert twin == value
        assert type(twin) is type(value)
        assert hash(twin) == hash(value)


def test_a_deep_copy_shares_nothing_mutable() -> None:
    holder: Any = Point
    value = holder([1])
    twin = copy.deepcopy(value)
    twin.x.append(2)
    assert value.x == [1]


def test_an_abstract_class_is_implemented_and_one_that_is_not_cannot_be_made() -> None:
    rectangle = Rectangle(2, 3)
    assert isinstance(rectangle, Shape)
    assert (rectangle.area(), rectangle.name) == (6, "rectangle")
    incomplete: Any = Nameless
    with pytest.raises(TypeError, match="abstract"):
        incomplete(1)


def test_values_match_patterns_by_name() -> None:
    match Place(1, 2, "home"):
        case Point(x=1, y=y):
            assert y == 2
        case _:
            pytest.fail("it is a Point")


def test_a_field_without_default_after_one_with_is_refused() -> None:
    with pytest.raises((TypeError, SyntaxError)):
        FrozenMeta("Wrong", (Frozen,), {"__annotations__": {"a": "int", "b": "int"}, "a": 1})
