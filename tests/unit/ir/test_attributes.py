"""Changes inside of attributes, at any depth."""

from dataclasses import dataclass, field

from rlx.ir.attributes import map_attribute


@dataclass(frozen=True)
class Box:
    """An attribute with others inside of it, and one that is computed."""

    content: object
    label: str = "box"
    size: int = field(init=False, default=3)


def doubled(value):
    return 2 * value if isinstance(value, int) else value


def test_numbers_are_changed_wherever_they_are():
    assert map_attribute((1, (2, Box((3, "a")))), doubled) == (2, (4, Box((6, "a"))))


def test_what_has_nothing_to_change_stays_itself():
    value = ("a", (Box(("b",)),))
    assert map_attribute(value, doubled) is value


def test_only_changed_parts_are_made_anew():
    kept, changed = Box("a"), Box(1)
    found = map_attribute((kept, changed), doubled)
    assert found[0] is kept
    assert found[1] == Box(2)


def test_what_takes_the_place_of_a_value_is_not_looked_into():
    assert map_attribute((1,), lambda v: (v, v) if v == 1 else v) == ((1, 1),)
