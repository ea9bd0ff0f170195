"""Layer norm and RMS norm of float32, alone or after an addition.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedNorm, FusedResidualNorm
from rlx_c.layer import Kernel
from rlx_host.kernels.expressions import float_literal
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.fused.norm import NormForm
    from rlx_host.instruction_set import InstructionSet


def norm(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a normalization."""
    assert isinstance(node.op, FusedNorm | FusedResidualNorm)
    form: NormForm = node.op.form
    if any(v.type.dtype is not DType.F32 for v in (*node.operands, *node.results)):
        return Refusal("its operands are not f32")
    x = node.operands[form.x].type
    if form.addend is not None and node.operands[form.addend].type.shape != x.shape:
        return Refusal("its addends differ in shape")
    width = math.prod(x.static_shape[x.rank - form.axes :])
    positions = (form.x, form.addend, form.gamma, form.beta)
    split = Split.of(x.size // width, 6 * x.size // instructions.lanes)
    constants = {
        "split": split is not None,
        "rows": x.size // width,
        "width": width,
        "addend": form.addend is not None,
        "gamma": form.gamma is not None,
        "beta": form.beta is not None,
        "epsilon": float_literal(form.epsilon),
        "centred": form.centred,
        "keeps_sum": form.sum_result is not None,
    }
    kernel = Kernel.of("norm", "norm/kernel", constants, ("floats",))
    return NativeLayer(kernel, tuple(i for i in positions if i is not None), split=split)
