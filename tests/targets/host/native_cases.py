"""Nodes of drawn cases, compiled together and run as C."""

from __future__ import annotations

import ctypes

import numpy as np

from rlx.ir import Input, Refusal, rebuild
from rlx.ir.evaluate import evaluate_all
from rlx.runtime.numpy_backend import BoundStep, Workspace
from rlx_host.kernels.rules import lower
from rlx_host.library import load
from rlx_host.program import bound_arrays
from rlx_host.source import ProgramSource, number_steps
from strategies.case import Case


def with_constants(case):
    """Return the case with every input but the first as a constant."""
    first = case.graph.inputs[0]

    def constants(new, node, operands):
        del operands
        if not isinstance(node.op, Input) or node.results[0] is first:
            return None
        return [new.constant(case.inputs[node.results[0].name])]

    graph = rebuild(case.graph, constants)
    return Case(graph, {v.name: case.inputs[v.name] for v in graph.inputs})


def node_of(case, op):
    """The node of a case that has an op, and the values of its operands."""
    node = next(node for node in case.graph.op_nodes if type(node.op) is op)
    values = evaluate_all(case.graph, case.inputs, {})
    return node, [values[operand] for operand in node.operands]


def native_results(nodes, instructions, extra_flags=()):
    """Return the results of each node's C function, or its Refusal; all are compiled together.

    Args:
        nodes: Nodes with the values of their operands.
        instructions: Instruction set.
        extra_flags: Further flags of the compiler.
    """
    layers = [lower(node, instructions) for node, _ in nodes]
    native = [(n[0], x) for n, x in zip(nodes, layers, strict=True) if not isinstance(x, Refusal)]
    if not native:
        return layers
    steps = {step.node: step for step in number_steps(native)}
    function = load(ProgramSource.of(tuple(steps.values()), instructions), extra_flags).run
    return [
        layer if isinstance(layer, Refusal) else _run(steps[node], arrays, function)
        for (node, arrays), layer in zip(nodes, layers, strict=True)
    ]


def _run(step, arrays, function):
    inputs = tuple(array.copy() for array in arrays)
    outputs = tuple(np.zeros(t.static_shape, t.dtype.numpy) for t in step.node.types)
    bound = BoundStep(step.node, inputs, outputs, tuple(inputs), Workspace())
    passed = bound_arrays(step.layer, bound)
    pointers = (ctypes.c_void_p * (step.first + len(passed)))()
    for index, array in enumerate(passed):
        pointers[step.first + index] = array.ctypes.data
    for _ in range(2):
        function(pointers, step.index, step.index + 1, None)
    return outputs
