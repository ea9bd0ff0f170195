"""Attributes as plain data, by annotation."""

import enum
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir.plain import (
    PlainError,
    PlainRecord,
    codec,
    decode_record,
    encode_fields,
    from_json,
    is_word,
    symbol_of,
    to_json,
)
from support.messages import raises


class Color(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"
    TRUE = "true"
    NUMBER = 3


@dataclass(frozen=True, kw_only=True)
class Point:
    x: int
    y: float = 0.5
    label: str | None = None


@dataclass(frozen=True)
class Path:
    points: tuple[Point, ...]
    size: tuple[int, float]
    color: Color | Point = Color.RED
    mode: Literal["a", 1, True] = "a"
    closed: bool = False
    tags: tuple[str, ...] = field(default=())

    def __post_init__(self):
        if len(self.points) == 13:
            raise ValueError("13 points")


PATH = Path((Point(x=1), Point(x=-2, y=math.inf, label="é")), (3, 4.0), Point(x=0), True, True)


def test_fields_become_plain_values():
    assert encode_fields(PATH) == {
        "points": (
            PlainRecord("Point", {"x": 1, "y": 0.5, "label": None}),
            PlainRecord("Point", {"x": -2, "y": math.inf, "label": "é"}),
        ),
        "size": (3, 4.0),
        "color": PlainRecord("Point", {"x": 0, "y": 0.5, "label": None}),
        "mode": True,
        "closed": True,
        "tags": (),
    }


def test_plain_values_become_the_same_instance_again():
    assert decode_record(Path, encode_fields(PATH)) == PATH
    text = json.dumps({k: to_json(v) for k, v in encode_fields(PATH).items()}, allow_nan=False)
    plain = {k: from_json(v) for k, v in json.loads(text).items()}
    assert decode_record(Path, plain) == PATH


def test_what_is_left_out_has_its_default():
    assert decode_record(Path, {"points": (), "size": (1, 2.0)}) == Path((), (1, 2.0))


def test_integer_is_a_number_and_becomes_a_float():
    assert codec(float).encode(3) == 3.0
    assert type(codec(float).encode(3)) is float
    assert type(codec(float).decode(-3)) is float


@pytest.mark.parametrize(
    ("member", "symbol"),
    [(Color.RED, "red"), (Color.DARK_BLUE, "DARK_BLUE"), (Color.TRUE, "TRUE"),
     (Color.NUMBER, "NUMBER")],
)  # fmt: skip
def test_symbol_of_a_member_is_a_word(member, symbol):
    assert symbol_of(member) == symbol
    assert codec(Color).decode(PlainRecord(symbol)) is member


@pytest.mark.parametrize("word", ["a", "_1", "q.clamp", "x0"])
def test_words(word):
    assert is_word(word)


@pytest.mark.parametrize("word", ["", "1", "a b", "a.", "true", "dense", "a\n", "é"])
def test_no_words(word):
    assert not is_word(word)


GOOD = {"points": (), "size": (1, 2.0)}


@pytest.mark.parametrize(
    "change",
    [
        {"points": 1},
        {"points": (1,)},
        {"points": (PlainRecord("Path"),)},
        {"points": (PlainRecord("Point"),)},
        {"points": (PlainRecord("Point", {"x": 1, "z": 1}),)},
        {"points": (PlainRecord("Point", {"x": True}),)},
        {"points": (PlainRecord("Point", {"x": 1, "y": "1"}),)},
        {"points": (PlainRecord("Point", {"x": 1, "y": 10**400}),)},
        {"points": (PlainRecord("Point", {"x": 1, "label": 7}),)},
        {"points": (PlainRecord("Point", {"x": 1}),) * 13},
        {"size": (1,)},
        {"size": (1, None)},
        {"color": PlainRecord("green")},
        {"color": PlainRecord("Point", {"x": "y"})},
        {"mode": "b"},
        {"mode": 1.0},
        {"closed": 1},
    ],
)
def test_other_values_are_refused(change):
    with raises(PlainError):
        decode_record(Path, {**GOOD, **change})


def test_instance_with_wrong_fields_is_refused():
    with raises(PlainError):
        encode_fields(Point(x=[]))
    with raises(PlainError):
        encode_fields(Path((Point(x=1.5),), (1, 2.0)))
    with raises(PlainError):
        encode_fields(Path((), (1, 2.0), "red"))


@pytest.mark.parametrize("annotation", [list[int], dict[str, int], Any, object, bytes])
def test_other_annotations_are_refused(annotation):
    with raises(TypeError):
        codec(annotation)


def test_json_object_without_a_class_is_refused():
    with raises(PlainError):
        from_json({"x": 1})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner).map(tuple)
        | st.builds(
            PlainRecord,
            st.sampled_from(["Point", "red"]),
            st.dictionaries(st.text(min_size=1).filter(lambda k: k != "@"), inner),
        )
    ),
    max_leaves=10,
)


@given(PLAIN)
def test_json_round_trip_of_any_plain_value(plain):
    assert from_json(json.loads(json.dumps(to_json(plain), allow_nan=False))) == plain
