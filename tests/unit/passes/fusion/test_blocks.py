"""Softmax, norms, attention, elementwise regions; what is switched off or not claimed."""

import numpy as np
import pytest

import rlx
from rlx.ir import DType, GraphModule, Op, Stage
from rlx.ir.verify import verify
from rlx.ops import nn
from rlx.ops.fused import FusedElementwise, FusedResidualNorm
from rlx.ops.q import QClamp
from rlx.passes.decompose import decompose
from rlx.passes.fusion import FusionOptions, FusionPolicy, MissReason, Pattern, fuse
from strategies.fusible import OtherHalve
from support.networks.fusion_model import POINT, Model, form, only, reasons


@pytest.fixture
def model():
    return Model()


# softmax


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(model, axis):
    ops, _, fused = model.fuse(model.input(2, 3, 4).apply(nn.NnSoftmax(axis=axis)))
    assert ops == ["fused.softmax"]
    assert form(fused, "fused.softmax").axis == axis % 3


def test_softmax_whose_exponentials_are_an_output(model):
    x = model.input(3, 4)
    e = (x - x.max(-1, keep_dims=True)).exp()
    ops, report, _ = model.fuse(e / e.sum(-1, keep_dims=True), e)
    assert "fused.softmax" not in ops
    assert reasons(report, Pattern.SOFTMAX) == [MissReason.OUTPUT]


def test_quotient_of_another_axis_is_no_softmax(model):
    x = model.input(3, 4)
    e = (x - x.max(-1, keep_dims=True)).exp()
    assert "fused.softmax" not in model.fuse(e / e.sum(0, keep_dims=True))[0]


# norms


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("beta", [True, False])
def test_layer_norm(model, beta, axes):
    last = (3, 4)[-axes:]
    weights = [model.constant(*last) for _ in range(1 + beta)]
    ops, report, fused = model.fuse(model.input(2, 3, 4).apply(nn.NnLayerNorm(), *weights))
    assert ops == ["fused.norm"]
    found = form(fused, "fused.norm")
    assert (found.x, found.addend, found.gamma, found.beta) == (0, None, 1, 2 if beta else None)
    assert (found.axes, found.centred) == (axes, True)
    assert found.epsilon == pytest.approx(1e-5)
    assert report.fused[0].detail == "layer norm"


def test_norm_of_square_roots_and_powers(model):
    x = model.input(3, 4)
    c = x - x.mean(-1, keep_dims=True)
    ops, _, fused = model.fuse(c / ((c**2.0).mean(-1, keep_dims=True) + 1e-3).sqrt())
    assert ops == ["fused.norm"]
    assert form(fused, "fused.norm").gamma is None


@pytest.mark.parametrize("shared", [True, False])
def test_residual_and_rms_norm(model, shared):
    total = model.input(2, 3, 4) + model.input(2, 3, 4)
    y = total.apply(nn.NnRmsNorm(), model.param(4))
    ops, report, fused = model.fuse(*((y, total) if shared else (y,)))
    assert ops == ["fused.residual_norm"]
    found = form(fused, "fused.residual_norm")
    assert (found.x, found.addend, found.gamma, found.beta) == (0, 1, 2, None)
    assert (found.sum_result, found.norm_result) == ((0, 1) if shared else (None, 0))
    assert not found.centred
    assert report.fused[0].detail == "RMS norm"


def test_readers_of_the_sum_may_stand_before_the_norm(model):
    total = model.input(3, 4) + model.input(3, 4)
    other = total.mT
    y = total.apply(nn.NnRmsNorm(), model.param(4))
    assert model.fuse(other, y)[0] == ["fused.residual_norm", "real.transpose"]


def test_scale_that_depends_on_the_sum_leaves_the_addition(model):
    total = model.input(3, 4) + model.input(3, 4)
    gamma = total[0]
    ops, report, _ = model.fuse(total.apply(nn.NnRmsNorm(), gamma))
    assert ops[0] == "real.add"
    assert ops[-1] == "fused.norm"
    assert reasons(report, Pattern.NORM) == [MissReason.ORDER]


def test_addition_that_broadcasts_stays(model):
    total = model.input(3, 4) + model.input(4)
    ops, report, _ = model.fuse(total.apply(nn.NnRmsNorm(), model.param(4)))
    assert ops == ["real.add", "fused.norm"]
    assert reasons(report, Pattern.NORM) == [MissReason.SHAPE]
    assert report.missed[0].text == "the addition before it broadcasts f32[4] to f32[3, 4]"


