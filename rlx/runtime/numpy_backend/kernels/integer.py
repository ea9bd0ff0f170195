"""Convolutions and dense layers on integers: their prepared forms, bound to places.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType
from rlx.ops import q
from rlx.ops.q.prepared.linear import ConvForm, DenseForm
from rlx.runtime.numpy_backend.kernels.common import sequence
from rlx.runtime.numpy_backend.step import KERNELS, prepare

if TYPE_CHECKING:
    from rlx.runtime.numpy_backend.step import BoundStep, Run


@KERNELS.rule(q.QConv2d, q.QDense)
def _linear(step: BoundStep) -> Run:
    op, (_, w, bias) = step.node.op, step.constants
    if w is None or bias is None or step.node.types[0].dtype is not DType.I8:
        return prepare(step)
    assert isinstance(op, q.QConv2d | q.QDense)
    form = ConvForm(op, w, bias) if isinstance(op, q.QConv2d) else DenseForm(op, w, bias)
    result = step.outputs[0].view(np.int8)
    return sequence(form.bind(step.inputs[0], result, step.workspace.take))
