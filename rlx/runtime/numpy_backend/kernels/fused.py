"""Fused ops: the ops of their bodies, bound together: values between them stay in the cache.

Products come first, whole, where a body has one; the rest is computed in blocks of their result.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Constant
from rlx.ops import fused, real
from rlx.runtime.numpy_backend.kernels.common import is_wide, sequence
from rlx.runtime.numpy_backend.kernels.conv import Convolution
from rlx.runtime.numpy_backend.kernels.linear import product
from rlx.runtime.numpy_backend.kernels.region import KernelRegion
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from rlx.ir import Array, Node, Value
    from rlx.ops.fused import Fused
    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run


def _body(step: BoundStep) -> Fused:
    op = step.node.op
    assert isinstance(op, fused.Fused)
    return op


def _outside(step: BoundStep) -> tuple[dict[Value, Array], dict[Value, Array]]:
    """Return the arrays of the body's inputs and outputs, and those that never change."""
    body = _body(step).body
    inputs = dict(zip(body.inputs, step.inputs, strict=True))
    results = dict(zip(body.outputs, step.outputs, strict=True))
    given = zip(body.inputs, step.constants, strict=True)
    return inputs | results, {value: array for value, array in given if array is not None}


@KERNELS.rule(
    fused.FusedAttention,
    fused.FusedElementwise,
    fused.FusedNorm,
    fused.FusedResidualNorm,
    fused.FusedSoftmax,
)
def _region(step: BoundStep) -> Run:
    """Compute the whole body in blocks."""
    arrays, constants = _outside(step)
    nodes = tuple(_body(step).body.op_nodes)
    return sequence(KernelRegion(nodes, arrays, constants, step.workspace).runs())


@KERNELS.rule(fused.FusedMatmul, fused.FusedGated)
def _matmul(step: BoundStep) -> Run:
    """Compute the product, then the following ops in blocks."""
    op = _body(step)
    nodes = tuple(op.body.op_nodes)
    (node,) = (n for n in nodes if isinstance(n.op, real.RealMatmul))
    if not all(is_wide(a) for a in step.inputs):
        return _region(step)
    x, y = (_factor(step, o) for o in node.operands)
    last = _reshape_after(nodes, node)
    target = _target(step, last)
    run = product(
        x, y, target.reshape(node.types[0].static_shape), fixed=_is_constant_factor(step, node)
    )
    rest = _rest(step, last, target)
    return sequence([run, *([] if rest is None else rest.runs())])


def _factor(step: BoundStep, value: Value) -> Numbers:
    """Return a factor: an operand, or one with its last two axes swapped."""
    if isinstance(value.node.op, real.RealTranspose):
        return np.swapaxes(_factor(step, value.node.operands[0]), -1, -2)
    if isinstance(value.node.op, Constant):
        return value.node.op.value
    return step.inputs[_body(step).body.inputs.index(value)]


def _is_constant_factor(step: BoundStep, node: Node) -> bool:
    """Return whether the right factor of a product never changes."""
    value = node.operands[1]
    while isinstance(value.node.op, real.RealTranspose):
        value = value.node.operands[0]
    if isinstance(value.node.op, Constant):
        return True
    return step.constants[_body(step).body.inputs.index(value)] is not None


def _reshape_after(nodes: tuple[Node, ...], node: Node) -> Node:
    """Return the reshape of a product's result, or the product if there is none."""
    reader = next((n for n in nodes if node.results[0] in n.operands), None)
    return reader if reader is not None and isinstance(reader.op, real.RealReshape) else node


def _target(step: BoundStep, last: Node) -> Numbers:
    """Return the array in which a product is computed: the result's if it has its type."""
    (result,), value = step.outputs, last.results[0]
    if (result.shape, result.dtype) == (value.type.static_shape, value.type.dtype.numpy):
        return result
    return step.workspace.take(value.type.static_shape, value.type.dtype.numpy)


def _rest(step: BoundStep, last: Node, target: Numbers) -> KernelRegion | None:
    """Return the nodes that follow ``last``, whose result is in ``target``."""
    value = last.results[0]
    nodes = tuple(n for n in _body(step).body.op_nodes if n.index > last.index)
    if not nodes:
        return None
    arrays, constants = _outside(step)
    known = {**arrays, value: target}
    return KernelRegion(nodes, known, constants, step.workspace, frozenset({value}))


@KERNELS.rule(fused.FusedConv)
def _conv(step: BoundStep) -> Run:
    """Compute the convolution in blocks, each followed by bias and activation."""
    nodes = tuple(_body(step).body.op_nodes)
    (node,) = (n for n in nodes if isinstance(n.op, real.RealConv))
    if not all(is_wide(a) for a in step.inputs):
        return _region(step)
    assert isinstance(node.op, real.RealConv)
    x, w = (_body(step).body.inputs.index(o) for o in node.operands)
    last = _reshape_after(nodes, node)
    target = _target(step, last)
    image = Convolution(
        node.op,
        step.inputs[x],
        step.inputs[w],
        target.reshape(node.types[0].static_shape),
        step.workspace,
        fixed=step.constants[w] is not None,
    )
    rest = _rest(step, last, target)
    if rest is None:
        return sequence(image.runs())
    if last is not node or not rest.free:
        return sequence([*image.runs(), *rest.runs()])
    return sequence(image.runs(rest.runs))
