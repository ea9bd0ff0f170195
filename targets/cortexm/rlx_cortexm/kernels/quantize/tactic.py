"""Quantized values of floats: a division for each.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ir import DType
from rlx.ops.q import CODE_RANGE
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.reals import scale_text
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.real import RealQuantize

ELEMENT: Final = 29
"""Instructions for each element, with hardware for floats."""

PORTABLE: Final = 14.0
"""Ratio of instructions without such hardware to those with it."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a quantization.

    Raises:
        UnsupportedOpError: The element types are others, or channels have scales of their own.
    """
    op = cast("RealQuantize", node.op)
    x = node.operands[0].type
    if x.dtype is not DType.F32 or op.dtype not in CODE_RANGE:
        raise unsupported(
            node,
            f"expected f32 to i8, u8 or i16, got {x.dtype.value} to {op.dtype.value}",
        )
    low, high = CODE_RANGE[op.dtype]
    constants = {
        "length": x.size,
        "to": C_TYPES[op.dtype],
        "scale": scale_text(node, op.quant),
        "zero_point": op.quant.zero_point[0],
        "low": low,
        "high": high,
        "bound": 2 * (high - low + 1),
        "ties": op.ties.value,
    }
    kernel = Kernel.of("quantize", "quantize/kernel", constants, size=CodeSize(0.8))
    layer = LoweredLayer(kernel, operands=node.operands, instructions=x.size * ELEMENT)
    return (Candidate.of(layer, "quantize"),)


QUANTIZE: Final = Tactic(
    candidates,
    "`quantize`: a division of floats for each number; slow on a core without hardware for them.",
    portable=PORTABLE,
    baseline=1.7,
)
