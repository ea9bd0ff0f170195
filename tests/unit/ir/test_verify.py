"""The verifier: sound graphs pass, and each kind of damage is named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rlx.ir import (
    Constant,
    Dim,
    Graph,
    GraphModule,
    Node,
    QuantParams,
    Stage,
    Value,
    f32,
    i8,
)
from rlx.ir.verify import MAX_PROBLEMS, problems, verify
from rlx.ops.checks import accumulator_bound
from rlx.ops.nn import NnRelu
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QClamp, QDense, QReshape, QSoftmax
from rlx.ops.real import RealBroadcastTo, RealNeg
from rlx.support.errors import VerifyError
from strategies import random_graphs
from support.messages import raises
from support.networks.ir_samples import SAMPLES, clamp_graph, network

PER_TENSOR = QuantParams.per_tensor


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_sound_graphs_pass(make):
    graph = make()
    for stage in (Stage.HIR, Stage.MIR):
        verify(GraphModule(graph, stage))


@given(random_graphs())
def test_networks_pass(case):
    verify(GraphModule(case.graph, Stage.MIR))


def damage(graph, place, /, **changes):
    """Change fields of a node, as no method of a graph would."""
    for name, value in changes.items():
        object.__setattr__(graph.nodes[place], name, value)
    return graph


def check(graph, message, stage=Stage.MIR):
    assert problems(GraphModule(graph, stage)) == [message]
    with raises(VerifyError):
        verify(GraphModule(graph, stage))


def source(type_=None):
    graph = Graph("tiny")
    return graph, graph.input("x", type_ or i8(2, quant=PER_TENSOR(0.5, 3)))


def test_operand_must_be_defined_before():
    graph, x = source()
    graph.apply(QClamp(), x)
    graph.output(x)
    late = Value(Node(7, QClamp(), (), (i8(2),), "late"))
    check(damage(graph, 1, operands=(late,)), "%1 reads %7 'late', which is not defined before it")


def test_operand_must_not_come_later():
    graph, x = source()
    graph.apply(QClamp(), x)
    z = graph.apply(QClamp(), x)
    graph.output(x)
    check(damage(graph, 1, operands=(z,)), "%1 reads %2, which is not defined before it")


def test_result_of_an_operand_must_exist():
    graph, x = source()
    graph.output(graph.apply(QClamp(), x))
    bad = damage(graph, 1, operands=(Value(x.node, 1),))
    assert problems(GraphModule.mir(bad)) == ["%1 reads %0 'x', which is not defined before it"]


def test_index_is_the_place():
    graph, x = source()
    graph.output(x)
    assert problems(GraphModule.mir(damage(graph, 0, index=3))) == [
        "%3 'x' stands at place 0",
        "output %3 'x' is not defined",
    ]


def test_graph_needs_an_output():
    graph, _ = source()
    check(graph, "the graph has no output")


def test_outputs_need_names():
    graph, x = source()
    graph.output(x)
    graph._output_names.append("second")
    check(graph, "1 outputs have 2 names")


def test_inputs_need_distinct_names():
    graph, _ = source()
    graph.output(graph.input("x", i8(2)))
    check(graph, "%1 'x' shares its name with another input or parameter")
    graph, _ = source()
    graph.output(graph.param("", i8(2)))
    check(graph, "%1 needs a name, since its value is given by name")


@pytest.mark.parametrize(
    ("op", "type_", "allowed"),
    [(NnRelu(), f32(2), {Stage.HIR}), (RealNeg(), f32(2), {Stage.HIR, Stage.MIR}),
     (QClamp(), i8(2), {Stage.HIR, Stage.MIR})],
    ids=["nn", "real", "q"],
)  # fmt: skip
def test_stages_allow_dialects(op, type_, allowed):
    graph, x = source(type_)
    graph.output(graph.apply(op, x))
    for stage in (Stage.HIR, Stage.MIR):
        if stage in allowed:
            verify(GraphModule(graph, stage))
        else:
            check(graph, f"%1: {op.name} does not belong to stage {stage.value}", stage)


def test_attributes_must_be_as_annotated():
    graph, x = source()
    graph.output(graph.apply(QClamp(low=np.int32(3)), x))
    check(graph, "%1: q.clamp: low must be an integer, got int32 3")


def test_types_must_be_inferred():
    graph, x = source(i8(2))
    graph.output(graph.apply(QClamp(), x, name="c"))
    check(damage(graph, 1, types=(i8(3),)), "%1 'c': expected i8[2] of q.clamp, got i8[3]")
    check(damage(graph, 1, types=(i8(2), i8(2))), "%1 'c': expected 1 result of q.clamp, got 2")


def test_shapes_must_fit():
    graph, x = source(i8(2))
    graph.output(graph.apply(QReshape(shape=(1, 2)), x))
    check(
        damage(graph, 1, op=QReshape(shape=(1, 3))),
        "%1: q.reshape: i8[2] does not have the elements of shape [1, 3]",
    )


def test_inferred_quantization_cannot_be_replaced():
    graph, x = source()
    graph.output(graph.apply(QClamp(), x, quant=PER_TENSOR(0.25, 3)))
    check(graph, "%1: expected i8[2] q(0.5, 3) of q.clamp, got i8[2] q(0.25, 3)")
    graph, x = source()
    soft = QSoftmax(multiplier=1 << 30, left_shift=20, diff_min=-5)
    graph.output(graph.apply(soft, x, quant=PER_TENSOR(1 / 256, 0)))
    check(graph, "%1: expected i8[2] q(0.00390625, -128) of q.softmax, got i8[2] q(0.00390625, 0)")


X_QUANT, Y_QUANT = PER_TENSOR(0.5, 3), PER_TENSOR(0.5, 4)


def dense(*, x_quant=X_QUANT, y_quant=Y_QUANT, weight=1, bias=0, **changes):
    graph = Graph("tiny")
    x = graph.input("x", i8(1, 66000, quant=x_quant))
    w = graph.constant(np.full((2, 66000), weight, np.int8))
    b = graph.constant(np.array([0, bias], np.int32))
    op = QDense(**{"x_zero_point": 3, "zero_point": 4, "rescale": Rescale.of(0.001), **changes})
    graph.output(graph.apply(op, x, w, b, quant=y_quant))
    return graph


def test_zero_points_must_agree_with_the_types():
    verify(GraphModule.mir(dense()))
    verify(GraphModule.mir(dense(x_quant=None, y_quant=None, zero_point=9)))
    check(dense(x_zero_point=2), "%3: x_zero_point is 2, but operand 0 is i8[1, 66000] q(0.5, 3)")
    check(dense(zero_point=2), "%3: zero_point is 2, but result 0 is i8[1, 2] q(0.5, 4)")


def test_accumulator_must_stay_within_int32():
    # 66000 * 127 * (128 + 3) = 1 098 042 000 is below 2^31; the rest is left to the bias.
    room = 2**31 - 1 - 66000 * 127 * 131
    verify(GraphModule.mir(dense(weight=127, bias=-room)))
    check(
        dense(weight=127, bias=room + 1),
        "%3: the accumulator of channel 1 can reach 2147483648, beyond int32",
    )


def test_accumulator_bound_covers_every_order_and_folding():
    random = np.random.default_rng(5)
    for zero_point in (-128, -7, 0, 127):
        w = random.integers(-128, 128, (3, 9), np.int8)
        bias = random.integers(-(10**6), 10**6, 3, np.int32)
        bound = accumulator_bound(magnitudes(w), bias, zero_point)
        folded = bias - zero_point * w.astype(np.int64).sum(axis=1)
        for _ in range(200):
            x = random.choice(np.array([-128, 127]), 9)
            order = random.permutation(9)
            products = w[:, order].astype(np.int64)
            centred = np.cumsum(products * (x[order] - zero_point), axis=1)
            raw = np.cumsum(products * x[order], axis=1)
            assert (np.abs(bias[:, None] + centred) <= bound[:, None]).all()
            assert (np.abs(folded[:, None] + raw) <= bound[:, None]).all()


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (i8(2, quant=PER_TENSOR(0.5, 128)), "a zero point of i8[2] q(0.5, 128) is outside i8"),
        (replace(f32(2), quant=PER_TENSOR(0.5)),
         "f32[2] q(0.5, 0) cannot have quantization parameters"),
        (i8(2, quant=QuantParams((0.5, 0.25), (0, 0), 1)),
         "the axis of the scales is outside i8[2] q(axis=1, 0.5:0, 0.25:0)"),
        (i8(3, quant=QuantParams((0.5, 0.25), (0, 0), 0)),
         "expected 3 scales for axis 0 of i8[3] q(axis=0, 0.5:0, 0.25:0), got 2"),
    ],
)  # fmt: skip
def test_quantization_must_fit_the_type(type_, message):
    graph, x = source(type_)
    graph.output(x)
    check(graph, f"%0 'x': {message}")


def test_constant_must_have_its_type_and_be_read_only():
    graph = Graph("tiny")
    graph.output(graph.constant(np.zeros(2, np.int8), name="c"))
    array = np.zeros(3, np.int8)
    bad = damage(graph, 0, op=Constant(type=i8(2), value=array))
    assert problems(GraphModule.mir(bad)) == [
        "%0 'c': the array is int8[3], the type says i8[2]",
        "%0 'c': the array of a constant must be read-only",
    ]


def test_symbols_pass():
    graph, x = source(f32(Dim("N"), 3))
    graph.output(graph.apply(RealNeg(), x))
    verify(GraphModule.mir(graph))


def test_every_symbol_needs_an_input_that_has_it():
    graph, x = source(f32(1, 3))
    wide = graph.apply(RealBroadcastTo(shape=(Dim("N") * Dim("M"), 3)), x, name="wide")
    graph.output(wide, graph.input("y", f32(Dim("M") + 1)))
    assert problems(GraphModule.mir(graph)) == [
        "%1 'wide': no input or parameter has the symbol 'N' of real.broadcast_to"
    ]


def test_message_lists_problems_up_to_a_limit():
    graph, x = source(i8(2))
    for _ in range(MAX_PROBLEMS + 3):
        graph.apply(QClamp(low=np.int32(3)), x)
    graph.output(x)
    with pytest.raises(VerifyError) as caught:
        verify(GraphModule.mir(graph), where="after pass p")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"after pass p: {MAX_PROBLEMS + 3} problems"
    assert lines[1] == "  %1: q.clamp: low must be an integer, got int32 3"
    assert lines[-1] == "  and 3 more"
    assert len(lines) == MAX_PROBLEMS + 2


def test_a_plan_belongs_to_lir():
    module = GraphModule(network(), Stage.LIR)
    assert problems(module) == ["stage lir needs a memory plan"]
    from rlx.memory import plan_memory

    graph = clamp_graph()
    assert problems(GraphModule(graph, Stage.MIR, plan_memory(graph))) == [
        "a plan belongs to stage lir, not to mir"
    ]