def test_norm_of_another_axis_stays(model):
    x = model.input(3, 4)
    c = x - x.mean(0, keep_dims=True)
    ops, report, _ = model.fuse(c * ((c * c).mean(0, keep_dims=True) + 1e-3).rsqrt())
    assert "fused.norm" not in ops
    assert reasons(report, Pattern.NORM) == [MissReason.AXIS]
    assert report.missed[0].text == "it runs over axes (0,) of f32[3, 4], not over the last ones"


def test_norm_whose_variance_is_an_output_stays(model):
    x = model.input(3, 4)
    variance = (x * x).mean(-1, keep_dims=True)
    ops, report, _ = model.fuse(x * (variance + 1e-3).rsqrt(), variance)
    assert "fused.norm" not in ops
    assert reasons(report, Pattern.NORM) == [MissReason.OUTPUT]


def test_residual_without_a_kernel_is_a_norm_behind_an_addition(model):
    total = model.input(3, 4) + model.input(3, 4)
    y = total.apply(nn.NnRmsNorm(), model.param(4))
    ops, _, _ = model.fuse(y, claims=lambda op: op is not FusedResidualNorm)
    assert ops == ["real.add", "fused.norm"]


# attention


def heads(model, count=3):
    return [model.input(1, 2, 3, 4) for _ in range(count)]


def test_attention(model):
    q, k, v = heads(model)
    ops, _, fused = model.fuse(q.apply(nn.NnAttention(), k, v))
    assert ops == ["fused.attention"]
    found = form(fused, "fused.attention")
    assert (found.q, found.k, found.v, found.transposed, found.steps) == (0, 1, 2, True, ())
    assert found.scale == 0.5


def test_attention_with_masks_and_soft_cap(model):
    q, k, v = heads(model)
    mask = model.input(3, 3)
    y = q.apply(nn.NnAttention(causal=True, soft_cap=3.0), k, v, mask)
    ops, report, fused = model.fuse(y)
    assert ops == ["fused.attention"]
    steps = form(fused, "fused.attention").steps
    assert [str(s.kind) for s in steps] == ["scale", "tanh", "scale", "where", "add"]
    assert steps[0].number == pytest.approx(1 / 3)
    assert steps[3].number == -np.inf
    assert report.fused[0].detail == "scale, tanh, scale, where, add"


def test_attention_with_scaled_scores(model):
    q, k, v = heads(model)
    scores = (q @ k.mT) / 2.0 + model.constant(3, 3)
    ops, _, fused = model.fuse(scores.apply(nn.NnSoftmax()) @ v)
    assert ops == ["fused.attention"]
    steps = form(fused, "fused.attention").steps
    assert [(str(s.kind), s.operand, s.number) for s in steps] == [
        ("scale", None, 0.5), ("add", 3, 0.0)
    ]  # fmt: skip


def test_attention_whose_mask_says_what_is_left_out(model):
    q, k, v = heads(model)
    scores = q @ k.mT
    hidden = model.input(3, 3) > 1.0
    masked = scores.lift(-1e9).where(hidden, scores)
    ops, _, fused = model.fuse(masked.apply(nn.NnSoftmax()) @ v)
    assert ops == ["real.compare", "fused.attention"]
    (step,) = form(fused, "fused.attention").steps
    assert (str(step.kind), step.operand, step.number) == ("unless", 3, np.float32(-1e9))


def test_keys_that_are_read_elsewhere_are_transposed_outside(model):
    q, k, v = heads(model)
    turned = k.mT
    ops, _, fused = model.fuse((q @ turned).apply(nn.NnSoftmax()) @ v, turned)
    assert ops == ["real.transpose", "fused.attention"]
    assert not form(fused, "fused.attention").transposed


def test_attention_whose_scores_are_an_output(model):
    q, k, v = heads(model)
    scores = q @ k.mT
    ops, report, _ = model.fuse(scores.apply(nn.NnSoftmax()) @ v, scores)
    assert "fused.attention" not in ops
    assert reasons(report, Pattern.ATTENTION) == [MissReason.OUTPUT]


