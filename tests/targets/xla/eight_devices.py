"""Runs on a mesh of 8 devices, in a process of its own: a program for ``test_parallel.py``."""

from __future__ import annotations

import sys

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

from rlx.ir import DType, Graph, TensorType, f32
from rlx.ir.evaluate import evaluate
from rlx.ops import q, real
from rlx.ops.numerics.fixed_point import Rescale
from rlx.runtime import COMPILATIONS
from rlx.support.errors import UsageError
from rlx_xla import collectives
from rlx_xla.parallel import shard

RANDOM = np.random.default_rng(5)
AXES = {"data": 2, "model": 4}


def perceptron():
    """Two dense layers on floats with weights as parameters."""
    graph = Graph("perceptron")
    x, w = graph.input("x", f32(8, 16)), graph.param("w", f32(16, 32))
    hidden = graph.apply(real.RealMatmul(), x, w)
    zero = graph.constant(np.float32(0))
    hidden = graph.apply(real.RealMaximum(), hidden, zero)
    graph.output(graph.apply(real.RealMatmul(), hidden, graph.param("v", f32(32, 8))))
    return graph


def integers():
    """Two dense layers on integers, with weights as inputs."""
    graph = Graph("integers")
    x = graph.input("x", TensorType((8, 16), DType.I8))
    op = q.QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=-5)
    for name in ("w", "v"):
        bias = graph.constant(RANDOM.integers(-999, 999, 16).astype(np.int32))
        x = graph.apply(op, x, graph.input(name, TensorType((16, 16), DType.I8)), bias)
    graph.output(x)
    return graph


def check_floats():
    graph = perceptron()
    shapes = {"x": (8, 16), "w": (16, 32), "v": (32, 8)}
    values = {name: RANDOM.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    inputs, params = {"x": values.pop("x")}, values
    (expected,) = evaluate(graph, inputs, params)
    splits = {"x": ("data", None), "w": (None, "model"), "v": ("model", None)}
    program = shard(graph, AXES, splits)
    program.set_params(params)
    (found,) = program.run(inputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    (code,) = [e.compilation for e in COMPILATIONS._entries]
    assert "all-reduce" in code.make_program()._code.call.as_text()


def check_integers():
    graph = integers()
    inputs = {
        v.name: RANDOM.integers(-128, 128, v.type.static_shape).astype(np.int8)
        for v in graph.inputs
    }
    (expected,) = evaluate(graph, inputs)
    for splits in (
        {"x": ("data", None)},
        {"x": ("data", None), "w": ("model", None), "v": (None, "model")},
        {"x": (None, "model"), "w": (None, "model")},
    ):
        program = shard(graph, AXES, splits)
        (found,) = program.run(inputs)
        np.testing.assert_array_equal(found, expected)
        assert program._program(()).comparison.outputs == 1


def check_states():
    graph = Graph("accumulator")
    total, x = graph.state("total", f32(8)), graph.input("x", f32(8))
    graph.output(graph.apply(real.RealAdd(), total, x), names=["total"])
    program = shard(graph, {"data": 8}, {"total": ("data",), "x": ("data",)})
    for count in (1, 2):
        (found,) = program.run({"x": np.arange(8)})
        np.testing.assert_array_equal(found, count * np.arange(8))
    np.testing.assert_array_equal(program.read_state("total"), 2 * np.arange(8))


def check_refusals():
    for axes, splits in (
        ({"data": 16}, {}),
        (AXES, {"y": ("data",)}),
        (AXES, {"x": ("rows", None)}),
        (AXES, {"x": ("data",)}),
        ({"data": 3}, {"x": ("data", None)}),
    ):
        try:
            shard(perceptron(), axes, splits)
        except UsageError as error:
            sys.stdout.write(f"{error}\n")
        else:
            raise AssertionError((axes, splits))


def check_collectives():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    whole = RANDOM.integers(-99, 99, (64, 8)).astype(np.int32)

    split = P("x")

    def on_mesh(function, result=split):
        part = jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=result, check_vma=False)
        return np.asarray(jax.jit(part)(whole))

    parts = whole.reshape(8, 8, 8)
    for how, reduce in (("sum", np.sum), ("max", np.max), ("min", np.min)):
        found = on_mesh(lambda a, how=how: collectives.all_reduce(a, "x", how), P())
        np.testing.assert_array_equal(found, reduce(parts, axis=0))
    mean = on_mesh(lambda a: collectives.all_reduce(a.astype(np.float32), "x", "mean"), P())
    np.testing.assert_allclose(mean, parts.mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(on_mesh(lambda a: collectives.all_gather(a, "x"), P()), whole)
    np.testing.assert_array_equal(
        on_mesh(lambda a: collectives.reduce_scatter(a, "x")), parts.sum(axis=0)
    )
    for source in (0, 5):
        found = on_mesh(lambda a, s=source: collectives.broadcast(a, "x", s), P())
        np.testing.assert_array_equal(found, parts[source])
        found = on_mesh(lambda a, s=source: collectives.broadcast(a > 0, "x", s), P())
        np.testing.assert_array_equal(found, parts[source] > 0)
    turned = on_mesh(lambda a: collectives.all_to_all(a, "x"))
    np.testing.assert_array_equal(turned.reshape(8, 8, 8), parts.transpose(1, 0, 2))


if __name__ == "__main__":
    assert jax.device_count() == 8
    check_floats()
    check_integers()
    check_states()
    check_refusals()
    check_collectives()
