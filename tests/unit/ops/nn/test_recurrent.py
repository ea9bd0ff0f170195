from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import Dim, DType, Graph, TensorType, f32, i32
from rlx.ir.evaluate import evaluate
from rlx.ops.nn import CellActivation, CellFunction, NnGru, NnLstm, NnRnn
from rlx.passes.decompose import decompose
from rlx.support.errors import ShapeError
from support.messages import raises

GENERATOR = np.random.default_rng(0)
STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 5
LENGTHS = [3, 0, 4]


def numbers(*shape):
    # Small enough that states stay of order 1 with activations that have no limit.
    return GENERATOR.standard_normal(shape) * 0.4


def operands(op):
    rows = op.gates * HIDDEN
    return [
        numbers(STEPS, BATCH, INPUTS), numbers(rows, INPUTS), numbers(rows, HIDDEN), numbers(rows),
        *(numbers(BATCH, HIDDEN) for _ in range(op.states)),
        *(numbers(*s) for s in op.extra_shapes(HIDDEN).values()),
        *([np.array(LENGTHS, np.int32)] if op.masked else []),
    ]  # fmt: skip


def logistic(x):
    return 1 / (1 + math.exp(-x))


ACTIVATIONS = [
    (CellFunction.AFFINE, lambda x: 0.7 * x + 0.3),
    (CellFunction.ELU, lambda x: x if x >= 0 else 0.7 * math.expm1(x)),
    (CellFunction.HARD_SIGMOID, lambda x: min(max(0.7 * x + 0.3, 0.0), 1.0)),
    (CellFunction.LEAKY_RELU, lambda x: x if x >= 0 else 0.7 * x),
    (CellFunction.RELU, lambda x: max(x, 0.0)),
    (CellFunction.SCALED_TANH, lambda x: 0.7 * math.tanh(0.3 * x)),
    (CellFunction.SIGMOID, logistic),
    (CellFunction.SOFTPLUS, lambda x: math.log1p(math.exp(x))),
    (CellFunction.SOFTSIGN, lambda x: x / (1 + abs(x))),
    (CellFunction.TANH, math.tanh),
    (CellFunction.THRESHOLDED_RELU, lambda x: x if x > 0.7 else 0.0),
]
FORMULAS = {CellActivation(kind, 0.7, 0.3): formula for kind, formula in ACTIVATIONS}
SIGMOID, TANH = CellActivation(CellFunction.SIGMOID), CellActivation(CellFunction.TANH)
FORMULAS |= {SIGMOID: logistic, TANH: math.tanh}


def gate(op, activation, total):
    """The activation of one number, clipped as the op says."""
    total = total if op.clip is None else max(-op.clip, min(op.clip, total))
    return FORMULAS[activation](total)


def dot(weights, vector):
    return math.fsum(w * v for w, v in zip(weights, vector, strict=True))


def rnn_step(op, k, x, w, r, bias, states):
    (h,) = states
    return (gate(op, op.activation, dot(w[k], x) + dot(r[k], h) + bias[k]),)


def gru_step(op, k, x, w, r, bias, states, inner=None):
    (h,) = states

    def total(row):
        return dot(w[row], x) + dot(r[row], h) + bias[row]

    update = gate(op, op.gate_activation, total(k))
    resets = [gate(op, op.gate_activation, total(HIDDEN + j)) for j in range(HIDDEN)]
    row = 2 * HIDDEN + k
    if op.reset_after:
        product = resets[k] * (dot(r[row], h) + inner[k])
    else:
        product = dot(r[row], [a * b for a, b in zip(resets, h, strict=True)])
    candidate = gate(op, op.candidate_activation, dot(w[row], x) + product + bias[row])
    return ((1 - update) * candidate + update * h[k],)


def lstm_step(op, k, x, w, r, bias, states, peepholes=None):
    h, c = states
    i, o, f, g = (
        dot(w[row], x) + dot(r[row], h) + bias[row] for row in range(k, 4 * HIDDEN, HIDDEN)
    )
    p = [0.0] * 3 if peepholes is None else peepholes[k::HIDDEN]
    i = gate(op, op.gate_activation, i + p[0] * c[k])
    f = 1 - i if op.coupled else gate(op, op.gate_activation, f + p[2] * c[k])
    cell = f * c[k] + i * gate(op, op.candidate_activation, g)
    o = gate(op, op.gate_activation, o + p[1] * cell)
    return o * FORMULAS[op.cell_activation](cell), cell


def expected(op, x, w, r, bias, *more):
    """The definition, element by element: each sequence alone, one number after the other."""
    step = {"nn.rnn": rnn_step, "nn.gru": gru_step, "nn.lstm": lstm_step}[op.name]
    first, extra = more[: op.states], more[op.states : -1 if op.masked else None]
    y, last = np.zeros((STEPS, BATCH, HIDDEN)), np.zeros((op.states, BATCH, HIDDEN))
    for b in range(BATCH):
        states = [s[b] for s in first]
        order = range(LENGTHS[b] if op.masked else STEPS)
        for t in reversed(order) if op.reverse else order:
            following = [step(op, k, x[t, b], w, r, bias, states, *extra) for k in range(HIDDEN)]
            states = list(zip(*following, strict=True))
            y[t, b] = states[0]
        last[:, b] = states
    return [y, *last]