def test_softmax_over_queries_is_no_attention(model):
    q, k, v = heads(model)
    ops, report, _ = model.fuse((q @ k.mT).apply(nn.NnSoftmax(axis=-2)) @ v)
    assert "fused.softmax" in ops
    assert reasons(report, Pattern.ATTENTION) == [MissReason.AXIS]


def test_unknown_function_of_scores_is_no_attention(model):
    q, k, v = heads(model)
    ops, report, _ = model.fuse((q @ k.mT).sigmoid().apply(nn.NnSoftmax()) @ v)
    assert "fused.softmax" in ops
    assert reasons(report, Pattern.ATTENTION) == [MissReason.ACTIVATION]


# elementwise regions


def test_net_of_elementwise_ops_is_one_region(model):
    x, y = model.input(3, 4), model.input(4)
    z = x + y
    ops, _, fused = model.fuse((z * z.sigmoid()).where(z >= 0.5, x - y))
    assert ops == ["fused.elementwise"]
    steps = form(fused, "fused.elementwise").steps
    assert {n.op.name for n in steps} == {
        "real.add", "real.sigmoid", "real.mul", "real.sub", "real.compare", "real.where"
    }  # fmt: skip


def test_region_ends_where_shapes_grow(model):
    small = (model.input(4) * 2.0).tanh()
    ops, report, _ = model.fuse((model.input(3, 4) + small).exp())
    assert ops == ["fused.elementwise"] * 2
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.SHAPE]
    assert report.missed[0].text == "real.tanh (%3) is f32[4], which is broadcast to f32[3, 4]"


def test_same_count_of_elements_is_not_the_same_shape(model):
    # 12 numbers each: only the shapes tell that the chain cannot run through.
    ops, report, _ = model.fuse(model.input(3, 4).tanh().reshape(4, 3).exp())
    assert ops == ["real.tanh", "real.reshape", "real.exp"]
    assert report.fused == ()


def test_value_read_outside_parts_a_region(model):
    x = model.input(3, 4)
    y = x.tanh()
    _, report, _ = model.fuse(y.exp() + 1.0, y.mT)
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.SEVERAL_READERS]


def test_output_parts_a_region(model):
    y = model.input(3, 4).tanh()
    ops, report, _ = model.fuse(y, y.exp())
    assert ops == ["real.tanh", "real.exp"]
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.OUTPUT]


def test_region_of_limited_steps(model):
    x = model.input(3)
    for _ in range(5):
        x = x.tanh()
    options = only(Pattern.ELEMENTWISE, max_steps=3)
    ops, report, fused = model.fuse(x, options=options)
    assert ops == ["fused.elementwise"] * 2
    assert sorted(len(n.op.form.steps) for n in fused.op_nodes) == [2, 3]
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.LIMIT]
    assert report.missed[0].text == "the region would have more than 3 steps"


def test_region_of_limited_operands(model):
    x = model.input(3)
    for _ in range(4):
        x = x + model.input(3)
    _, report, fused = model.fuse(x, options=only(Pattern.ELEMENTWISE, max_operands=3))
    assert all(len(n.operands) <= 3 for n in fused.op_nodes)
    assert report.missed[0].text == "the region would have more than 3 operands"


def test_casts_and_integers_are_part_of_a_region(model):
    x = model.input(3, 4)
    y = (x * 8.0).cast(DType.I32)
    ops, report, _ = model.fuse(((y * 3) % 5).cast(DType.F32) + x)
    assert ops == ["fused.elementwise"]
    assert report.exact


def test_foreign_op_stays_between_regions(model):
    x = model.input(3, 4)
    y = ((x + 1.0).tanh().apply(OtherHalve()) * 2.0).exp()
    ops, report, _ = model.fuse(y)
    assert ops == ["fused.elementwise", "other.halve", "fused.elementwise"]
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.FOREIGN]
    assert report.missed[0].text == (
        "other.halve (%4) is not an op of rlx: real.exp (%7) starts a new region"
    )


def test_foreign_op_without_operands_is_no_weight(model):
    x = model.input(3, 4)
    foreign = x.apply(OtherHalve())
    ops, _, _ = model.fuse(foreign @ model.constant(4, 2) + model.constant(2))
    assert ops == ["other.halve", "fused.matmul"]


