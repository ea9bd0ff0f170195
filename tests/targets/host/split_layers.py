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

from rlx.ir import Refusal
from rlx.runtime.numpy_backend import BoundStep, Workspace
from rlx_host.kernels.rules import RULES, lower
from rlx_host.library import load
from rlx_host.program import bound_arrays
from rlx_host.source import ProgramSource, number_steps
from strategies import STRATEGIES

FLAGS = ("-O1",)

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
                layer = lower(node[0], instructions)
                if not isinstance(layer, Refusal) and layer.split is not None:
                    found.setdefault(layer.kernel.template, []).append(node)

    with np.errstate(all="ignore"), smallest_parts():
        draw()
    return [node for nodes in found.values() for node in nodes[-MAX_NODES:]]


@cache
def all_split_nodes(instructions):
    """Nodes of every op whose layers can be split."""
    ops = sorted((op for op in STRATEGIES if op in RULES), key=lambda op: op.name)
    return [node for op in ops for node in split_nodes(op, instructions)]


class Layers:
    """Compiled layers of nodes.

    Attributes:
        steps: Their calls.
    """

    def __init__(self, nodes, instructions):
        self.nodes = nodes
        layers = [lower(node, instructions) for node, _ in nodes]
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