def check(op):
    given = operands(op)
    for actual, wanted in zip(op.evaluate(*given), expected(op, *given), strict=True):
        # Numbers of order 1 after some hundred roundings in float64.
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-12)


KINDS = [NnRnn, NnGru, NnLstm]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)


@every_kind
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_steps_of_a_sequence(kind, reverse, masked):
    check(kind(reverse=reverse, masked=masked))
    check(kind(reverse=reverse, masked=masked, clip=0.5))


def test_the_reset_gate_after_the_product():
    check(NnGru(reset_after=True))
    check(NnGru(reset_after=True, masked=True, clip=0.5))


@pytest.mark.parametrize("coupled", [False, True])
def test_peepholes_and_coupled_gates(coupled):
    check(NnLstm(coupled=coupled))
    check(NnLstm(coupled=coupled, peepholes=True))
    check(NnLstm(coupled=coupled, peepholes=True, masked=True, reverse=True, clip=0.5))


@pytest.mark.parametrize("function", CellFunction)
def test_activations(function):
    activation = CellActivation(function, 0.7, 0.3)
    check(NnRnn(activation=activation))
    check(NnGru(gate_activation=activation))
    check(NnGru(candidate_activation=activation))
    check(NnLstm(gate_activation=activation))
    check(NnLstm(candidate_activation=activation))
    check(NnLstm(cell_activation=activation, clip=0.5))


@every_kind
def test_a_step_does_not_depend_on_elements_beyond_the_length(kind):
    op = kind(masked=True)
    given = operands(op)
    results = op.evaluate(*given)
    for b, length in enumerate(LENGTHS):
        given[0][length:, b] = np.nan
    for first, second in zip(results, op.evaluate(*given), strict=True):
        np.testing.assert_array_equal(first, second)


@every_kind
def test_it_is_one_scan_of_one_product_for_each_step(kind):
    graph, op = Graph("g"), kind(masked=True)
    given = {str(i): a for i, a in enumerate(operands(op))}
    inputs = [graph.input(n, TensorType(a.shape, DType.of(a))) for n, a in given.items()]
    graph.output(*graph.append(op, *inputs).results)
    plain = decompose(graph)
    (scan,) = (n for n in plain.op_nodes if n.op.name == "core.scan")
    assert sum(n.op.name == "real.matmul" for n in plain.op_nodes) == 1
    products = [n for n in scan.op.body.op_nodes if n.op.name == "real.matmul"]
    assert len(products) == (2 if kind is NnGru else 1)
    for a, b in zip(evaluate(plain, given), op.evaluate(*given.values()), strict=True):
        np.testing.assert_array_equal(a, b)


@every_kind
def test_length_and_batch_may_be_symbols(kind):
    steps, batch = Dim("steps"), Dim("batch")
    rows = kind.gates * 5
    types = [f32(steps, batch, 2), f32(rows, 2), f32(rows, 5), f32(rows)]
    types += [f32(batch, 5)] * kind.states
    last = [f32(batch, 5)] * kind.states
    assert kind().infer(*types) == (f32(steps, batch, 5), *last)
    assert kind(masked=True).infer(*types, i32(batch)) == (f32(steps, batch, 5), *last)


RNN = [f32(4, 3, 2), f32(5, 2), f32(5, 5), f32(5), f32(3, 5)]


def changed(index, type_):
    return [*RNN[:index], type_, *RNN[index + 1 :]]


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (NnRnn(), changed(0, f32(4, 2))),
        (NnRnn(), changed(0, i32(4, 3, 2))),
        (NnRnn(), changed(1, f32(5, 3))),
        (NnRnn(), changed(2, f32(5, Dim("h")))),
        (NnRnn(), changed(2, f32(10, 5))),
        (NnRnn(), changed(3, f32(10))),
        (NnRnn(), changed(4, f32(1, 5))),
        (NnRnn(masked=True), RNN),
        (NnRnn(masked=True), [*RNN, f32(3)]),
        (NnRnn(masked=True), [*RNN, i32(4)]),
        (NnRnn(), [*RNN, i32(3)]),
        (NnGru(), RNN),
        (NnLstm(peepholes=True),
         [f32(4, 3, 2), f32(8, 2), f32(8, 2), f32(8), f32(3, 2), f32(3, 2), f32(2, 3)]),
    ],
    ids=lambda v: ", ".join(map(str, v)) if isinstance(v, list) else f"{v.name}-{v.masked}",
)  # fmt: skip
def test_refusals(op, types):
    with raises(ShapeError):
        op.infer_checked(*types)
