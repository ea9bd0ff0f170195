"""Kernels on floats: NaN and infinity, errors of functions, whole networks."""

from __future__ import annotations

import math
import subprocess

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from targets.host.test_source import STRICT, program

from benchmarks.host.networks.decoder import DecoderSizes, decoder
from benchmarks.host.networks.encoder import EncoderSizes, encoder
from benchmarks.host.networks.mlp import mlp
from benchmarks.host.networks.resnet import resnet
from rlx.ir import DType, Graph, Refusal, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops import real
from rlx.passes.fusion import FusionOptions, fuse
from rlx.runtime import CompileOptions, Session
from rlx_host.instruction_set import available, find
from rlx_host.kernels.product.rule import fused_matmul
from strategies import float_graphs
from support import require_program
from support.references.closeness import assert_close

DRAWN = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing case is not shrunk: each attempt is a compilation."""

EACH_SET = pytest.mark.parametrize("instructions", [one.name for one in available()])
UNFUSED = {"fusion": None, "simplify": False}

INTERESTING = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        2.5,
        1e-40,
        3e38,
        -3e38,
        88,
        90,
        -104,
        np.inf,
        -np.inf,
        np.nan,
    ],
    np.float32,
)


def compiled(graph, instructions, **options):
    options = CompileOptions(backend="native", instruction_set=instructions, **options)
    return Session().compile(graph, options)


def check(case, instructions, **options):
    with np.errstate(all="ignore"):
        expected = evaluate(case.graph, case.inputs)
    net = compiled(case.graph, instructions, **options)
    for _ in range(2):
        for a, b in zip(net.run_typed(case.inputs), expected, strict=True):
            assert_close(a, np.asarray(b))


@EACH_SET
@settings(max_examples=15, phases=DRAWN)
@given(case=float_graphs())
def test_float_networks(case, instructions):
    check(case, instructions)


def unary(op, x, instructions):
    """Results of an op, and those of its definition in float64."""
    graph = Graph("unary")
    value = graph.input("x", TensorType(x.shape, DType.F32))
    graph.output(graph.apply(op, value), names=["y"])
    (expected,) = op.evaluate(x.astype(np.float64))
    return compiled(graph, instructions, **UNFUSED).run({"x": x})[0], expected


UNARY = {
    real.RealAbs: 0, real.RealCeil: 0, real.RealErf: 6, real.RealExp: 1, real.RealExpm1: 1.5,
    real.RealFloor: 0, real.RealLog: 1, real.RealNeg: 0, real.RealRound: 0, real.RealRsqrt: 1.5,
    real.RealSigmoid: 2.5, real.RealSign: 0, real.RealSqrt: 0.5, real.RealTanh: 2.5,
}  # fmt: skip
"""Largest error of each function, in units in the last place of the result."""


@EACH_SET
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@np.errstate(all="ignore")
def test_functions_of_all_magnitudes(op, instructions):
    bits = np.arange(0, 2**32, 65521, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), INTERESTING])
    found, expected = unary(op(), x, instructions)
    rounded = expected.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    errors = np.abs(found.astype(np.float64) - expected)[finite]
    assert np.max(errors / np.spacing(np.abs(rounded[finite]))) <= UNARY[op]


@EACH_SET
@pytest.mark.parametrize(
    "op",
    [real.RealAdd, real.RealDiv, real.RealMaximum, real.RealMinimum, real.RealMul, real.RealSub],
    ids=lambda op: op.name,
)
def test_special_numbers_in_pairs(op, instructions):
    graph = Graph("pairs")
    x, y = (graph.input(n, TensorType((17, 17), DType.F32)) for n in "xy")
    graph.output(graph.apply(op(), x, y), names=["z"])
    a, b = np.meshgrid(INTERESTING, INTERESTING)
    with np.errstate(all="ignore"):
        (expected,) = evaluate(graph, {"x": a, "y": b})
    net = compiled(graph, instructions, **UNFUSED)
    np.testing.assert_array_equal(net.run({"x": a, "y": b})[0], expected)


@EACH_SET
def test_relu_of_a_product_keeps_nan(instructions):
    graph = Graph("relu")
    x = graph.input("x", TensorType((2, 3), DType.F32))
    product = graph.apply(real.RealMatmul(), x, graph.constant(np.eye(3, dtype=np.float32)))
    zero = graph.constant(np.zeros((), np.float32))
    graph.output(graph.apply(real.RealMaximum(), product, zero), names=["y"])
    found = compiled(graph, instructions).run({"x": np.full((2, 3), math.nan, np.float32)})[0]
    assert np.isnan(found).all()


@EACH_SET
@pytest.mark.parametrize("rows", [1, 3])
def test_a_computed_row_is_added_to_a_product(rows, instructions):
    """A product of one row, as in a recurrent layer, adds the row; others are not in C."""
    graph, generator = Graph("step"), np.random.default_rng(0)
    arrays = {"h": (rows, 5), "x": (1, 12)}
    inputs = {n: generator.standard_normal(s).astype(np.float32) for n, s in arrays.items()}
    h, x = (graph.input(n, TensorType(s, DType.F32)) for n, s in arrays.items())
    weights = graph.constant(generator.standard_normal((5, 12)).astype(np.float32))
    row = graph.apply(real.RealTanh(), x)
    graph.output(graph.apply(real.RealAdd(), row, graph.apply(real.RealMatmul(), h, weights)))
    net = compiled(graph, instructions)
    assert_close(net.run_typed(inputs)[0], evaluate(graph, inputs)[0])
    fused, _ = fuse(graph, FusionOptions())
    node = next(n for n in fused.op_nodes if n.op.name == "fused.matmul")
    assert isinstance(fused_matmul(node, find(instructions)), Refusal) == (rows > 1)


@EACH_SET
def test_rows_do_not_depend_on_each_other(instructions):
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((90, 45)).astype(np.float32)
    rows = generator.standard_normal((31, 90)).astype(np.float32)

    def product(x):
        graph = Graph("product")
        value = graph.input("x", TensorType(x.shape, DType.F32))
        graph.output(graph.apply(real.RealMatmul(), value, graph.constant(weights)), names=["y"])
        return compiled(graph, instructions).run({"x": x})[0].copy()

    np.testing.assert_array_equal(
        product(rows), np.concatenate([product(rows[:17]), product(rows[17:])])
    )


NETWORKS = {
    "mlp": lambda: mlp(2, (50, 40, 10)),
    "resnet": lambda: resnet(2, size=12),
    "encoder": lambda: encoder(EncoderSizes(layers=1, sequence=19, width=48, heads=3, hidden=72)),
    "decoder": lambda: decoder(
        DecoderSizes(width=48, layers=2, heads=3, hidden=72, tokens=60, cache=40, position=9)
    ),
}


@EACH_SET
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_close_to_numpy(name, instructions):
    case = NETWORKS[name]()
    nets = [
        Session().compile(case.graph, CompileOptions(backend="numpy")),
        compiled(case.graph, instructions),
    ]
    for net in nets:
        for state, contents in case.states.items():
            net.bind_state(state, contents)
    for _ in range(2):
        expected, found = (net.run(dict(case.inputs)) for net in nets)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b, 64)


@EACH_SET
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", NETWORKS)
def test_text_compiles_without_warnings(name, compiler, instructions, tmp_path):
    require_program(compiler)
    source = tmp_path / "program.c"
    source.write_text(program(NETWORKS[name]().graph.graph, instructions).source.text)
    argv = [compiler, *STRICT, *find(instructions).flags, source]
    assert subprocess.run(argv, capture_output=True, text=True).stderr == ""
