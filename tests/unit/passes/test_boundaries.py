"""Graphs with the inputs and outputs of an emitted program, against the graphs they came from."""

import numpy as np
import pytest

from rlx.driver.reference import random_inputs, reference_outputs
from rlx.ir import DType, Graph, QuantParams, TensorType, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import CODE_RANGE, QArgmax, QClamp, QConvert, QRequantize
from rlx.ops.real import RealDequantize, RealQuantize, RealTanh, Ties
from rlx.passes.boundaries import PortKind, only_quantizer, with_ports
from rlx.support.errors import QuantizationError, UnsupportedOpError
from support.messages import raises

KINDS = [kind for kind in PortKind if kind is not PortKind.MODEL]
INNER = QuantParams.per_tensor(0.5, 3)
OUTER = QuantParams.per_tensor(0.25, -7)


def moved(quant, by):
    return QuantParams.per_tensor(quant.scale[0], quant.zero_point[0] + by)


def float_graph(dtype=DType.I8, ties=Ties.AWAY):
    """Floats in and out; between them int8, whatever the type at the ends."""
    by = 128 if dtype is DType.U8 else 0
    g = Graph("net")
    x = g.input("x", f32(2, 5))
    ends = moved(INNER, by), moved(OUTER, by)
    quantized = g.apply(RealQuantize(quant=ends[0], dtype=dtype, ties=ties), x, name="quantize")
    y = body(g, quantized, *ends)
    g.output(g.apply(RealDequantize(quant=ends[1]), y, name="dequantize"), names=["y"])
    return g


def integer_graph(dtype=DType.I8):
    by = 128 if dtype is DType.U8 else 0
    g = Graph("net")
    ends = moved(INNER, by), moved(OUTER, by)
    g.output(body(g, g.input("x", TensorType((2, 5), dtype, ends[0])), *ends), names=["y"])
    return g


def body(g, value, first, last):
    """Append a clamp and a change of scale, on int8."""
    dtype = value.type.dtype
    if dtype is not DType.I8:
        value = converted(g, value, first, INNER, DType.I8)
    value = g.apply(QClamp(low=-100, high=90), value, quant=INNER)
    op = QRequantize(x_zero_point=3, rescale=Rescale.of(2.0), zero_point=-7)
    value = g.apply(op, value, quant=OUTER)
    return value if dtype is DType.I8 else converted(g, value, OUTER, last, dtype)


def converted(g, value, old, new, dtype):
    op = QConvert(
        x_zero_point=old.zero_point[0],
        rescale=Rescale.of(old.scale[0] / new.scale[0]),
        zero_point=new.zero_point[0],
        dtype=dtype,
    )
    return g.apply(op, value, quant=new)


def ops(graph):
    return [node.op.name for node in graph.op_nodes]


GRAPHS = {
    "float, int8 inside": float_graph,
    "float, uint8 inside": lambda: float_graph(DType.U8),
    "float, ties to even": lambda: float_graph(ties=Ties.EVEN),
    "int8": integer_graph,
    "uint8": lambda: integer_graph(DType.U8),
    "int16": lambda: integer_graph(DType.I16),
}
TYPES = {PortKind.INT8: DType.I8, PortKind.UINT8: DType.U8, PortKind.FLOAT: DType.F32}


def test_the_ends_of_the_model_are_left_alone():
    for make in GRAPHS.values():
        graph = make()
        ported = with_ports(graph, PortKind.MODEL)
        assert ported.graph is graph
        assert (ported.changes, ported.conversions) == ((), ((),))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_the_ends_change_and_what_is_computed_does_not(name, kind):
    graph = GRAPHS[name]()
    ported = with_ports(graph, kind)
    (x,), (y,) = ported.graph.inputs, ported.graph.outputs
    wanted = DType.I16 if name == "int16" and kind is not PortKind.FLOAT else TYPES[kind]
    assert (x.type.dtype, y.type.dtype) == (wanted, wanted)
    assert (x.name, ported.graph.output_names) == ("x", ("y",))
    inputs = random_inputs(graph, 40)
    before, after = (
        reference_outputs(g, i).outputs[0]
        for g, i in ((graph, inputs), (ported.graph, ported.converted(inputs)))
    )
    assert np.array_equal(steps(before, graph.outputs[0]), steps(after, y))


def steps(array, value):
    """Return numbers as steps of the output's scale."""
    if value.type.dtype is DType.F32:
        return array / np.float32(OUTER.scale[0])
    return array.astype(np.float32) - value.type.quant.zero_point[0]


def test_conversions_are_taken_off_and_nothing_is_put_in_their_place():
    for dtype in (DType.I8, DType.U8):
        ported = with_ports(float_graph(dtype), PortKind.INT8)
        assert ops(ported.graph) == ["q.clamp", "q.requantize"]
        assert ported.graph.inputs[0].type == i8(2, 5, quant=INNER)
        assert ported.graph.outputs[0].type == i8(2, 5, quant=OUTER)
        assert [str(change) for change in ported.changes] == [
            "input 'x' is int8 (the conversion from float32 was removed): real = 0.5 * (q - 3)",
            "output 'y' is int8 (the conversion to float32 was removed): real = 0.25 * (q + 7)",
        ]
    assert ops(with_ports(integer_graph(DType.U8), PortKind.INT8).graph) == [
        "q.clamp", "q.requantize",
    ]  # fmt: skip


