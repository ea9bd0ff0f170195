"""Kernels compute what ``evaluate`` defines, wherever their operands and results lie."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Op
from rlx.ir.graph import Source
from rlx.memory import elementwise_in_place
from rlx.ops.nn import NnOp
from rlx.runtime.numpy_backend.step import KERNELS, BoundStep, bind
from rlx.runtime.numpy_backend.workspace import Workspace
from strategies import STRATEGIES
from support.references.closeness import assert_close

COMPUTING = [
    op
    for op in Op.registry.values()
    if op.__module__.startswith("rlx.") and not issubclass(op, Source | NnOp)
]
RULED = [op for op in COMPUTING if op in KERNELS and op in STRATEGIES]
# Their kernels are sums, which may be added in another order.
SUMS = ("real.matmul", "real.conv", "real.average_pool", "real.reduce_sum", "real.reduce_mean",
        "real.reduce_prod", "fused.")  # fmt: skip


def every(ops):
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


class Guarded(Workspace):
    """A workspace whose bytes are NaN, or -1, when the step begins."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = []

    def take(self, shape, dtype):
        array = super().take(shape, dtype)
        self.taken.append(array)
        return array

    def spoil(self) -> None:
        for array in self.taken:
            array.reshape(-1).view(np.uint8)[...] = 255


def node_of(case):
    (node,) = case.graph.op_nodes
    arrays = [case.inputs[o.name] if o.constant is None else o.constant for o in node.operands]
    return node, arrays


def run(node, arrays, shared: int | None, *, constant: bool):
    """Run the kernel twice, the result in the bytes of operand ``shared``."""
    inputs = [a.copy() for a in arrays]
    outputs = [np.zeros(t.static_shape, t.dtype.numpy) for t in node.types]
    if shared is not None:
        outputs[0] = inputs[shared].view(outputs[0].dtype)
    constants = [a if constant and i != shared else None for i, a in enumerate(inputs)]
    workspace = Guarded()
    step = BoundStep(node, tuple(inputs), tuple(outputs), tuple(constants), workspace)
    compute = bind(step)
    for _ in range(2):
        workspace.spoil()
        for held, array in zip(inputs, arrays, strict=True):
            held[...] = array
        with np.errstate(all="ignore"):
            compute()
    return outputs


@every(COMPUTING)
def test_every_op_has_a_kernel_or_none_on_purpose(op):
    assert KERNELS.knows(op)


@every(RULED)
@settings(max_examples=12)
@given(data=st.data())
def test_kernel_computes_the_op(op, data):
    case = data.draw(STRATEGIES[op]())
    node, arrays = node_of(case)
    assert type(node.op) is op
    expected = node.op.evaluate(*(a.copy() for a in arrays))
    places = (None, *elementwise_in_place(node))
    for shared, constant in itertools.product(places, (False, True)):
        found = run(node, arrays, shared, constant=constant)
        for a, b in zip(found, expected, strict=True):
            assert_close(a, np.asarray(b), 32 if op.name.startswith(SUMS) else 0)
