"""The text form of small graphs, in which what has its default is left out."""

import re

import numpy as np
import pytest
from hypothesis import given

import rlx
from rlx.ir import Graph, i8, i32
from rlx.ir.compact import WIDTH, format_compact
from rlx.ir.parser import parse_graph
from rlx.ir.payload import MAX_SEEDED, seeded
from rlx.ir.printer import format_graph
from rlx.ir.types import DType, TensorType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QConv2d, Window
from rlx.support.errors import TextFormError
from strategies import random_graphs
from support.messages import raises


def conv():
    graph = Graph("conv")
    x = graph.input("an input with a name that is long", i8(1, 4, 4, 8))
    w, b = graph.constant(seeded(1, i8(8, 3, 3, 8))), graph.constant(np.zeros(24, np.int32)[:8])
    op = QConv2d(window=Window((3, 3)), x_zero_point=3, rescale=Rescale.of(0.5), zero_point=0)
    y = graph.apply(op, x, w, b, name="a layer with a name that is so long that its line ends")
    graph.output(graph.apply(QClamp(low=-128, high=5), y), names=["y"])
    return graph


def test_what_has_its_default_is_left_out():
    assert format_compact(conv()) == (
        'graph "conv" {\n'
        '  %0 = core.input() : i8[1, 4, 4, 8] name "an input with a name that is long"\n'
        "  %1 = core.constant() {value=dense<seed 1>} : i8[8, 3, 3, 8]\n"
        "  %2 = core.constant() {value=dense<all 0>} : i32[8]\n"
        "  %3 = q.conv2d(%0, %1, %2) {window=Window(kernel=[3, 3]), x_zero_point=3,"
        " rescale=Rescale(multiplier=[1073741824],\n"
        "      shift=[0]), zero_point=0} : i8[1, 2, 2, 8]"
        ' name "a layer with a name that is so long that its line ends"\n'
        "  %4 = q.clamp(%3) {high=5} : i8[1, 2, 2, 8]\n"
        '  return %4 "y"\n'
        "}\n"
    )


def assert_reads_back(graph):
    text = format_compact(graph)
    assert format_graph(parse_graph(text)) == format_graph(graph)
    return text


@given(random_graphs())
def test_networks_read_back(case):
    assert_reads_back(case.graph)


def test_regions_and_lists_read_back():
    traced = rlx.trace(
        "loop", lambda x: rlx.while_loop(lambda v: v.sum() < 30.0, lambda v: v + 1.0, x),
        rlx.f32(40),
    )  # fmt: skip
    assert "core.while" in assert_reads_back(traced.graph)


def test_digits_fit_the_width():
    from support import ROOT

    text = assert_reads_back(rlx.load(ROOT / "examples" / "digits" / "digits.rlx").graph)
    data = re.compile(r'dense<"[^"]*">')
    lines = [data.sub("dense<...>", line) for line in text.splitlines()]
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("dtype", [d for d in DType if d.is_integer or d.is_float], ids=str)
def test_seeded_elements_read_back(dtype):
    type_ = TensorType((5, 7), dtype)
    array = seeded(3, type_)
    graph = Graph("g")
    graph.output(graph.constant(array))
    assert "dense<seed 3>" in assert_reads_back(graph)
    assert len(np.unique(array.astype(np.float64))) > min(3, array.size // 2)


def test_seeds_make_the_same_on_every_machine():
    assert seeded(0, i8(6)).tolist() == [40, 30, -35, 56, 9, 31]
    assert seeded(1, i32(3)).tolist() == [-708, 897, 435]


@pytest.mark.parametrize(
    ("dense", "type_"),
    [
        ("seed -1", "i8[2]"),
        ("seed 1", f"i8[{MAX_SEEDED + 1}]"),
        ("seed 1", "bool[2]"),
        ("all 1", "i8[99999, 99999]"),
        ("all 300", "i8[2]"),
        ("all 1, 2", "i8[2]"),
        ("seed 1", "i8[n]"),
    ],
)
def test_what_makes_no_constant_is_refused(dense, type_):
    text = (
        f'graph "g" {{\n %0 = core.constant() {{value=dense<{dense}>}} : {type_}\n return %0 "y" }}'
    )
    with raises(TextFormError):
        parse_graph(text)