def test_a_graph_whose_ends_fit_stays_the_same_object():
    for graph, kind in (
        (float_graph(), PortKind.FLOAT),
        (integer_graph(), PortKind.INT8),
        (integer_graph(DType.U8), PortKind.UINT8),
    ):
        ported = with_ports(graph, kind)
        assert ported.graph is graph
        assert ported.changes == ()


def test_what_is_added_says_so():
    taken = with_ports(integer_graph(), PortKind.UINT8)
    assert [str(change) for change in taken.changes] == [
        "input 'x' is uint8 (uint8 = int8 + 128): real = 0.5 * (q - 131)",
        "output 'y' is uint8 (uint8 = int8 + 128): real = 0.25 * (q - 121)",
    ]
    real = with_ports(integer_graph(), PortKind.FLOAT)
    assert [str(change) for change in real.changes] == [
        "input 'x' is float32 (the program converts to int8): real = 0.5 * (q - 3)",
        "output 'y' is float32 (the program converts from int8): real = 0.25 * (q + 7)",
    ]


def test_a_change_of_scale_from_uint8_becomes_one_from_int8():
    g = Graph("net")
    x = g.input("x", TensorType((256,), DType.U8, moved(INNER, 128)))
    g.output(converted(g, x, moved(INNER, 128), OUTER, DType.I8), names=["y"])
    ported = with_ports(g, PortKind.INT8)
    assert ops(ported.graph) == ["q.requantize"]
    every = np.arange(256).astype(np.uint8)
    (wanted,) = evaluate(g, {"x": every})
    (found,) = evaluate(ported.graph, {"x": (every ^ 0x80).view(np.int8)})
    assert np.array_equal(found, wanted)


def test_an_input_that_goes_out_again():
    g = Graph("net")
    x = g.input("x", TensorType((3,), DType.U8))
    g.output(x, names=["y"])
    ported = with_ports(g, PortKind.INT8)
    assert ops(ported.graph) == []
    assert ported.graph.outputs == ported.graph.inputs


def test_other_integers_and_constants_stay():
    g = Graph("net")
    x = g.input("x", i8(2, 5, quant=INNER))
    constant = g.constant(np.zeros(3, np.int8))
    g.output(g.apply(QArgmax(axis=-1), x), constant)
    for kind in KINDS:
        types = [v.type.dtype for v in with_ports(g, kind).graph.outputs]
        assert types == [DType.I32, DType.I8]


def test_an_output_gets_the_parameters_of_its_conversion():
    g = Graph("net")
    x = g.input("x", i8(4))
    clamped = g.apply(QClamp(low=0), x)
    g.output(g.apply(RealDequantize(quant=OUTER), clamped))
    (y,) = with_ports(g, PortKind.INT8).graph.outputs
    assert y.type == i8(4, quant=OUTER)


def test_random_inputs_reach_every_value_and_what_saturates():
    graph = float_graph()
    (x,) = random_inputs(graph, 400)
    assert x.dtype == np.float32
    exact = x / np.float32(INNER.scale[0]) + INNER.zero_point[0]
    assert exact.min() < -128
    assert exact.max() > 127
    assert (exact % 1 == 0.5).any()
    (values,) = only_quantizer(graph, graph.inputs[0]).evaluate(x)
    assert len(np.unique(values)) == 256


def two_ways():
    g = Graph("net")
    x = g.input("x", f32(4))
    for quant in (INNER, OUTER):
        g.output(g.apply(RealQuantize(quant=quant), x))
    return g


def by_channel():
    g = Graph("net")
    quant = QuantParams((0.5, 0.25), (0, 0), axis=0)
    g.output(g.apply(RealQuantize(quant=quant), g.input("x", f32(2))))
    return g


@pytest.mark.parametrize(
    "make",
    [two_ways, by_channel],
)
def test_a_conversion_that_no_scale_can_stand_for_is_refused(make):
    for kind in (PortKind.INT8, PortKind.UINT8):
        with raises(UnsupportedOpError):
            with_ports(make(), kind)


def test_values_without_a_scale_cannot_become_real_numbers():
    g = Graph("net")
    g.output(g.apply(QClamp(), g.input("x", i8(4))))
    with raises(QuantizationError):
        with_ports(g, PortKind.FLOAT)


def test_a_network_of_real_numbers_is_left_alone():
    g = Graph("net")
    x = g.input("x", f32(4))
    g.output(g.apply(RealTanh(), x), g.apply(RealQuantize(quant=INNER), x))
    assert only_quantizer(g, x) is None
    assert with_ports(g, PortKind.INT8).graph is g


def test_ranges_of_the_types_are_numpys():
    for dtype, (low, high) in CODE_RANGE.items():
        limits = np.iinfo(dtype.numpy)
        assert (low, high) == (limits.min, limits.max)
