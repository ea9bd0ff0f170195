"""Elementwise ops as one loop: values between them stay in registers.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Refusal
from rlx.ops.fused import FusedElementwise
from rlx_c.layer import Kernel
from rlx_c.nest import broadcast_strides, nest, row_major
from rlx_host.kernels.expressions import ELEMENTS, SUFFIXES, VECTORS, literal, statements
from rlx_host.kernels.loops import BLOCK
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx_host.instruction_set import InstructionSet


def elementwise(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of an elementwise op."""
    return _layer(node, (node,), node.operands, instructions)


def fused_elementwise(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of several elementwise ops."""
    assert isinstance(node.op, FusedElementwise)
    return _layer(node, node.op.form.steps, node.op.body.inputs, instructions)


def _layer(
    node: Node,
    steps: tuple[Node, ...],
    inputs: tuple[Value, ...],
    instructions: InstructionSet,
) -> NativeLayer | Refusal:
    """Return the layer of steps that compute the result from ``inputs``, the node's operands."""
    passed = {v: i for i, v in enumerate(inputs) if literal(v) is None}
    result = steps[-1].results[0]
    for value in (*passed, result):
        if value.type.dtype not in VECTORS:
            return Refusal(f"it has values of {value.type.dtype.value}")
    written = statements(steps, {v: f"x{i}" for i, v in enumerate(passed)})
    if isinstance(written, Refusal):
        return written
    lines, names = written
    shape = result.type.static_shape
    strides = [broadcast_strides(v.type.static_shape, shape) for v in passed]
    loops = nest(shape, row_major(shape), *strides)
    run = loops[-1].extent if loops else 1
    units = loops[0].extent if loops[1:] else -(-run // BLOCK)
    split = Split.of(units, (1 + len(lines)) * result.type.size // instructions.lanes)
    constants = {
        "split": split is not None,
        "units": units,
        "block": BLOCK,
        "loops": loops[:-1],
        "run": run,
        "strides": loops[-1].strides[1:] if loops else (0,) * len(passed),
        "operands": tuple(_types(v) for v in passed),
        "result": _types(result),
        "lines": lines,
        "value": names[result],
    }
    kernel = Kernel.of("elementwise", "elementwise/kernel", constants, ("floats",))
    return NativeLayer(kernel, tuple(passed.values()), split=split)


def _types(value: Value) -> tuple[str, str, str]:
    """Return the C types of an element and of a vector, and the suffix of their functions."""
    dtype = value.type.dtype
    return ELEMENTS[dtype], VECTORS[dtype], SUFFIXES[dtype]
