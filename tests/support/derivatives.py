"""Cases of ops for derivatives: floats in float64 or float32, at random places without ties."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import rlx
from rlx.ir import DType, Input, Rewriter, f32
from rlx.ir.evaluate import evaluate
from rlx.ir.graph import Source
from rlx.ir.regions import map_regions
from rlx.passes.transforms.linearize import RULES, float_outputs

if TYPE_CHECKING:
    from rlx.ir import Array, Graph, Node
    from strategies import Case


def in_type(case: Case, dtype: DType, seed: int) -> tuple[Graph, dict[str, Array]]:
    """Return a case with its floats in ``dtype``, and random values in place of given ones."""
    generator = np.random.default_rng(seed)
    given: dict[str, Array] = {}
    graph = _converted(case.graph, dtype, generator, given)
    return graph, {**case.inputs, **given}


def _converted(
    graph: Graph, dtype: DType, generator: np.random.Generator, given: dict[str, Array]
) -> Graph:
    """Return a graph with its floats in ``dtype``, and set a value for each such input."""
    rewriter = Rewriter(graph)
    for node in rewriter:
        if not isinstance(node.op, Source):
            op = map_regions(node.op, lambda r: _converted(r, dtype, generator, {}))
            made = rewriter.new.append(op, *rewriter.operands(node), name=node.name)
            rewriter.replace(node, *made.results)
        elif node.types[0].dtype.is_float:
            values = random_floats(generator, node, dtype)
            type_ = replace(node.types[0], dtype=dtype)
            if isinstance(node.op, Input):
                given[node.name] = values
                rewriter.replace(node, rewriter.new.input(node.name, type_))
            else:
                rewriter.replace(node, rewriter.new.constant(values))
    return rewriter.finish()


def random_floats(generator: np.random.Generator, node: Node, dtype: DType) -> Array:
    """Return numbers in (-1, 1), away from 0, for a source; most functions are defined there."""
    shape = node.types[0].static_shape
    sizes = generator.uniform(0.1, 0.9, shape)
    return np.asarray(sizes * generator.choice([-1.0, 1.0], shape), dtype.numpy)


def is_differentiable(graph: Graph) -> bool:
    """Return whether floats depend on floats, and every op has a derivative."""
    floats = any(v.type.dtype.is_float for v in graph.inputs)
    outputs = any(v.type.dtype.is_float for _, v in graph.run_outputs)
    return floats and outputs and all(type(n.op) in RULES for n in graph.op_nodes)


def directions(graph: Graph, names: list[str], seed: int) -> dict[str, Array]:
    """Return a random tangent ``d_NAME`` for each of the named inputs."""
    generator = np.random.default_rng(seed)
    types = {v.name: v.type for v in (*graph.inputs, *graph.params)}
    return {
        f"d_{name}": np.asarray(
            generator.standard_normal(types[name].static_shape), types[name].dtype.numpy
        )
        for name in names
    }


def float_inputs(graph: Graph) -> list[str]:
    """Return the names of the floating-point inputs."""
    return [v.name for v in graph.run_inputs if v.type.dtype.is_float]


def factors(graph: Graph, seed: int) -> dict[str, Array]:
    """Return a random factor ``d_NAME`` for each floating-point output."""
    generator = np.random.default_rng(seed)
    return {
        f"d_{name}": np.asarray(generator.standard_normal(v.type.static_shape), v.type.dtype.numpy)
        for name, v in float_outputs(graph).items()
    }


def named(graph: Graph, inputs: dict[str, Array]) -> dict[str, Array]:
    """Return the outputs of a graph by name."""
    return dict(zip(graph.output_names, evaluate(graph, inputs), strict=True))


def attention_block() -> Graph:
    """Return a transformer block with its weights as inputs, and the sum as output."""

    def block(x, q, k, v, o, gamma, beta, up, down):
        h = x.layer_norm(gamma, beta)
        scores = ((h @ q) @ (h @ k).mT * 0.35).softmax()
        x = x + scores @ (h @ v) @ o
        return (x + (x @ up).gelu() @ down).sum()

    square = [f32(8, 8)] * 4
    types = f32(2, 5, 8), *square, f32(8), f32(8), f32(8, 16), f32(16, 8)
    return rlx.trace("block", block, *types).graph