def test_quantized_ops_stay_as_they_are(model):
    x = model.input(3, 4)
    y = (x * 8.0).cast(DType.I8).apply(QClamp(low=-3, high=9)).apply(QClamp(low=-2, high=9))
    ops, _, _ = model.fuse(y)
    assert ops == ["fused.elementwise", "q.clamp", "q.clamp"]


# policies and claims


@pytest.mark.parametrize("pattern", Pattern)
def test_every_pattern_can_be_switched_off(model, pattern):
    outputs = one_of(model, pattern)
    options = FusionOptions(patterns={pattern: FusionPolicy.KEEP})
    _, report, _ = model.fuse(*outputs, options=options)
    assert pattern not in {f.pattern for f in report.fused}
    assert MissReason.POLICY in reasons(report, pattern)
    text = next(m.text for m in report.missed if m.reason is MissReason.POLICY)
    assert text == f"the policy of {pattern} is keep"


GROUPS = [p for p in Pattern if p not in (Pattern.FOLD, Pattern.JOIN)]


@pytest.mark.parametrize("pattern", GROUPS)
def test_nothing_is_fused_without_a_kernel(model, pattern):
    outputs = one_of(model, pattern)
    ops, report, _ = model.fuse(*outputs, claims=lambda op: False)
    assert not any(op.startswith("fused.") for op in ops)
    assert MissReason.NO_KERNEL in reasons(report, pattern)


EXAMPLES = {
    Pattern.FOLD: lambda m, x: [(x @ m.constant(4, 5)) * m.constant(5)],
    Pattern.JOIN: lambda m, x: [x @ m.constant(4, 5), x @ m.constant(4, 5)],
    Pattern.ATTENTION: lambda m, x: [x.apply(nn.NnAttention(), m.input(3, 4), m.input(3, 4))],
    Pattern.NORM: lambda m, x: [x.apply(nn.NnRmsNorm(), m.constant(4))],
    Pattern.SOFTMAX: lambda m, x: [x.apply(nn.NnSoftmax())],
    Pattern.GATED: lambda m, x: [halves(x @ m.constant(4, 6))],
    Pattern.MATMUL: lambda m, x: [x @ m.constant(4, 5) + m.constant(5)],
    Pattern.CONV: lambda m, x: [image(m).apply(POINT, m.constant(5, 1, 1, 4)) + m.constant(5)],
    Pattern.ELEMENTWISE: lambda m, x: [x.tanh().exp()],
}


def halves(p):
    return p[:, :3].apply(nn.NnSilu()) * p[:, 3:]


def image(model):
    return model.input(1, 3, 3, 4)


def one_of(model, pattern):
    """Return outputs that hold a pattern."""
    return EXAMPLES[pattern](model, model.input(3, 4))


def test_claims_are_asked_by_class(model):
    asked: set[type[Op]] = set()
    model.fuse(model.input(3).tanh().exp(), claims=lambda op: bool(asked.add(op)))
    assert asked == {FusedElementwise}


def test_states_stay():
    graph = rlx.Graph("g")
    cache, x = graph.state("cache", (3,)), graph.input("x", (3,))
    after = (cache * 0.5 + x).tanh()
    graph.set_state(cache, after)
    graph.output(after.exp(), names=["y"])
    fused, report = fuse(decompose(graph.graph))
    verify(GraphModule(fused, Stage.MIR))
    ((state, new),) = fused.states
    assert (state.name, new.node.op.name) == ("cache", "fused.elementwise")
    # The new value is an output, which no region swallows.
    assert reasons(report, Pattern.ELEMENTWISE) == [MissReason.OUTPUT]


def test_report_is_in_the_order_of_the_graph(model):
    x = model.input(3, 4)
    y = (x.tanh().exp()).apply(nn.NnSoftmax())
    _, report, _ = model.fuse((y @ model.constant(4, 5) + model.constant(5)).mT.tanh().exp())
    assert [str(f.pattern) for f in report.fused] == [
        "elementwise", "softmax", "matmul", "elementwise",
    ]  # fmt: skip


def test_dead_nodes_go_and_inputs_stay(model):
    x, unused = model.input(3, 4), model.input(2)
    unused.exp()
    _, _, fused = model.fuse(x.tanh())
    assert [v.name for v in fused.inputs] == ["x0", "x1"]
    assert [n.op.name for n in fused.op_nodes] == ["real.tanh"]
