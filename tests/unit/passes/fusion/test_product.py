"""Patterns of products: found, fused, and missed with the reason."""

import numpy as np
import pytest

from rlx.ir import DType
from rlx.ops import nn, real
from rlx.ops.real import SpatialWindow
from rlx.passes.fusion import MissReason, Pattern
from rlx.passes.fusion.matching import weight_nodes
from support.networks.fusion_model import POINT, Model, form, only, reasons


@pytest.fixture
def model():
    return Model()


# matmul and convolution


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (nn.NnRelu(), "relu"),
        (nn.NnClamp(low=0.0, high=6.0), "relu6"),
        (nn.NnGelu(), "gelu"),
        (nn.NnGelu(approximate=True), "gelu_tanh"),
        (nn.NnSilu(), "silu"),
        (nn.NnHardSwish(), "hard_swish"),
        (nn.NnMish(), "mish"),
        (nn.NnElu(), "elu"),
        (real.RealSigmoid(), "sigmoid"),
        (real.RealTanh(), "tanh"),
        (nn.NnLeakyRelu(slope=0.3), ""),
        (nn.NnElu(alpha=0.7), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("layer", ["matmul", "conv"])
def test_product_with_bias_and_activation(model, layer, op, name):
    if layer == "matmul":
        y = model.input(2, 3, 4) @ model.constant(4, 5)
    else:
        y = model.input(1, 3, 3, 4).apply(POINT, model.constant(5, 1, 1, 4))
    ops, report, fused = model.fuse((y + model.constant(5)).apply(op))
    assert ops == [f"fused.{layer}"]
    found = form(fused, f"fused.{layer}")
    assert (found.x, found.y, found.bias) == (0, 1, 2)
    assert found.activation.name == name
    assert report.fused[0].detail == f"bias, {name or found_ops(found)}"
    assert report.missed == ()
    assert report.exact


def found_ops(found):
    return f"activation of {sum(1 for _ in found.activation.graph.op_nodes)} ops"


def test_linear_of_one_row_is_fused_across_its_reshape(model):
    x = model.input(4)
    y = x.apply(nn.NnLinear(), model.constant(3, 4), model.constant(3)).apply(nn.NnRelu())
    ops, _, fused = model.fuse(y)
    assert ops == ["real.reshape", "fused.matmul"]
    assert str(form(fused, "fused.matmul").product) == "f32[1, 3]"


def test_transposed_operands_are_flags(model):
    x, w = model.input(2, 4, 3), model.input(5, 4)
    ops, _, fused = model.fuse(x.mT @ w.mT)
    assert ops == ["fused.matmul"]
    found = form(fused, "fused.matmul")
    assert (found.transpose_x, found.transpose_y, found.activation) == (True, True, None)


def test_a_transpose_that_is_read_twice_stays(model):
    w = model.input(5, 4).mT
    assert model.fuse(model.input(3, 4) @ w, w)[0] == ["real.transpose", "real.matmul"]


def test_a_product_alone_stays(model):
    ops, report, _ = model.fuse(model.input(3, 4) @ model.constant(4, 5))
    assert (ops, report.fused, report.missed) == (["real.matmul"], (), ())


def test_product_that_is_an_output_is_not_fused(model):
    y = model.input(3, 4) @ model.constant(4, 5)
    ops, report, _ = model.fuse(y, (y + model.constant(5)).apply(nn.NnRelu()))
    assert ops == ["real.matmul", "fused.elementwise"]
    assert reasons(report, Pattern.MATMUL) == [MissReason.OUTPUT]
    (miss,) = report.missed
    assert miss.text == "real.matmul (%2) is an output of the graph"


def test_product_with_several_readers_is_not_fused(model):
    y = model.input(3, 4) @ model.constant(4, 5)
    b = model.constant(5)
    _, report, _ = model.fuse(y + b, (y * model.input(3, 5)).mT)
    assert reasons(report, Pattern.MATMUL) == [MissReason.SEVERAL_READERS]
    assert report.missed[0].text == "real.matmul (%2) is read by 2 nodes"


@pytest.mark.parametrize("layer", ["matmul", "conv"])
@pytest.mark.parametrize("biased", [True, False])
def test_shortcut_is_added_to_a_product(model, layer, biased):
    if layer == "matmul":
        y = model.input(3, 4) @ model.constant(4, 5)
    else:
        y = model.input(1, 3, 3, 4).apply(POINT, model.constant(5, 1, 1, 4))
    y = y + model.constant(5) if biased else y
    ops, report, fused = model.fuse((model.input(*y.shape) + y).apply(nn.NnRelu()))
    assert ops == [f"fused.{layer}"]
    found = form(fused, f"fused.{layer}")
    assert (found.bias, found.addend) == ((2, 3) if biased else (None, 2))
    assert report.fused[0].detail == ("bias, addend, relu" if biased else "addend, relu")
    assert report.missed == ()


@pytest.mark.parametrize("rows", [1, 3])
def test_shortcut_before_a_norm_belongs_to_the_norm(model, rows):
    y = model.input(rows, 4) @ model.constant(4, 4)
    biased = y + model.constant(4)
    gamma = model.constant(4)
    sums = [s + model.input(rows, 4) for s in (biased, model.input(rows, 4) @ model.constant(4, 4))]
    ops, _, _ = model.fuse(*(s.apply(nn.NnRmsNorm(), gamma) for s in sums))
    assert sorted(ops) == [
        "fused.matmul", "fused.residual_norm", "fused.residual_norm", "real.matmul"
    ]  # fmt: skip


def test_product_added_to_itself_has_no_shortcut(model):
    y = model.input(3, 4) @ model.constant(4, 5)
    _, _, fused = model.fuse(y + y)
    assert form(fused, "fused.matmul").addend is None


@pytest.mark.parametrize("shape", [(3, 1), ()], ids=str)
def test_bias_of_a_wrong_shape(model, shape):
    y = model.input(3, 4) @ model.constant(4, 5)
    bias = model.input(*shape)
    ops, report, _ = model.fuse((y + bias).apply(nn.NnRelu()))
    assert ops == ["real.matmul", "fused.elementwise"]
    assert reasons(report, Pattern.MATMUL) == [MissReason.BIAS_SHAPE]
    shown = f"f32[{', '.join(map(str, shape))}]"
    assert report.missed[0].text == (
        f"real.add (%4) adds {shown} to f32[3, 5]: not one number for each column"
    )


def test_unsupported_activation(model):
    y = model.input(3, 4) @ model.constant(4, 5) + model.constant(5)
    ops, report, _ = model.fuse(y * model.input(3, 5))
    assert ops == ["fused.matmul", "real.mul"]
    assert reasons(report, Pattern.MATMUL) == [MissReason.ACTIVATION]
    assert report.missed[0].text == "real.mul (%6) does not depend on the product only"


def test_activation_that_does_not_end_in_one_value(model):
    y = model.input(3, 4) @ model.constant(4, 5)
    z = y.tanh()
    ops, report, _ = model.fuse(z, y.exp() + z)
    assert "fused.matmul" not in ops
    assert reasons(report, Pattern.MATMUL) == [MissReason.SEVERAL_READERS]


def test_cast_ends_a_product(model):
    y = (model.input(3, 4) @ model.constant(4, 5) + model.constant(5)).cast(DType.F16)
    ops, report, _ = model.fuse(y.tanh())
    assert ops == ["fused.matmul", "fused.elementwise"]
    assert reasons(report, Pattern.MATMUL) == [MissReason.DTYPE]
    assert report.missed[0].text == "real.cast (%5) changes the element type to f16"


# folding


def test_batch_norm_is_folded_into_a_convolution(model):
    y = model.input(1, 3, 3, 4).apply(POINT, model.constant(5, 1, 1, 4)) + model.constant(5)
    statistics = [model.constant(5) for _ in range(4)]
    y = y.apply(nn.NnBatchNorm(), *statistics).apply(nn.NnRelu())
    ops, report, fused = model.fuse(y)
    assert ops[-1] == "fused.conv"
    assert report.fused[0].pattern is Pattern.FOLD
    assert not report.exact
    assert form(fused, "fused.conv").activation.name == "relu"


def test_batch_norm_of_channels_first_is_folded_across_the_transpose(model):
    x, w = model.input(1, 4, 3, 3), model.param(5, 4, 1, 1)
    conv = nn.NnConv(window=SpatialWindow((1, 1)), layout=nn.Layout.CHANNELS_FIRST)
    y = x.apply(conv, w).apply(nn.NnBatchNorm(axis=1), *(model.param(5) for _ in range(4)))
    ops, _, fused = model.fuse(y)
    assert ops[-2:] == ["fused.conv", "real.transpose"]
    assert form(fused, "fused.conv").bias == 2
    # All others but the transpose of the image depend on parameters only.
    assert sum(1 for n in fused.op_nodes if n not in weight_nodes(fused)) == 3


def test_scales_before_and_behind_are_folded(model):
    x = model.input(3, 4)
    y = ((x * 0.5) @ model.constant(4, 5) + model.constant(5)) / 3.0 - model.constant(5)
    ops, report, fused = model.fuse(1.0 - y)
    assert ops == ["fused.matmul"]
    assert report.fused[0].detail == "mul, add, div, sub, sub"
    assert report.fused[0].result == "real.matmul + real.add"
    assert len(fused.params) == 0


def test_a_subtraction_becomes_a_bias_to_the_last_bit(model):
    y = (model.input(1, 3, 4) @ model.constant(4, 5)).transpose(0, 2, 1)
    _, report, _ = model.fuse(y + model.constant(5, 1))
    assert report.fused[0].exact


def test_scale_of_queries_passes_the_split_into_heads(model):
    y = (model.input(3, 4) @ model.constant(4, 6)).reshape(3, 2, 3).transpose(1, 0, 2) * 0.5
    ops, _, _ = model.fuse(y)
    assert ops == ["real.matmul", "real.reshape", "real.transpose"]


def test_factor_of_another_axis_stays(model):
    y = (model.input(3, 4) @ model.constant(4, 5)) * model.constant(3, 1)
    ops, report, _ = model.fuse(y)
    assert ops == ["real.matmul", "real.mul"]
    assert reasons(report, Pattern.FOLD) == [MissReason.AXIS]
    assert report.missed[0].text == "f32[3, 1] is not one number for each output channel"


def test_factor_of_a_product_of_two_inputs_stays(model):
    y = (model.input(3, 4) @ model.input(4, 5)) * model.constant(5)
    _, report, _ = model.fuse(y)
    assert reasons(report, Pattern.FOLD) == [MissReason.WEIGHTS]
    assert report.missed[0].text == "the right factor of real.matmul (%2) is computed in each run"


def test_factor_of_half_precision_stays(model):
    x = model.input(3, 4, dtype=DType.F16)
    w, s = (
        x.wrap(model.graph.constant(model.numbers(*n, dtype=DType.F16))) for n in [(4, 5), (5,)]
    )
    _, report, _ = model.fuse((x @ w) * s)
    assert reasons(report, Pattern.FOLD) == [MissReason.DTYPE]
    assert report.missed[0].text == "real.matmul (%3) is f16, not f32 or f64"


@pytest.mark.parametrize("where", ["output", "reader"])
def test_factor_of_a_product_that_is_read_elsewhere_stays(model, where):
    y = model.input(3, 4) @ model.constant(4, 5)
    z = y * model.constant(5)
    _, report, _ = model.fuse(z, y if where == "output" else y.mT)
    wanted = MissReason.OUTPUT if where == "output" else MissReason.SEVERAL_READERS
    assert reasons(report, Pattern.FOLD) == [wanted]


def test_extreme_factor_stays(model):
    y = (model.input(3, 4) @ model.constant(4, 5)) * 1e30
    ops, report, _ = model.fuse(y, options=only(Pattern.FOLD))
    assert ops == ["real.matmul", "real.mul"]
    assert reasons(report, Pattern.FOLD) == [MissReason.LIMIT]
    assert report.missed[0].text == "real.mul (%4) has a factor beyond 2^60 or below 2^-60"


def test_weights_beyond_the_limit_stay(model):
    y = (model.input(3, 4) @ model.constant(4, 5)) * 0.5
    ops, report, _ = model.fuse(y, options=only(Pattern.FOLD, limit_bytes=79))
    assert ops == ["real.matmul", "real.mul"]
    assert report.missed[0].text == "the weights have more than 79 bytes"


def test_integers_are_never_folded(model):
    x = model.input(3, 4, dtype=DType.I32)
    w = x.wrap(model.graph.constant(np.ones((4, 5), np.int32)))
    ops, _, _ = model.fuse((x @ w) * 3 + 1)
    assert ops == ["real.matmul", "fused.elementwise"]


# products of one value


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("kind", ["constant", "param"])
def test_products_of_one_value_are_joined_in_order(model, kind, biased):
    x, new = model.input(3, 4), getattr(model, kind)
    parts = [x @ new(4, n) for n in (2, 5, 3)]
    if biased:
        parts = [p + new(p.shape[-1]) for p in parts]
    ops, report, fused = model.fuse(*parts, options=only(Pattern.JOIN))
    before = ["real.concat"] * (kind == "param") * (1 + biased)
    wanted = [*before, "real.matmul", *["real.add"] * biased, *["real.slice"] * 3]
    assert sorted(ops) == sorted(wanted)
    assert [str(o.type) for o in fused.outputs] == ["f32[3, 2]", "f32[3, 5]", "f32[3, 3]"]
    biases = " + real.add" if biased else ""
    assert report.fused[0].result == f"real.matmul{biases} + 3 real.slice"


def test_products_are_joined_if_some_have_no_bias(model):
    x = model.input(3, 4)
    parts = [x @ model.constant(4, 2) + model.constant(1, 2), x @ model.constant(4, 3)]
    ops, _, fused = model.fuse(*parts)
    assert ops == ["fused.matmul", "real.slice", "real.slice"]
    (node,) = (n for n in fused.op_nodes if n.op.name == "fused.matmul")
    assert np.array_equal(node.operands[2].constant[2:], np.zeros(3, np.float32))


def test_product_with_a_computed_factor_is_not_joined(model):
    x = model.input(3, 4)
    _, report, _ = model.fuse(x @ model.constant(4, 2), x @ model.input(4, 2))
    assert reasons(report, Pattern.JOIN) == [MissReason.WEIGHTS]


def test_product_with_a_stack_of_weights_is_not_joined(model):
    x = model.input(2, 3, 4)
    _, report, _ = model.fuse(x @ model.constant(4, 2), x @ model.constant(2, 4, 2))
    assert reasons(report, Pattern.JOIN) == [MissReason.SHAPE]
    assert (
        report.missed[0].text
        == "the weights of real.matmul (%4) are f32[2, 4, 2], expected a matrix"
    )


def test_joined_weights_beyond_the_limit(model):
    x = model.input(3, 4)
    parts = [x @ model.constant(4, 2) for _ in range(2)]
    ops, report, _ = model.fuse(*parts, options=only(Pattern.JOIN, limit_bytes=63))
    assert ops == ["real.matmul"] * 2
    assert reasons(report, Pattern.JOIN) == [MissReason.LIMIT]


def test_large_products_are_not_joined(model):
    x = model.input(3, 4)
    parts = [x @ model.constant(4, 2), x @ model.constant(4, 3)]
    ops, report, _ = model.fuse(*parts, options=only(Pattern.JOIN, join_macs=23))
    assert ops == ["real.matmul"] * 2
    assert reasons(report, Pattern.JOIN) == [MissReason.LIMIT]
    (missed,) = report.missed
    assert missed.text == "each product has more than 23 MACs, which outweigh a call"
    ops, report, _ = model.fuse(*parts, options=only(Pattern.JOIN, join_macs=24))
    assert ops == ["real.matmul", "real.slice", "real.slice"]


# gated pairs


@pytest.mark.parametrize("order", ["gate first", "gate second"])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    ("op", "name"), [(nn.NnSilu(), "silu"), (nn.NnGelu(), "gelu"), (real.RealSigmoid(), "sigmoid")]
)
def test_gated_pair(model, op, name, biased, order):
    x = model.input(2, 3, 4)
    gate, up = (x @ model.constant(4, 5) for _ in range(2))
    if biased:
        gate, up = gate + model.constant(5), up + model.constant(5)
    gate = gate.apply(op)
    ops, _, fused = model.fuse(gate * up if order == "gate first" else up * gate)
    assert ops == ["fused.gated"]
    found = form(fused, "fused.gated")
    assert (found.width, found.gate_first, found.activation.name) == (5, True, name)
    assert (found.x, found.w, found.bias) == (0, 1, 2 if biased else None)


def test_gate_in_the_second_half(model):
    p = model.input(3, 4) @ model.constant(4, 10)
    ops, _, fused = model.fuse(p[:, :5] * p[:, 5:].apply(nn.NnSilu()))
    assert ops == ["fused.gated"]
    assert not form(fused, "fused.gated").gate_first


def test_gate_of_unequal_parts_is_no_pair(model):
    p = model.input(3, 4) @ model.constant(4, 6)
    ops, _, _ = model.fuse(p[:, :2].apply(nn.NnSilu()) * p[:, 2:4])
    assert "fused.gated" not in ops


def test_gate_that_is_an_output_is_no_pair(model):
    x = model.input(3, 4)
    gate = (x @ model.constant(4, 5)).apply(nn.NnSilu())
    ops, _, _ = model.fuse(gate * (x @ model.constant(4, 5)), gate)
    assert "fused.gated" not in ops
