"""Layers of random nodes that are split as far as they can be, and calls of their units."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.host.native_cases import node_of, with_constants

from rlx.ir import DType, Graph, QuantParams, Refusal, TensorType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d
from rlx.ops.q.window import Window
from rlx.ops.real import RealConv, RealMatmul, RealMaxPool, RealQuantize, RealReduceSum
from rlx.ops.real.window import SpatialWindow
from rlx.runtime.numpy_backend import BoundStep, Workspace
from rlx_host.kernels.rules import RULES, lower
from rlx_host.library import load
from rlx_host.program import bound_arrays
from rlx_host.source import ProgramSource, number_steps
from strategies import STRATEGIES

FLAGS = ("-O1",)

DTYPES = {np.dtype(np.float32): DType.F32, np.dtype(np.int8): DType.I8}

MAX_NODES = 3
"""Nodes of an op and a template."""

RUN_UNITS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_long
)
SHARE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    RUN_UNITS,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_long,
    ctypes.c_long,
)


@contextmanager
def smallest_parts():
    """Let every unit be worth a thread."""
    with patch("rlx_host.layer.MIN_PART_COST", 1):
        yield


def split_nodes(op, instructions):
    """Some nodes of an op whose layers can be split, with the values of their operands.

    There are as many for each template that the op uses.
    """
    found = {}

    @settings(max_examples=20, derandomize=True, deadline=None, database=None)
    @given(data=st.data())
    def draw(data):
        cases = [data.draw(STRATEGIES[op](size=size, batch=2)) for size in (5, 20)]
        if found and all(len(nodes) >= MAX_NODES for nodes in found.values()):
            return
        for case in cases:
            for one in (case, with_constants(case)) if case.graph.inputs else (case,):
                node = node_of(one, op)
                layer = lower.__wrapped__(node[0], instructions)
                if not isinstance(layer, Refusal) and layer.split is not None:
                    found.setdefault(layer.kernel.template, []).append(node)

    with np.errstate(all="ignore"), smallest_parts():
        draw()
    return [node for nodes in found.values() for node in nodes[-MAX_NODES:]]


@cache
def all_split_nodes(instructions):
    """Nodes whose layers can be split, of two ops for each rule and of plain layers."""
    ops = {}
    for op in sorted((op for op in STRATEGIES if op in RULES), key=lambda op: op.name):
        ops.setdefault(RULES[op], []).append(op)
    drawn = [n for some in ops.values() for op in some[:2] for n in split_nodes(op, instructions)]
    return [*drawn, *plain_nodes()]


def plain_nodes():
    """Layers of several rows, with padding and strides; products, sums and a quantization."""
    generator = np.random.default_rng(3)

    def node(op, *operands, fixed=1):
        graph = Graph("layer")
        values = [
            graph.input(f"x{i}", TensorType(a.shape, DTYPES[a.dtype]))
            for i, a in enumerate(operands[:fixed])
        ]
        graph.apply(op, *values, *map(graph.constant, operands[fixed:]))
        return next(iter(graph.op_nodes)), list(operands)

    def floats(*shape):
        return generator.normal(size=shape).astype(np.float32)

    def bytes_of(*shape):
        return generator.integers(-128, 128, shape).astype(np.int8)

    pads = ((1, 1), (2, 1))
    for stride, dilation in (((1, 1), (1, 1)), ((2, 1), (1, 2))):
        window = SpatialWindow((3, 3), stride, dilation, pads)
        yield node(RealConv(window=window), floats(2, 9, 8, 4), floats(5, 3, 3, 4))
        yield node(RealConv(window=window), floats(1, 9, 8, 4), floats(20, 3, 3, 4))
        yield node(RealConv(window=window, groups=4), floats(2, 9, 8, 4), floats(4, 3, 3, 1))
        yield node(RealMaxPool(window=window), floats(1, 9, 8, 5))
        yield node(RealMaxPool(window=window), floats(3, 9, 8, 5))
        for groups, weights in ((1, (20, 3, 3, 4)), (4, (4, 3, 3, 1)), (2, (6, 3, 3, 2))):
            op = QConv2d(window=Window((3, 3), stride, dilation, pads), groups=groups,
                         x_zero_point=3, rescale=Rescale.of(0.002), zero_point=-5)  # fmt: skip
            bias = np.arange(weights[0], dtype=np.int32)
            yield node(op, bytes_of(2, 9, 8, 4), bytes_of(*weights), bias)
    for fixed in (1, 2):
        yield node(RealMatmul(), floats(4, 7), floats(7, 75), fixed=fixed)
        yield node(RealMatmul(), floats(80, 7), floats(7, 75), fixed=fixed)
        yield node(RealMatmul(), floats(3, 4, 7), floats(3, 7, 75), fixed=fixed)
    for axis in (1, 2):
        yield node(RealReduceSum(axes=(axis,)), floats(4, 5, 40))
    yield node(RealQuantize(quant=QuantParams((0.1,)), dtype=DType.I8), floats(3, 7))


class Layers:
    """Compiled layers of nodes.

    Attributes:
        steps: Their calls.
    """

    def __init__(self, nodes, instructions):
        self.nodes = nodes
        # A layer that was split otherwise must not be seen again.
        layers = [lower.__wrapped__(node, instructions) for node, _ in nodes]
        self.steps = number_steps([(n[0], x) for n, x in zip(nodes, layers, strict=True)])
        self.run = load(ProgramSource.of(self.steps, instructions), FLAGS).run

    def results(self, pool=None, threads=1):
        """Return the results of all nodes as bytes."""
        return [
            self.result(step, arrays, pool, threads)
            for step, (_, arrays) in zip(self.steps, self.nodes, strict=True)
        ]

    def result(self, step, arrays, pool=None, threads=1, fill=0):
        """Return the results of a node as bytes."""
        inputs = tuple(array.copy() for array in arrays)
        outputs = tuple(
            np.full(t.size * t.dtype.numpy.itemsize, fill, np.uint8)
            .view(t.dtype.numpy)
            .reshape(t.static_shape)
            for t in step.node.types
        )
        bound = BoundStep(step.node, inputs, outputs, tuple(inputs), Workspace())
        passed = bound_arrays(step.layer, bound, threads)
        pointers = (ctypes.c_void_p * (step.first + len(passed)))()
        for index, array in enumerate(passed):
            pointers[step.first + index] = array.ctypes.data
        self.run(pointers, step.index, step.index + 1, pool)
        return b"".join(output.tobytes() for output in outputs)


class PoolOfCalls:
    """A pool that computes chosen units of a step, one after the other.

    Args:
        choose: Returns units and the number of the thread of each, from the number of all.
    """

    def __init__(self, choose):
        def share(pool, run_units, pointers, step, units, min_units):
            del pool, min_units
            return all(
                run_units(pointers, step, thread, unit, unit + 1) for unit, thread in choose(units)
            )

        self._share = SHARE(share)
        self.pointer = ctypes.pointer(self._share)
