"""The text form: what it looks like, that it reads back, and what it refuses."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Constant, Dim, DType, Graph, QuantParams, TensorType, f32, i8
from rlx.ir.parser import MAX_DEPTH, parse_graph, parse_op, parse_type
from rlx.ir.printer import format_graph, format_node, format_op, format_type
from rlx.ops.q import QClamp, QTable
from rlx.support.errors import TextFormError
from strategies import random_graphs
from support.messages import raises
from support.networks.ir_samples import (
    HOSTILE,
    SAMPLES,
    clamp_graph,
    every_element_type,
    network,
    regions,
    several_results,
)

TINY = """\
graph "tiny" {
  %0 = core.input() : i8[1, 4] q(0.5, -3) name "x" from "tiny.tflite" at "input 0"
  %1 = q.clamp(%0) {low=-3, high=127} : i8[1, 4] q(0.5, -3) name "relu" from "tiny.tflite" \
at "operator 0 RELU" by "fuse-clamps"
  return %1 "y"
}
"""


def same(a, b):
    """Whether two graphs are equal in everything: nodes, constants, names, origins."""
    assert a.name == b.name
    assert a.output_names == b.output_names
    assert [(v.node.index, v.index) for v in a.outputs] == [
        (v.node.index, v.index) for v in b.outputs
    ]
    for x, y in zip(a.nodes, b.nodes, strict=True):
        assert (x.types, x.name, x.origin) == (y.types, y.name, y.origin)
        assert [(o.node.index, o.index) for o in x.operands] == [
            (o.node.index, o.index) for o in y.operands
        ]
        if isinstance(x.op, Constant):
            assert x.op.value.tobytes() == y.op.value.tobytes()
            assert not y.op.value.flags.writeable
        elif x.op.name.startswith("core."):
            assert type(x.op) is type(y.op)
        else:
            assert x.op == y.op


def test_text_of_a_small_graph():
    assert format_graph(clamp_graph()) == TINY
    assert str(clamp_graph()) == TINY


def test_text_abbreviates_constants_and_long_lists_for_reading():
    graph = network()
    graph.output(graph.apply(QTable(table=tuple(range(-128, 128))), graph.inputs[0]))
    text = str(graph)
    assert re.search(r"%1 = core.constant\(\) \{value=dense<\.\.\.[0-9a-f]{12}>\}", text)
    assert "%5 = core.constant() {value=dense<...b9bc8f6c1bbb>}" in text or "matrix" in text
    assert (
        '{table=[-128, -127, -126, -125, -124, -123, -122, -121, ...248 more], function=""}' in text
    )
    assert max(map(len, text.splitlines())) < 400


def test_text_names_results_of_nodes_that_have_several():
    text = format_graph(several_results())
    assert "  %3:2 = real.top_k(%2) {count=2, axis=-1, smallest=false} : " in text
    assert ' : f32[N, "not a word", 2], i32[N, ' in text
    assert '\n  return %3:1 "indices", %3:0 ' in text
    assert text.isascii()


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_text_reads_back(make):
    graph = make()
    text = format_graph(graph)
    restored = parse_graph(text)
    same(graph, restored)
    assert format_graph(restored) == text


@given(random_graphs())
def test_text_of_networks_reads_back(case):
    same(case.graph, parse_graph(format_graph(case.graph)))


def test_small_constants_are_numbers_and_large_ones_base64():
    lines = format_graph(every_element_type()).splitlines()
    found = {
        line.partition(": ")[2]: line.partition("value=")[2].partition("}")[0] for line in lines
    }
    assert re.fullmatch(r"dense<\[(-?[0-9]+(, )?){6}\]>", found["i2[2, 3]"])
    assert re.fullmatch(r"dense<\[((true|false)(, )?){6}\]>", found["bool[2, 3]"])
    assert found["f8e4m3[0, 3]"] == "dense<[]>"
    assert re.fullmatch(r'dense<"[A-Za-z0-9+/=]+">', found["i4[5, 7]"])
    assert found["c64[]"].startswith('dense<"')


def test_what_is_small_and_what_is_short():
    graph = Graph("g")
    graph.output(*(graph.constant(np.zeros(n, np.int8)) for n in (16, 17)))
    small, large = format_graph(graph).splitlines()[1:3]
    assert "dense<[0, 0, " in small
    assert 'dense<"AAAA' in large
    tables = [QTable(table=(7,) * n) for n in (16, 17)]
    assert [format_op(t, full=False).count("7") for t in tables] == [16, 8]
    assert format_op(tables[1], full=False).startswith(
        "q.table {table=[7, 7, 7, 7, 7, 7, 7, 7, ...9"
    )
    assert format_op(tables[1]).count("7") == 17


def test_lines_are_abbreviated_types_and_ops_are_not_unless_asked():
    type_ = i8(20, quant=QuantParams((0.5,) * 20, (0,) * 20, 0))
    graph = Graph("g")
    node = graph.input("x", type_).node
    assert format_node(node).startswith("%0 = core.input() : i8[20] q(axis=0, 0.5:0, ")
    assert "...12 more)" in format_node(node)
    assert "..." not in format_node(node, full=True)
    assert "..." not in format_type(type_)
    assert format_type(type_, full=False).endswith("...12 more)")


@pytest.mark.parametrize("size", [0, 2**31 - 1])
def test_dimensions_have_bounds(size):
    assert parse_type(f"i8[{size}]") == i8(size)


@pytest.mark.parametrize("opening", ["[", "A(x="])
def test_nesting_has_a_bound(opening):
    def text(depth):
        return (
            "q.clamp {low=" + opening * depth + "1" + ("]" if opening == "[" else ")") * depth + "}"
        )

    with raises(TextFormError):
        parse_op(text(MAX_DEPTH))
    with raises(TextFormError):
        parse_op(text(MAX_DEPTH + 1))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=16))
def test_float_constants_read_back_to_the_bit(values):
    graph = Graph("floats")
    graph.output(graph.constant(np.array(values, np.float32)))
    same(graph, parse_graph(format_graph(graph)))


@given(st.text(), st.text())
def test_any_name_reads_back(name, symbol):
    graph = Graph(name)
    graph.output(graph.input(name, f32(Dim(symbol))), names=[symbol])
    same(graph, parse_graph(format_graph(graph)))


def test_comments_blank_lines_and_free_identifiers_are_read():
    graph = parse_graph(
        """
        # what it is
        graph "g" { %x = core.input() : i8[2] name "x"   # the input
          %y = q.clamp(%x) {low=0} : i8[2]
          return %y "y" }
        """
    )
    assert graph.nodes[1].op == QClamp(low=0, high=127)


@pytest.mark.parametrize(
    "type_",
    [
        f32(),
        i8(1, 0, 3),
        TensorType((Dim("N"), Dim("a b"), Dim("true")), DType.BF16),
        i8(2, quant=QuantParams((0.1, 1e-30), (0, -7), 0)),
        i8(2, quant=QuantParams.per_tensor(3.0, 4)),
    ],
)
def test_type_reads_back(type_):
    assert parse_type(format_type(type_)) == type_


def test_op_reads_back():
    op = QClamp(low=-5, high=5)
    assert format_op(op) == "q.clamp {low=-5, high=5}"
    assert parse_op(format_op(op)) == op


def in_graph(line):
    return f'graph "g" {{\n  %0 = core.input() : i8[2] name "x"\n  {line}\n  return %0 "y"\n}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "graph g",
        'graph "g" {',
        'graph "g" { return } x',
        'graph "\\q" {',
        'graph "a\nb" {',
        in_graph("%1 = q.clmap(%0) : i8[2]"),
        in_graph("%1 = q.clamp(%7) : i8[2]"),
        in_graph("%1 = q.clamp(%0:1) : i8[2]"),
        in_graph("%0 = q.clamp(%0) : i8[2]"),
        in_graph("%1 = q.clamp(%0) : i8[3]"),
        in_graph("%1:2 = q.clamp(%0) : i8[2], i8[2]"),
        in_graph("%1:99999 = q.clamp(%0) : i8[2]"),
        in_graph("%1 = q.clamp(%0, %0) : i8[2]"),
        in_graph("%1 = q.clamp(%0) {low=200} : i8[2]"),
        in_graph("%1 = q.clamp(%0) {low=1.5} : i8[2]"),
        in_graph("%1 = q.clamp(%0) {low=true} : i8[2]"),
        in_graph("%1 = q.clamp(%0) {lo=1} : i8[2]"),
        in_graph("%1 = q.clamp(%0) {low=1, low=2} : i8[2]"),
        in_graph("%1 = q.clamp(%0) {low=dense<[1]>} : i8[2]"),
        in_graph("%1 = q.argmax(%0) {axis=4} : i32[]"),
        in_graph("%1 = q.slice(%0) {start=[0], stop=[2], step=[x]} : i8[2]"),
        in_graph("%1 = q.slice(%0) {start=[0], stop=[2]} : i8[2]"),
        in_graph("%1 = q.max_pool2d(%0) {window=Window(kernel=[2])} : i8[2]"),
        in_graph("%1 = q.max_pool2d(%0) {window=Path(kernel=[2])} : i8[2]"),
        in_graph("%1 = q.max_pool2d(%0) {window=Window(kernel=[2, 2], kernel=[2, 2])} : i8[2]"),
        in_graph("%1 = q.requantize(%0) {x_zero_point=0, zero_point=0,"
                  " rescale=Rescale(multiplier=[1], shift=[])} : i8[2]"),
        in_graph("%1 = core.input() {x=1} : i8[2]"),
        in_graph("%1 = core.constant() : i8[2]"),
        in_graph("%1:2 = core.constant() {value=dense<[1]>} : i8[1], i8[1]"),
        in_graph("%1 = core.constant() {value=dense<[1, 2, 3]>} : i8[2]"),
        in_graph("%1 = core.constant() {value=dense<[1, 128]>} : i8[2]"),
        in_graph("%1 = core.constant() {value=dense<[1, true]>} : i8[2]"),
        in_graph("%1 = core.constant() {value=dense<[1e39]>} : f32[1]"),
        in_graph('%1 = core.constant() {value=dense<"AAA=">} : i8[3]'),
        in_graph('%1 = core.constant() {value=dense<"CA==">} : i4[1]'),
        in_graph('%1 = core.constant() {value=dense<"Ag==">} : bool[1]'),
        in_graph('%1 = core.constant() {value=dense<"A">} : i8[1]'),
        in_graph("%1 = core.constant() {value=dense<[1]>} : i9[1]"),
        in_graph("%1 = core.input() : i8[-1]"),
        in_graph("%1 = core.input() : i8[99999999999]"),
        in_graph("%1 = core.input() : i8[1.5]"),
        in_graph("%1 = core.input() : i8[2] q(0.0, 1)"),
        in_graph("%1 = core.input() : i8[2] q(inf, 1)"),
        in_graph(f"%1 = core.input() : i8[{'9' * 500}]"),
        in_graph(f"%1 = q.clamp(%0) {{low={'[' * (MAX_DEPTH + 2)}"),
        in_graph("%1 = q.reshape(%0) {shape=[1" + "0" * 100 + "]} : i8[2]"),
        in_graph("%1 = q.slice(%0) {start=[0], stop=[2], step=[1] : i8[2]"),
        in_graph("%1 = q.clamp(%0) : i8[2] by fuse"),
        in_graph("@")
    ],
    ids=lambda text: text[:60] if text.startswith("line") else "",
)  # fmt: skip
def test_malformed_text_is_refused(text):
    with raises(TextFormError):
        parse_graph(text)


def test_abbreviated_text_is_refused():
    with raises(TextFormError):
        parse_graph(str(network()))
    with raises(TextFormError):
        parse_op(format_op(QTable(table=(1,) * 256), full=False).replace("1, " * 7, ""))
    with raises(TextFormError):
        parse_type("i8[4] q(axis=0, 0.1:0, ...3 more)")


def test_op_without_a_type_is_refused():
    with raises(TextFormError):
        parse_op("core.input")


@given(st.data())
def test_damaged_text_is_read_or_refused(data):
    samples = clamp_graph(), network(), several_results(), regions()
    text = format_graph(data.draw(st.sampled_from(samples)))
    place = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 9))
    insert = data.draw(
        st.sampled_from(["", "[", "(", '"', "%", "9", "-", ".", "...", "q", "\n", ","])
    )
    seen = []
    try:
        parse_graph(text[:place] + insert + text[place + length :])
    except TextFormError as e:
        seen.append(e.where)  # typed, so all is well


def test_attribute_of_another_type_cannot_be_printed():
    graph = Graph("g")
    x = graph.input("x", i8(2))
    graph.output(graph.apply(QClamp(low=np.int64(3)), x))
    with raises(ValueError):
        format_graph(graph)


def test_hostile_names_are_escaped():
    text = format_graph(several_results())
    assert HOSTILE not in text
    assert "\x1b" not in text
    assert len(text.splitlines()) == 7
